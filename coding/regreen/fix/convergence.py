"""When does a fix run stop? One pure function of its attempts and of the work done so far.

The rules stand in order of weight; the first that holds gives the reason. A proposal that was refused or repeated
costs no test run and does not count towards `max_attempts`, but it is no progress either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regreen.model import Attempt, AttemptState, StopReason

_NOT_RUN = frozenset({AttemptState.REFUSED, AttemptState.REPEATED})
_BREAKING = frozenset({AttemptState.WORSE, AttemptState.BROKEN})
TAMPERING = "path_protected"


@dataclass(frozen=True, slots=True)
class StopRules:
    """The limits of one run. `patience`: attempts without improvement; `repeats`: refused repetitions in a row."""

    max_attempts: int = 6
    budget_s: float = 300.0
    patience: int = 3
    repeats: int = 2
    regressions: int = 2
    tamperings: int = 2


def runs_spent(attempts: Sequence[Attempt]) -> int:
    """How many attempts cost a test run; these count towards `max_attempts`."""
    return sum(a.state not in _NOT_RUN for a in attempts)


def stop_reason(attempts: Sequence[Attempt], rules: StopRules, work_s: float) -> StopReason | None:
    """Why the run must stop now, or None to go on. `work_s` is our own work, not a caller's thinking time."""
    if sum(a.refusal == TAMPERING for a in attempts) >= rules.tamperings:
        return StopReason.TAMPERED
    if _last(attempts, rules.repeats, lambda a: a.state is AttemptState.REPEATED):
        return StopReason.REPEATED_FIX
    if _last(attempts, rules.regressions, lambda a: a.state in _BREAKING):
        return StopReason.REGRESSION
    if _last(attempts, rules.patience, lambda a: not a.kept):
        return StopReason.NO_PROGRESS
    if runs_spent(attempts) >= rules.max_attempts:
        return StopReason.ATTEMPT_LIMIT
    if work_s >= rules.budget_s:
        return StopReason.BUDGET
    return None


def _last(attempts: Sequence[Attempt], n: int, holds: Callable[[Attempt], bool]) -> bool:
    return len(attempts) >= n and all(holds(a) for a in attempts[-n:])


HINTS: dict[StopReason, str] = {
    StopReason.FIXED: "Review the diff: all tests pass, which makes the fix plausible, not proven.",
    StopReason.ALREADY_GREEN: "Nothing to fix: every selected test passes.",
    StopReason.NO_PROGRESS: "The last tries changed nothing for the better. Look for the cause elsewhere than so far.",
    StopReason.REPEATED_FIX: "The same change was handed in again. Try another cause, or give the run more context.",
    StopReason.OSCILLATION: "The tries go in a circle. Decide between them by hand.",
    StopReason.REGRESSION: "The last tries broke tests that passed. Repair the cause without changing their behaviour.",
    StopReason.ATTEMPT_LIMIT: "Raise max_attempts, or narrow the selection to one failing test.",
    StopReason.BUDGET: "Raise budget_s, or narrow the selection to one failing test.",
    StopReason.FLAKY: "The failing tests pass and fail without a change. Make them deterministic (seed, time, order).",
    StopReason.ENVIRONMENT: "Put the environment right (see the message), then run again.",
    StopReason.TAMPERED: "Test files and test settings are read-only in this run. Change the code under test.",
    StopReason.NEEDS_TEST_CHANGE: "The tests contradict each other or the intent: a person must decide.",
    StopReason.PROPOSER_FAILED: "No further idea. Hand in a fix of your own (proposer=caller), or use another one.",
    StopReason.CANCELLED: "The run was cancelled; everything is as it was.",
    StopReason.REFUSED: "Policy did not allow the run.",
}  # fmt: skip
