"""Putting back what the run's tests did, as far as nobody else has changed it since.

What is there now is kept by the journal before anything else stands in its place. A file of which no exact copy
exists is reported, never written from a guess; so is what changed while tests ran and may be somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from regreen.errors import EnvironmentFault
from regreen.git import Git
from regreen.model import Conflict, RestoreReport
from regreen.snapshots.effects import Effect, Ledger
from regreen.snapshots.leftovers import Leftovers
from regreen.snapshots.looking import (
    FOLDER,
    NAMELESS,
    SPECIAL,
    UNKNOWN,
    current,
    hash_of,
    is_blocked,
    make_folder,
    remove_folder,
    remove_special,
    set_folder_mode,
)
from regreen.snapshots.manifest import Manifest
from regreen.snapshots.sources import image_of, read_source
from regreen.store import Store
from regreen.workspace import FileImage, Journal, Workspace

_BATCH_BYTES = 64 << 20
_ROUNDS = 8
_LABEL = "undo side effects of"  # as an undo, it is nothing that a user undoes without asking for it


@dataclass(slots=True)
class _Sum:
    """Reports of several steps, added up: the last word on a path counts."""

    restored: dict[str, None] = field(default_factory=dict[str, None])
    deleted: dict[str, None] = field(default_factory=dict[str, None])
    conflicts: dict[str, str] = field(default_factory=dict[str, str])
    merged: dict[str, None] = field(default_factory=dict[str, None])
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
        self.merged |= dict.fromkeys(report.merged)
        self.transaction = report.transaction or self.transaction

    def report(self, dry_run: bool) -> RestoreReport:
        conflicts = tuple(Conflict(p, r) for p, r in sorted(self.conflicts.items()))
        return RestoreReport(tuple(sorted(self.restored)), tuple(sorted(self.deleted)), conflicts, dry_run,
                             self.transaction, tuple(sorted(self.merged.keys() - self.conflicts.keys())))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """What one restore is to do: `keep` are paths whose edits stay; `final` tells that no test runs after it."""

    run_id: str
    snapshot: str
    tree: Manifest
    keep: frozenset[str]
    dry_run: bool
    final: bool


class Restorer:
    """Undoes one snapshot's side effects, and the run's own edits with them."""

    def __init__(self, store: Store, workspace: Workspace, journal: Journal, git: Git | None, ledger: Ledger) -> None:
        self._store = store
        self._workspace = workspace
        self._journal = journal
        self._git = git
        self._ledger = ledger
        self._leftovers = Leftovers(store, workspace, git, ledger)

    def restore(self, plan: Plan) -> RestoreReport:
        """Undo effects that came last, rewind the run, undo what then comes to light; `keep` are paths to leave.

        Tests may write what an edit wrote, and an edit may go over what tests wrote: each is taken off in turn.
        """
        done = _Sum()
        effects = self._ledger.sure(plan.snapshot)
        ours: dict[str, set[str]] = {}
        for effect in effects:
            ours.setdefault(effect.path, set()).add(effect.after_sha)
        self._undo(plan, effects, done)
        first = done.transaction
        done.add(self._journal.rewind(plan.run_id, keep=plan.keep, ours=ours, dry_run=plan.dry_run))
        done.transaction = first or done.transaction  # what tests wrote is found by no run's id
        if not plan.dry_run:
            left = self._ledger.sure(plan.snapshot)
            self._undo(plan, [e for e in left if e.path not in plan.keep], done)
        over = {*done.restored, *done.deleted} if plan.dry_run else set[str]()
        landed = {path: after for path, (_, after) in self._journal.touched(plan.run_id).items()}
        told = {*done.conflicts, *done.merged, *over}
        left_over, ignored = self._leftovers.reasons(plan.snapshot, plan.keep, landed, told, plan.final)
        done.conflicts |= left_over
        for path in [
            p for p in done.conflicts if p not in plan.keep and self._is_back(plan.tree, p, edited=p in landed)
        ]:
            del done.conflicts[path]
        left = tuple(sorted(p for p in ignored if not self._leftovers.is_recorded(plan.tree, p)))
        return replace(done.report(plan.dry_run), ignored=left)

    def _is_back(self, tree: Manifest, path: str, *, edited: bool) -> bool:
        """Whether a path is as recorded. One that the run edited is so too with a mode that somebody gave it since."""
        if self._leftovers.is_recorded(tree, path):
            return True
        image, before = current(self._workspace, path), tree.entries.get(path)
        if not edited or image is None or before is None or (image.kind, before.kind) != ("file", "file"):
            return False
        return image.mode != before.mode and self._ledger.is_source(tree.sources.get(path, ""), image.data)

    def _undo(self, plan: Plan, effects: Iterable[Effect], done: _Sum) -> None:
        left = [e for e in effects if e.after_sha != UNKNOWN]
        for _ in range(1 if plan.dry_run else _ROUNDS):
            over = self._clear_way(plan, left, done)
            settled, ready = self._put_files_back(plan, left, done)
            oldest = {e.path: e.seq for e in ready if e.path in settled}
            over += [e for e in left if e.seq >= oldest.get(e.path, e.seq + 1)]
            if plan.dry_run:
                return
            more, removed = self._folders(left, done)
            over += more
            if not over and not removed:
                return
            self._ledger.settle(plan.snapshot, over)
            left = [e for e in left if e not in over]

    def _put_files_back(self, plan: Plan, left: Sequence[Effect], done: _Sum) -> tuple[set[str], list[Effect]]:
        ready, now = self._last_words(left)
        settled: set[str] = set()
        for images, expected in self._batches(ready, now):
            report = self._put_back(images, expected, f"{_LABEL} {plan.snapshot}", plan.dry_run)
            done.add(report)
            settled |= images.keys() - {c.path for c in report.conflicts}
        return settled, ready

    def _now(self, effects: Iterable[Effect]) -> dict[str, str]:
        return {path: hash_of(current(self._workspace, path)) for path in dict.fromkeys(e.path for e in effects)}

    def _clear_way(self, plan: Plan, left: Sequence[Effect], done: _Sum) -> list[Effect]:
        """Take away what holds no bytes, and what tests put where a folder was. Returns what is put back by that."""
        some = [e for e in left if e.of_folder or e.after_sha == SPECIAL]
        now = self._now(some)
        over: list[Effect] = []
        for e in {e.path: e for e in some if e.after_sha == now[e.path]}.values():
            if e.after_sha == SPECIAL and (e.before is None or e.before.kind != "other"):
                if plan.dry_run or remove_special(self._workspace, e.path):
                    done.add(RestoreReport(deleted=(e.path,) if e.before is None else ()))
                    over += [e] if e.before is None and not plan.dry_run else []
            elif e.before is not None and e.before.kind == "directory" and e.after_sha not in ("", *NAMELESS):
                label = f"{_LABEL} {plan.snapshot}"
                done.add(self._put_back({e.path: None}, {e.path: e.after_sha}, label, plan.dry_run))
        return over

    def _last_words(self, effects: Sequence[Effect]) -> tuple[list[Effect], dict[str, str]]:
        """Of each path the newest effect that is what stands there now, and the hash of that.

        A folder or a FIFO that stood for a file, and is gone, is as good as the file's absence.
        """
        now = self._now(effects)

        def fits(e: Effect) -> bool:
            if e.before is not None and e.before.kind not in ("file", "symlink"):
                return False
            if e.after_sha in NAMELESS:
                return e.before is not None and now[e.path] == ""
            return now[e.path] == e.after_sha

        found = {e.path: e for e in effects if fits(e)}.values()
        return [e for e in found if not is_blocked(self._workspace, e.path)], now

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

    def _batches(
        self, effects: Iterable[Effect], now: Mapping[str, str]
    ) -> Iterable[tuple[Mapping[str, FileImage | None], dict[str, str]]]:
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
            expected[effect.path] = now[effect.path]
            if size > _BATCH_BYTES:
                yield images, expected
                images, expected, size = {}, {}, 0
        if images:
            yield images, expected

    def _workspace_size(self, effect: Effect) -> int:
        image = current(self._workspace, effect.path)
        return len(image.data) if image is not None else 0

    def _bytes_before(self, effect: Effect) -> bytes | None:
        if effect.before is None or not effect.source:
            return None
        return read_source(self._store, self._git, effect.source, self._workspace.limits.max_file_bytes)

    def _folders(self, left: Sequence[Effect], done: _Sum) -> tuple[list[Effect], bool]:
        """Remove emptied folders that tests made, make those that they took away.

        Returns what is put back by that, and whether a folder gave way to something else.
        """
        over: list[Effect] = []
        removed = False
        now = self._now(e for e in left if e.of_folder)
        newest = {e.path: e for e in left if e.of_folder}.values()
        for e in sorted(newest, key=lambda e: -e.path.count("/")):
            if e.after_sha != FOLDER or (e.before is not None and e.before.kind == "directory"):
                continue
            if now[e.path] == "" or remove_folder(self._workspace, e.path):
                removed = True
                over += [e] if e.before is None else []
        for e in sorted(newest, key=lambda e: e.path.count("/")):
            if e.before is None or e.before.kind != "directory" or now[e.path] not in ("", FOLDER):
                continue
            if is_blocked(self._workspace, e.path):
                continue
            restore = make_folder if now[e.path] == "" else set_folder_mode
            if restore(self._workspace, e.path, e.before.mode):
                over.append(e)
                if done.deleted.pop(e.path, 0) is None:  # what stood for it
                    done.restored[e.path] = None
        return over, removed
