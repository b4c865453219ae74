"""What is red, and is it red for certain? The first cold run, and reruns that tell a flaky test from a broken one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regreen.fix.progress import Target, passes
from regreen.model import StopReason, SuiteReport, SuiteStatus

RERUNS = 2
"""How often a failing test is run again before it counts as failing for certain."""
RUNS_ON_FLIP = 5
"""In how many runs of the whole scope a test is seen that passed once and failed once."""
_COSTLY = frozenset({"timeout", "crash"})
_NOTHING_TO_FIX = frozenset({SuiteStatus.ENVIRONMENT, SuiteStatus.NO_TESTS, SuiteStatus.DENIED})

RunTests = Callable[[Sequence[str]], SuiteReport]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The state before the first attempt. `stop` is set where there is nothing to attempt."""

    report: SuiteReport
    target: Target
    stop: StopReason | None = None


def take(run_tests: RunTests, scope: Sequence[str]) -> Baseline:
    """Run the scope cold, then the failing tests again, and sort them into goal, guard and flaky."""
    report = run_tests(scope)
    target = Target(goal=report.failing, guard=report.passing)
    if report.status is SuiteStatus.CANCELLED:
        return Baseline(report, target, StopReason.CANCELLED)
    if report.green:
        return Baseline(report, target, StopReason.ALREADY_GREEN)
    if report.status in _NOTHING_TO_FIX or not report.failing:
        return Baseline(report, target, StopReason.ENVIRONMENT)
    flaky = _flaky(report, run_tests, scope)
    if flaky is None:
        return Baseline(report, target, StopReason.CANCELLED)
    target = Target(goal=report.failing - flaky, guard=report.passing - flaky, flaky=flaky)
    return Baseline(report, target, None if target.goal else StopReason.FLAKY)


def _flaky(report: SuiteReport, run_tests: RunTests, scope: Sequence[str]) -> frozenset[str] | None:
    """Failing ids that do not always fail; None when cancelled.

    The failing tests are first run by themselves, which is cheap. One that passes there may also depend on the order
    of tests, so the whole scope decides then.
    """
    doubtful = sorted(f.id for f in report.failures if f.kind not in _COSTLY) or []
    doubtful = sorted(report.failing & frozenset(doubtful)) if doubtful else []
    if not doubtful:
        return frozenset()
    for _ in range(RERUNS):
        again = run_tests(doubtful)
        if again.status is SuiteStatus.CANCELLED:
            return None
        if any(passes(i, again) for i in doubtful):
            return _flaky_in_scope(report, run_tests, scope)
    return frozenset()


def _flaky_in_scope(report: SuiteReport, run_tests: RunTests, scope: Sequence[str]) -> frozenset[str] | None:
    failed = Counter(report.failing)
    for _ in range(RUNS_ON_FLIP - 1):
        again = run_tests(scope)
        if again.status is SuiteStatus.CANCELLED:
            return None
        failed.update(again.failing)
    return frozenset(i for i, n in failed.items() if n < RUNS_ON_FLIP)
