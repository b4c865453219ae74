"""How a run ends: the tree is left at its best or as it was, and the outcome says what that rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from regreen.events import EventLog
from regreen.fix.bench import FixBench, FixRequest
from regreen.fix.borrowing import REMARK
from regreen.fix.cold_runs import ColdRuns
from regreen.fix.convergence import Spent
from regreen.fix.evidence import evidence, hint
from regreen.fix.progress import Target
from regreen.fix.pruning import Kept
from regreen.fix.verification import Base, Verdict
from regreen.model import MAX_IGNORED, Attempt, Outcome, RestoreReport, StopReason, Usage
from regreen.wire import names

_NEVER_KEPT = frozenset({StopReason.TAMPERED, StopReason.CANCELLED, StopReason.NEEDS_TEST_CHANGE})


@dataclass(frozen=True, slots=True)
class History:
    """All that a run went through."""

    attempts: tuple[Attempt, ...]
    kept: tuple[Kept, ...]
    target: Target
    base: Base | None
    verdict: Verdict | None
    spent: Spent
    usage: Usage
    tree: str  # hash of what the run had changed when it ended
    why: str = ""  # what the proposer said of giving up


class Ending:
    """Ends one run. `rewind` brings the run's own edits back to the best tree."""

    def __init__(
        self, request: FixRequest, bench: FixBench, runs: ColdRuns, log: EventLog, rewind: Callable[[], RestoreReport]
    ) -> None:
        self._request = request
        self._bench = bench
        self._runs = runs
        self._log = log
        self._rewind = rewind
        self._uncovered = 0

    def make(self, reason: StopReason, history: History) -> Outcome:
        """Leave the tree as this reason wants it, and say how the run ended."""
        partial = self._request.keep_partial and len(history.kept) > 1 and reason not in _NEVER_KEPT
        keep = reason is StopReason.FIXED or partial
        restored, old_bytes = self._leave(keep)
        kept_files = self._kept_files() if keep else ()
        fixed = reason is StopReason.FIXED
        return Outcome(
            reason=reason,
            fixed=fixed,
            fixed_tests=tuple(sorted(history.kept[-1].standing.fixed)) if keep and history.kept else (),
            kept=bool(kept_files),
            kept_files=kept_files,
            restored=not keep and not restored.conflicts,
            verified=fixed,
            diff=self._diff(kept_files),
            evidence=replace(
                evidence(history, self._runs.count, self._runs.written, self._uncovered, fixed=fixed),
                remarks=(*self._bench.remarks, *_borrowed(history, kept_files), *self._noticed(restored, old_bytes)),
            ),
            hint=hint(reason, history, self._request),
            conflicts=restored.conflicts,
            merged=restored.merged,
            put_back=restored.transaction,
            ignored=restored.ignored[:MAX_IGNORED],
            old_bytes=old_bytes,
        )

    def _leave(self, keep: bool) -> tuple[RestoreReport, str]:
        """Leave the tree at its best, or as it was; side effects of the tests are put back either way."""
        snapshot = self._runs.snapshot
        self._uncovered = self._bench.snapshots.uncovered(snapshot) if snapshot is not None else 0
        if snapshot is None:
            return RestoreReport(), ""
        if keep:
            merged = self._rewind().merged
            report = self._runs.put_back(final=True)
            report = replace(report, merged=tuple(dict.fromkeys((*merged, *report.merged))))
        else:
            report = self._runs.put_back(final=True, edits=True)
        old_bytes = self._bench.snapshots.release(snapshot)
        self._log.emit("restored", restored=report.restored, deleted=report.deleted, conflicts=report.conflicts)
        return report, old_bytes

    def _noticed(self, restored: RestoreReport, old_bytes: str) -> Iterator[str]:
        """What happened to files while tests ran that nobody was seen doing."""
        if inferred := self._runs.inferred:
            undo = " or ".join(f"`regreen restore {txn}`" for txn in list(dict.fromkeys(inferred.values()))[-2:])
            yield (f"{names(inferred)} was put back as the tests' doing, though none was seen writing it: it came to"
                   " the same bytes in three test runs in a row, or lay in a folder that they made; if it was you, "
                   f"{undo} brings it back")  # fmt: skip
        if restored.ignored:
            undo = f" (`regreen restore {old_bytes}`: as it was)" if old_bytes else ""
            yield restored.about_ignored + undo

    def _kept_files(self) -> tuple[str, ...]:
        touched = self._bench.journal.touched(self._request.run_id)
        return tuple(sorted(p for p, (before, after) in touched.items() if before != after))

    def _diff(self, kept: Sequence[str]) -> str:
        return self._bench.snapshots.changes(self._request.run_id).diff if kept else ""


def _borrowed(history: History, kept_files: Sequence[str]) -> tuple[str, ...]:
    """What is to be said of a change that was tested in an environment that is not the project's."""
    return (REMARK,) if kept_files and history.kept[-1].report.borrowed else ()
