"""Taking copies: which files need one, from where the exact bytes can be had again, and the hidden git snapshot.

Nothing larger than its budget is read. What git holds byte for byte is not copied; what git can see otherwise goes
into its object store as raw bytes; ignored files, nested repositories and folders without git go into our own store.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from regreen.errors import RegreenError
from regreen.git import Git, GitFault, common_dir
from regreen.snapshots import objects
from regreen.snapshots.manifest import Budget
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


def capture(store: Store, workspace: Workspace, git: Git | None, entries: Mapping[str, Stat], name: str) -> Capture:
    """Make every file of `entries` recoverable that the budgets allow, and the hidden snapshot `name` if git can."""
    taken = Capture()
    files = {p for p, s in entries.items() if s.kind in ("file", "symlink")}
    if git is not None:
        try:
            _with_git(store, workspace, git, entries, taken, name)
        except (GitFault, OSError):  # a read-only, damaged or full repository: our own store has to do
            taken = Capture()
            keep(store, workspace, VISIBLE.choose(files, entries), taken)
    keep(store, workspace, OTHER.choose(files - taken.sources.keys(), entries), taken)
    return taken


def keep(store: Store, workspace: Workspace, names: Iterable[str], taken: Capture) -> None:
    """Copy files into the store, in one write."""
    with store.transaction():
        for path in names:
            data = look(workspace, path)
            if data is not None:
                sha = store.put_blob(data)
                taken.sources[path] = f"blob:{sha}"
                taken.kept.add(sha)


def _with_git(
    store: Store, workspace: Workspace, git: Git, entries: Mapping[str, Stat], taken: Capture, name: str
) -> None:
    files = {p: s.size for p, s in entries.items() if s.kind in ("file", "symlink")}
    attributes = any(p.rpartition("/")[2] == ".gitattributes" for p in files)
    attributes = attributes or (common_dir(git.git_dir) / "info" / "attributes").exists()
    view = objects.view_index(git, files, attributes=attributes)
    taken.sources |= {path: f"git:{oid}" for path, oid in view.certain.items()}
    visible = (view.changed | set(git.untracked())) & files.keys()
    blobs: dict[str, bytes] = {}
    changes: dict[str, tuple[str, str]] = dict.fromkeys(view.deleted, ("", ""))
    for path in VISIBLE.choose(visible, entries):
        data = look(workspace, path)
        if data is not None:
            oid = objects.object_id(git, data)
            blobs[oid] = data
            changes[path] = (_tree_mode(entries[path]), oid)
            taken.sources[path] = f"git:{oid}"
    objects.write_objects(git, list(blobs.values()))
    keep(store, workspace, VISIBLE.choose(view.converted, entries), taken)
    made = objects.commit_tree(git, changes, store.folder / f"{name}.index", f"regreen {name}\n")
    objects.point_ref(git, name, made.commit)
    taken.tree, taken.commit = made.tree, made.commit


def _tree_mode(info: Stat) -> str:
    if info.kind == "symlink":
        return "120000"
    return "100755" if info.mode & stat.S_IXUSR else "100644"
