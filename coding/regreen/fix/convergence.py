"""When does a fix run stop? One pure function of its attempts and of what was used up.

The rules in their order; the first that holds gives the reason. "Idle" is the number of attempts since the last kept
one: those that were refused or repeated cost no test run and do not count towards `max_attempts`, but are idle too.

| rule | reason          | holds when                                              | by default, first after          |
| ---- | --------------- | ------------------------------------------------------- | -------------------------------- |
| 1    | `tampered`      | `tamperings` attempts on protected files, in all        | P P                              |
| 2    | `oscillation`   | trees, or sets of failing tests, have a period of 2 or  | K(A) S(B) R(A) R(B)              |
|      |                 | 3 that is seen twice                                    |                                  |
| 3    | `repeated_fix`  | the last `repeats` attempts gave trees tried before     | S(A) R(A) R(A), K(A) R(A) R(A)   |
| 4    | `regression`    | the last `regressions` attempts broke what worked       | W W                              |
| 5    | `oscillation`   | idle for `patience` attempts, and the last one came     | S(A) S(B) R(A), or S S S failing |
|      |                 | back to what had been left for something else           | in X, Y, X                       |
| 6    | `no_progress`   | idle for `patience` attempts                            | S S S                            |
| 7    | `attempt_limit` | `max_attempts` test runs                                | K K K K K K                      |
| 8    | `budget`        | any of the budgets is used up                           | any                              |

K kept, S no better, W worse or broken, R repeated, P protected; (A), (B) are trees. Rule 2 stands before 3, since two
repetitions in a row of different trees are a circle. Rule 5 is what makes a circle visible at all: each try is rolled
back, so that `patience` mostly runs out before a circle has closed twice. Progress is never a circle: a kept tree is
new, and the sets of failing tests are looked at only since the last kept attempt. As no run of idle attempts is longer
than `patience`, a run ends within `max_attempts * patience` attempts of whatever kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from regreen.fix.advice import advice
from regreen.fix.hints import HINTS, hint_for
from regreen.fix.limits import TAMPERING, Spent, StopRules, breaking, idle, ran, runs_spent
from regreen.fix.repetition import circles, in_a_row
from regreen.model import Attempt, AttemptState, StopReason

__all__ = ["HINTS", "TAMPERING", "Spent", "StopRules", "advice", "hint_for", "runs_spent", "stop_reason"]


def stop_reason(attempts: Sequence[Attempt], rules: StopRules, spent: Spent) -> StopReason | None:
    """Why the run must stop now, or None to go on."""
    for holds, reason in _RULES:
        if holds(attempts, rules, spent):
            return reason
    return None


def _tampered(attempts: Sequence[Attempt], rules: StopRules, _: Spent) -> bool:
    return sum(a.refusal in TAMPERING for a in attempts) >= rules.tamperings


def _circles(attempts: Sequence[Attempt], _: StopRules, __: Spent) -> bool:
    return circles(_trees(attempts)) or circles(_failing(attempts))


def _repeated(attempts: Sequence[Attempt], rules: StopRules, _: Spent) -> bool:
    return in_a_row(attempts, rules.repeats, lambda a: a.state is AttemptState.REPEATED)


def _regression(attempts: Sequence[Attempt], rules: StopRules, _: Spent) -> bool:
    return in_a_row(attempts, rules.regressions, breaking)


def _comes_back(attempts: Sequence[Attempt], rules: StopRules, spent: Spent) -> bool:
    """Out of patience, and the last attempt is where an earlier one was that had been left for another."""
    if not _no_progress(attempts, rules, spent):
        return False
    if ran(attempts[-1]):
        failing = _failing(attempts)[-3:]
        return len(failing) == 3 and failing[0] == failing[2] != failing[1]
    trees = _trees(attempts)
    return attempts[-1].state is AttemptState.REPEATED and trees[-1] in trees[:-2] and trees[-1] != trees[-2]


def _no_progress(attempts: Sequence[Attempt], rules: StopRules, _: Spent) -> bool:
    return in_a_row(attempts, rules.patience, lambda a: not a.kept)


def _limit(attempts: Sequence[Attempt], rules: StopRules, _: Spent) -> bool:
    return runs_spent(attempts) >= rules.max_attempts


def _budget(_: Sequence[Attempt], rules: StopRules, spent: Spent) -> bool:
    return spent.over(rules)


_RULES: tuple[tuple[Callable[[Sequence[Attempt], StopRules, Spent], bool], StopReason], ...] = (
    (_tampered, StopReason.TAMPERED),
    (_circles, StopReason.OSCILLATION),
    (_repeated, StopReason.REPEATED_FIX),
    (_regression, StopReason.REGRESSION),
    (_comes_back, StopReason.OSCILLATION),
    (_no_progress, StopReason.NO_PROGRESS),
    (_limit, StopReason.ATTEMPT_LIMIT),
    (_budget, StopReason.BUDGET),
)


def _trees(attempts: Sequence[Attempt]) -> list[str]:
    return [a.tree for a in attempts if a.tree]


def _failing(attempts: Sequence[Attempt]) -> list[frozenset[str]]:
    return [frozenset((*a.still, *a.broken)) for a in idle(attempts) if ran(a)]
