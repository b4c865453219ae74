"""The work tree of a coding task: edits under rules, tests whose traces are put back, and the engine's own verdict.

With named tests these must pass at the end, proven as for a fix run: cold, repeatedly, with what decides a test run as
it was. Tests may be added then, those that are there stay as they are. Without named tests nothing is ever verified.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from regreen import edits
from regreen.errors import Refused
from regreen.events import EventLog
from regreen.fix.bench import FixBench, FixRequest
from regreen.fix.changed import Changed
from regreen.fix.clock import WorkClock
from regreen.fix.cold_runs import ColdRuns
from regreen.fix.leaving import Leaving
from regreen.fix.progress import Target, standing
from regreen.fix.scope import OUT_OF_SCOPE_HINT
from regreen.fix.tamper import warnings
from regreen.fix.verification import GOAL_RUNS, Base, Verdict, Verification, protected_hashes
from regreen.model import (
    MAX_IGNORED,
    Counts,
    EditReport,
    Evidence,
    Proposal,
    RestoreReport,
    StopReason,
    SuiteReport,
    SuiteStatus,
    TaskOutcome,
    TaskTests,
)
from regreen.workspace import Change

T = TypeVar("T")

_UNDOUBTED = frozenset({StopReason.CANCELLED, StopReason.REFUSED, StopReason.HOOK_STOPPED})
_SHOWN_FAILING = 50


@dataclass(frozen=True, slots=True)
class Judged:
    """The engine's verdict on a tree. `ok`: all named tests pass, for certain. `doubt` says what speaks against it."""

    tree: str
    ok: bool
    report: SuiteReport
    doubt: str = ""
    tampered: bool = False
    verdict: Verdict | None = None
    warnings: tuple[str, ...] = ()  # what to look at twice


class TaskTree:
    """One task's tree. `begin` comes first, `end` last; what a task has changed is in the journal as its run's, so that
    a crash at any time is recovered like that of a fix run.

    Safe for several threads: one at a time runs tests or writes. A call that was given up, and goes on when its task
    has ended (somebody said yes too late), is refused then.
    """

    def __init__(self, request: FixRequest, bench: FixBench, log: EventLog) -> None:
        self._request = request
        self._bench = bench
        self._log = log
        self._clock = WorkClock()
        self._changed = Changed(request.run_id, bench)
        self._runs = ColdRuns(request.run_id, request.rules.budget_s, bench, log, self._clock)
        self._base: Base | None = None
        self._target = Target(frozenset(), frozenset())
        self._judged: Judged | None = None
        self._turn = threading.RLock()
        self._ended = False

    @property
    def base_report(self) -> SuiteReport | None:
        """What the named tests said before the first change; None without named tests."""
        return self._base.report if self._base is not None else None

    @property
    def tree(self) -> str:
        """The hash of what was changed so far."""
        return self._changed.tree()

    def begin(self) -> None:
        """Record the tree; run the named tests, if any."""
        snapshot = self._runs.begin()
        self._log.emit("snapshot_taken", snapshot=snapshot.id, uncovered=self._bench.snapshots.uncovered(snapshot))
        if not self._request.selection:
            return
        found = protected_hashes(self._bench)
        with self._clock:
            report = self._runs.run(self._request.selection, thorough=True).report
        self._runs.know(report)
        self._runs.put_back(final=False)
        self._target = Target(report.failing, report.passing)
        self._base = Base(report, (found, protected_hashes(self._bench)), frozenset(self._runs.written),
                          left=self._runs.left)  # fmt: skip
        if report.status not in (SuiteStatus.ENVIRONMENT, SuiteStatus.CANCELLED):
            gates = tuple(self._runs.run_gate(g) for g in self._bench.gates)
            self._base = replace(self._base, gates=gates)
        self._log.emit("baseline_taken", goal=sorted(report.failing), flaky=[])

    # --- what the agent does -------------------------------------------------------------------------

    def plan(self, proposal: Proposal, expected_sha256: Mapping[str, str]) -> edits.EditPlan:
        """What edits would do. Raises Refused for a path or a change that the rules of this task forbid."""
        plan = edits.plan(
            proposal,
            self._bench.workspace,
            expected_sha256=expected_sha256,
            limits=self._bench.limits,
            strict=self._bench.strict_edits,
        )
        if plan.report.ok:
            self._refuse(plan.changes)
        return plan

    def commit(self, plan: edits.EditPlan) -> EditReport:
        """Write a plan that is ok; where a file changed meanwhile, nothing is written and the report says so."""
        with self._alone():
            self._judged = None
            report = edits.commit(plan, self._bench.journal, label="task", run_id=self._request.run_id)
        if report.ok:
            files = [{"path": f.path, "action": f.action, "added": f.added, "removed": f.removed} for f in report.files]
            diff = "".join(f.diff for f in report.files)
            self._log.emit("edit_applied", transaction=report.transaction, files=files, diff=diff)
        return report

    def note(self, tests: Callable[[Callable[[Sequence[str]], None]], T]) -> T:
        """Let tests run; what they change in the tree is put back before the next run, and at the end."""
        with self._alone():
            return self._runs.note(tests)

    @contextmanager
    def _alone(self) -> Generator[None]:
        with self._turn:
            if self._ended:
                raise Refused("cancelled", "the task has ended", "start it again")
            yield

    def _refuse(self, changes: Sequence[Change]) -> None:
        if not self._request.selection:
            for change in changes:
                if reason := self._request.scope.why_not(change.path):
                    raise Refused("path_out_of_scope", reason, OUT_OF_SCOPE_HINT)
            return
        images = {c.path: self._bench.workspace.image(c.path) for c in changes}
        texts = {p: i.data.decode("utf-8", "surrogateescape") for p, i in images.items()}
        failures = self._base.report.failures if self._base is not None else ()
        if objections := self._request.scope.objections(changes, texts, failures):
            said = "; ".join(dict.fromkeys(o.message for o in objections[:5]))
            raise Refused(objections[0].kind, said, objections[0].hint)

    # --- the verdict ---------------------------------------------------------------------------------

    def judge(self) -> Judged | None:
        """Run the named tests cold and verify what they say; None where no tests were named. An unchanged tree is not
        judged twice."""
        base = self._base
        if base is None:
            return None
        with self._alone():
            tree = self.tree
            if self._judged is None or self._judged.tree != tree:
                with self._clock:
                    said = self._judged = self._look(tree, base)
                message = said.doubt or said.report.message
                self._log.emit("verified", ok=said.ok, message=message, counts=said.report.counts)
            return self._judged

    def _look(self, tree: str, base: Base) -> Judged:
        ran = self._runs.run(self._request.selection)
        if not standing(self._target, ran.report).green:
            return Judged(tree, False, ran.report)
        verification = Verification(self._request, self._bench, self._runs, base, self._before_the_task)
        best = standing(self._target, base.report)
        verdict = verification.verify(ran, self._target, best, base.report)
        told = warnings(self._changed.texts(), base.report.failures, self._bench.read_text)
        return Judged(tree, not verdict.doubt, verdict.report, verdict.doubt, verdict.tampered, verdict, told)

    def _before_the_task(self, look: Callable[[], None]) -> bool:
        """Do something in the tree as it was found. False: the changes do not fit any more after that."""
        self._runs.put_back(final=False)
        back = self._bench.journal.rewind(self._request.run_id)
        look()
        self._runs.put_back(final=False)
        again = self._bench.journal.undo(back.transaction) if back.transaction else RestoreReport()
        return not back.conflicts and not again.conflicts

    # --- the end -------------------------------------------------------------------------------------

    def end(self, told: TaskOutcome) -> tuple[TaskOutcome, str]:
        """Leave the tree as the end wants it; the outcome, completed, and the diff of what the task had changed.

        `told` is what is known of the end: its reason, the answer. The named tests have the last word: green and
        verified is kept however the agent ended; anything else is restored, unless a partial result is wanted. Without
        named tests, what a `completed` task changed stays.
        """
        with self._turn:
            done = self._end(told)
            self._ended = True
        return done

    def _end(self, told: TaskOutcome) -> tuple[TaskOutcome, str]:
        judged = None if self._runs.snapshot is None or told.reason in _UNDOUBTED else self._last_verdict()
        reason = self._reason(told.reason, judged)
        partial = self._request.keep_partial and reason not in (StopReason.CANCELLED, StopReason.TAMPERED)
        keep = partial or (judged.ok if judged is not None else reason is StopReason.COMPLETED)
        tree, diff = (self.tree, self._diff()) if self._runs.snapshot is not None else ("", "")
        leaving = Leaving(self._request.run_id, self._bench, self._runs, self._log, RestoreReport)
        left = leaving.leave(keep=keep)
        verified = judged is not None and judged.ok
        outcome = replace(
            told,
            reason=reason,
            fixed=verified and bool(self._target.goal),
            verified=verified,
            tests=_tests(judged, self._base),
            kept=bool(left.kept_files),
            kept_files=left.kept_files,
            restored=not keep and not left.report.conflicts,
            tree=tree,
            conflicts=left.report.conflicts,
            merged=left.report.merged,
            put_back=left.report.transaction,
            ignored=left.report.ignored[:MAX_IGNORED],
            old_bytes=left.old_bytes,
            evidence=self._evidence(judged, tree, left.uncovered, (*self._bench.remarks, *left.remarks)),
        )
        return outcome, diff

    def _last_verdict(self) -> Judged | None:
        """The verdict, where there is something to judge: nothing was changed by a task that was red before."""
        nothing_done = not self._bench.journal.touched(self._request.run_id)
        base = self._base
        if base is not None and nothing_done and not base.report.green and self._judged is None:
            return Judged(self.tree, False, base.report)
        return self.judge()

    def _reason(self, reason: StopReason, judged: Judged | None) -> StopReason:
        if judged is None:
            return reason
        if judged.tampered:
            return StopReason.TAMPERED
        if judged.ok:
            return StopReason.FIXED if self._target.goal else StopReason.COMPLETED
        return StopReason.NO_PROGRESS if reason is StopReason.COMPLETED else reason

    def _diff(self) -> str:
        return self._bench.snapshots.changes(self._request.run_id).diff

    def _evidence(self, judged: Judged | None, tree: str, uncovered: int, remarks: tuple[str, ...]) -> Evidence:
        if judged is None:
            return Evidence(remarks=remarks, test_runs=self._runs.count, side_effects=self._runs.written)
        report = judged.report
        return Evidence(
            interpreter=report.interpreter,
            argv=report.argv,
            sandbox=report.sandbox,
            counts=report.counts,
            goal_runs=f"{GOAL_RUNS}/{GOAL_RUNS}" if judged.ok else "",
            duration_s=round(self._clock.spent_s, 3),
            protected_files=len(self._base.protected[0]) if self._base is not None else 0,
            side_effects=self._runs.written,
            uncovered=uncovered,
            tree=tree if judged.ok else "",
            tests_s=report.duration_s,
            test_runs=self._runs.count,
            test_cpu_s=round(self._runs.cpu_s, 3),
            gates=judged.verdict.gates if judged.verdict is not None else (),
            warnings=judged.warnings,
            remarks=remarks,
        )


def _tests(judged: Judged | None, base: Base | None) -> TaskTests | None:
    if judged is None:
        return None if base is None else TaskTests("not_run", Counts())
    report = judged.report
    failing = tuple(sorted(report.failing))[:_SHOWN_FAILING]
    return TaskTests(report.status, report.counts, failing, judged.doubt)
