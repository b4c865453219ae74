"""Is this better than before? Judged on test identities, never on counts. Pure.

The goal is the set of tests that failed for certain at the baseline; the guard is the set that passed. A test that
vanished, was skipped or deselected counts as failing: making a test disappear is no repair.
"""

from __future__ import annotations

from dataclasses import dataclass

from regreen.model import AttemptState, SuiteReport, SuiteStatus

_DID_NOT_RUN = frozenset({SuiteStatus.ENVIRONMENT, SuiteStatus.NO_TESTS, SuiteStatus.DENIED, SuiteStatus.CANCELLED})
_CUT_SHORT = frozenset({SuiteStatus.CRASHED, SuiteStatus.TIMEOUT})


@dataclass(frozen=True, slots=True)
class Target:
    """What a run is after: `goal` must turn green, `guard` must stay green, `flaky` is left out of the measure."""

    goal: frozenset[str]
    guard: frozenset[str]
    flaky: frozenset[str] = frozenset()
    pre_existing: frozenset[str] = frozenset()  # failing, but outside what the run was asked to repair


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a tree stands against the target."""

    fixed: frozenset[str]
    broken: frozenset[str]
    still: frozenset[str]
    strangers: frozenset[str]  # failing tests that the baseline did not know
    uncollected: int  # files that do not collect
    ran: bool
    explained: bool  # the run passed, or is red because of tests that failed, and nothing else

    @property
    def score(self) -> tuple[int, int, int]:
        """Lexicographic: files that collect, guard tests unbroken, goal tests fixed. Larger is better."""
        return (-self.uncollected, -len(self.broken), len(self.fixed))

    @property
    def green(self) -> bool:
        return self.ran and self.explained and not (self.still or self.broken or self.strangers or self.uncollected)


def standing(target: Target, report: SuiteReport) -> Standing:
    """Measure a report against the target. A run that crashed or hung still tells of the tests that it reached."""
    ran = bool(report.outcomes) and report.status not in _DID_NOT_RUN
    passing = frozenset(i for i in target.goal | target.guard if passes(i, report)) if ran else frozenset[str]()
    known = target.goal | target.guard | target.flaky | target.pre_existing
    uncollected = frozenset(i for i in report.failing if "::" not in i)
    strangers = report.failing - known - uncollected
    return Standing(
        fixed=target.goal & passing,
        broken=target.guard - passing,
        still=target.goal - passing,
        strangers=frozenset(strangers),
        uncollected=len(uncollected - target.flaky - target.pre_existing),
        ran=ran,
        explained=report.green or bool(report.failing),
    )


def passes(test_id: str, report: SuiteReport) -> bool:
    """Does this test pass? The id of a file (a collection error) passes when its tests are there and none fails."""
    outcome = report.outcomes.get(test_id)
    if outcome is not None:
        return outcome in ("passed", "xpassed")
    if "::" in test_id:
        return False
    inside = [o for i, o in report.outcomes.items() if i.startswith(test_id + "::")]
    return bool(inside) and not any(o in ("failed", "error") for o in inside)


def adopt(target: Target, report: SuiteReport) -> Target:
    """The target once a kept attempt brought new tests to light (a file that did not collect now does).

    New failing tests join the goal, new passing ones the guard, and the file's own id leaves the goal.
    """
    known = target.goal | target.guard | target.flaky | target.pre_existing
    opened = {g for g in target.goal if "::" not in g and g not in report.failing}
    strangers = {i for i in report.failing - known if "::" in i}
    return Target(
        goal=(target.goal - opened) | strangers,
        guard=target.guard | (report.passing - known),
        flaky=target.flaky,
        pre_existing=target.pre_existing,
    )


def judge(best: Standing, now: Standing, report: SuiteReport) -> AttemptState:
    """The state of an attempt whose tree stands at `now`, while the best so far stands at `best`."""
    cut_short = report.status in _CUT_SHORT
    if now.ran and now.green and not cut_short:
        return AttemptState.PASSED
    if now.ran and now.score > best.score:
        return AttemptState.IMPROVED
    if report.status is SuiteStatus.TIMEOUT:
        return AttemptState.TIMEOUT
    if not now.ran or now.uncollected > best.uncollected:
        return AttemptState.BROKEN
    return AttemptState.WORSE if now.score < best.score else AttemptState.SAME
