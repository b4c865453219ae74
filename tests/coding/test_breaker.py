from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from regreen.providers.breaker import REST_S, TIMEOUTS, Breaker

NOW = 100.0


def _opened() -> Breaker:
    breaker = Breaker()
    for _ in range(TIMEOUTS):
        breaker = breaker.begun(NOW).timed_out(NOW)
    return breaker


def test_three_timeouts_in_a_row_open_it_for_a_minute_and_two_do_not() -> None:
    two = Breaker().timed_out(NOW).timed_out(NOW)
    assert not two.refuses(NOW)
    assert two.timed_out(NOW).refuses(NOW)
    assert two.timed_out(NOW).rest_s(NOW + 18) == REST_S - 18
    assert not two.timed_out(NOW).refuses(NOW + REST_S)


@pytest.mark.parametrize("between", [Breaker.succeeded, Breaker.failed])
def test_anything_but_a_timeout_ends_the_row(between: object) -> None:
    assert callable(between)
    breaker = between(Breaker().timed_out(NOW).timed_out(NOW))
    assert not breaker.timed_out(NOW).timed_out(NOW).refuses(NOW)


def test_half_open_lets_one_through_and_its_timeout_opens_again() -> None:
    later = NOW + REST_S
    trial = _opened().begun(later)
    assert trial.refuses(later)
    with pytest.raises(ValueError, match="lets nothing through"):
        trial.begun(later)
    again = trial.timed_out(later + 5, trial=True)
    assert again.refuses(later + 5 + REST_S - 1)
    assert not again.refuses(later + 5 + REST_S)
    assert trial.succeeded(trial=True) == trial.failed(trial=True) == Breaker()


def test_a_trial_that_nobody_waits_for_leaves_its_place_to_the_next() -> None:
    trial = _opened().begun(NOW + REST_S)
    assert not trial.abandoned(trial=True).refuses(NOW + REST_S)
    assert trial.abandoned().refuses(NOW + REST_S)


def test_what_began_before_it_opened_changes_nothing_any_more() -> None:
    trial = _opened().begun(NOW + REST_S)
    for breaker in (_opened(), trial):
        assert breaker.timed_out(NOW + 30) == breaker.succeeded() == breaker.failed() == breaker.abandoned() == breaker


class Overlapping(RuleBasedStateMachine):
    """Questions that overlap in any way, beside a plain count of what they came to."""

    def __init__(self) -> None:
        super().__init__()
        self.breaker = Breaker()
        self.now = 0.0
        self.under_way: list[bool] = []  # of each question, whether it is a trial
        self.row = 0
        self.opened: float | None = None

    @rule(seconds=st.sampled_from([1.0, REST_S / 2, REST_S]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: not self.breaker.refuses(self.now))
    @rule()
    def ask(self) -> None:
        self.under_way.append(self.opened is not None)
        self.breaker = self.breaker.begun(self.now)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), end=st.sampled_from(["timed_out", "timed_out", "succeeded", "failed", "abandoned"]))
    def end(self, data: st.DataObject, end: str) -> None:
        trial = self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1)))
        if end == "timed_out":
            self.breaker = self.breaker.timed_out(self.now, trial=trial)
        else:
            self.breaker = getattr(self.breaker, end)(trial=trial)
        if end != "abandoned" and (self.opened is None or trial):
            self.row = self.row + 1 if end == "timed_out" else 0
            self.opened = self.now if self.row >= TIMEOUTS else None

    @invariant()
    def no_two_trials_at_once(self) -> None:
        assert sum(self.under_way) <= 1

    @invariant()
    def it_is_open_after_exactly_three_timeouts_in_a_row(self) -> None:
        resting = self.opened is not None and self.now < self.opened + REST_S
        trying = self.opened is not None and any(self.under_way)
        assert self.breaker.refuses(self.now) == (resting or trying)


TestOverlapping = Overlapping.TestCase
TestOverlapping.settings = settings(max_examples=40, stateful_step_count=30)
