"""When a run stops: the rules as a table, and the promise that every run ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regreen.fix.convergence import HINTS, StopRules, runs_spent, stop_reason
from regreen.model import Attempt, AttemptState, StopReason

S = AttemptState
RULES = StopRules(max_attempts=6, budget_s=100)


def attempts(*states: AttemptState, refusal: str = "") -> tuple[Attempt, ...]:
    kept = {S.IMPROVED, S.PASSED}
    return tuple(Attempt(i + 1, s, kept=s in kept, refusal=refusal) for i, s in enumerate(states))


@pytest.mark.parametrize(
    ("history", "work_s", "expected"),
    [
        ((), 0, None),
        ((S.SAME,), 0, None),
        ((S.SAME, S.SAME), 0, None),
        ((S.SAME, S.SAME, S.SAME), 0, StopReason.NO_PROGRESS),
        ((S.SAME, S.REFUSED, S.TIMEOUT), 0, StopReason.NO_PROGRESS),
        ((S.SAME, S.IMPROVED, S.SAME), 0, None),
        ((S.REPEATED,), 0, None),
        ((S.REPEATED, S.REPEATED), 0, StopReason.REPEATED_FIX),
        ((S.REPEATED, S.SAME, S.REPEATED), 0, StopReason.NO_PROGRESS),
        ((S.WORSE, S.WORSE), 0, StopReason.REGRESSION),
        ((S.WORSE, S.BROKEN), 0, StopReason.REGRESSION),
        ((S.WORSE, S.SAME), 0, None),
        ((S.IMPROVED,) * 5, 0, None),
        ((S.IMPROVED,) * 6, 0, StopReason.ATTEMPT_LIMIT),
        ((S.IMPROVED, S.SAME), 100, StopReason.BUDGET),
    ],
)
def test_the_history_gives_the_reason(
    history: tuple[AttemptState, ...], work_s: float, expected: StopReason | None
) -> None:
    assert stop_reason(attempts(*history), RULES, work_s) is expected


def test_a_second_attempt_on_protected_files_is_tampering() -> None:
    once = attempts(S.REFUSED, refusal="path_protected")
    twice = attempts(S.REFUSED, S.REFUSED, refusal="path_protected")
    assert stop_reason(once, RULES, 0) is None
    assert stop_reason(twice, RULES, 0) is StopReason.TAMPERED


def test_refused_and_repeated_attempts_cost_no_run() -> None:
    assert runs_spent(attempts(S.REFUSED, S.SAME, S.REPEATED, S.IMPROVED)) == 2


@given(st.lists(st.sampled_from([s for s in S if s is not S.PASSED]), max_size=60))
def test_every_history_is_stopped_within_its_limits(states: list[AttemptState]) -> None:
    history: tuple[Attempt, ...] = ()
    for state in states:
        if stop_reason(history, RULES, 0) is not None:
            break
        history = attempts(*(a.state for a in history), state)
    assert runs_spent(history) <= RULES.max_attempts
    assert len(history) <= RULES.max_attempts * RULES.patience


@given(st.lists(st.just(S.IMPROVED), max_size=5))
def test_a_run_that_improves_each_time_is_not_stopped_before_its_limit(states: list[AttemptState]) -> None:
    assert stop_reason(attempts(*states), RULES, 0) is None


def test_every_reason_has_a_next_step() -> None:
    assert set(HINTS) == set(StopReason)
    assert all(HINTS.values())
