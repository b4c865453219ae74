"""The workspace: the only code that opens a project's files. It reads and looks; the journal writes.

Rules it keeps: everything is opened below the root; a link inside the root is followed only if it stays inside; only
regular files are read, without blocking, and never more than the limit; `.git` is never entered by a walk.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from regreen.errors import EnvironmentFault, Refused, UsageError
from regreen.model import FileText
from regreen.redact import LEARNED
from regreen.settings import Limits
from regreen.workspace import paths
from regreen.workspace.beneath import Backend, Folder, Root
from regreen.workspace.looking import LINK_MARK, Kind, Stat, kind_of, list_folder, look
from regreen.workspace.text import Text, TextProblem

_MAX_LINKS = 40
_RACES = 20


def _always(_path: str, _folder: Folder) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class FileImage:
    """What stands at a path. `sha256` is "" for absent, of the raw bytes for a file, of the target for a link.

    `real` is the path after resolving links inside the root. `kind` is `symlink` only for a link that was not
    followed: one that leaves the root, or any link with `follow=False`.
    """

    path: str
    kind: Kind
    data: bytes = b""
    mode: int = 0  # st_mode, with the bits of the file type
    mtime_ns: int = 0
    sha256: str = ""
    target: str = ""
    real: str = ""
    links: int = 1  # how many names the file has; over 1: a change of it, or of them, may be seen elsewhere

    @property
    def content(self) -> bytes:
        """The bytes that `sha256` is the hash of."""
        return LINK_MARK + os.fsencode(self.target) if self.kind == "symlink" else self.data


class Spot(NamedTuple):
    """A path found: its real path, the open folder that holds it (None: that folder is missing) and its name there."""

    real: str
    folder: Folder | None
    name: str
    info: os.stat_result | None


class Workspace:
    """One root folder, held open. Safe to use from several threads. Close it, or use it in a `with`."""

    def __init__(self, root: Path, limits: Limits | None = None, *, backend: Backend | None = None) -> None:
        self.limits = limits or Limits()
        self.root = Path(os.path.realpath(root))
        try:
            self.tree = Root(self.root, backend)
        except OSError as e:
            raise UsageError("not_found", f"{root}: {e.strerror}", "name an existing folder") from e
        self._names = tuple(dict.fromkeys((str(self.root), os.path.abspath(root))))  # noqa: PTH100 - links stay

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.tree.close()

    # --- names -------------------------------------------------------------------------------------

    def normalise(self, path: str) -> str:
        """The clean relative posix path ("" for "."). Refused: `path_invalid`, `path_outside_workspace`.

        Names that other systems could not hold are refused for files that are not there yet, if not as protected.
        """
        clean = self._clean(path)
        try:
            paths.check_new(clean)
        except Refused:
            if not paths.is_protected(clean) and self.image_kind(clean) == "absent":
                raise
        return clean

    def _clean(self, path: str) -> str:
        named = paths.clean(path.replace("\\", "/") if os.name == "nt" else path, self._names)
        for folder in named.stepped:
            with self.spot(folder, follow=False) as at:
                if at.info is not None and stat.S_ISLNK(at.info.st_mode):
                    raise paths.outside(path)
        return named.path

    def protected(self, path: str) -> bool:
        """Whether edits never write this path: by its name, or by that of the file that it leads to.

        Files with secrets are among them: what an edit says of a file would show them.
        """
        if paths.is_protected(path) or paths.is_secret(path):
            return True
        with self.spot(path) as at:
            return at.real != path and (paths.is_protected(at.real) or paths.is_secret(at.real))

    # --- looking -----------------------------------------------------------------------------------

    def image(self, path: str, *, follow: bool = True) -> FileImage:
        """What stands at a clean path; absent is a value. A folder link that leaves the root is Refused.

        UsageError `limit_exceeded` for a file over the size limit.
        """
        try:
            with self.spot(path, follow=follow) as at:
                image = self._image(path, at)
                if follow and image.kind == "symlink":
                    raise _became_a_link(path)
                return image
        except Refused as e:
            if not follow or e.kind != "path_outside_workspace":
                raise
        image = self.image(path, follow=False)
        if image.kind != "symlink":
            raise paths.outside(path)
        return image

    def image_kind(self, path: str) -> Kind:
        """The kind alone, without reading; links that stay inside are followed, others are `symlink`."""
        try:
            with self.spot(path) as at:
                return kind_of(at.info)
        except Refused as e:
            if e.kind != "path_outside_workspace":
                raise
            return "symlink"

    def _image(self, path: str, at: Spot) -> FileImage:
        if at.folder is None or at.info is None:
            return FileImage(path, "absent", real=at.real)
        if at.name == "":
            return FileImage(path, "directory", mode=at.info.st_mode, mtime_ns=at.info.st_mtime_ns, real=at.real)
        try:
            seen = look(at.folder, at.name, self.limits.max_file_bytes)
        except OSError as e:
            raise _io(path, e) from e
        if seen is None:
            raise UsageError("limit_exceeded", f"{paths.shown(path)} is over {self.limits.max_file_bytes} bytes",
                             "work on a smaller file")  # fmt: skip
        if seen.info is None:
            return FileImage(path, "absent", real=at.real)
        is_link = seen.kind == "symlink"
        LEARNED.look(seen.content)  # whoever looks at a file may show a part of it
        return FileImage(
            path, seen.kind, b"" if is_link else seen.content, seen.info.st_mode, seen.info.st_mtime_ns, seen.sha,
            os.fsdecode(seen.content[len(LINK_MARK) :]) if is_link else "", at.real,
            seen.info.st_nlink if seen.kind == "file" else 1)  # fmt: skip

    def read(self, path: str) -> FileImage:
        """A regular file, by any form of its path. Raises UsageError (`not_found`, `limit_exceeded`) or Refused."""
        clean = self._clean(path)
        image = self.image(clean)
        match image.kind:
            case "file":
                return image
            case "absent":
                raise UsageError("not_found", f"{paths.shown(clean)} does not exist", "list the files first")
            case "symlink":
                raise paths.outside(clean)
            case _:
                what = "a folder" if image.kind == "directory" else "no regular file"
                raise Refused("not_regular_file", f"{paths.shown(clean or '.')} is {what}", "name a regular file")

    def read_text(self, path: str, start_line: int = 1, end_line: int = 0) -> FileText:
        """Lines `start_line` to `end_line` (0 = the last), joined by LF. Not redacted: that is the caller's part.

        Refused (`path_protected`) for a file that is known to hold secrets.
        """
        image = self.read(path)
        if paths.is_secret(image.path) or paths.is_secret(image.real):
            raise Refused("path_protected", f"{paths.shown(image.path)} holds secrets: it is never shown",
                          "work without it, or read an example of it such as `.env.example`")  # fmt: skip
        text = Text.decode(image.data)
        if isinstance(text, TextProblem):
            raise UsageError(text.kind, f"{paths.shown(image.path)} {text.message}", "read text files only")
        total = len(text.lines)
        end = min(end_line, total) if end_line else total
        if start_line < 1 or (end_line and end_line < start_line) or (start_line > max(total, 1)):
            raise UsageError("invalid_arguments", f"lines {start_line} to {end_line or 'the end'} of {total}",
                             f"give 1 <= start_line <= end_line <= {total}")  # fmt: skip
        chosen = text.lines[start_line - 1 : end]
        shown = "".join([line.body + ("\n" if line.eol else "") for line in chosen])
        if text.raw:
            shown = shown.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        encoding = "unknown-8bit" if text.raw else text.encoding
        return FileText(image.path, shown, start_line, end, total, image.sha256, encoding, text.eol)

    def scan(self, *, skip: Callable[[str], bool], enter: Callable[[str, Folder], bool] = _always) -> dict[str, Stat]:
        """Every file, link and folder below the root, by path, in one walk. No link is followed.

        `skip` is asked for folders only; a skipped folder and all below it are left out. Nothing named `.git` is
        listed. Folders that cannot be opened are listed without their contents. `enter` is asked last, with the open
        folder ("" = the root), just before it is read; False leaves it out as well.
        """
        found: dict[str, Stat] = {}
        waiting = [""]
        while waiting:
            path = waiting.pop()
            try:
                with self.tree.folder(path) as folder:
                    if not enter(path, folder):
                        found.pop(path, None)
                        continue
                    below = list_folder(folder, path + "/" if path else "", found, skip)
            except OSError:  # gone meanwhile, not readable, or its path too long for the system
                continue
            waiting.extend(below)
        return found

    def remove_empty_folder(self, path: str) -> bool:
        """Remove one folder if it is empty. Links, and what version control owns, are left alone."""
        if not path or paths.is_version_control(path):
            return False
        with self.spot(path, follow=False) as at:
            try:
                if at.folder is None or at.info is None or not stat.S_ISDIR(at.info.st_mode):
                    return False
                at.folder.rmdir(at.name)
            except OSError:
                return False
            return True

    # --- finding -----------------------------------------------------------------------------------

    @contextmanager
    def spot(self, path: str, *, follow: bool = True) -> Generator[Spot]:
        """Find a clean path: open the folder that really holds it. Links that leave the root are Refused.

        With `follow=False` a link in the last place is the thing found; links to folders are resolved either way.
        """
        paths.check_clean(path)
        real = path
        for _ in range(_RACES):
            spot = self._try(real, follow)
            if spot is None:  # a link is on the way
                real = self._resolve(path, follow)
                continue
            try:
                yield spot
            finally:
                if spot.folder is not None:
                    spot.folder.close()
            return
        raise paths.invalid(path, "its links keep changing", "try again")

    def _try(self, real: str, follow: bool) -> Spot | None:
        parent, _, name = real.rpartition("/")
        try:
            folder = self.tree.folder(parent)
        except OSError as e:
            return _missing(real, e)
        info = None
        try:
            info = folder.stat(name or ".")
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as e:
            folder.close()
            raise _io(real, e) from e
        if follow and info is not None and stat.S_ISLNK(info.st_mode):
            folder.close()
            return None
        return Spot(real, folder, name, info)

    def _resolve(self, path: str, follow: bool) -> str:
        """The path without links, as of now. The way back to it opens no link, so a later swap is noticed."""
        real: list[str] = []
        left = path.split("/")[::-1]
        links = 0
        while left:
            name = left.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if not real:
                    raise paths.outside(path)
                real.pop()
                continue
            target = self._link("/".join(real), name) if follow or left else None
            if target is None:
                real.append(name)
                continue
            links += 1
            if links > _MAX_LINKS:
                raise paths.invalid(path, "its links go in a circle", "name the file itself")
            if target.startswith("/"):
                target = self._inside(path, target)
                real = []
            left.extend(target.split("/")[::-1])
        return "/".join(real)

    def _link(self, parent: str, name: str) -> str | None:
        """The target if `name` is a link now; None for everything else, also for what is missing."""
        try:
            with self.tree.folder(parent) as folder:
                return folder.readlink(name) if stat.S_ISLNK(folder.stat(name).st_mode) else None
        except OSError:
            return None

    def _inside(self, path: str, target: str) -> str:
        root = str(self.root)
        if target != root and not target.startswith(root.rstrip("/") + "/"):
            raise paths.outside(path)
        return target[len(root) :]


def _missing(real: str, error: OSError) -> Spot | None:
    if error.errno in (errno.ELOOP, errno.EXDEV):
        return None
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Spot(real, None, real.rpartition("/")[2], None)
    raise _io(real, error) from error


def _io(path: str, error: OSError) -> Exception:
    if error.errno in (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL):
        return paths.invalid(path, error.strerror or "not a usable path", "use another name")
    if error.errno == errno.ELOOP:
        return _became_a_link(path)
    return EnvironmentFault("io", f"{paths.shown(path)}: {error.strerror}", "make it readable for this user")


def _became_a_link(path: str) -> Refused:
    return paths.invalid(path, "it became a link meanwhile", "try again")
