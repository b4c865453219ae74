"""Which part of the tree is recorded: all but installed dependencies and caches, of which only what git tracks.

A folder that was walked when the snapshot was taken is always walked again, and one that was passed over stays so,
whatever tests make of it meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from regreen.errors import RegreenError
from regreen.git import Git, GitFault
from regreen.snapshots.evidence import parents
from regreen.snapshots.looking import stats_of
from regreen.snapshots.manifest import Manifest, is_derived
from regreen.workspace import Stat, Workspace


@dataclass(frozen=True, slots=True)
class Walker:
    """Walks one workspace. `foreign` are folders that are nobody's work: git's own, the state folder."""

    workspace: Workspace
    git: Git | None
    foreign: frozenset[str]

    def first(self) -> tuple[dict[str, Stat], frozenset[str]]:
        """The tree as it is, and the folders that were passed over."""
        skipped: set[str] = set()
        found = self.workspace.scan(skip=lambda folder: self._skip(folder, (), (), skipped))
        return found | stats_of(self.workspace, self._tracked_below(skipped)), frozenset(skipped)

    def again(self, base: Manifest, passed_over: frozenset[str]) -> dict[str, Stat]:
        """The tree now, seen as when `base` was recorded."""
        skipped: set[str] = set()
        found = self.workspace.scan(skip=lambda folder: self._skip(folder, base.entries, passed_over, skipped))
        hidden = [path for path in base.entries if path not in found and _is_below(path, skipped | passed_over)]
        return found | stats_of(self.workspace, hidden)

    def _skip(self, folder: str, known: Collection[str], passed_over: Collection[str], skipped: set[str]) -> bool:
        if folder in self.foreign:
            return True
        if folder in known:
            return False
        if folder in passed_over or is_derived(folder) or self._is_environment(folder):
            skipped.add(folder)
            return True
        return False

    def _is_environment(self, folder: str) -> bool:
        try:
            return self.workspace.image_kind(folder + "/pyvenv.cfg") == "file"
        except RegreenError:  # a path too long, a folder without rights
            return False

    def _tracked_below(self, skipped: Collection[str]) -> list[str]:
        if self.git is None or not skipped:
            return []
        try:
            return [path for path in self.git.tracked() if _is_below(path, skipped)]
        except GitFault:
            return []


def _is_below(path: str, folders: Collection[str]) -> bool:
    return any(folder in folders for folder in parents(path))
