"""The listing of an open project: complete when first asked, cheap when asked again, right every time.

Who decides (git, or ignore files) is asked again only when something that the decision rests on may have changed;
sizes and times of the files are looked at each time.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from regreen.errors import EnvironmentFault
from regreen.repo.files import FileList
from regreen.repo.listing.sources import GitSource, Source, WalkSource, note
from regreen.repo.listing.tree import Changes, Tree, is_rules
from regreen.workspace import Stat, Workspace

if TYPE_CHECKING:
    from regreen.git import Git

_UNNAMEABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Listing:
    """The files of one project. Safe for several threads. With `submodules`, what is in these is listed, too."""

    def __init__(self, workspace: Workspace, git: Callable[[], Git | None], *, submodules: bool = False) -> None:
        self._git = git
        self._inside = submodules
        self._lock = threading.Lock()
        self._tree = Tree(workspace)
        self._workspace = workspace
        self._source: Source | None = None
        self._settled = False  # nothing in the tree that decides is so new that it may change unnoticed
        self._files = FileList(())

    def current(self) -> FileList:
        """The files as they are now."""
        with self._lock:
            return self._current()

    def _current(self) -> FileList:
        git, source = self._git(), self._source
        if source is not None and (source.git is not git or source.is_outdated() or not self._settled):
            source = None
        changes = self._tree.check()
        ask = self._read_again(changes, source)
        if source is None or ask or any(map(is_rules, changes.files)):
            source = self._ask(git)
        elif changes.anew:
            self._enter(source)
        else:
            if changes.files:
                self._files = _touched(self._files, changes.files)
            return self._files
        self._files = _collect(source, self._tree)
        return self._files

    def _read_again(self, changes: Changes, source: Source | None) -> bool:
        """Read changed folders again and complete the changes; whether the source does not know what they mean."""
        tree = self._tree
        ask = False
        for folder in changes.folders:
            before = tree.folders.get(folder)
            old = {path: tree.entries[path] for path in before.names} if before is not None else {}
            now = tree.look(folder)
            for path in now.names if now is not None else ():
                stat, earlier = tree.entries[path], old.pop(path, None)
                if stat != earlier:
                    changes.files[path] = stat
                    changes.anew |= earlier is None or stat.kind != earlier.kind
            changes.anew |= bool(old) or before is None or now is None or before.below != now.below
            ask |= any(map(is_rules, old)) or source is None or source.must_ask(folder, before, now)
        return ask

    def _ask(self, git: Git | None) -> Source:
        source: Source
        try:
            if git is None:
                source = WalkSource(self._workspace, self._tree, None)
            else:
                source = GitSource(self._workspace, self._tree, git, inside=self._inside)
            self._enter(source)
        except EnvironmentFault as e:
            why = f"Git could not list the files ({e.message}): every file that is not ignored is here"
            source = WalkSource(self._workspace, self._tree, git, why)
            self._enter(source)
        self._source = source
        self._settled = not self._tree.decided_since(source.since_ns)
        return source

    def _enter(self, source: Source) -> None:
        """Read the folders that the source wants read, level by level, and forget the others."""
        tree = self._tree
        kept: dict[str, None] = {}
        waiting = [""]
        while waiting:
            below: list[str] = []
            for folder in waiting:
                seen = tree.folders.get(folder) or tree.look(folder)
                if seen is None:
                    continue
                kept[folder] = None
                if not folder or not source.is_fenced(folder):
                    below += seen.below
            entered = source.enters(below)
            waiting = [folder for folder in below if folder in entered]
            if source.max_folders:
                waiting = waiting[: max(0, source.max_folders + 1 - len(kept))]
        tree.keep(kept)


def _touched(files: FileList, changed: Mapping[str, Stat]) -> FileList:
    """The same files with what is new of their stats."""
    new = {path: stat for path, stat in changed.items() if path in files.stats}
    return FileList(files.paths, files.notes, {**files.stats, **new}, files.links) if new else files


def _collect(source: Source, tree: Tree) -> FileList:
    stats: dict[str, Stat] = {}
    links: list[str] = []
    unnameable: set[str] = set()
    odd: set[str] = set()
    for path in sorted(source.chosen()):
        stat = tree.entries[path]
        if _UNNAMEABLE.search(path):
            unnameable.add(_UNNAMEABLE.sub("\N{REPLACEMENT CHARACTER}", path))
        elif stat.kind == "file":
            stats[path] = stat
        elif stat.kind == "symlink":
            links.append(path)
        else:
            odd.add(path)
    notes = [
        *source.notes(),
        *note("names with control characters or without an encoding, not listed", unnameable),
        *note("neither files nor folders, not listed", odd),
    ]
    return FileList(tuple(stats), tuple(notes), stats, tuple(links))
