"""What the run's own tests did to the tree: told by marks before and after each test run, and written down.

A mark is in the store before the tests start; so after a crash in the middle of a test run, the next start still
knows what the tree looked like when it began.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from regreen.errors import RegreenError
from regreen.git import Git
from regreen.snapshots.capture import Capture, keep, raw
from regreen.snapshots.manifest import Budget, Manifest, pack, same, unpack
from regreen.snapshots.objects import object_id
from regreen.store import Store
from regreen.workspace import FileImage, Stat, Workspace

_CHANGED_SINCE = Budget(8 << 20, 32 << 20, 1_000)  # copies of what was changed between snapshot and mark
UNKNOWN = "?"  # hash of what has none: too large to read, a folder, a device
FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class Mark:
    """The tree just before a test run, with where its bytes can be had."""

    snapshot: str
    created: float
    tree: Manifest


@dataclass(frozen=True, slots=True)
class SideEffects:
    """What a test run created, changed and deleted. Iterates over the paths."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[str]:
        return iter((*self.created, *self.changed, *self.deleted))

    def __len__(self) -> int:
        return len(self.created) + len(self.changed) + len(self.deleted)


@dataclass(frozen=True, slots=True)
class Effect:
    """One path that tests made from `before` (None: it was not there) into what has the hash `after_sha`."""

    seq: int
    path: str
    before: Stat | None
    source: str
    after_sha: str


def current(workspace: Workspace, path: str) -> FileImage | None:
    """What stands at `path`, links not followed; None where that cannot be read."""
    try:
        return workspace.image(path, follow=False)
    except RegreenError:
        return None


def hash_of(image: FileImage | None) -> str:
    """The hash of what stands there: "" for nothing, `folder`, or `?` for what has none."""
    if image is None or image.kind == "other":
        return UNKNOWN
    return FOLDER if image.kind == "directory" else image.sha256


class Ledger:
    """The store's rows about one snapshot's marks and effects."""

    def __init__(self, store: Store, workspace: Workspace, git: Git | None) -> None:
        self._store = store
        self._workspace = workspace
        self._git = git

    def open_mark(self, snapshot: str, base: Manifest, now: Mapping[str, Stat], created: float) -> Mark:
        """Write down the tree before a test run, with copies of what is no longer as in the snapshot."""
        sources = dict(base.sources)
        delta = Manifest(now, {}).changed_from(base)
        for path in delta:
            sources.pop(path, None)
        earlier = self.last_mark(snapshot, base)
        for path in delta.keys() & earlier.tree.sources.keys():
            if same(earlier.tree.entries.get(path), now.get(path)):
                sources[path] = earlier.tree.sources[path]
        taken = Capture()
        missing = [p for p, s in delta.items() if s and s.kind in ("file", "symlink") and p not in sources]
        with self._store.transaction() as db:
            keep(self._store, self._workspace, _CHANGED_SINCE.choose(missing, now), taken)
            sources |= taken.sources
            rows = {p: (*s, sources.get(p, "")) if s else None for p, s in delta.items()}
            db.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, 'open', ?)", (snapshot, created, pack(rows)))
            hold(self._store, snapshot, taken.kept)
        return Mark(snapshot, created, Manifest(now, sources))

    def last_mark(self, snapshot: str, base: Manifest, *, only_open: bool = False) -> Mark:
        """The newest mark; the snapshot itself where there is none. `created` 0 = none (or not open, if asked)."""
        state = "AND state = 'open'" if only_open else ""
        rows = self._store.rows(f"SELECT created, delta FROM marks WHERE snapshot = ? {state}", snapshot)
        if not rows:
            return Mark(snapshot, 0.0, base)
        entries, sources = dict(base.entries), dict(base.sources)
        for path, row in unpack(rows[0]["delta"]).items():
            entries.pop(path, None)
            sources.pop(path, None)
            if row is not None:
                entries[path] = Stat(*row[:6])
            if row is not None and row[6]:
                sources[path] = row[6]
        return Mark(snapshot, rows[0]["created"], Manifest(entries, sources))

    def record(self, mark: Mark, now: Mapping[str, Stat], ours: Mapping[str, str], until_s: float = 0.0) -> SideEffects:
        """Note as made by the tests what differs from `mark`, and close the mark.

        `ours` maps paths to hashes that the journal left there. What was changed after `until_s` (0 = no limit) is
        not the tests' doing either; what is missing counts as theirs, since giving it back takes nothing away.
        """
        delta = Manifest(now, {}).changed_from(mark.tree)
        found: dict[str, str] = {}
        for path, info in delta.items():
            if until_s and info is not None and info.ctime_ns > until_s * 1e9:
                continue
            before = mark.tree.entries.get(path)
            image = current(self._workspace, path)
            sha = hash_of(image)
            written = ours.get(path) == sha and (image is None or before is None or image.mode == before.mode)
            if written or _is_nothing(before, info, sha):
                continue
            if not self._equal(before, info, mark.tree.sources.get(path, ""), image):
                found[path] = sha
        with self._store.transaction() as db:
            for path, sha in found.items():
                self._note(mark, path, mark.tree.entries.get(path), sha)
            db.execute("UPDATE marks SET state = 'closed' WHERE snapshot = ?", (mark.snapshot,))
        return _summary(found, mark.tree)

    def _equal(self, before: Stat | None, info: Stat | None, source: str, image: FileImage | None) -> bool:
        """Whether kind, mode and bytes are as before; only times may differ. Without a copy, times tell too."""
        if before is None or info is None or (info.kind, info.mode) != (before.kind, before.mode):
            return False
        if not source:
            return info._replace(ctime_ns=0) == before._replace(ctime_ns=0)  # a new hard link, for one
        data = None if image is None else raw(image)
        if data is None:
            return False
        if source.startswith("git:"):
            return self._git is not None and source == f"git:{object_id(self._git, data)}"
        return source == f"blob:{hashlib.sha256(data).hexdigest()}"

    def _note(self, mark: Mark, path: str, before: Stat | None, sha: str) -> None:
        """Add one effect; one that goes on from what the tests had made earlier is joined to that."""
        source = mark.tree.sources.get(path, "")
        earlier = [e for e in self.effects(mark.snapshot, path) if e.after_sha != UNKNOWN]
        with self._store.transaction() as db:
            if earlier and earlier[-1].after_sha == _sha_of(before, source):
                db.execute("UPDATE side_effects SET after_sha = ? WHERE snapshot = ? AND seq = ?",
                           (sha, mark.snapshot, earlier[-1].seq))  # fmt: skip
                return
            db.execute(
                "INSERT INTO side_effects SELECT ?, COALESCE(MAX(seq), 0) + 1, ?, ?, ?, ? FROM side_effects"
                " WHERE snapshot = ?",
                (mark.snapshot, os.fsencode(path), pack(before), source, sha, mark.snapshot))  # fmt: skip

    def effects(self, snapshot: str, path: str = "") -> list[Effect]:
        """What is noted and not put back yet, oldest first."""
        one = "AND path = ?" if path else ""
        args = (snapshot, os.fsencode(path)) if path else (snapshot,)
        rows = self._store.rows(f"SELECT * FROM side_effects WHERE snapshot = ? {one} ORDER BY seq", *args)
        found: list[Effect] = []
        for row in rows:
            before = unpack(row["before"])
            stat = Stat(*before) if before else None
            found.append(Effect(row["seq"], os.fsdecode(row["path"]), stat, row["source"], row["after_sha"]))
        return found

    def settle(self, snapshot: str, effects: list[Effect]) -> None:
        """Forget these effects: they are put back."""
        with self._store.transaction() as db:
            db.executemany("DELETE FROM side_effects WHERE snapshot = ? AND seq = ?",
                           [(snapshot, e.seq) for e in effects])  # fmt: skip


def hold(store: Store, snapshot: str, shas: set[str]) -> None:
    """Keep blobs as long as the snapshot is there."""
    with store.transaction() as db:
        db.executemany("INSERT OR IGNORE INTO snapshot_blobs VALUES (?, ?)", [(snapshot, s) for s in shas])


def _sha_of(before: Stat | None, source: str) -> str:
    """The hash of what a mark saw, where it is known without reading."""
    if before is None:
        return ""
    if before.kind == "directory":
        return FOLDER
    return source.removeprefix("blob:") if source.startswith("blob:") and before.kind == "file" else UNKNOWN


def _is_nothing(before: Stat | None, info: Stat | None, sha: str) -> bool:
    """What needs no note: a folder that went or changed its mode, or what changed again while we looked."""
    if before is not None and before.kind == "directory" and sha in (FOLDER, ""):
        return True
    return (info is None) != (sha == "")


def _summary(found: Mapping[str, str], tree: Manifest) -> SideEffects:
    files = sorted(path for path, sha in found.items() if sha != FOLDER)
    created = tuple(p for p in files if p not in tree.entries)
    deleted = tuple(p for p in files if p in tree.entries and not found[p])
    changed = tuple(p for p in files if p in tree.entries and found[p])
    return SideEffects(created, changed, deleted)
