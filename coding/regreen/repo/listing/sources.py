"""Who decides which files of a tree are listed: git, or without it the tree's ignore files.

A source answers from what it knew when it was made. `since_ns` is that time: what changed later needs another answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Protocol

from regreen.git import Git
from regreen.repo.listing import git_listing
from regreen.repo.listing.git_listing import Decider
from regreen.repo.listing.ignoring import GIT_IGNORE, OWN_IGNORE, Ignores
from regreen.repo.listing.tree import RACE_NS, Seen, Tree
from regreen.workspace import Workspace

DEPENDENCY_FOLDERS = frozenset({
    "node_modules", "bower_components", "__pycache__", "__pypackages__", ".venv", "venv", ".tox", ".nox", ".eggs",
    ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".hg", ".svn", ".bzr", ".jj", ".regreen",
})  # fmt: skip
MAX_FOLDERS = 100_000  # of a walk without Git

_SHOWN = 5  # names in a note
_DEPENDENCIES = "dependency folders that are not listed"
_LEFT_OUT = f"left out by {OWN_IGNORE}"


class Source(Protocol):
    """Decides. `git` is whom it asked; None for a walk by ignore files."""

    git: Git | None
    since_ns: int
    max_folders: int

    def is_outdated(self) -> bool:
        """Whether anything outside of the tree that decides may have changed since."""
        ...

    def must_ask(self, folder: str, before: Seen | None, now: Seen | None, /) -> bool:
        """Whether what came into a folder is unknown here."""
        ...

    def enters(self, folders: Iterable[str]) -> set[str]:
        """Those of these folders in which there may be files to list."""
        ...

    def is_fenced(self, folder: str) -> bool:
        """Whether a folder, which was read, is watched only: nothing in it is listed, its folders are not entered."""
        ...

    def chosen(self) -> Iterator[str]:
        """The paths to be listed that are there."""
        ...

    def notes(self) -> list[str]:
        """What is left out, and why."""
        ...


def is_dependencies(folder: str, tree: Tree) -> bool:
    """Whether a folder, which was read, has installed packages, by its name or as a virtual environment."""
    return folder.rpartition("/")[2] in DEPENDENCY_FOLDERS or f"{folder}/pyvenv.cfg" in tree.entries


def note(what: str, names: Iterable[str]) -> list[str]:
    """A sentence that names the first few; none for nothing."""
    ordered = sorted(names)
    if not ordered:
        return []
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return [f"{what}: {', '.join(ordered[:_SHOWN])}{more}"]


class GitSource:
    """What git tracks or would track, less dependency folders that hold nothing tracked.

    `inside`: submodules are listed, too, each by its own rules.
    """

    max_folders = 0

    def __init__(self, workspace: Workspace, tree: Tree, git: Git, *, inside: bool) -> None:
        self.git: Git | None = git
        self.since_ns = time.time_ns()
        self._tree = tree
        self._inside = inside
        self._repositories: dict[str, Git] = {}
        self._deciders: list[Decider] = []
        self._listed: set[str] = set()
        self._tracked: list[str] = []
        self._submodules: set[str] = set()
        self._nested: set[str] = set()
        self._sparse: set[str] = set()
        self._ask(git, "")
        self._above = _folders_of(self._listed)
        self._holding = _folders_of(self._tracked)
        self._ignored: dict[str, bool] = {}
        self._own = Ignores(workspace, OWN_IGNORE, tree.entries)
        self._left_out: set[str] = set()

    def _ask(self, git: Git, prefix: str) -> None:
        self._repositories[prefix] = git
        self._deciders += git_listing.deciders(git)
        found = git_listing.ask(git)
        tracked = [prefix + path for path in found.tracked] if prefix else found.tracked
        self._tracked += tracked
        self._listed.update(tracked)
        self._sparse.update(prefix + path for path in found.sparse)
        self._nested.update(prefix + path for path in found.nested)
        self._listed.update(prefix + path for path in found.untracked if not _is_in_dependencies(path))
        for path in set(found.submodules):
            inner = git_listing.submodule(git, path) if self._inside else None
            if inner is None:
                self._submodules.add(prefix + path)
            else:
                self._ask(inner, f"{prefix}{path}/")

    def is_outdated(self) -> bool:
        since = self.since_ns - RACE_NS
        return any(
            git_listing.signature(decider.path) != decider.signature
            or (decider.signature is not None and max(decider.signature[2:]) >= since)
            for decider in self._deciders
        )

    def must_ask(self, folder: str, before: Seen | None, now: Seen | None, /) -> bool:
        if now is None:
            return False
        if before is None or before.repository != now.repository:
            return True
        environment = f"{folder}/pyvenv.cfg"
        if (environment in before.names) != (environment in now.names):
            return True
        return not self.is_fenced(folder) and self._has_unknown(before, now)

    def _has_unknown(self, before: Seen, now: Seen) -> bool:
        known = set(before.below)
        if any(folder not in known and not self._ignored.get(folder) for folder in now.below):
            return True
        since, names = self.since_ns - RACE_NS, set(before.names)
        return any(
            path not in self._listed and (path not in names or self._tree.entries[path].ctime_ns >= since)
            for path in now.names
        )

    def enters(self, folders: Iterable[str]) -> set[str]:
        entered: set[str] = set()
        unsure: list[str] = []
        for folder in folders:
            if (folder in self._submodules and not self._inside) or self._own_leaves_out(folder, is_folder=True):
                continue
            if folder in self._above or folder in self._nested or folder in self._submodules:
                entered.add(folder)
            elif folder not in self._ignored:
                unsure.append(folder)
            elif not self._ignored[folder]:
                entered.add(folder)
        if unsure:
            self._ask_about(unsure)
            entered.update(folder for folder in unsure if not self._ignored[folder])
        return entered

    def _ask_about(self, folders: list[str]) -> None:
        asked: dict[str, list[str]] = {}
        for folder in folders:
            prefix = max((p for p in self._repositories if folder.startswith(p)), key=len)
            asked.setdefault(prefix, []).append(folder)
        for prefix, inner in asked.items():
            paths = [folder.removeprefix(prefix) for folder in inner]
            ignored = self._repositories[prefix].ignored([p for p in paths if p], ())
            self._ignored.update((prefix + path, path in ignored) for path in paths)

    def is_fenced(self, folder: str) -> bool:
        if folder in self._holding:
            return False
        return folder in self._nested or is_dependencies(folder, self._tree)

    def chosen(self) -> Iterator[str]:
        fenced = {folder for folder in self._tree.folders if folder and self.is_fenced(folder)}
        there = (path for path in self._listed if path in self._tree.entries)
        if fenced:
            there = (path for path in there if path.rpartition("/")[0] not in fenced)
        return there if not _has_own(self._tree) else (path for path in there if not self._own_leaves_out(path))

    def _own_leaves_out(self, path: str, *, is_folder: bool = False) -> bool:
        if out := self._own.ignored(path, is_folder=is_folder):
            self._left_out.add(path)
        return out

    def notes(self) -> list[str]:
        missing = sum(path not in self._tree.entries for path in self._sparse)
        return [
            *self._dependencies(),
            *note("submodules, not listed", self._submodules),
            *note("repositories of their own, not listed", self._nested & self._tree.folders.keys()),
            *note(_LEFT_OUT, _present(self._left_out, self._tree)),
            *([f"not checked out (sparse checkout): {missing} file{'' if missing == 1 else 's'}"] if missing else []),
        ]

    def _dependencies(self) -> list[str]:
        """Those that git does not ignore; it may by their own rules, and these are seldom there for anything else."""
        tree = self._tree
        fenced = (f for f in tree.folders if f and f not in self._nested and self.is_fenced(f))
        return note(_DEPENDENCIES, (f for f in fenced if f"{f}/{GIT_IGNORE}" not in tree.entries))


class WalkSource:
    """Everything that no ignore file leaves out, less dependency folders. `why`: git should have been asked instead."""

    max_folders = MAX_FOLDERS

    def __init__(self, workspace: Workspace, tree: Tree, git: Git | None, why: str = "") -> None:
        self.git = git
        self.since_ns = time.time_ns()
        self._tree = tree
        self._why = why
        self._ignores = Ignores(workspace, GIT_IGNORE, tree.entries)
        self._own = Ignores(workspace, OWN_IGNORE, tree.entries)
        self._left_out: set[str] = set()

    def is_outdated(self) -> bool:
        return bool(self._why)  # git may be able to answer again

    def must_ask(self, _folder: str, _before: Seen | None, _now: Seen | None, /) -> bool:
        return False

    def enters(self, folders: Iterable[str]) -> set[str]:
        return {folder for folder in folders if not self._leaves_out(folder, is_folder=True)}

    def _leaves_out(self, path: str, *, is_folder: bool = False) -> bool:
        if self._ignores.ignored(path, is_folder=is_folder):
            return True
        if self._own.ignored(path, is_folder=is_folder):
            self._left_out.add(path)
            return True
        return False

    def is_fenced(self, folder: str) -> bool:
        return is_dependencies(folder, self._tree)

    def chosen(self) -> Iterator[str]:
        for folder, seen in self._tree.folders.items():
            if folder and self.is_fenced(folder):
                continue
            if self._ignores.chain(folder) or self._own.chain(folder):
                yield from (path for path in seen.names if not self._leaves_out(path))
            else:
                yield from seen.names

    def notes(self) -> list[str]:
        return [
            *([self._why] if self._why else []),
            *note(_DEPENDENCIES, (f for f in self._tree.folders if f and self.is_fenced(f))),
            *note(_LEFT_OUT, _present(self._left_out, self._tree)),
            *(
                [f"more than {MAX_FOLDERS} folders: the rest is not listed"]
                if len(self._tree.folders) > MAX_FOLDERS
                else []
            ),
        ]


def _has_own(tree: Tree) -> bool:
    return any((f"{folder}/{OWN_IGNORE}" if folder else OWN_IGNORE) in tree.entries for folder in tree.folders)


def _present(paths: set[str], tree: Tree) -> set[str]:
    """Those of these files and folders that there are."""
    if not paths:
        return paths
    return paths & (tree.entries.keys() | {folder for seen in tree.folders.values() for folder in seen.below})


def _folders_of(paths: Iterable[str]) -> set[str]:
    """All folders that these paths lie in."""
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def _is_in_dependencies(path: str) -> bool:
    return not DEPENDENCY_FOLDERS.isdisjoint(path.split("/")[:-1])
