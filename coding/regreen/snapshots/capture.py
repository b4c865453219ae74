"""Taking copies: which files need one, from where the exact bytes can be had again, and the hidden git snapshot.

Nothing larger than its budget is read. What git holds byte for byte is not copied; what git can see otherwise goes
into its object store as raw bytes; ignored files, nested repositories and folders without git go into our own store.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from regreen.errors import RegreenError
from regreen.git import Git, GitFault, common_dir
from regreen.snapshots import objects
from regreen.snapshots.known import Known
from regreen.snapshots.manifest import Budget
from regreen.snapshots.objects import IndexCopy, IndexView, Listed
from regreen.store import Store
from regreen.workspace import FileImage, Stat, Workspace

_MIB = 1 << 20
VISIBLE = Budget(4 * _MIB, 64 * _MIB, 5_000)  # changed and untracked files
OTHER = Budget(1 * _MIB, 32 * _MIB, 2_000)  # ignored files, nested repositories, folders without git


@dataclass(slots=True)
class Capture:
    """Copies being taken for one snapshot: `sources` for its manifest, `kept` the blobs it holds on to."""

    sources: dict[str, str] = field(default_factory=dict[str, str])
    kept: set[str] = field(default_factory=set[str])
    tree: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Repository:
    """Git as it stood just before the tree was walked, and what is known of it from earlier.

    `listed` is the index, None where it is the one that is `known`. `head` is the commit checked out. `lost` are
    sources that are known and gone, `stores` the folders of the object store. `git_tree` and `commit` are there where
    the hidden snapshot has been made in advance, on the guess that nothing is changed.
    """

    git: Git
    index: IndexCopy
    known: Known
    head: str
    listed: Mapping[str, Listed] | None = None
    lost: frozenset[str] = frozenset()
    stores: Mapping[str, int] = field(default_factory=dict[str, int])
    git_tree: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A capture with git: what git surely holds, by path, and what is known of the repository now.

    `asked` are the files whose sources may differ from what was known.
    """

    capture: Capture
    certain: Mapping[str, str]
    known: Known
    asked: set[str]


def raw(image: FileImage) -> bytes | None:
    """The bytes to keep: a file's contents, a link's target; None for everything else."""
    if image.kind == "symlink":
        return os.fsencode(image.target)
    return image.data if image.kind == "file" else None


def look(workspace: Workspace, path: str) -> bytes | None:
    """The bytes at `path` now; None where there are none to keep, or they cannot be read."""
    try:
        return raw(workspace.image(path, follow=False))
    except RegreenError:
        return None


def capture(
    store: Store, workspace: Workspace, repository: Repository | None, entries: Mapping[str, Stat],
    moved: set[str], name: str,
) -> Found:  # fmt: skip
    """Make every file of `entries` recoverable that the budgets allow, and the hidden snapshot `name` if git can.

    `moved` are the paths that are not as `repository.known` has them.
    """
    files = {path: size for path, (size, _, _, _, _, kind) in entries.items() if kind in ("file", "symlink")}
    found = None
    if repository is not None:
        try:
            found = _Taking(store, workspace, repository, entries, files).take(moved, name)
        except (GitFault, OSError):  # a read-only, damaged or full repository: our own store has to do
            found = None
    if found is None:
        known = Known() if repository is None else repository.known
        known = Known(known.base, known.tree, without=frozenset(known.tree.sources))
        found = Found(Capture(), {}, known, set(files))
        if repository is not None:
            keep(store, workspace, VISIBLE.choose(files, entries), found.capture)
    keep(store, workspace, OTHER.choose(files.keys() - found.capture.sources.keys(), entries), found.capture)
    return found


def keep(
    store: Store, workspace: Workspace, names: Iterable[str], taken: Capture,
    *, held: Callable[[str, bytes], bool] = lambda _path, _data: False,
) -> None:  # fmt: skip
    """Copy files into the store, in one write; but for those whose bytes are `held` elsewhere."""
    chosen = list(names)
    if not chosen:
        return
    with store.transaction():
        for path in chosen:
            data = look(workspace, path)
            if data is None or held(path, data):
                continue
            sha = store.put_blob(data)
            taken.sources[path] = f"blob:{sha}"
            taken.kept.add(sha)


@dataclass(frozen=True, slots=True)
class _Taking:
    """One capture with git."""

    store: Store
    workspace: Workspace
    repository: Repository
    entries: Mapping[str, Stat]
    files: Mapping[str, int]

    def take(self, moved: set[str], name: str) -> Found:
        git, known, taken = self.repository.git, self.repository.known, Capture()
        certain, tracked = self._still_known(moved)
        asked = (self.files.keys() - certain.keys()) | (tracked - self.files.keys())
        view = self._ask(asked, tracked)
        certain |= {path: f"git:{oid}" for path, oid in view.certain.items()}
        certain |= self._keep_converted(view, taken)
        taken.sources |= certain
        changes = self._keep_visible(view, taken)
        if changes or not self.repository.commit:
            taken.tree = objects.write_tree(git, self.repository.index, changes)
            taken.commit = objects.commit_tree(git, taken.tree, self.repository.head, f"regreen {name}\n")
            objects.point_ref(git, name, taken.commit)
        else:
            taken.tree, taken.commit = self.repository.git_tree, self.repository.commit
        others = frozenset(tracked - certain.keys())
        now = Known(known.base, known.tree, self.repository.index.name, known.without, others,
                    stores=self.repository.stores, git_tree="" if changes else taken.tree)  # fmt: skip
        return Found(taken, certain, now, asked)

    def _still_known(self, moved: set[str]) -> tuple[dict[str, str], set[str]]:
        """The files that git surely holds without being asked, and all that git tracks and may have checked out."""
        known, listed = self.repository.known, self.repository.listed
        certain = known.certain(moved)
        if lost := self.repository.lost:
            certain = {path: source for path, source in certain.items() if source not in lost}
        if listed is None:
            return certain, known.tree.sources.keys() - known.without | known.others
        held = {path: "git:" + row.oid for path, row in listed.items() if row.tag == "H"}
        certain = {path: source for path, source in certain.items() if held.get(path) == source}
        return certain, {path for path, row in listed.items() if row.tag not in "Ss"}

    def _ask(self, asked: set[str], tracked: set[str]) -> IndexView:
        if not asked:
            return IndexView()
        git = self.repository.git

        def attributes() -> bool:
            there = any(p.rpartition("/")[2] == ".gitattributes" for p in (*self.files, *tracked))
            return there or (common_dir(git.git_dir) / "info" / "attributes").exists()

        return objects.view_index(git, self.repository.index, self.files, asked,
                                  listed=self.repository.listed, attributes=attributes)  # fmt: skip

    def _keep_converted(self, view: IndexView, taken: Capture) -> dict[str, str]:
        """What a filter may have made is git's own bytes after all (then it is returned), or is copied."""
        git, oids = self.repository.git, view.converted
        certain: dict[str, str] = {}

        def held(path: str, data: bytes) -> bool:
            if oids[path] and objects.object_id(git, data) == oids[path]:
                certain[path] = f"git:{oids[path]}"
            return path in certain

        keep(self.store, self.workspace, VISIBLE.choose(oids, self.entries), taken, held=held)
        return certain

    def _keep_visible(self, view: IndexView, taken: Capture) -> dict[str, tuple[str, str]]:
        """Put what git can see into its store; returns how the tree differs from the index."""
        git = self.repository.git
        blobs: dict[str, bytes] = {}
        changes: dict[str, tuple[str, str]] = dict.fromkeys(view.deleted, ("", ""))
        for path in VISIBLE.choose((view.changed | view.untracked) & self.files.keys(), self.entries):
            data = look(self.workspace, path)
            if data is not None:
                oid = objects.object_id(git, data)
                blobs[oid] = data
                changes[path] = (_tree_mode(self.entries[path]), oid)
                taken.sources[path] = f"git:{oid}"
        objects.write_objects(git, list(blobs.values()))
        return changes


def _tree_mode(info: Stat) -> str:
    if info.kind == "symlink":
        return "120000"
    return "100755" if info.mode & stat.S_IXUSR else "100644"
