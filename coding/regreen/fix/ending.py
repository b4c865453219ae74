"""How a run ends: the tree is left at its best or as it was, and the outcome says what that rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from regreen.events import EventLog
from regreen.fix.bench import FixBench, FixRequest
from regreen.fix.borrowing import REMARK
from regreen.fix.cold_runs import ColdRuns
from regreen.fix.convergence import Spent
from regreen.fix.evidence import evidence, hint
from regreen.fix.leaving import Leaving
from regreen.fix.progress import Target
from regreen.fix.pruning import Kept
from regreen.fix.verification import Base, Verdict
from regreen.model import MAX_IGNORED, Attempt, Outcome, RestoreReport, StopReason, Usage

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
        self._leaving = Leaving(request.run_id, bench, runs, log, rewind)

    def make(self, reason: StopReason, history: History) -> Outcome:
        """Leave the tree as this reason wants it, and say how the run ended."""
        partial = self._request.keep_partial and len(history.kept) > 1 and reason not in _NEVER_KEPT
        keep = reason is StopReason.FIXED or partial
        left = self._leaving.leave(keep=keep)
        fixed = reason is StopReason.FIXED
        return Outcome(
            reason=reason,
            fixed=fixed,
            fixed_tests=tuple(sorted(history.kept[-1].standing.fixed)) if keep and history.kept else (),
            kept=bool(left.kept_files),
            kept_files=left.kept_files,
            restored=not keep and not left.report.conflicts,
            verified=fixed,
            diff=self._diff(left.kept_files),
            evidence=replace(
                evidence(history, self._runs.count, self._runs.written, left.uncovered, fixed=fixed),
                remarks=(*self._bench.remarks, *_borrowed(history, left.kept_files), *left.remarks),
            ),
            hint=hint(reason, history, self._request),
            conflicts=left.report.conflicts,
            merged=left.report.merged,
            put_back=left.report.transaction,
            ignored=left.report.ignored[:MAX_IGNORED],
            old_bytes=left.old_bytes,
        )

    def _diff(self, kept: Sequence[str]) -> str:
        return self._bench.snapshots.changes(self._request.run_id).diff if kept else ""


def _borrowed(history: History, kept_files: Sequence[str]) -> tuple[str, ...]:
    """What is to be said of a change that was tested in an environment that is not the project's."""
    return (REMARK,) if kept_files and history.kept[-1].report.borrowed else ()
