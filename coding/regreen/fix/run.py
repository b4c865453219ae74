"""`FixRun`: the state machine of one repair, driven from outside.

It knows no model, protocol or terminal. A driver (`regreen.fix.driver`) reads `brief`, calls `submit`, and stops when
`outcome` is set.
Its state is the baseline, the tuple of attempts and which transaction holds the best tree; all else is computed.
A try that is not better than the best so far is rolled back before `submit` returns.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from regreen import edits
from regreen.events import EventLog
from regreen.fix import baseline as first_run
from regreen.fix.bench import FixBench, FixRequest
from regreen.fix.brief import make_brief, one_line, with_insight
from regreen.fix.clock import WorkClock
from regreen.fix.convergence import runs_spent, stop_reason
from regreen.fix.evidence import evidence, hint
from regreen.fix.progress import Standing, Target, adopt, judge, passes, standing
from regreen.fix.scope import Objection
from regreen.fix.tree import tree_hash
from regreen.model import (
    Attempt,
    AttemptState,
    Brief,
    Evidence,
    Outcome,
    Proposal,
    RestoreReport,
    Snapshot,
    StopReason,
    SuiteReport,
)
from regreen.workspace import FileImage

_GOAL_RUNS = 3
_MAX_GUARD_RERUNS = 20
_NEVER_KEPT = frozenset({StopReason.TAMPERED, StopReason.CANCELLED})
_LEAST_TEST_S = 5.0  # no test is called hanging before this
_TEST_SLACK = 5.0  # nor before so many times what the slowest passing test took
_FIRST_TEST_SHARE = 1 / 6  # of the budget: the limit of one test as long as nothing is known of the others


class FixRun:
    """One repair. Not safe for two threads at once: whoever drives it, drives it alone."""

    def __init__(self, request: FixRequest, bench: FixBench, log: EventLog) -> None:
        self.request = request
        self.attempts: tuple[Attempt, ...] = ()
        self.outcome: Outcome | None = None
        self._bench = bench
        self._log = log
        self._clock = WorkClock()
        self._snapshot: Snapshot | None = None
        self._baseline: first_run.Baseline | None = None
        self._target = Target(frozenset(), frozenset())
        self._best: Standing | None = None
        self._best_report: SuiteReport | None = None
        self._best_txn = ""
        self._protected: dict[str, str] = {}
        self._side_effects: dict[str, None] = {}
        self._runs = 0
        self._uncovered = 0
        self._old_bytes = ""
        self._trees: set[str] = {tree_hash({}, {})}

    # --- what a driver reads and calls ---------------------------------------------------------------

    @property
    def brief(self) -> Brief:
        """What a proposer may know now. Only after `start`."""
        known, report = self.brief_so_far, self._best_report
        assert known is not None and report is not None, "start() comes first"
        return with_insight(known, self._bench.insight(report))

    @property
    def brief_so_far(self) -> Brief | None:
        """The brief without what takes work to find out; None before the baseline. Safe from any thread."""
        report, best = self._best_report, self._best
        if report is None or best is None:
            return None
        left = self.request.rules.max_attempts - runs_spent(self.attempts)
        return make_brief(best.still, report, self.attempts, left)

    @property
    def work_s(self) -> float:
        """Seconds of our own work so far; a caller's thinking time is not in it."""
        return self._clock.spent_s

    def start(self) -> None:
        """Record the tree and take the baseline. Sets `outcome` where there is nothing to attempt."""
        with self._clock:
            self._snapshot = self._bench.snapshots.take(self.request.run_id)
            self._uncovered = self._bench.snapshots.uncovered(self._snapshot)
            self._log.emit("snapshot_taken", snapshot=self._snapshot.id, uncovered=self._uncovered)
            self._protected = self._hashes(self._bench.protected_files())
            base = first_run.take(self._run_tests, self.request.selection)
            self._baseline, self._target, self._best_report = base, base.target, base.report
            self._best = standing(base.target, base.report)
        if self._bench.cancelled():
            self._finish(StopReason.CANCELLED)
        elif base.stop is StopReason.ALREADY_GREEN:
            self._finish(base.stop)
        elif self.work_s >= self.request.rules.budget_s:
            self._finish(StopReason.BUDGET)
        elif base.stop is not None:
            self._finish(base.stop)

    def submit(self, proposal: Proposal) -> Attempt:
        """Try one proposal: apply it, run the tests, keep it if better than the best so far, else roll it back."""
        assert self.outcome is None and self._baseline is not None, "the run is not open"
        if self._bench.cancelled():
            self._finish(StopReason.CANCELLED)
            return Attempt(len(self.attempts) + 1, AttemptState.REFUSED, proposal.note, "the run was cancelled")
        begin = time.monotonic()
        number = len(self.attempts) + 1
        self._log.emit("attempt_started", number=number, note=proposal.note)
        with self._clock:
            attempt = self._try(number, proposal)
        attempt = replace(attempt, duration_s=round(time.monotonic() - begin, 3))
        self.attempts = (*self.attempts, attempt)
        self._log.emit("attempt_finished", attempt=attempt)
        self._settle(attempt)
        return attempt

    def give_up(self) -> None:
        """The proposer has no further idea."""
        if self.outcome is None:
            self._finish(StopReason.CANCELLED if self._bench.cancelled() else StopReason.PROPOSER_FAILED)

    def stop(self, reason: StopReason) -> None:
        """End the run from outside: `cancelled`, `budget`, ... Does nothing to a run that has ended."""
        if self.outcome is None:
            self._finish(reason)

    def spend(self, seconds: float) -> None:
        """Charge work done for the run elsewhere (a search proposer's, say) to its budget."""
        self._clock.add(seconds)

    # --- one attempt ---------------------------------------------------------------------------------

    def _try(self, number: int, proposal: Proposal) -> Attempt:
        bench = self._bench
        plan = edits.plan(proposal, bench.workspace, limits=bench.limits, strict=bench.strict_edits)
        blank = Attempt(
            number,
            AttemptState.REFUSED,
            proposal.note,
            edits=plan.report.edits,
            diff="".join(f.diff for f in plan.report.files),
        )
        if not plan.report.ok:
            errors = [e.error for e in plan.report.edits if e.error is not None]
            kind, message = (errors[0].kind, errors[0].message) if errors else ("no_edits", "no edits found")
            return replace(blank, message=message, refusal=kind)
        before = {c.path: self._bench.workspace.image(c.path) for c in plan.changes}
        texts = {p: i.data.decode("utf-8", "surrogateescape") for p, i in before.items()}
        if objections := self.request.scope.objections(plan.changes, texts):
            return replace(blank, message=_objection_text(objections), refusal=objections[0].kind)
        tree = self._tree({c.path: c.after for c in plan.changes})
        if tree in self._trees:
            return replace(
                blank,
                state=AttemptState.REPEATED,
                tree=tree,
                refusal="repeated",
                message="this gives a tree that was tried before; it was not run again",
            )
        report = edits.commit(plan, self._bench.journal, label=f"attempt {number}", run_id=self.request.run_id)
        if not report.ok:
            return replace(blank, edits=report.edits, message="the files changed meanwhile", refusal="stale")
        self._trees.add(tree)
        self._log.emit("edit_applied", number=number, transaction=report.transaction, files=report.files)
        return self._measure(replace(blank, edits=report.edits, tree=tree, transaction=report.transaction))

    def _measure(self, attempt: Attempt) -> Attempt:
        assert self._best is not None
        report = self._run_tests(self.request.selection)
        now = self._without_flakes(standing(self._target, report), report)
        state = judge(self._best, now, report)
        message = one_line(state, now, report)
        if state is AttemptState.PASSED:
            doubt, report = self._doubt(attempt, report)
            state, message = (AttemptState.SAME, doubt) if doubt else (state, message)
        kept = state in (AttemptState.PASSED, AttemptState.IMPROVED)
        if kept:
            self._target = adopt(self._target, report)
            self._best, self._best_report, self._best_txn = (
                standing(self._target, report),
                report,
                attempt.transaction,
            )
        else:
            self._rewind()
        return replace(
            attempt,
            state=state,
            kept=kept,
            message=message,
            fixed=tuple(sorted(now.fixed)),
            broken=tuple(sorted(now.broken)),
            still=tuple(sorted(now.still | now.strangers)),
            failures=report.failures,
        )

    def _without_flakes(self, now: Standing, report: SuiteReport) -> Standing:
        """Guard tests that newly fail may be flaky: those that pass when the same selection is run again are.

        Run by itself a test may pass because what breaks it has not run; so it is always the whole selection. The
        reruns are spent only on an attempt that would otherwise be kept.
        """
        assert self._best is not None
        would_help = len(now.fixed) > len(self._best.fixed) or now.uncollected < self._best.uncollected
        doubtful = now.broken & frozenset(report.outcomes)
        if not now.ran or not would_help or not doubtful or len(doubtful) > _MAX_GUARD_RERUNS:
            return now
        for _ in range(_GOAL_RUNS - 1):
            again = self._run_tests(self.request.selection)
            flaky = frozenset(i for i in doubtful if passes(i, again))
            if flaky:
                target = self._target
                self._target = replace(target, guard=target.guard - flaky, flaky=target.flaky | flaky)
                return standing(self._target, report)
        return now

    def _doubt(self, attempt: Attempt, report: SuiteReport) -> tuple[str, SuiteReport]:
        """Verify a tree whose tests passed: protected files as they were, everything cold again.

        Returns what speaks against it ("" = nothing), and the report that the verdict rests on.
        """
        assert self._baseline is not None and self._snapshot is not None
        self._put_back_side_effects(final=False)
        changed = [p for p, sha in self._hashes(tuple(self._protected)).items() if sha != self._protected[p]]
        allowed = {e.path for e in attempt.edits} | set(self._bench.journal.touched(self.request.run_id))
        if tampered := sorted(set(changed) - (allowed if self.request.scope.tests != "readonly" else set[str]())):
            return f"protected files changed during the run: {', '.join(tampered[:5])}", report
        cold = self._run_tests(self.request.selection)
        now = self._without_flakes(standing(self._target, cold), cold)
        if not now.green:
            return "passed once, but not again: " + one_line(AttemptState.SAME, now, cold), cold
        missing = {i for i in self._baseline.report.outcomes if "::" in i} - set(cold.outcomes)
        if missing:
            return f"tests are gone that the baseline had: {', '.join(sorted(missing)[:5])}", cold
        goal = sorted(i for i in self._target.goal if i in cold.outcomes)
        last = self._run_tests(goal)
        if not all(passes(i, last) for i in goal):
            return "the goal tests passed twice, but not a third time", last
        return "", cold

    def _settle(self, attempt: Attempt) -> None:
        if self._bench.cancelled():
            self._finish(StopReason.CANCELLED)
        elif attempt.state is AttemptState.PASSED:
            self._finish(StopReason.FIXED)
        elif reason := stop_reason(self.attempts, self.request.rules, self._clock.spent_s):
            self._finish(reason)

    # --- effects -------------------------------------------------------------------------------------

    def _run_tests(self, selection: Sequence[str]) -> SuiteReport:
        assert self._snapshot is not None
        self._log.emit("tests_started", selection=list(selection))
        if self._runs:
            self._put_back_side_effects(final=False)  # each run starts from the same files
        self._runs += 1
        mark = self._bench.snapshots.mark(self._snapshot)
        snapshot = self._snapshot
        timeout_s, per_test_s = self._time_limits()
        report = self._bench.run_tests(
            selection, timeout_s, per_test_s, lambda paths: self._bench.snapshots.note_written(snapshot, paths)
        )
        made = self._bench.snapshots.side_effects(self._snapshot, mark)
        self._side_effects |= dict.fromkeys(made)
        self._log.emit("tests_finished", status=report.status, counts=report.counts, duration_s=report.duration_s)
        return report

    def _time_limits(self) -> tuple[float, float]:
        """Seconds for a whole run and for one test of it, from the budget and from what the baseline took.

        A run may outlast the budget by its own usual length: what is nearly verified is not thrown away.
        """
        budget_s = self.request.rules.budget_s
        left_s = budget_s - self.work_s
        if self._baseline is None:
            return max(1.0, left_s), max(_LEAST_TEST_S, budget_s * _FIRST_TEST_SHARE)
        report = self._baseline.report
        slowest_s = max((s for i, s in report.durations_s.items() if i in report.passing), default=0.0)
        per_test_s = max(_LEAST_TEST_S, _TEST_SLACK * slowest_s)
        return max(left_s, 2 * report.duration_s + _LEAST_TEST_S), per_test_s

    def _rewind(self) -> RestoreReport:
        assert self._snapshot is not None
        ours = self._bench.snapshots.made_by_tests(self._snapshot)
        report = self._bench.journal.rewind(self.request.run_id, to=self._best_txn, ours=ours)
        self._log.emit("restored", restored=report.restored, conflicts=report.conflicts)
        return report

    def _put_back_side_effects(self, *, final: bool) -> RestoreReport:
        assert self._snapshot is not None
        keep = frozenset(self._bench.journal.touched(self.request.run_id))
        return self._bench.snapshots.restore_run(self.request.run_id, self._snapshot, keep=keep, final=final)

    def _hashes(self, paths: Sequence[str]) -> dict[str, str]:
        return {p: self._bench.workspace.image(p).sha256 for p in paths}

    def _tree(self, changes: dict[str, bytes | None]) -> str:
        run_id, journal, workspace = self.request.run_id, self._bench.journal, self._bench.workspace
        touched = journal.touched(run_id)
        paths = sorted({*touched, *changes})
        now = {p: changes[p] if p in changes else _data(workspace.image(p)) for p in paths}
        base = {p: _data(journal.before(run_id, p) if p in touched else workspace.image(p)) for p in paths}
        return tree_hash(base, now)

    # --- the end -------------------------------------------------------------------------------------

    def _finish(self, reason: StopReason) -> None:
        partial = self.request.keep_partial and self._best_txn != "" and reason not in _NEVER_KEPT
        keep = reason is StopReason.FIXED or partial
        restored = self._leave(keep)
        kept_files = self._kept_files() if keep else ()
        fixed_tests = tuple(sorted(self._best.fixed)) if keep and self._best else ()
        fixed = reason is StopReason.FIXED
        self.outcome = Outcome(
            reason=reason,
            fixed=fixed,
            fixed_tests=fixed_tests,
            kept=bool(kept_files),
            kept_files=kept_files,
            restored=not keep and not restored.conflicts,
            verified=fixed,
            diff=self._diff(kept_files),
            evidence=self._evidence(fixed),
            hint=hint(
                reason,
                self._baseline.report.message if self._baseline else "",
                selected=bool(self.request.selection),
            ),
            conflicts=restored.conflicts,
            put_back=restored.transaction,
            old_bytes=self._old_bytes,
        )
        self._log.emit("run_finished", outcome=self.outcome)

    def _leave(self, keep: bool) -> RestoreReport:
        """Leave the tree at its best, or as it was; side effects of the tests are put back either way."""
        if self._snapshot is None:
            return RestoreReport()
        if keep:
            self._rewind()
            report = self._put_back_side_effects(final=True)
        else:
            report = self._bench.snapshots.restore_run(self.request.run_id, self._snapshot)
        self._old_bytes = self._bench.snapshots.release(self._snapshot)
        self._log.emit("restored", restored=report.restored, deleted=report.deleted, conflicts=report.conflicts)
        return report

    def _kept_files(self) -> tuple[str, ...]:
        touched = self._bench.journal.touched(self.request.run_id)
        return tuple(sorted(p for p, (before, after) in touched.items() if before != after))

    def _diff(self, kept: Sequence[str]) -> str:
        return self._bench.snapshots.changes(self.request.run_id).diff if kept else ""

    def _evidence(self, fixed: bool) -> Evidence:
        goal_runs = f"{_GOAL_RUNS}/{_GOAL_RUNS}" if fixed else ""
        return evidence(
            self._best_report,
            self._target,
            goal_runs,
            self.work_s,
            len(self._protected),
            tuple(self._side_effects),
            self._uncovered,
        )


def _data(image: FileImage) -> bytes | None:
    return image.data if image.kind == "file" else None


def _objection_text(objections: Sequence[Objection]) -> str:
    return "; ".join(f"{o.message}: {o.hint}" for o in objections[:5])
