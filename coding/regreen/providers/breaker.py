"""A circuit breaker, as Michael Nygard describes it in "Release It!": whoever hangs again and again is left alone.

It is closed at first. Three timeouts in a row open it: nothing is asked while it is open, so that a caller hears at
once what it would else wait minutes for. After a rest it is half-open and lets one question through, the trial; a
timeout of the trial opens it again, anything else closes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

TIMEOUTS = 3
REST_S = 60.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """The state of one provider's breaker. `timeouts` are those in a row; `opened_at` is None while it is closed;
    `trying`: the trial is under way.

    Questions may overlap. While it is open, only what became of the trial counts: those that began before it opened
    tell nothing new.
    """

    timeouts: int = 0
    opened_at: float | None = None
    trying: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it is open or half-open. A question that begins now is a trial then."""
        return self.opened_at is not None

    def refuses(self, now: float) -> bool:
        """Whether nothing may be asked now."""
        return self.opened_at is not None and (self.trying or now < self.opened_at + REST_S)

    def rest_s(self, now: float) -> float:
        """How long until the next trial at the earliest."""
        return 0.0 if self.opened_at is None else max(0.0, self.opened_at + REST_S - now)

    def begun(self, now: float) -> Breaker:
        """A question begins, a trial where `is_open`. Only where `refuses` says no."""
        if self.refuses(now):
            raise ValueError("an open breaker lets nothing through")
        return replace(self, trying=True) if self.is_open else self

    def timed_out(self, now: float, *, trial: bool = False) -> Breaker:
        if self.is_open:
            return Breaker(self.timeouts + 1, now) if trial else self
        timeouts = self.timeouts + 1
        return Breaker(timeouts, now) if timeouts >= TIMEOUTS else Breaker(timeouts)

    def succeeded(self, *, trial: bool = False) -> Breaker:
        return self if self.is_open and not trial else Breaker()

    def failed(self, *, trial: bool = False) -> Breaker:
        """It failed in another way than by a timeout: it does answer, so the row of timeouts ends."""
        return self.succeeded(trial=trial)

    def abandoned(self, *, trial: bool = False) -> Breaker:
        """Nobody waits for the answer any more. It tells nothing; after a trial the next question is one."""
        return replace(self, trying=False) if trial else self
