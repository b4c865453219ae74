"""Putting back what the run's tests did, as far as nobody else has changed it since.

What is there now is kept by the journal before anything else stands in its place. A file of which no exact copy
exists is reported, never written from a guess.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from regreen.errors import EnvironmentFault
from regreen.git import Git, GitFault
from regreen.model import Conflict, RestoreReport
from regreen.snapshots.effects import FOLDER, UNKNOWN, Effect, Ledger, current, hash_of
from regreen.snapshots.objects import read_object
from regreen.store import Store
from regreen.workspace import FileImage, Journal, Stat, Workspace
from regreen.workspace.looking import LINK_MARK

_BATCH_BYTES = 64 << 20
_ROUNDS = 8


def read_source(store: Store, git: Git | None, source: str, max_bytes: int) -> bytes | None:
    """The exact bytes that a manifest's source stands for; None where they cannot be had any more."""
    where, _, name = source.partition(":")
    try:
        if where == "blob":
            return store.blob(name)
        return read_object(git, name, max_bytes) if where == "git" and git is not None else None
    except (KeyError, GitFault):
        return None


def image_of(path: str, before: Stat, data: bytes) -> FileImage:
    """The image of a recorded file or link with these bytes."""
    content = LINK_MARK + data if before.kind == "symlink" else data
    target = os.fsdecode(data) if before.kind == "symlink" else ""
    kept = b"" if before.kind == "symlink" else data
    sha = hashlib.sha256(content).hexdigest()
    return FileImage(path, before.kind, kept, before.mode, before.mtime_ns, sha, target, path)


@dataclass(slots=True)
class _Sum:
    """Reports of several steps, added up: the last word on a path counts."""

    restored: dict[str, None] = field(default_factory=dict[str, None])
    deleted: dict[str, None] = field(default_factory=dict[str, None])
    conflicts: dict[str, str] = field(default_factory=dict[str, str])
    transaction: str = ""

    def add(self, report: RestoreReport) -> None:
        for path in report.restored:
            self.restored[path] = None
            self.deleted.pop(path, None)
            self.conflicts.pop(path, None)
        for path in report.deleted:
            self.deleted[path] = None
            self.restored.pop(path, None)
            self.conflicts.pop(path, None)
        self.conflicts |= {c.path: c.reason for c in report.conflicts}
        self.transaction = report.transaction or self.transaction

    def report(self, dry_run: bool) -> RestoreReport:
        conflicts = tuple(Conflict(p, r) for p, r in sorted(self.conflicts.items()))
        return RestoreReport(tuple(sorted(self.restored)), tuple(sorted(self.deleted)), conflicts, dry_run,
                             self.transaction)  # fmt: skip


class Restorer:
    """Undoes one snapshot's side effects, and the run's own edits with them."""

    def __init__(self, store: Store, workspace: Workspace, journal: Journal, git: Git | None) -> None:
        self._store = store
        self._workspace = workspace
        self._journal = journal
        self._git = git
        self._ledger = Ledger(store, workspace, git)

    def restore(self, run_id: str, snapshot: str, keep: Collection[str], dry_run: bool) -> RestoreReport:
        """Undo effects that came last, rewind the run, undo what then comes to light; `keep` are paths to leave.

        Tests may write what an edit wrote, and an edit may go over what tests wrote: each is taken off in turn.
        """
        done = _Sum()
        effects = self._ledger.effects(snapshot)
        ours: dict[str, set[str]] = {}
        for effect in effects:
            ours.setdefault(effect.path, set()).add(effect.after_sha)
        self._undo(snapshot, effects, dry_run, done)
        done.add(self._journal.rewind(run_id, keep=keep, ours=ours, dry_run=dry_run))
        if not dry_run:
            self._undo(snapshot, [e for e in self._ledger.effects(snapshot) if e.path not in keep], dry_run, done)
            self._remove_folders(snapshot)
        written = {path: after for path, (_, after) in self._journal.touched(run_id).items() if path not in keep}
        self._report_left(snapshot, keep, written, done)
        return done.report(dry_run)

    def _undo(self, snapshot: str, effects: Iterable[Effect], dry_run: bool, done: _Sum) -> None:
        left = [e for e in effects if e.after_sha not in (FOLDER, UNKNOWN)]
        for _ in range(1 if dry_run else _ROUNDS):
            ready = self._last_words(left)
            settled: set[str] = set()
            for images, expected in self._batches(ready):
                report = self._put_back(images, expected, f"side effects of {snapshot}", dry_run)
                done.add(report)
                settled |= images.keys() - {c.path for c in report.conflicts}
            oldest = {e.path: e.seq for e in ready if e.path in settled}
            over = [e for e in left if e.seq >= oldest.get(e.path, e.seq + 1)]
            if not over or dry_run:
                return
            self._ledger.settle(snapshot, over)
            left = [e for e in left if e not in over]

    def _last_words(self, effects: Sequence[Effect]) -> list[Effect]:
        """Of each path the newest effect that is what stands there now."""
        now = {path: hash_of(current(self._workspace, path)) for path in dict.fromkeys(e.path for e in effects)}
        return list({e.path: e for e in effects if now[e.path] == e.after_sha}.values())

    def _put_back(
        self, images: Mapping[str, FileImage | None], expected: Mapping[str, str], label: str, dry_run: bool
    ) -> RestoreReport:
        """All at once; one by one where the system lets some of them not be written."""
        try:
            return self._journal.put_back(images, expected=expected, label=label, dry_run=dry_run)
        except EnvironmentFault as fault:
            if len(images) == 1:
                return RestoreReport(conflicts=tuple(Conflict(path, fault.message) for path in images))
        done = _Sum()
        for path, image in images.items():
            done.add(self._put_back({path: image}, {path: expected[path]}, label, dry_run))
        return done.report(dry_run)

    def _batches(self, effects: Iterable[Effect]) -> Iterable[tuple[Mapping[str, FileImage | None], dict[str, str]]]:
        """What to put back, in portions that fit into memory."""
        images: dict[str, FileImage | None] = {}
        expected: dict[str, str] = {}
        size = 0
        for effect in effects:
            data = self._bytes_before(effect)
            if effect.before is not None and data is None:
                continue
            size += len(data or b"") + self._workspace_size(effect)
            images[effect.path] = None if effect.before is None else image_of(effect.path, effect.before, data or b"")
            expected[effect.path] = effect.after_sha
            if size > _BATCH_BYTES:
                yield images, expected
                images, expected, size = {}, {}, 0
        if images:
            yield images, expected

    def _workspace_size(self, effect: Effect) -> int:
        image = current(self._workspace, effect.path)
        return len(image.data) if image is not None else 0

    def _bytes_before(self, effect: Effect) -> bytes | None:
        if effect.before is None or not effect.source or effect.before.kind not in ("file", "symlink"):
            return None
        return read_source(self._store, self._git, effect.source, self._workspace.limits.max_file_bytes)

    def _remove_folders(self, snapshot: str) -> None:
        made = [e for e in self._ledger.effects(snapshot) if e.after_sha == FOLDER and e.before is None]
        for effect in sorted(made, key=lambda e: -e.path.count("/")):
            self._workspace.remove_empty_folder(effect.path)
        self._ledger.settle(snapshot, made)

    def _report_left(self, snapshot: str, keep: Collection[str], written: Mapping[str, str], done: _Sum) -> None:
        """Report the effects that stay; not those that an edit (`written`: its hash) has gone over since."""
        by_path: dict[str, list[Effect]] = {}
        for effect in self._ledger.effects(snapshot):
            if effect.path not in keep and not (effect.after_sha == FOLDER and effect.before is None):
                by_path.setdefault(effect.path, []).append(effect)
        for path, effects in by_path.items():
            if path in done.conflicts or path in done.restored or path in done.deleted:
                continue
            now = hash_of(current(self._workspace, path))
            reason = "" if written.get(path) == now else self._why(effects[0], effects[-1], now)
            if reason:
                done.conflicts[path] = reason

    def _why(self, first: Effect, last: Effect, now: str) -> str:
        """Why an effect stays; "" if the file is, by somebody's doing, what it was at first."""
        if first.before is None and now == "":
            return ""
        data = self._bytes_before(first)
        if first.before is not None and data is not None and now == image_of(first.path, first.before, data).sha256:
            return ""
        if last.after_sha == UNKNOWN:
            return "written by the run's tests, and too large to keep a copy of: left as it is"
        if now != last.after_sha:
            return "written by the run's tests, and changed since: left as it is"
        return "changed by the run's tests, and no copy of what it was is at hand: left as it is"
