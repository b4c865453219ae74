"""What is red, and is it red for certain? The first cold run, and reruns that tell a flaky test from a broken one.

The failing tests, and only they, are run again by themselves: so often that each has been seen in five runs, or in
three where that takes long and none of them passes. One that both passed and failed there is flaky. One that always
passed there fails only among the others, or seldom: two more runs of the whole scope decide.

A test that alternates, or passes or fails in every third run, is always found out. One that fails by chance, in a
share p of its runs, has failed once to be looked at, and is still taken for certain with the probability

| p                                  | 0.9   | 0.7   | 0.5   | 1/3   | 0.2   |
| ---------------------------------- | ----- | ----- | ----- | ----- | ----- |
| seen in three runs: p^2 + q        | 0.81  | 0.49  | 0.27  | 0.13  | 0.06  |
| seen in five: p^4 + q              | 0.66  | 0.24  | 0.08  | 0.03  | 0.02  |

where q = p^2 (1 - p)^4 stands for one that passed by itself each time and then failed twice among the others.
So a fix rests on several passing runs as well. Tests that hang are not run again here, since each would take its whole
time limit: `once` names the tests that were seen failing only once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from regreen.fix.identities import FAILING, kinds, looks_like_file, unloaded
from regreen.fix.progress import Target, passes
from regreen.model import StopReason, SuiteReport, SuiteStatus
from regreen.wire import names

RUNS = 5
"""In how many runs a failing test is seen before it counts as failing for certain."""
RUNS_IF_SLOW = 3
"""In how many where a run of the failing tests takes longer than `SLOW_S`, and none of them passes."""
SLOW_S = 5.0
SCOPE_RERUNS = 2
"""How often the whole scope is run again where tests fail in it that pass by themselves."""
_NOTHING_TO_FIX = frozenset({SuiteStatus.NO_TESTS, SuiteStatus.DENIED})
_WORD = re.compile(r"[@\w][\w@./-]*")
_MISSING = re.compile(r"\Amissing in .+?: (?P<python>`.+`) \(imported|\Anot installed, .*? it: (?P<other>.+?); run ")

RunTests = Callable[[Sequence[str]], SuiteReport]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The state before the first attempt. `stop` is set where there is nothing to attempt.

    `once`: tests of the goal that were seen failing in one run only. `notes` say what was left out of the goal.
    """

    report: SuiteReport
    target: Target
    stop: StopReason | None = None
    once: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


class _Cancelled(Exception):
    """The run was cancelled during a rerun."""


def take(run_tests: RunTests, scope: Sequence[str], *, has_time: Callable[[], bool] = lambda: True) -> Baseline:
    """Run the scope cold, then the failing tests again, and sort them into goal, guard, flaky and pre-existing.

    `has_time` is asked before each rerun; without time the tests count as what they have shown so far.
    """
    report = run_tests(scope)
    lacking = _lacking(report)
    files = unloaded(report)
    target = Target(report.failing - lacking, report.passing, pre_existing=lacking, files=files - lacking)
    stop = _stop(report, target)
    if stop is not None:
        return Baseline(report, target, stop, notes=_notes(target))
    try:
        seen = _look_again(report, target, run_tests, scope, has_time)
    except _Cancelled:
        return Baseline(report, target, StopReason.CANCELLED)
    flaky = seen.flaky
    target = Target(target.goal - flaky, target.guard - flaky, flaky, lacking, target.files - flaky)
    if not target.goal:
        stop = StopReason.ENVIRONMENT if lacking else StopReason.FLAKY
    return Baseline(report, target, stop, target.goal - seen.again, _notes(target))


def _stop(report: SuiteReport, target: Target) -> StopReason | None:
    if report.status is SuiteStatus.CANCELLED:
        return StopReason.CANCELLED
    if report.green:
        return StopReason.ALREADY_GREEN
    if report.status in _NOTHING_TO_FIX or not target.goal:
        return StopReason.ENVIRONMENT
    told = report.status is not SuiteStatus.ENVIRONMENT or target.pre_existing
    return None if told else StopReason.ENVIRONMENT


def _lacking(report: SuiteReport) -> frozenset[str]:
    """What does not load for want of something in the environment: no change to the code can repair that.

    The report's message names what is missing; where no failure speaks of it, everything that does not load is meant.
    """
    if report.status is not SuiteStatus.ENVIRONMENT:
        return frozenset()
    shut = unloaded(report)
    said = _MISSING.match(report.message)
    missing = _WORD.findall(said["python"] or said["other"]) if said else []
    named = {f.id for f in report.failures if f.id in shut and _speaks_of(f.message, missing)}
    for group in report.groups:
        if any(i in named for i in group.ids):
            named.update(group.ids)
    return frozenset(named) & shut or shut


def _speaks_of(message: str, names: Iterable[str]) -> bool:
    words = {w.strip(".") for w in _WORD.findall(message)}
    return any(w == n or w.startswith((f"{n}.", f"{n}/")) for n in names for w in words)


@dataclass
class _Seen:
    """What the reruns showed. `again`: tests that some rerun told something of."""

    passed: set[str]
    failed: set[str]
    flaky: frozenset[str] = frozenset()

    @property
    def again(self) -> frozenset[str]:
        return frozenset(self.passed | self.failed)

    def note(self, tests: Iterable[str], report: SuiteReport, target: Target) -> None:
        for test in tests:
            if passes(test, report, target):
                self.passed.add(test)
            elif report.outcomes.get(test) in FAILING:
                self.failed.add(test)


def _look_again(
    report: SuiteReport, target: Target, run_tests: RunTests, scope: Sequence[str], has_time: Callable[[], bool]
) -> _Seen:
    seen = _Seen(set(), set())
    batches = _batches(report, target)
    for n in range(RUNS - 1):
        if not has_time():
            return seen
        reports = [(batch, _checked(run_tests(batch))) for batch in batches]
        for batch, again in reports:
            seen.note(batch, again, target)
        slow = sum(again.duration_s for _, again in reports) > SLOW_S
        if slow and n + 2 >= RUNS_IF_SLOW and not seen.passed:
            break
    mixed = seen.passed & seen.failed
    seen.flaky = frozenset(mixed) | _flaky_in_scope(report, target, seen.passed - mixed, run_tests, scope)
    return seen


def _batches(report: SuiteReport, target: Target) -> list[list[str]]:
    """What is run again together. A file that ends the process while it loads keeps the others from running."""
    known = kinds(report)
    calm = sorted(i for i in target.goal if known.get(i) not in ("timeout", "crash"))
    crashing = sorted(i for i in target.goal if known.get(i) == "crash")
    loading = [i for i in crashing if i in target.files or looks_like_file(i, report.runner)]
    tests = [i for i in crashing if i not in loading]
    return [batch for batch in (calm, tests, *([i] for i in loading)) if batch]


def _flaky_in_scope(
    report: SuiteReport, target: Target, doubtful: set[str], run_tests: RunTests, scope: Sequence[str]
) -> frozenset[str]:
    """Which of the tests that pass by themselves pass among the others too; and which of the guard fail there."""
    flaky: set[str] = set()
    for _ in range(SCOPE_RERUNS):
        if doubtful <= flaky:
            break
        again = _checked(run_tests(scope))
        flaky.update(i for i in doubtful if passes(i, again, target))
        flaky.update(report.passing & again.failing)
    return frozenset(flaky)


def _checked(report: SuiteReport) -> SuiteReport:
    if report.status is SuiteStatus.CANCELLED:
        raise _Cancelled
    return report


def _notes(target: Target) -> tuple[str, ...]:
    if not target.pre_existing:
        return ()
    return (f"left out, since the environment lacks what they need: {names(sorted(target.pre_existing))}",)
