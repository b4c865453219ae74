"""Which part of the tree is recorded: all but installed dependencies and caches, of which only what git tracks, and
work trees inside it, which are roots of their own.

A folder that was walked when the snapshot was taken is always walked again, and one that was passed over stays so,
whatever tests make of it meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from regreen.errors import RegreenError
from regreen.git import Git, GitFault
from regreen.repo import linked_trees
from regreen.sandbox.nested import NAME
from regreen.snapshots.evidence import parents
from regreen.snapshots.looking import stats_of
from regreen.snapshots.manifest import Manifest, is_derived
from regreen.workspace import Stat, Workspace
from regreen.workspace.beneath import Folder
from regreen.workspace.looking import kind_of


class Watch(Protocol):
    """Who is told each folder of a walk, open, just before it is read."""

    def enter(self, path: str, folder: Folder) -> None: ...


@dataclass(frozen=True, slots=True)
class Walk:
    """The tree as it is; the folders that were passed over; of what is in these, that which git tracks; and, of the
    first walk, the folders that are repositories of their own."""

    entries: dict[str, Stat]
    passed_over: frozenset[str]
    hidden: frozenset[str]
    repositories: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Walker:
    """Walks one workspace. `foreign` are folders that are nobody's work: git's own, the state folder."""

    workspace: Workspace
    git: Git | None
    foreign: frozenset[str]

    def first(self, earlier: Walk | None = None) -> Walk:
        """The tree as it is. `earlier` is a walk since which the index has not changed."""
        skipped: set[str] = set()
        repositories: set[str] = set()

        def enter(folder: str, opened: Folder) -> bool:
            if folder and self._is_environment(folder, opened):
                skipped.add(folder)
                return False
            if folder and _holds_repository(opened):
                repositories.add(folder)
            return True

        trees = linked_trees(self.git)
        found = self.workspace.scan(skip=lambda folder: self._skip(folder, trees, skipped), enter=enter)
        if earlier is not None and earlier.passed_over == frozenset(skipped):
            hidden = earlier.hidden
        else:
            hidden = frozenset(self._tracked_below(skipped))
        return Walk(found | stats_of(self.workspace, sorted(hidden)) if hidden else found, frozenset(skipped), hidden,
                    frozenset(repositories))  # fmt: skip

    def again(self, base: Manifest, passed_over: frozenset[str], watch: Watch | None = None) -> Walk:
        """The tree now, seen as when `base` was recorded."""
        skipped: set[str] = set()
        known = base.entries
        passed_over |= linked_trees(self.git)

        def enter(folder: str, opened: Folder) -> bool:
            if folder and folder not in known and self._is_environment(folder, opened):
                skipped.add(folder)
                return False
            if watch is not None:
                watch.enter(folder, opened)
            return True

        def skip(folder: str) -> bool:
            return folder not in known and self._skip(folder, passed_over, skipped)

        found = self.workspace.scan(skip=skip, enter=enter)
        skipped |= passed_over
        hidden = [path for path in known if path not in found and _is_below(path, skipped)] if skipped else []
        return Walk(found | stats_of(self.workspace, hidden) if hidden else found, frozenset(skipped),
                    frozenset(hidden))  # fmt: skip

    def _skip(self, folder: str, passed_over: Collection[str], skipped: set[str]) -> bool:
        if folder in self.foreign:
            return True
        if folder in passed_over or is_derived(folder):
            skipped.add(folder)
            return True
        return False

    def _is_environment(self, folder: str, opened: Folder) -> bool:
        try:
            kind = kind_of(opened.stat("pyvenv.cfg"))
        except OSError:  # none, or a folder without rights
            return False
        try:
            return kind == "file" or (kind == "symlink" and self.workspace.image_kind(f"{folder}/pyvenv.cfg") == "file")
        except RegreenError:
            return False

    def _tracked_below(self, skipped: Collection[str]) -> list[str]:
        if self.git is None or not skipped:
            return []
        try:
            return [path for path in self.git.tracked() if _is_below(path, skipped)]
        except GitFault:
            return []


def _holds_repository(opened: Folder) -> bool:
    try:
        opened.stat(NAME)
    except OSError:
        return False
    return True


def _is_below(path: str, folders: Collection[str]) -> bool:
    return any(folder in folders for folder in parents(path))
