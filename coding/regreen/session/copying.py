"""A scratch copy of a work tree: as it stands, or as it was where older contents are known. The original is only read.

Files are copied through the workspace's own open folders, with mode and time; large sparse ones stay sparse. Installed
dependencies (environments, `node_modules`) are links to the original's where a sandbox keeps these from being written,
else copied as well, up to a bound. Caches are left out, and so is git's own folder: an empty one stands in its place,
so that no repository around the copy is taken for its own.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.errors import EnvironmentFault, Refused, RegreenError
from regreen.wire import names
from regreen.workspace import FileImage, Stat, Workspace

if TYPE_CHECKING:
    from regreen.repo import FileList

_CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".eggs"})
_INSTALLED = frozenset({"node_modules", "bower_components", ".venv", "venv", ".tox", ".nox", ".gradle"})
_MAX_IGNORED_BYTES = 64 << 20
_MAX_IGNORED_FILE_BYTES = 8 << 20
_MAX_INSTALLED_FILES = 20_000
_MAX_INSTALLED_BYTES = 1 << 30
_CHUNK = 1 << 20
_SPARE = 0.9  # of the free space
_BLOCK = 512  # what st_blocks counts
_SHOWN = 5


@dataclass(slots=True)
class Copy:
    """What was made. `links` are folders of the original that the copy points to; `installed` are such that were
    copied instead; `notes` say what is not as it was."""

    root: Path
    links: list[str] = field(default_factory=list[str])
    installed: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])


class Stopped(RegreenError):
    """The copying was interrupted."""

    def __init__(self) -> None:
        super().__init__("cancelled", "interrupted", "")


def copy_tree(
    workspace: Workspace,
    listed: FileList,
    target: Path,
    *,
    older: Mapping[str, FileImage],
    barrier: bool,
    linked: bool,
    stopped: Callable[[], bool],
) -> Copy:
    """Copy the tree to the new folder `target`; `older` holds what shall be there instead of the present file.

    Ignored files come along up to a bound. With `barrier` the copy has an empty git repository. `linked`: nobody who
    works in the copy can write to the original, so installed dependencies may be links to it. Raises Stopped,
    EnvironmentFault `io` where there is no room, and Refused where what is installed is too much to be copied.
    """
    copy = Copy(target)
    known = {*listed.paths, *listed.links}
    choice = _Choice(workspace, copy, known, linked)
    entries = workspace.scan(skip=choice.passes_over)
    chosen = choice.chosen(entries)
    _room(workspace, chosen, target)
    target.mkdir(mode=0o700, parents=True)
    for path, info in sorted(entries.items()):
        if stopped():
            raise Stopped
        if info.kind == "directory":
            (target / path).mkdir(parents=True, exist_ok=True)
        elif path in chosen and path not in older:
            _copy(workspace, path, info, target)
    for path, image in older.items():
        _place(image, target / path)
    for folder in copy.links:
        (target / folder).parent.mkdir(parents=True, exist_ok=True)
        (target / folder).symlink_to(workspace.root / folder)
    if barrier:
        _empty_repository(target / ".git")
    return copy


@dataclass(frozen=True, slots=True)
class _Choice:
    """What comes along: everything listed, what is installed, and of the rest what is small."""

    workspace: Workspace
    copy: Copy
    known: set[str]
    linked: bool

    def passes_over(self, folder: str) -> bool:
        name = folder.rpartition("/")[2]
        if name in _CACHES:
            return True
        if _is_below(folder, self.copy.installed):
            return False
        owned = name in _INSTALLED and not any(p.startswith(folder + "/") for p in self.known)  # else the project's
        if owned or self._is_environment(folder):
            (self.copy.links if self.linked else self.copy.installed).append(folder)
            return self.linked
        return False

    def _is_environment(self, folder: str) -> bool:
        try:
            return self.workspace.image_kind(f"{folder}/pyvenv.cfg") == "file"
        except RegreenError:
            return False

    def chosen(self, entries: Mapping[str, Stat]) -> set[str]:
        chosen = self._installed(entries)
        left: list[str] = []
        total = 0
        for path, info in sorted(entries.items(), key=lambda item: (item[1].size, item[0])):
            if path in chosen:
                continue
            if path in self.known or info.kind == "symlink":
                chosen.add(path)
            elif info.kind == "file":
                total += info.size
                fits = info.size <= _MAX_IGNORED_FILE_BYTES and total <= _MAX_IGNORED_BYTES
                (chosen.add if fits else left.append)(path)
        if left:
            self.copy.notes.append(f"ignored files too large to be copied: {names(sorted(left), _SHOWN)}")
        return chosen

    def _installed(self, entries: Mapping[str, Stat]) -> set[str]:
        if not self.copy.installed:
            return set()
        found = {p: i for p, i in entries.items() if i.kind != "directory" and _is_below(p, self.copy.installed)}
        size = sum(info.size for info in found.values() if info.kind == "file")
        if len(found) > _MAX_INSTALLED_FILES or size > _MAX_INSTALLED_BYTES:
            raise Refused(
                "sandbox_required",
                f"without a sandbox that keeps tests from writing to them, the installed dependencies have to be"
                f" copied, and {names(self.copy.installed, _SHOWN)} are too much: {len(found)} files,"
                f" {size >> 20} MiB (at most {_MAX_INSTALLED_FILES}, {_MAX_INSTALLED_BYTES >> 20} MiB)",
                "replay with a sandbox (`--sandbox auto`; `regreen doctor` says which there is and what is missing),"
                " or move the dependencies out of the repository",
            )
        return set(found)


def _is_below(path: str, folders: Collection[str]) -> bool:
    return any(path.startswith(folder + "/") for folder in folders)


def _room(workspace: Workspace, chosen: set[str], target: Path) -> None:
    above = next(p for p in target.parents if p.is_dir())
    needed = 0
    for path in chosen:
        parent, _, name = path.rpartition("/")
        try:
            with workspace.tree.folder(parent) as folder:
                info = folder.stat(name)
            needed += getattr(info, "st_blocks", info.st_size // _BLOCK) * _BLOCK
        except OSError:
            continue
    free = shutil.disk_usage(above).free
    if needed > free * _SPARE:
        raise EnvironmentFault("io", f"a copy takes {needed >> 20} MiB, {above} has {free >> 20} MiB free",
                               "free disk space, or point TMPDIR at a larger disk")  # fmt: skip


def _copy(workspace: Workspace, path: str, info: Stat, target: Path) -> None:
    """One file or link. What vanished meanwhile, or cannot be read, is not there in the copy either."""
    parent, _, name = path.rpartition("/")
    to = target / path
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        with workspace.tree.folder(parent) as folder:
            if info.kind == "symlink":
                to.symlink_to(_target(folder.readlink(name), workspace.root, path, target))
            elif info.kind == "file":
                source = folder.open(name, os.O_RDONLY)
                try:
                    _bytes(source, to)
                finally:
                    os.close(source)
    except FileNotFoundError:
        return
    except PermissionError:
        return


def _bytes(source: int, to: Path) -> None:
    info = os.fstat(source)
    if not stat.S_ISREG(info.st_mode):
        return
    with to.open("xb") as out:
        place = 0
        while place < info.st_size and (place := _next_data(source, place)) < info.st_size:
            piece = os.pread(source, _CHUNK, place)
            if not piece:
                break
            out.seek(place)
            out.write(piece)
            place += len(piece)
        out.truncate(max(info.st_size, 0))
    to.chmod(stat.S_IMODE(info.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
    os.utime(to, ns=(info.st_mtime_ns, info.st_mtime_ns))


def _next_data(source: int, place: int) -> int:
    """Where data comes next from `place` on; a hole to the end: past it."""
    if not hasattr(os, "SEEK_DATA"):
        return place
    try:
        return os.lseek(source, place, os.SEEK_DATA)
    except OSError as e:
        return 1 << 62 if e.errno == errno.ENXIO else place


def _target(text: str, root: Path, path: str, target: Path) -> str:
    """Where a copied link points: inside the tree to the copy, else to what the original pointed to. Also where it
    leads back into the tree from outside: through another name of it, or through another link."""
    full = Path(os.path.normpath(root / path / ".." / text))
    if full.is_relative_to(root):
        return str(target / full.relative_to(root)) if Path(text).is_absolute() else text
    real = Path(os.path.realpath(root / path / ".." / text))
    return str(target / real.relative_to(root)) if real.is_relative_to(root) else str(full)


def _place(image: FileImage, to: Path) -> None:
    """What an image shows, in place of whatever is there."""
    if image.kind == "absent":
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    if image.kind == "symlink":
        to.symlink_to(image.target)
        return
    to.write_bytes(image.data)
    to.chmod(stat.S_IMODE(image.mode) or 0o644)
    if image.mtime_ns:
        os.utime(to, ns=(image.mtime_ns, image.mtime_ns))


def _empty_repository(folder: Path) -> None:
    """What git takes for a repository without a commit."""
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n", "utf-8")
