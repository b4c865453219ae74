"""What no test has to change: git's configuration, hooks and pointers, and the settings of editors and agents.

A guard is taken before a test run and asked after it. What differs is named; it is put back only where the test
process was seen writing that very path, and only if it still is what was found; the changed bytes are kept in the
archive first. Objects, refs, index and HEAD are not looked at here.

What git owns is not journalled, so the writing is done here, with the journal's own way of placing one file: complete
before its name is, checked after it was taken out, and never through a link.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import secrets
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from regreen.errors import RegreenError
from regreen.sandbox import nested
from regreen.snapshots.watching import Area, Look, Seen, areas_of, below, look_at, stat_of
from regreen.workspace import StaleFile, Workspace, is_version_control
from regreen.workspace.beneath import Folder
from regreen.workspace.looking import look
from regreen.workspace.writing import Content, Temp, place

What: TypeAlias = Literal["changed", "created", "deleted"]

MAX_ARCHIVED_BYTES = 256 << 20
_NO_EVIDENCE = "nothing shows that the tests did it; left as it is"
_NO_COPY = "no copy of what it was is at hand; left as it is"
_REPOSITORY = "a whole repository; left as it is"
_NOT_EMPTY = "holds more than is watched; left as it is"
_SINCE = "could not be put back, or was changed again meanwhile; left as it is"


@dataclass(frozen=True, slots=True)
class Tampered:
    """One protected path that is not what it was. `kept` is the file with the bytes that stood there before it was
    put back; `why` says why it was not."""

    path: str
    what: What
    restored: bool
    kept: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Difference:
    path: str  # in its area
    before: Seen | None
    now: Seen | None

    @property
    def what(self) -> What:
        return "created" if self.before is None else "deleted" if self.now is None else "changed"


@dataclass(frozen=True, slots=True)
class Guard:
    """What was protected, as it stood. Holds nothing open."""

    workspace: Workspace
    looks: tuple[tuple[Area, Look], ...]

    @classmethod
    def take(cls, workspace: Workspace) -> Guard:
        """Look before the tests run. A few milliseconds; bounded in names and bytes."""
        looks = tuple((area, look_at(workspace, area)) for area in areas_of(workspace))
        nested.tell(workspace.root, looks[0][1].found)
        return cls(workspace, looks)

    def verify(self, written: Collection[str], archive: Path) -> tuple[Tampered, ...]:
        """What differs now, by path. `written` are paths that the test process was seen writing, as it told them."""
        seen = {posixpath.normpath(p) for p in written if p and "\0" not in p}
        found: list[Tampered] = []
        for area, before in self.looks:
            now = look_at(self.workspace, area, before.found)
            differences = list(_differences(before, now))
            if area.base is None:
                nested.came(self.workspace.root, now.found.keys() - before.found.keys())
                found += _Restorer(self.workspace, archive, seen).restore(differences)
            else:  # what is told of the tests' writing ends at the root
                found += (Tampered(area.shown(d.path), d.what, False, why=_NO_EVIDENCE) for d in differences)
        return tuple(sorted(map(_warned, _joined(found)), key=lambda t: t.path))


def _differences(before: Look, now: Look) -> Iterator[_Difference]:
    for path in sorted({*before.found, *now.found}):
        old, new = before.found.get(path), now.found.get(path)
        if old is None and (before.cut or new is None):
            continue  # it may have been there already, and only not been watched
        repository = is_version_control(path.rpartition("/")[2])
        if not _is_same(old, new, by_inode=repository):
            yield _Difference(path, old, new)


def _is_same(old: Seen | None, new: Seen | None, *, by_inode: bool) -> bool:
    if old is None or new is None:
        return False
    if old.info == new.info:
        return True
    if old.info.kind != new.info.kind:
        return False
    if old.info.kind in ("directory", "other"):
        return not by_inode or old.info.ino == new.info.ino
    return old.data is not None and (old.data, old.info.mode) == (new.data, new.info.mode)


def _warned(found: Tampered) -> Tampered:
    """With a word on what is dangerous: git starts programs that the repository names which it finds."""
    folder, _, name = found.path.rpartition("/")
    if found.restored or found.what == "deleted" or not is_version_control(name):
        return found
    return replace(found, why=f"{found.why}: check `{name}` of {folder or 'the project'} before you use git there")


def _joined(found: list[Tampered]) -> Iterator[Tampered]:
    """Without what only goes with its folder: one that came or went as a whole is told once."""
    for restored in (True, False):
        whole = {t.path for t in found if t.restored is restored and t.what != "changed"}
        yield from (t for t in found if t.restored is restored and not below(t.path, whole))


class _Restorer:
    """Puts back what tests did to the project's protected names, one at a time."""

    def __init__(self, workspace: Workspace, archive: Path, written: Collection[str]) -> None:
        self._workspace = workspace
        self._archive = archive
        self._written = written
        self._temp = secrets.token_hex(4)
        self._number = 0

    def restore(self, differences: Iterable[_Difference]) -> list[Tampered]:
        """Folders first and from the top, then what is in them; what came is removed from below."""
        all_of_them = list(differences)
        came = [d for d in all_of_them if d.before is None]
        others = [d for d in all_of_them if d.before is not None]
        whole = {d.path for d in all_of_them if _is_repository(d.path) and _is_folder_change(d)}
        return [self._one(d, whole) for d in (*others, *reversed(came))]

    def _one(self, d: _Difference, whole: set[str]) -> Tampered:
        if d.path not in self._written:
            return Tampered(d.path, d.what, False, why=_NO_EVIDENCE)
        if d.path in whole or below(d.path, whole):
            return Tampered(d.path, d.what, False, why=_REPOSITORY)
        if d.before is not None and not d.before.is_folder and d.before.data is None:
            return Tampered(d.path, d.what, False, why=_NO_COPY)
        try:
            with self._folder_of(d) as folder:
                kept = self._undo(folder, d)
        except (OSError, RegreenError) as e:
            why = _NOT_EMPTY if isinstance(e, OSError) and d.now is not None and d.now.is_folder else _SINCE
            return Tampered(d.path, d.what, False, why=why)
        return Tampered(d.path, d.what, True, kept)

    def _folder_of(self, d: _Difference) -> Folder:
        """The folder that holds it; made anew where it has to be and is missing."""
        parent = d.path.rpartition("/")[0]
        tree = self._workspace.tree
        try:
            return tree.folder(parent)
        except FileNotFoundError:
            if d.before is None:
                raise
        steps = parent.split("/")
        for n in range(1, len(steps) + 1):
            with tree.folder("/".join(steps[: n - 1])) as above, suppress(FileExistsError):
                above.mkdir(steps[n - 1])
        return tree.folder(parent)

    def _undo(self, folder: Folder, d: _Difference) -> str:
        """Keep the bytes that stand there, then make it what it was. Returns where they are kept."""
        name, want, kept = d.path.rpartition("/")[2], d.before, ""
        if d.now is not None and d.now.info.kind in ("file", "symlink"):
            seen = look(folder, name, MAX_ARCHIVED_BYTES)
            if seen is None or seen.kind not in ("file", "symlink"):
                raise StaleFile(d.path)
            kept = self._keep(name, seen.content)
            at_once = want is not None and not want.is_folder
            place(folder, name, self._new_temp(), _content(want) if want and at_once else Content(None), seen.sha)
            if at_once:
                return kept
        elif d.now is not None:
            _remove(folder, name, d.now)
        if want is not None and want.is_folder:
            _make_folder(folder, name, want.info.mode)
        elif want is not None:
            place(folder, name, self._new_temp(), _content(want), "")
        return kept

    def _new_temp(self) -> Temp:
        self._number += 1
        return Temp.of(self._temp, self._number, "guard")

    def _keep(self, name: str, data: bytes) -> str:
        """The bytes in a file of their own in the archive; nobody else can read it."""
        self._archive.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._number += 1
        digest = hashlib.sha256(data).hexdigest()[:12]
        path = self._archive / f"{self._temp}-{self._number}-{digest}-{name.lstrip('.')[:80]}"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        return str(path)


def _remove(folder: Folder, name: str, now: Seen) -> None:
    """Take away what holds no bytes: an empty folder, a FIFO, a socket."""
    if now.is_folder:
        folder.rmdir(name)
    elif stat_of(folder, name).ino == now.info.ino:
        folder.unlink(name)


def _make_folder(folder: Folder, name: str, mode: int) -> None:
    with suppress(FileExistsError):
        folder.mkdir(name)
    if not hasattr(os, "O_DIRECTORY"):  # Windows: a folder has no mode there, and cannot be opened
        return
    fd = folder.open(name, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fchmod(fd, stat.S_IMODE(mode))
    finally:
        os.close(fd)


def _content(before: Seen) -> Content:
    return Content(before.data, before.info.mode, before.info.mtime_ns)


def _is_repository(path: str) -> bool:
    return is_version_control(path.rpartition("/")[2])


def _is_folder_change(d: _Difference) -> bool:
    return any(seen is not None and seen.is_folder for seen in (d.before, d.now))
