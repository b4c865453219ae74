"""Taking a snapshot: the tree is walked while git is asked where it stands; what is known from before is not asked.

The index is copied before the walk begins, and files are compared with it after the walk: so an object that git then
has for a file is what the file was when it was walked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from regreen.git import Git, GitFault
from regreen.sandbox import nested
from regreen.snapshots import objects
from regreen.snapshots.capture import Repository, capture
from regreen.snapshots.heads import Heads
from regreen.snapshots.inner_heads import inner_heads
from regreen.snapshots.known import Trees
from regreen.snapshots.manifest import Manifest
from regreen.snapshots.objects import IndexCopy
from regreen.snapshots.walking import Walk, Walker
from regreen.store import Store
from regreen.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot that is taken, but not in the store yet. `record` is its manifest, as bytes for the store."""

    manifest: Manifest
    record: bytes
    passed_over: frozenset[str]
    heads: Heads | None
    inner: dict[str, list[str]]
    tree: str
    commit: str
    kept: set[str]
    is_new_tree: bool


@dataclass(frozen=True, slots=True)
class Taker:
    """Takes snapshots of one workspace."""

    store: Store
    workspace: Workspace
    git: Git | None
    walker: Walker
    trees: Trees
    clock: Callable[[], float]

    def take(self, name: str, begin: Callable[[], None]) -> Taken:
        """Take the snapshot `name`; `begin` is called before anything of it is left anywhere."""
        begun_s, known = self.clock(), self.trees.known
        file = self.trees.place(f"{name}.index")
        try:
            index = self._copy(file, begun_s)
            same = index is not None and index.name != "" and index.name == known.index
            with ThreadPoolExecutor(1) as aside:
                stood = aside.submit(self._stand, name, index, same, begin)
                walk = self.walker.first(Walk({}, known.passed_over, known.hidden) if same else None)
                nested.tell(self.workspace.root, (f"{folder}/{nested.NAME}" for folder in walk.repositories))
                moved = known.moved(walk.entries)
                heads, repository = stood.result()
            inner = inner_heads(self.workspace.root, walk.repositories)
            found = capture(self.store, self.workspace, repository, walk.entries, moved, name)
        finally:
            objects.drop_copy(file)
        manifest = Manifest(walk.entries, found.capture.sources)
        now = replace(found.known, passed_over=walk.passed_over, hidden=walk.hidden)
        record = self.trees.record(manifest, found.certain, now, moved, found.asked, begun_s)
        return Taken(manifest, record, walk.passed_over, heads, inner, found.capture.tree, found.capture.commit,
                     found.capture.kept, self.trees.known.base != known.base)  # fmt: skip

    def _copy(self, file: Path, now_s: float) -> IndexCopy | None:
        if self.git is None:
            return None
        try:
            return objects.copy_index(self.git, file, now_s)
        except OSError:
            return None

    def _stand(
        self, name: str, index: IndexCopy | None, same: bool, begin: Callable[[], None]
    ) -> tuple[Heads | None, Repository | None]:
        """Where git stands. If the index is the one that is known, also the hidden snapshot of it, made in advance."""
        begin()
        heads = Heads.of(self.git)
        if self.git is None or index is None:
            return heads, None
        try:
            return heads, self._repository(self.git, index, heads, name if same else "")
        except GitFault:
            return heads, None

    def _repository(self, git: Git, index: IndexCopy, heads: Heads | None, same_for: str) -> Repository:
        known = self.trees.known
        head = heads.commit if heads is not None else git.head()
        stores = objects.object_folders(git, self.clock())  # before it is asked what they hold
        lost = objects.lost_sources(git, known.tree.sources.values(), known.stores, stores)
        repository = Repository(git, index, known, head, lost=frozenset(lost), stores=stores)
        if not same_for:
            return replace(repository, listed=objects.list_index(git, index))
        if not known.git_tree:
            return repository
        with contextlib.suppress(GitFault):
            commit = objects.commit_tree(git, known.git_tree, head, f"regreen {same_for}\n")
            objects.point_ref(git, same_for, commit)
            return replace(repository, git_tree=known.git_tree, commit=commit)
        return repository
