"""What changed in the tree while the run's tests ran: told by marks before and after each test run, and written down.

A mark is in the store before the tests start; so after a crash in the middle of a test run, the next start still
knows what the tree looked like when it began. Whether the tests did it is told by the evidence, at any later time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from regreen.git import Git, GitFault
from regreen.snapshots.capture import Capture, keep, raw
from regreen.snapshots.evidence import Evidence, Witness
from regreen.snapshots.looking import FOLDER, SPECIAL, UNKNOWN, current, hash_of
from regreen.snapshots.manifest import Budget, Manifest, pack, same, unpack
from regreen.snapshots.objects import object_id
from regreen.store import Store
from regreen.workspace import FileImage, Stat, Workspace

_CHANGED_SINCE = Budget(8 << 20, 32 << 20, 1_000)  # copies of what was changed between snapshot and mark
_SURE, _DOUBTED, _LATE = 0, 1, 2
Landed: TypeAlias = Callable[[], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Mark:
    """The tree just before a test run, with where its bytes can be had."""

    snapshot: str
    created: float
    tree: Manifest
    alive: float = 0.0  # when the tests were last heard of


@dataclass(frozen=True, slots=True)
class SideEffects:
    """What tests created, changed and deleted. Iterates over these paths.

    `unsure` is what may be somebody else's; `ignored` too, and git ignores it.
    """

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[str]:
        return iter((*self.created, *self.changed, *self.deleted))

    def __len__(self) -> int:
        return len(self.created) + len(self.changed) + len(self.deleted)


@dataclass(frozen=True, slots=True)
class Effect:
    """One path that was made from `before` (None: it was not there) into what has the hash `after_sha`.

    `late`: changed after a dead run's last sign of life. `doubted`: nothing spoke for the tests when it was noted.
    """

    seq: int
    path: str
    before: Stat | None
    source: str
    after_sha: str
    doubted: bool = False
    late: bool = False

    @property
    def of_folder(self) -> bool:
        return self.after_sha == FOLDER or (self.before is not None and self.before.kind == "directory")

    def is_of_tests(self, evidence: Evidence) -> bool:
        return not self.late and evidence.shows(self.path, folder=self.of_folder)


class Ledger:
    """The store's rows about one snapshot's marks and effects."""

    def __init__(self, store: Store, workspace: Workspace, git: Git | None) -> None:
        self._store = store
        self._workspace = workspace
        self._git = git
        self.witness = Witness(store, workspace)
        self._ended: tuple[str, Mapping[str, Stat]] = ("", {})  # the tree after the last test run

    def open_mark(self, snapshot: str, base: Manifest, now: Mapping[str, Stat], ours: Landed, created: float) -> Mark:
        """Write down the tree before a test run, with copies of what is no longer as in the snapshot."""
        others = self._changed_by_others(snapshot, base, now, ours)
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
            self.witness.note_others(snapshot, others)
            keep(self._store, self._workspace, _CHANGED_SINCE.choose(missing, now), taken)
            sources |= taken.sources
            rows = {p: (*s, sources.get(p, "")) if s else None for p, s in delta.items()}
            db.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, 'open', ?, 0)", (snapshot, created, pack(rows)))
            hold(self._store, snapshot, taken.kept)
        return Mark(snapshot, created, Manifest(now, sources))

    def last_mark(self, snapshot: str, base: Manifest, *, only_open: bool = False) -> Mark:
        """The newest mark; the snapshot itself where there is none. `created` 0 = none (or not open, if asked)."""
        state = "AND state = 'open'" if only_open else ""
        rows = self._store.rows(f"SELECT created, delta, alive FROM marks WHERE snapshot = ? {state}", snapshot)
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
        return Mark(snapshot, rows[0]["created"], Manifest(entries, sources), rows[0]["alive"])

    def _changed_by_others(self, snapshot: str, base: Manifest, now: Mapping[str, Stat], ours: Landed) -> list[str]:
        """What recurs, and is neither as the last test run left it nor as we do: back in order, or edited."""
        name, ended = self._ended
        others: list[str] = []
        for path in self.witness.counted(snapshot) if name == snapshot else ():
            info, before = now.get(path), base.entries.get(path)
            if info == ended.get(path) or (info is not None and info.kind == "directory"):
                continue
            image = current(self._workspace, path)
            in_order = info is None if before is None else self._equal(before, info, base.sources.get(path, ""), image)
            if not in_order and ours().get(path) != hash_of(image):
                others.append(path)
        return others

    def record(self, mark: Mark, now: Mapping[str, Stat], ours: Landed, until_s: float = 0.0) -> SideEffects:
        """Note what differs from `mark`, and close the mark.

        `ours` tells the hashes that the journal left, by path. A run that died (`until_s`: its last sign of life)
        is no test run to the end: it does not count for what recurs, and what was changed after that is late.
        """
        found: dict[str, str] = {}
        again: dict[str, str] = {}
        late: set[str] = set()
        for path, info in Manifest(now, {}).changed_from(mark.tree).items():
            before = mark.tree.entries.get(path)
            image = current(self._workspace, path)
            sha = hash_of(image)
            written = ours().get(path) == sha and (image is None or before is None or image.mode == before.mode)
            if written or _is_nothing(before, info, sha):
                continue
            if self._equal(before, info, mark.tree.sources.get(path, ""), image):
                again[path] = sha
                continue
            found[path] = sha
            # What is gone has no time; to bring it back loses nothing.
            if until_s and info is not None and info.kind != "directory" and info.ctime_ns > until_s * 1e9:
                late.add(path)
        with self._store.transaction() as db:
            if not until_s:
                self.witness.note_changed(mark.snapshot, found, again)
            self.witness.note_whole(mark.snapshot, mark.tree.entries, now)
            evidence = self.witness.evidence(mark.snapshot)
            known = self._by_path(mark.snapshot)
            for path, sha in found.items():
                sure = evidence.shows(path, folder=_of_folder(mark.tree.entries.get(path), sha))
                doubt = _LATE if path in late else _SURE if sure else _DOUBTED
                self._note(mark, path, sha, doubt, known.get(path, []))
            db.execute("UPDATE marks SET state = 'closed' WHERE snapshot = ?", (mark.snapshot,))
        self._ended = (mark.snapshot, now)
        return self._summary(mark, [*found, *again], evidence)

    def ignored(self, paths: Collection[str]) -> set[str]:
        """Those of `paths` that git ignores."""
        if paths and self._git is not None:
            with contextlib.suppress(GitFault):
                return self._git.ignored(paths)
        return set()

    def _equal(self, before: Stat | None, info: Stat | None, source: str, image: FileImage | None) -> bool:
        """Whether kind, mode and bytes are as before; only times may differ. Without a copy, times tell too."""
        if before is None or info is None or (info.kind, info.mode) != (before.kind, before.mode):
            return False
        if not source:
            return info._replace(ctime_ns=0) == before._replace(ctime_ns=0)  # a new hard link, for one
        return self.is_source(source, None if image is None else raw(image))

    def is_source(self, source: str, data: bytes | None) -> bool:
        """Whether these are the bytes that a manifest's source stands for."""
        if data is None:
            return False
        if source.startswith("git:"):
            return self._git is not None and source == f"git:{object_id(self._git, data)}"
        return source == f"blob:{hashlib.sha256(data).hexdigest()}"

    def _note(self, mark: Mark, path: str, sha: str, doubt: int, known: list[Effect]) -> None:
        """Add one effect; one that goes on from what the tests had surely made earlier is joined to that."""
        before, source = mark.tree.entries.get(path), mark.tree.sources.get(path, "")
        earlier = [e for e in known if e.after_sha != UNKNOWN]
        joined = doubt == _SURE and bool(earlier) and not (earlier[-1].doubted or earlier[-1].late)
        with self._store.transaction() as db:
            if joined and earlier[-1].after_sha == _sha_of(before, source):
                db.execute("UPDATE side_effects SET after_sha = ? WHERE snapshot = ? AND seq = ?",
                           (sha, mark.snapshot, earlier[-1].seq))  # fmt: skip
                return
            db.execute(
                "INSERT INTO side_effects SELECT ?, COALESCE(MAX(seq), 0) + 1, ?, ?, ?, ?, ? FROM side_effects"
                " WHERE snapshot = ?",
                (mark.snapshot, os.fsencode(path), pack(before), source, sha, doubt, mark.snapshot))  # fmt: skip

    def effects(self, snapshot: str) -> list[Effect]:
        """What is noted and not put back yet, oldest first."""
        found: list[Effect] = []
        for row in self._store.rows("SELECT * FROM side_effects WHERE snapshot = ? ORDER BY seq", snapshot):
            before = unpack(row["before"])
            stat = Stat(*before) if before else None
            found.append(Effect(row["seq"], os.fsdecode(row["path"]), stat, row["source"], row["after_sha"],
                                row["doubt"] == _DOUBTED, row["doubt"] == _LATE))  # fmt: skip
        return found

    def sure(self, snapshot: str) -> list[Effect]:
        """Those of the effects that are the tests' doing, as far as is known now."""
        evidence = self.witness.evidence(snapshot)
        return [e for e in self.effects(snapshot) if e.is_of_tests(evidence)]

    def settle(self, snapshot: str, effects: list[Effect]) -> None:
        """Forget these effects: they are put back."""
        with self._store.transaction() as db:
            db.executemany("DELETE FROM side_effects WHERE snapshot = ? AND seq = ?",
                           [(snapshot, e.seq) for e in effects])  # fmt: skip

    def _by_path(self, snapshot: str) -> dict[str, list[Effect]]:
        found: dict[str, list[Effect]] = {}
        for effect in self.effects(snapshot):
            found.setdefault(effect.path, []).append(effect)
        return found

    def _summary(self, mark: Mark, changed: list[str], evidence: Evidence) -> SideEffects:
        """Of what changed in this test run, what is noted: also what an earlier one did, if that is clear only now."""
        rows = self._by_path(mark.snapshot)
        lasts = {p: rows[p][-1] for p in sorted(changed) if p in rows}
        lasts = {p: e for p, e in lasts.items() if not e.of_folder or e.after_sha not in ("", FOLDER)}
        sure = {p: rows[p][0].before is not None for p, e in lasts.items() if e.is_of_tests(evidence)}
        unsure = [p for p in lasts if p not in sure]
        ignored = self.ignored(unsure)
        return SideEffects(
            tuple(p for p, was in sure.items() if not was and lasts[p].after_sha),
            tuple(p for p, was in sure.items() if was and lasts[p].after_sha),
            tuple(p for p, was in sure.items() if was and not lasts[p].after_sha),
            tuple(p for p in unsure if p not in ignored), tuple(p for p in unsure if p in ignored))  # fmt: skip


def hold(store: Store, snapshot: str, shas: set[str]) -> None:
    """Keep blobs as long as the snapshot is there."""
    with store.transaction() as db:
        db.executemany("INSERT OR IGNORE INTO snapshot_blobs VALUES (?, ?)", [(snapshot, s) for s in shas])


def _of_folder(before: Stat | None, sha: str) -> bool:
    return sha == FOLDER or (before is not None and before.kind == "directory")


def _sha_of(before: Stat | None, source: str) -> str:
    """The hash of what a mark saw, where it is known without reading."""
    if before is None:
        return ""
    if before.kind in ("directory", "other"):
        return FOLDER if before.kind == "directory" else SPECIAL
    return source.removeprefix("blob:") if source.startswith("blob:") and before.kind == "file" else UNKNOWN


def _is_nothing(before: Stat | None, info: Stat | None, sha: str) -> bool:
    """What needs no note: a folder that changed its mode, or what changed again while we looked."""
    if before is not None and before.kind == "directory" and sha == FOLDER:
        return True
    return (info is None) != (sha == "")
