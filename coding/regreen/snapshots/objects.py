"""The git side of a snapshot: raw bytes into the object store, a tree through a private index, a hidden ref.

Bytes travel as a pack that we build ourselves, so no filter or line-end conversion can touch them, and git never
opens a file of the user's. The user's index is copied, never written; HEAD, branches and the stash are not named.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from regreen.git import Git, GitFault, common_dir

HIDDEN_REFS = "refs/regreen/"
_FILTERS = ("filter", "ident", "working-tree-encoding")
_PACKS = "pack"
_MOST_NAMED = 64  # paths that git is asked for by name; it is asked for everything where they are more
SETTLED_NS = 3_000_000_000  # what is younger may change once more with no sign of it, where times are coarse


@dataclass(frozen=True, slots=True)
class IndexCopy:
    """Our own copy of the user's index, with its times, by which git tells what it may trust. To be removed by us.

    `name` is another for every index that may differ from this one; "" = not known to be the same as any other.
    """

    file: Path
    name: str


def copy_index(git: Git, file: Path, now_s: float) -> IndexCopy:
    """Copy the index as it is now. Where there is none, neither is a copy, and git sees an empty one."""
    file.unlink(missing_ok=True)
    index = git.git_dir / "index"
    try:
        with index.open("rb") as opened:
            info = os.fstat(opened.fileno())
            data = opened.read()
            after = os.fstat(opened.fileno())
    except FileNotFoundError:
        return IndexCopy(file, "none")
    with file.open("xb") as copy:
        copy.write(data)
    os.utime(file, ns=(info.st_mtime_ns, info.st_mtime_ns))
    steady = (info.st_mtime_ns, info.st_ctime_ns, info.st_size) == (after.st_mtime_ns, after.st_ctime_ns, len(data))
    settled = now_s * 1e9 - info.st_ctime_ns > SETTLED_NS
    name = f"{info.st_ino} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_size} {data[-32:].hex()}"
    return IndexCopy(file, name if steady and settled else "")


def drop_copy(file: Path) -> None:
    for leftover in (file, file.with_name(file.name + ".lock")):
        leftover.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class IndexView:
    """What git knows of the files that it was asked for, by path from the root.

    `certain` maps a file to the object that holds its very bytes: unchanged by every stat field since git last
    looked, of the object's size, and with no filter or encoding in between. `converted` are unchanged files without
    that certainty, and what git has for them ("": it has lost it). `changed` are the other tracked files on disk,
    `deleted` those that are not there, `untracked` what git neither tracks nor ignores.
    """

    certain: Mapping[str, str] = field(default_factory=dict[str, str])
    converted: Mapping[str, str] = field(default_factory=dict[str, str])
    changed: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    untracked: frozenset[str] = frozenset()


class Listed(NamedTuple):
    """One entry of the index: its tag as git's `ls-files -v` gives it, mode and object."""

    tag: str
    mode: str
    oid: str


def list_index(git: Git, index: IndexCopy, paths: Sequence[str] = (".",)) -> dict[str, Listed]:
    """The entries under the root, by path from it. An unmerged path has one of its entries; submodules are out."""
    cut = len(os.fsencode(git.prefix))
    out = git.run("ls-files", "-z", "-v", "-s", "--full-name", "--", *paths, index=index.file)
    rows = (entry.partition(b"\t") for entry in out.split(b"\0") if entry)
    found: dict[str, Listed] = {}
    for info, _, name in rows:
        tag, mode, oid, _ = info.decode("ascii").split(" ")
        if mode != "160000":
            found[os.fsdecode(name[cut:])] = Listed(tag, mode, oid)
    return found


def view_index(
    git: Git, index: IndexCopy, sizes: Mapping[str, int], asked: Collection[str],
    *, listed: Mapping[str, Listed] | None, attributes: Callable[[], bool],
) -> IndexView:  # fmt: skip
    """Read the index against the files on disk (`sizes`, of regular files and links): of all `asked`, and no other.

    A file that git was told not to look at, or that is unmerged, is not clean. `attributes` tells whether the tree
    has `.gitattributes` at all. `listed` is the index, if it has been read already. The files must have been looked at
    before.
    """
    paths = sorted(asked) if len(asked) <= _MOST_NAMED else ["."]
    with ThreadPoolExecutor(2) as pool:
        differing = pool.submit(_differing, git, index, paths)
        others = pool.submit(_untracked, git, index, paths)
        if listed is None:
            listed = list_index(git, index, paths)
        states, untracked = differing.result(), others.result()
    tracked = {name: row for name, row in listed.items() if name in asked}
    present = tracked.keys() & sizes.keys()
    clean = {n: r.oid for n, r in tracked.items() if r.tag == "H" and n in present and n not in states}
    lengths = object_sizes(git, set(clean.values()))
    certain = {name: oid for name, oid in clean.items() if lengths.get(oid) == sizes[name]}
    if certain and (attributes() or git.has_drivers()):
        for name in _converted(git, sorted(certain)):
            del certain[name]
    gone = frozenset(name for name, state in states.items() if state == "D" and name not in sizes and name in asked)
    converted = {name: oid if oid in lengths else "" for name, oid in clean.items() if name not in certain}
    return IndexView(certain, converted, frozenset(present - clean.keys()), gone, untracked & frozenset(asked))


def _differing(git: Git, index: IndexCopy, paths: Sequence[str]) -> dict[str, str]:
    """Path from the root -> status letter of what the index does not know to be unchanged."""
    cut = len(git.prefix)
    fields = git.run("diff-files", "-z", "--raw", "--", *paths, index=index.file).split(b"\0")
    pairs = zip(fields[0::2], fields[1::2], strict=False)
    return {os.fsdecode(name)[cut:]: chr(meta[-1]) for meta, name in pairs if meta}


def _untracked(git: Git, index: IndexCopy, paths: Sequence[str]) -> frozenset[str]:
    out = git.run("ls-files", "-z", "--others", "--exclude-standard", "--", *paths, index=index.file)
    return frozenset(os.fsdecode(name) for name in out.split(b"\0") if name and not name.endswith(b"/"))


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


def object_folders(git: Git, now_s: float) -> dict[str, int]:
    """When each folder of the object store changed last: an object that goes shows there.

    0 for one that changed just now, or may be changed by others: where they lend their objects, for the packs.
    """
    folder = common_dir(git.git_dir) / "objects"
    before_ns = now_s * 1e9 - SETTLED_NS
    try:
        if (folder / "info" / "alternates").exists():
            return {_PACKS: 0}
        with os.scandir(folder) as entries:
            times = {e.name: e.stat().st_mtime_ns for e in entries if len(e.name) == 2 or e.name == _PACKS}
    except OSError:
        return {_PACKS: 0}
    return {name: time_ns if time_ns < before_ns else 0 for name, time_ns in times.items()}


def lost_sources(git: Git, sources: Iterable[str], before: Mapping[str, int], now: Mapping[str, int]) -> set[str]:
    """Those of `sources` that are not in the object store any more, told by what changed in its folders since."""
    changed = {name for name in {*before, *now, _PACKS} if not now.get(name) or before.get(name) != now[name]}
    asked = {source[4:] for source in sources if _PACKS in changed or source[4:6] in changed}
    return {f"git:{oid}" for oid in asked - object_sizes(git, asked).keys()}


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


def write_tree(git: Git, index: IndexCopy, changes: Mapping[str, tuple[str, str]]) -> str:
    """The whole tree as it is on disk: the index, with `changes` (path -> mode, object) laid over it.

    An empty mode takes the path out. Writes to the copy of the index.
    """
    gone = "0" * (64 if git.object_format() == "sha256" else 40)
    lines: list[bytes] = []
    for path, (mode, oid) in changes.items():
        name = os.fsencode(git.prefix + path)
        lines.append(f"0 {gone}\t".encode() + name + b"\0")  # first, since a path may be unmerged
        if mode:
            lines.append(f"{mode} {oid}\t".encode() + name + b"\0")
    if lines:
        git.run("update-index", "-z", "--index-info", stdin=b"".join(lines), index=index.file)
    return git.run("write-tree", "--missing-ok", index=index.file).decode("ascii").strip()


def commit_tree(git: Git, tree: str, head: str, label: str) -> str:
    """A commit of `tree` on top of `head` ("" = nothing). No ref points to it yet."""
    parent = ("-p", head) if head else ()
    return git.run("commit-tree", *parent, tree, stdin=label.encode()).decode("ascii").strip()


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
