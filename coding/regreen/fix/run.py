"""`FixRun`: the state machine of one repair, driven from outside.

It knows no model, protocol or terminal. A driver (`regreen.fix.driver`) reads `brief`, calls `submit`, and stops when
`outcome` is set.
Its state is the baseline, the tuple of attempts and the tuple of kept steps; all else is computed. A try that is not
better than the best so far is rolled back before `submit` returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from regreen.events import EventLog
from regreen.fix import baseline as first_run
from regreen.fix.applying import NEEDS_TEST_CHANGE, Applying
from regreen.fix.bench import FixBench, FixRequest
from regreen.fix.borrowing import borrowed
from regreen.fix.brief import make_brief, one_line, with_insight
from regreen.fix.clock import WorkClock
from regreen.fix.cold_runs import ColdRuns, Ran
from regreen.fix.convergence import Spent, advice, runs_spent, stop_reason
from regreen.fix.ending import Ending, History
from regreen.fix.first_look import first_files, looks_no_better
from regreen.fix.flaky import without_flakes
from regreen.fix.progress import Standing, Target, adopt, depth_only, judge, standing
from regreen.fix.pruning import Kept, apply_from, prune
from regreen.fix.tamper import warnings
from regreen.fix.verification import Base, Verdict, Verification, protected_hashes
from regreen.model import (
    Attempt,
    AttemptState,
    Brief,
    Outcome,
    Proposal,
    RestoreReport,
    StopReason,
    SuiteReport,
    Usage,
)


class FixRun:
    """One repair. Not safe for two threads at once: whoever drives it, drives it alone."""

    def __init__(self, request: FixRequest, bench: FixBench, log: EventLog) -> None:
        self.request = request
        self.attempts: tuple[Attempt, ...] = ()
        self.outcome: Outcome | None = None
        self._bench = bench
        self._log = log
        self._clock = WorkClock()
        self._runs = ColdRuns(request.run_id, request.rules.budget_s, bench, log, self._clock)
        self._applying = Applying(request, bench)
        self._base: Base | None = None
        self._target = Target(frozenset(), frozenset())
        self._kept: tuple[Kept, ...] = ()  # the baseline, and each step that was better than all before
        self._usage = Usage()
        self._verdict: Verdict | None = None

    # --- what a driver reads and calls ---------------------------------------------------------------

    @property
    def brief(self) -> Brief:
        """What a proposer may know now. Only after `start`."""
        known = self.brief_so_far
        assert known is not None, "start() comes first"
        return with_insight(known, self._bench.insight(self._kept[-1].report))

    @property
    def brief_so_far(self) -> Brief | None:
        """The brief without what takes work to find out; None before the baseline. Safe from any thread."""
        kept, attempts, rules = self._kept, self.attempts, self.request.rules
        if not kept:
            return None
        left = rules.max_attempts - runs_spent(attempts)
        known = make_brief(
            kept[-1].standing.still,
            kept[-1].report,
            attempts,
            left,
            policy=self.request.scope.tests,
            history=self.request.history,
        )
        return replace(known, advice=advice(attempts, rules))

    @property
    def work_s(self) -> float:
        """Seconds of our own work so far; a caller's thinking time is not in it."""
        return self._clock.spent_s

    @property
    def spent(self) -> Spent:
        """What the run has used up so far."""
        return Spent(self._clock.spent_s, self._runs.cpu_s, self._usage.tokens, self._usage.usd)

    def start(self) -> None:
        """Record the tree and take the baseline. Sets `outcome` where there is nothing to attempt."""
        with self._clock:
            snapshot = self._runs.begin()
            self._log.emit("snapshot_taken", snapshot=snapshot.id, uncovered=self._bench.snapshots.uncovered(snapshot))
            found = protected_hashes(self._bench)
            base = first_run.take(
                lambda ids: self._runs.run(ids, thorough=True).report,
                self.request.selection,
                has_time=lambda: not self.spent.over(self.request.rules),
            )
            self._runs.know(base.report)
            self._target = base.target
            self._kept = (Kept(0, "", Proposal(), standing(base.target, base.report), base.report),)
            self._runs.put_back(final=False)
            left = protected_hashes(self._bench)  # a tool may have brought its lock file up to date by now
            wrote = frozenset(self._runs.written)
            self._base = Base(base.report, (found, left), wrote, base.once, base.notes, left=self._runs.left)
            if base.stop is None and not self._bench.cancelled():
                self._base = replace(self._base, gates=tuple(self._runs.run_gate(g) for g in self._bench.gates))
        self._log.emit("baseline_taken", goal=sorted(base.target.goal), flaky=sorted(base.target.flaky))
        if self._bench.cancelled():
            self._finish(StopReason.CANCELLED)
        elif base.stop is StopReason.ALREADY_GREEN:
            self._finish(base.stop)
        elif self.spent.over(self.request.rules):
            self._finish(StopReason.BUDGET)
        elif base.stop is not None:
            self._finish(base.stop)

    def submit(self, proposal: Proposal) -> Attempt:
        """Try one proposal: apply it, run the tests, keep it if better than the best so far, else roll it back."""
        assert self.outcome is None and self._base is not None, "the run is not open"
        number = len(self.attempts) + 1
        if self._bench.cancelled():
            self._finish(StopReason.CANCELLED)
            return Attempt(number, AttemptState.REFUSED, proposal.note, "the run was cancelled")
        begin = time.monotonic()
        self._log.emit("attempt_started", number=number, note=proposal.note)
        self._use(proposal.usage)
        with self._clock:
            attempt = self._try(number, proposal)
        attempt = replace(attempt, duration_s=round(time.monotonic() - begin, 3))
        self.attempts = (*self.attempts, attempt)
        if not self._bench.cancelled():  # one that was cut short says nothing
            self._bench.record(proposal, attempt)
        self._log.emit("attempt_finished", attempt=attempt)
        self._settle(attempt)
        return attempt

    def give_up(self, why: str = "") -> None:
        """The proposer has no further idea, and says why ("" = nothing)."""
        if self.outcome is None:
            self._finish(StopReason.CANCELLED if self._bench.cancelled() else StopReason.PROPOSER_FAILED, why)

    def stop(self, reason: StopReason, why: str = "") -> None:
        """End the run from outside: `cancelled`, `budget`, ... Does nothing to a run that has ended."""
        if self.outcome is None:
            self._finish(reason, why)

    def spend(self, seconds: float = 0.0, usage: Usage | None = None) -> None:
        """Charge work done for the run elsewhere to its budget: a search proposer's time, or what a model used that
        came to no proposal."""
        self._clock.add(seconds)
        self._use(usage or Usage())

    # --- one attempt ---------------------------------------------------------------------------------

    def _try(self, number: int, proposal: Proposal) -> Attempt:
        attempt = self._applying.apply(number, proposal, self._kept[-1].report.failures)
        if not attempt.transaction:
            return attempt
        self._log.emit("edit_applied", number=number, transaction=attempt.transaction)
        ran, now = self._look()
        best = self._kept[-1]
        state = judge(best.standing, now, ran.report)
        attempt = replace(
            attempt,
            state=state,
            message=one_line(state, now, ran.report),
            kept=state in (AttemptState.PASSED, AttemptState.IMPROVED),
            fixed=tuple(sorted(now.fixed)),
            broken=tuple(sorted(now.broken)),
            still=tuple(sorted(now.still | now.strangers)),
            further=tuple(sorted(now.further)),
            failures=ran.report.failures,
        )
        if attempt.kept:
            weak = depth_only(best.standing, now)
            self._kept = (*self._kept, Kept(number, attempt.transaction, proposal, now, ran.report, weak))
        if state is AttemptState.PASSED:
            return self._verify(attempt, ran)
        if attempt.kept:
            self._adopt(ran.report)
        else:
            self._rewind()
        return attempt

    def _look(self) -> tuple[Ran, Standing]:
        """Run the scope, or where that takes long first a part of it, and see where the tree stands."""
        assert self._base is not None
        best = self._kept[-1]
        if files := first_files(self._target, self._base.report, self.request.selection):
            ran = self._runs.run(files)
            if now := looks_no_better(self._target, files, best.report, ran.report):
                return ran, now
        ran = self._rerun()
        self._target, now = without_flakes(self._target, best.standing, best.report, ran.report, self._again)
        return ran, now

    def _verify(self, attempt: Attempt, ran: Ran) -> Attempt:
        """A tree that passed: leave out what it does not need, then look for whatever speaks against it."""
        assert self._base is not None
        before, best = self._kept[:-1], self._kept[-2]
        needed = prune(self._kept, self._target, ran, self._applying, self._rewind_to, self._rerun)
        if needed is None:
            verdict = Verdict(ran.report, self._target, "the files changed while the fix was being verified")
        else:
            self._kept, ran = needed
            verification = Verification(self.request, self._bench, self._runs, self._base, self._before_the_fix)
            verdict = verification.verify(ran, self._target, best.standing, best.report)
        self._target, self._verdict = verdict.target, verdict
        if verdict.doubt:
            self._log.emit("verification_failed", number=attempt.number, doubt=verdict.doubt)
            self._kept = before
            self._rewind_to(before[-1].transaction)
            objecting = tuple(g.name for g in verdict.gates if g.blocks)
            return replace(attempt, state=AttemptState.SAME, kept=False, message=verdict.doubt,
                           failures=verdict.report.failures, gates=objecting)  # fmt: skip
        changed, read_text = self._applying.changed(), self._bench.read_text
        told = warnings(changed, self._base.report.failures, read_text)
        if verdict.report.borrowed:
            told += borrowed(changed, self._bench.project_files(), read_text)
        self._adopt(verdict.report)
        return replace(attempt, warnings=told)

    def _before_the_fix(self, look: Callable[[], None]) -> bool:
        """Do something in the tree as it was before the first step. False: the steps do not fit any more after that."""
        self._runs.put_back(final=False)
        self._rewind_to(self._kept[0].transaction)
        look()
        self._runs.put_back(final=False)
        steps = apply_from(self._kept[:1], self._kept[1:], self._applying, self._rewind_to)
        self._kept = steps or self._kept
        return bool(steps)

    def _adopt(self, report: SuiteReport) -> None:
        """The last step is kept for good: its report is what the next one is compared with."""
        self._target = adopt(self._target, report)
        last = replace(self._kept[-1], standing=standing(self._target, report), report=report)
        self._kept = (*self._kept[:-1], last)

    def _settle(self, attempt: Attempt) -> None:
        if self._bench.cancelled():
            self._finish(StopReason.CANCELLED)
        elif attempt.state is AttemptState.PASSED:
            self._finish(StopReason.FIXED)
        elif attempt.refusal == NEEDS_TEST_CHANGE:
            self._finish(StopReason.NEEDS_TEST_CHANGE)
        elif self._verdict is not None and self._verdict.tampered:
            self._finish(StopReason.TAMPERED)
        elif reason := stop_reason(self.attempts, self.request.rules, self.spent):
            self._finish(reason)

    # --- effects -------------------------------------------------------------------------------------

    def _use(self, usage: Usage) -> None:
        self._usage = Usage(self._usage.tokens + usage.tokens, self._usage.usd + usage.usd)

    def _again(self) -> SuiteReport:
        return self._rerun().report

    def _rerun(self) -> Ran:
        return self._runs.run(self.request.selection)

    def _rewind(self) -> RestoreReport:
        return self._rewind_to(self._kept[-1].transaction if self._kept else "")

    def _rewind_to(self, transaction: str) -> RestoreReport:
        snapshot = self._runs.snapshot
        assert snapshot is not None
        ours = self._bench.snapshots.made_by_tests(snapshot)
        report = self._bench.journal.rewind(self.request.run_id, to=transaction, ours=ours)
        self._log.emit("restored", restored=report.restored, conflicts=report.conflicts)
        return report

    def _finish(self, reason: StopReason, why: str = "") -> None:
        ending = Ending(self.request, self._bench, self._runs, self._log, self._rewind)
        tree = self._applying.tree if self._runs.snapshot is not None else ""
        history = History(
            self.attempts, self._kept, self._target, self._base, self._verdict, self.spent, self._usage, tree, why
        )
        self.outcome = ending.make(reason, history)
        self._log.emit("run_finished", outcome=self.outcome)
