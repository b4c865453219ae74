"""The git side of a snapshot: raw bytes into the object store, a tree through a private index, a hidden ref.

Bytes travel as a pack that we build ourselves, so no filter or line-end conversion can touch them, and git never
opens a file of the user's. The user's index is copied, never written; HEAD, branches and the stash are not named.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regreen.git import Git, GitFault, common_dir

HIDDEN_REFS = "refs/regreen/"
_FILTERS = ("filter", "ident", "working-tree-encoding")


@dataclass(frozen=True, slots=True)
class IndexView:
    """What the index knows of the folder, by path from the root.

    `certain` maps a file to the object that holds its very bytes: unchanged by every stat field since git last
    looked, of the object's size, and with no filter or encoding in between. `converted` are unchanged files without
    that certainty. `changed` are the other tracked files on disk, `deleted` those that are not there.
    """

    certain: Mapping[str, str]
    converted: frozenset[str]
    changed: frozenset[str]
    deleted: frozenset[str]


def view_index(git: Git, sizes: Mapping[str, int], *, attributes: bool) -> IndexView:
    """Read the index against the files on disk (`sizes`, of regular files and links).

    A file that git was told not to look at, or that is unmerged, is not clean. `attributes` tells whether the tree
    has `.gitattributes` at all.
    """
    cut = len(git.prefix)
    states = {name[cut:]: state for name, state in _differing(git).items()}
    entries = [(tag, mode, oid, name[cut:]) for tag, mode, oid, name in git.index_entries()]
    present = {name for _, mode, _, name in entries if mode != "160000" and name in sizes}
    clean = {name: oid for tag, _, oid, name in entries if tag == "H" and name in present and name not in states}
    lengths = object_sizes(git, set(clean.values()))
    certain = {name: oid for name, oid in clean.items() if lengths.get(oid) == sizes[name]}
    if attributes or git.has_drivers():
        for name in _converted(git, sorted(certain)):
            del certain[name]
    gone = frozenset(name for name, state in states.items() if state == "D" and name not in sizes)
    return IndexView(certain, frozenset(clean.keys() - certain.keys()), frozenset(present - clean.keys()), gone)


def _differing(git: Git) -> dict[str, str]:
    """Path from the top -> status letter of what the index does not know to be unchanged."""
    fields = git.run("diff-files", "-z", "--raw", "--", ".").split(b"\0")
    pairs = zip(fields[0::2], fields[1::2], strict=False)
    return {os.fsdecode(name): chr(meta[-1]) for meta, name in pairs if meta}


def object_sizes(git: Git, oids: Iterable[str]) -> dict[str, int]:
    """The length of every blob; an object that is missing, or no blob, is left out."""
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    if not asked:
        return {}
    out = git.run("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", "--buffer", stdin=asked)
    rows = (line.split(" ") for line in out.decode("ascii", "replace").splitlines())
    return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[1] == "blob"}


def _converted(git: Git, names: Sequence[str]) -> set[str]:
    """The files whose bytes on disk a filter or an encoding may have made from others."""
    stdin = b"".join(os.fsencode(name) + b"\0" for name in names)
    if not stdin:
        return set()
    fields = git.run("check-attr", "-z", "--stdin", *_FILTERS, stdin=stdin).split(b"\0")
    rows = zip(fields[0::3], fields[2::3], strict=False)
    return {os.fsdecode(name) for name, value in rows if value not in (b"unspecified", b"unset")}


def read_object(git: Git, oid: str, max_bytes: int) -> bytes:
    """A blob's bytes. Raises GitFault where it is missing or longer than `max_bytes`."""
    return git.run("cat-file", "blob", oid, max_bytes=max_bytes)


def object_id(git: Git, data: bytes) -> str:
    """The name that git gives to a blob of `data`."""
    return _digest(git, b"blob %d\0" % len(data) + data).hex()


def _digest(git: Git, data: bytes) -> bytes:
    name = "sha256" if git.object_format() == "sha256" else "sha1"
    return hashlib.new(name, data, usedforsecurity=False).digest()


def write_objects(git: Git, blobs: Sequence[bytes]) -> None:
    """Put raw bytes into the object store, as loose objects."""
    if not blobs:
        return
    parts = [b"PACK", (2).to_bytes(4, "big"), len(blobs).to_bytes(4, "big")]
    for data in blobs:
        parts += [_entry_head(len(data)), zlib.compress(data, 1)]
    pack = b"".join(parts)
    git.run("unpack-objects", "-q", stdin=pack + _digest(git, pack))


def _entry_head(size: int) -> bytes:
    """A pack entry's type (blob = 3) and size: four bits in the first byte, seven in each that follows."""
    head = bytearray()
    byte, size = (3 << 4) | (size & 15), size >> 4
    while size:
        head.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    head.append(byte)
    return bytes(head)


@dataclass(frozen=True, slots=True)
class TreeCommit:
    tree: str
    commit: str


def commit_tree(git: Git, changes: Mapping[str, tuple[str, str]], private_index: Path, label: str) -> TreeCommit:
    """A commit of the whole tree as it is on disk: the index, with `changes` (path -> mode, object) laid over it.

    An empty mode takes the path out. No ref points to the commit yet.
    """
    index = git.git_dir / "index"
    private_index.unlink(missing_ok=True)
    if index.exists():
        shutil.copyfile(index, private_index)
    try:
        gone = "0" * (64 if git.object_format() == "sha256" else 40)
        lines: list[bytes] = []
        for path, (mode, oid) in changes.items():
            name = os.fsencode(git.prefix + path)
            lines.append(f"0 {gone}\t".encode() + name + b"\0")  # first, since a path may be unmerged
            if mode:
                lines.append(f"{mode} {oid}\t".encode() + name + b"\0")
        git.run("update-index", "-z", "--index-info", stdin=b"".join(lines), index=private_index)
        tree = git.run("write-tree", "--missing-ok", index=private_index).decode("ascii").strip()
        head = git.head()
        parent = ("-p", head) if head else ()
        commit = git.run("commit-tree", *parent, tree, stdin=label.encode()).decode("ascii").strip()
        return TreeCommit(tree, commit)
    finally:
        for leftover in (private_index, private_index.with_name(private_index.name + ".lock")):
            leftover.unlink(missing_ok=True)


def point_ref(git: Git, name: str, commit: str) -> None:
    """Make the hidden ref, which keeps the objects from being collected."""
    git.run("update-ref", "--no-deref", HIDDEN_REFS + name, commit)


def drop_ref(git: Git, name: str) -> bool:
    """Remove the hidden ref. False: it is still there. One that is gone already, with its repository too, is fine."""
    ref = HIDDEN_REFS + name
    try:
        git.run("update-ref", "--no-deref", "-d", ref)
    except GitFault:
        with contextlib.suppress(GitFault):
            return not git.commit(ref)
    with contextlib.suppress(OSError):  # git leaves the folder; it stays while another run's ref is in it
        (common_dir(git.git_dir) / HIDDEN_REFS).rmdir()
    return True


def sweep_refs(git: Git, known: Collection[str]) -> None:
    """Remove hidden refs that stand for no snapshot that is `known`: what a lost state folder left."""
    with contextlib.suppress(GitFault):
        lines = git.run("for-each-ref", "--format=%(refname)", HIDDEN_REFS).decode("utf-8", "replace").splitlines()
        for name in (line.removeprefix(HIDDEN_REFS) for line in lines):
            if name not in known:
                drop_ref(git, name)
