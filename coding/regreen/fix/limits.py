"""What limits a fix run, and how its attempts count against the limits. Values and pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regreen.model import Attempt, AttemptState

TAMPERING = frozenset({"path_protected", "tampering"})  # kinds of refusals
_NOT_RUN = frozenset({AttemptState.REFUSED, AttemptState.REPEATED})
_BREAKING = frozenset({AttemptState.WORSE, AttemptState.BROKEN})


@dataclass(frozen=True, slots=True)
class StopRules:
    """The limits of one run. `patience`: attempts without improvement; `repeats`: refused repetitions in a row."""

    max_attempts: int = 6
    budget_s: float = 300.0
    budget_cpu_s: float = 0.0  # CPU time of the tests, in all; 0 = no limit (so are the next two)
    budget_tokens: int = 0
    budget_usd: float = 0.0
    patience: int = 3
    repeats: int = 2
    regressions: int = 2
    tamperings: int = 2


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has used up: seconds of our own work (a caller's thinking is free), CPU of tests, tokens, dollars."""

    work_s: float = 0.0
    test_cpu_s: float = 0.0
    tokens: int = 0
    usd: float = 0.0

    def over(self, rules: StopRules) -> bool:
        """Is any of the budgets used up?"""
        return bool(self.exhausted(rules))

    def exhausted(self, rules: StopRules) -> tuple[str, ...]:
        """The budgets that are used up, by the names of their options."""
        limits = (
            ("budget_s", self.work_s, rules.budget_s, True),
            ("budget_cpu_s", self.test_cpu_s, rules.budget_cpu_s, False),
            ("budget_tokens", self.tokens, rules.budget_tokens, False),
            ("budget_usd", self.usd, rules.budget_usd, False),
        )
        return tuple(name for name, used, limit, always in limits if (limit or always) and used >= limit)


def runs_spent(attempts: Sequence[Attempt]) -> int:
    """How many attempts cost a test run; these count towards `max_attempts`."""
    return sum(ran(a) for a in attempts)


def ran(attempt: Attempt) -> bool:
    """Did this attempt come to a test run?"""
    return attempt.state not in _NOT_RUN


def breaking(attempt: Attempt) -> bool:
    """Did this attempt break what worked before?"""
    return attempt.state in _BREAKING


def objecting(attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """The gates that alone stood against every attempt that was run since the last kept one; none where another cause
    stood against one of them."""
    vain = [a for a in idle(attempts) if ran(a)]
    return tuple(dict.fromkeys(g for a in vain for g in a.gates)) if all(a.gates for a in vain) else ()


def idle(attempts: Sequence[Attempt]) -> Sequence[Attempt]:
    """The attempts since the last one that was kept."""
    last = max((n for n, a in enumerate(attempts) if a.kept), default=-1)
    return attempts[last + 1 :]
