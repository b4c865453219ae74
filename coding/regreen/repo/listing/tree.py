"""The folders of a project as they were seen last, and what a second look finds changed.

A folder that was not touched since it was read is not read again: its own stat and those of the files in it are
enough. Times may be coarse, so a folder that changed just before it was read is read again next time.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from regreen.repo.listing.ignoring import GIT_IGNORE, OWN_IGNORE
from regreen.workspace import Stat, Workspace
from regreen.workspace.beneath import Folder
from regreen.workspace.looking import kind_of, list_folder

RACE_NS = 2_000_000_000  # the coarsest clock of a file system

Times: TypeAlias = tuple[int, int, int]
"""Inode, mtime, ctime."""

_RULES = (GIT_IGNORE, OWN_IGNORE)


class Seen(NamedTuple):
    """A folder when it was read. `names` are paths of what is no folder in it, `below` its folders, sorted."""

    times: Times | None
    settled: bool
    names: tuple[str, ...]
    below: tuple[str, ...]
    repository: tuple[Times, ...]  # of a `.git` in it and its HEAD, but for the root


@dataclass(slots=True)
class Changes:
    """What is not as it was: folders to be read again, and files that are still there. `anew`: something came or went,
    or is another kind of thing."""

    folders: list[str] = field(default_factory=list[str])
    files: dict[str, Stat] = field(default_factory=dict[str, Stat])
    anew: bool = False


class Tree:
    """What was seen: `folders`, and `entries`, which has everything in them that is no folder."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.folders: dict[str, Seen] = {}
        self.entries: dict[str, Stat] = {}

    def look(self, path: str) -> Seen | None:
        """Read one folder, and forget what was in it before. None: there is no such folder."""
        before = self.folders.pop(path, None)
        if before is not None:
            for name in before.names:
                self.entries.pop(name, None)
        now = time.time_ns()
        found: dict[str, Stat] = {}
        try:
            with self._workspace.tree.folder(path) as folder:
                info = folder.stat(".")
                below = list_folder(folder, path + "/" if path else "", found, _no)
                repository = _repository(folder) if path else ()
        except OSError:  # gone, not readable, or its path too long for the system
            return self._closed(path, now)
        for name in below:
            del found[name]
        self.entries.update(found)
        seen = Seen(_times(info), _is_settled(info, now), tuple(found), tuple(sorted(below)), repository)
        self.folders[path] = seen
        return seen

    def _closed(self, path: str, now: int) -> Seen | None:
        try:
            with self._workspace.tree.folder("") as root:
                info = root.stat(path or ".")
        except OSError:
            return None
        if not stat.S_ISDIR(info.st_mode):
            return None
        seen = Seen(_times(info), _is_settled(info, now), (), (), ())
        self.folders[path] = seen
        return seen

    def keep(self, folders: Iterable[str]) -> None:
        """Forget all other folders."""
        for gone in self.folders.keys() - set(folders):
            for name in self.folders.pop(gone).names:
                self.entries.pop(name, None)

    def check(self) -> Changes:
        """Compare all that was seen with what is there now."""
        changes = Changes()
        try:
            with self._workspace.tree.folder("") as root:
                look = _stats_in(root)
                self._check_folders(look, changes)
                self._check_files(look, changes)
        except OSError:  # the root itself is gone, or is not to be read any more
            changes.folders = list(self.folders)
        self.entries.update(changes.files)
        return changes

    def _check_files(self, look: Callable[[str], os.stat_result], changes: Changes) -> None:
        touched = set(changes.folders)
        for path, old in self.entries.items():
            try:
                now = look(path)
            except OSError:  # gone, though its folder may have been looked at a moment before
                folder = path.rpartition("/")[0]
                if folder not in touched:
                    touched.add(folder)
                    changes.folders.append(folder)
                continue
            if (
                now.st_ctime_ns != old[2] or now.st_mtime_ns != old[1] or now.st_size != old[0]
                or now.st_ino != old[3] or now.st_mode != old[4]
            ):  # fmt: skip
                kind = kind_of(now)
                changes.files[path] = Stat(now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino, now.st_mode, kind)
                changes.anew |= kind != old.kind

    def _check_folders(self, look: Callable[[str], os.stat_result], changes: Changes) -> None:
        for path, seen in self.folders.items():
            try:
                now = _times(look(path or "."))
            except OSError:
                now = None
            if (
                now != seen.times
                or not seen.settled
                or (seen.repository and _repository_at(path, look) != seen.repository)
            ):
                changes.folders.append(path)

    def decided_since(self, since_ns: int) -> bool:
        """Whether ignore files or repositories in the tree are so new that they may have changed again unnoticed."""
        since_ns -= RACE_NS
        return any(
            max(info.mtime_ns, info.ctime_ns) >= since_ns
            for folder in self.folders
            for name in _RULES
            if (info := self.entries.get(f"{folder}/{name}" if folder else name)) is not None
        ) or any(max(times[1:]) >= since_ns for seen in self.folders.values() for times in seen.repository)


def is_rules(path: str) -> bool:
    return path.endswith(_RULES) and path.rpartition("/")[2] in _RULES


def _no(_folder: str) -> bool:
    return False


def _times(info: os.stat_result) -> Times:
    return info.st_ino, info.st_mtime_ns, info.st_ctime_ns


def _is_settled(info: os.stat_result, now: int) -> bool:
    return max(info.st_mtime_ns, info.st_ctime_ns) < now - RACE_NS


def _stats_in(root: Folder) -> Callable[[str], os.stat_result]:
    """What stats paths below an open root. Folders on the way are compared themselves, so that a link shows."""
    fd = root.fd
    return root.stat if fd is None else lambda path: os.lstat(path, dir_fd=fd)


def _repository(folder: Folder) -> tuple[Times, ...]:
    try:
        first = _times(folder.stat(".git"))
    except OSError:
        return ()
    try:
        return first, _times(folder.stat(".git/HEAD"))
    except OSError:
        return (first,)


def _repository_at(path: str, look: Callable[[str], os.stat_result]) -> tuple[Times, ...]:
    try:
        first = _times(look(f"{path}/.git"))
    except OSError:
        return ()
    try:
        return first, _times(look(f"{path}/.git/HEAD"))
    except OSError:
        return (first,)
