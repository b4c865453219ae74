"""What the end of a run rests on, and what to do next. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from regreen.fix.bench import FixRequest
from regreen.fix.convergence import hint_for
from regreen.fix.hints import with_gates, with_reason
from regreen.fix.limits import objecting
from regreen.fix.verification import GOAL_RUNS
from regreen.model import Attempt, Evidence, StopReason

if TYPE_CHECKING:
    from regreen.fix.ending import History

_CONTRADICTED = 2


def evidence(
    history: History, test_runs: int, side_effects: tuple[str, ...], uncovered: int, *, fixed: bool
) -> Evidence:
    """The evidence of a run; empty where no test ever ran. It speaks of the best tree."""
    if not history.kept or history.base is None:
        return Evidence()
    report, verdict = history.kept[-1].report, history.verdict
    return Evidence(
        interpreter=report.interpreter,
        argv=report.argv,
        sandbox=report.sandbox,
        counts=report.counts,
        goal_runs=f"{GOAL_RUNS}/{GOAL_RUNS}" if fixed else "",
        duration_s=round(history.spent.work_s, 3),
        protected_files=len(history.base.protected[0]),
        side_effects=side_effects,
        uncovered=uncovered,
        flaky=tuple(sorted(history.target.flaky)),
        pre_existing=tuple(sorted(history.target.pre_existing)),
        tree=history.tree if fixed else "",
        tests_s=report.duration_s,
        test_runs=test_runs,
        test_cpu_s=round(history.spent.test_cpu_s, 3),
        usage=history.usage,
        gates=verdict.gates if verdict is not None else (),
        warnings=(*history.base.notes, *(history.attempts[-1].warnings if fixed and history.attempts else ())),
    )


def hint(reason: StopReason, history: History, request: FixRequest) -> str:
    """The next step, with what is known of the cause first."""
    said = hint_for(reason, history.spent, request.rules)
    diagnosis = history.base.report.message.rstrip() if history.base is not None else ""
    last = history.attempts[-1] if history.attempts else None
    if reason is StopReason.ENVIRONMENT and diagnosis:
        return diagnosis if diagnosis.endswith(".") else f"{diagnosis}."
    if reason is StopReason.PROPOSER_FAILED:
        said = with_reason(said, history.why)
    if reason is StopReason.BUDGET and history.why:
        return history.why
    said = with_gates(said, reason, objecting(history.attempts))
    if reason is StopReason.FIXED and request.selection:
        return f"Only the selected tests were run: run all of them too. {said}"
    if reason is StopReason.NEEDS_TEST_CHANGE and last is not None:
        return f"{_sentence(last.message)} {said}"
    if reason is StopReason.TAMPERED and history.verdict is not None and history.verdict.tampered:
        return f"{_sentence(history.verdict.doubt)} {said}"
    if reason is not StopReason.FIXED and (pair := contradiction(history.attempts)):
        return f"{said} Each try that made {pair[0]} pass broke {pair[1]}: do they contradict each other?"
    return said


def contradiction(attempts: tuple[Attempt, ...]) -> tuple[str, str] | None:
    """A goal test and a guard test of which, in several tries, one passed only when the other was broken."""
    pairs = Counter((f, b) for a in attempts for f in a.fixed for b in a.broken)
    for (goal, guard), n in pairs.most_common(1):
        apart = any(goal in a.fixed and guard not in a.broken for a in attempts)
        if n >= _CONTRADICTED and not apart:
            return goal, guard
    return None


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
