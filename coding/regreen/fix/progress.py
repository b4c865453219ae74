"""Is this better than before? Judged on test identities, never on counts of a run. Pure.

The goal is the set of tests that failed for certain at the baseline; the guard is the set that passed. A test that
vanished, was skipped, deselected or is expected to fail counts as failing: making a test disappear is no repair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from regreen.fix import depth
from regreen.fix.identities import FAILING, PASSING, looks_like_file, opened, tests_of, unloaded
from regreen.model import AttemptState, SuiteReport, SuiteStatus

_DID_NOT_RUN = frozenset({SuiteStatus.NO_TESTS, SuiteStatus.DENIED, SuiteStatus.CANCELLED})
_CUT_SHORT = frozenset({SuiteStatus.CRASHED, SuiteStatus.TIMEOUT})


@dataclass(frozen=True, slots=True)
class Target:
    """What a run is after: `goal` must turn green, `guard` must stay green, `flaky` is left out of the measure."""

    goal: frozenset[str]
    guard: frozenset[str]
    flaky: frozenset[str] = frozenset()
    pre_existing: frozenset[str] = frozenset()  # failing for want of something in the environment: not to be repaired
    files: frozenset[str] = frozenset()  # ids that stand for what did not load, not for a test

    @property
    def known(self) -> frozenset[str]:
        return self.goal | self.guard | self.flaky | self.pre_existing


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a tree stands against the target."""

    fixed: frozenset[str]
    broken: frozenset[str]
    still: frozenset[str]
    strangers: frozenset[str]  # failing tests that the baseline did not know
    uncollected: int  # files that do not load, or that are gone
    ran: bool
    explained: bool  # the run passed, or is red because of tests that failed, and nothing else
    further: frozenset[str] = frozenset()  # of `still`: those that fail later than in the best tree

    @property
    def score(self) -> tuple[int, int, int, int]:
        """Lexicographic: files that load, guard tests unbroken, goal tests fixed, depth. Larger is better."""
        return (-self.uncollected, -len(self.broken), len(self.fixed), len(self.further))

    @property
    def green(self) -> bool:
        return self.ran and self.explained and not (self.still or self.broken or self.strangers or self.uncollected)


def standing(target: Target, report: SuiteReport, best_report: SuiteReport | None = None) -> Standing:
    """Measure a report against the target. A run that crashed or hung still tells of the tests that it reached.

    `best_report` is that of the best tree so far; without it nothing counts as `further`.
    """
    ran = _ran(target, report)
    passing = frozenset(i for i in target.goal | target.guard if passes(i, report, target)) if ran else frozenset[str]()
    shut = unloaded(report)
    gone = {g for g in _files(target, report) if g not in report.outcomes and not opened(g, report)}
    still = target.goal - passing
    return Standing(
        fixed=target.goal & passing,
        broken=target.guard - passing,
        still=still,
        strangers=report.failing - target.known - shut,
        uncollected=len((shut | gone) - target.flaky - target.pre_existing),
        ran=ran,
        explained=report.green or bool(report.failing),
        further=depth.further(still, report, best_report) if ran and best_report is not None else frozenset(),
    )


def _ran(target: Target, report: SuiteReport) -> bool:
    """Did tests run? Where the environment lacks something, only if it is what was lacking at the baseline already."""
    if report.status is SuiteStatus.ENVIRONMENT:
        return bool(target.pre_existing & report.failing)
    return bool(report.outcomes) and report.status not in _DID_NOT_RUN


def _files(target: Target, report: SuiteReport) -> frozenset[str]:
    """Those of the goal that are no tests."""
    return frozenset(g for g in target.goal if g in target.files or looks_like_file(g, report.runner))


def passes(test_id: str, report: SuiteReport, target: Target | None = None) -> bool:
    """Does this test pass? The id of what did not load passes when it loads, and its tests pass.

    `target` knows for certain which ids stand for files; without it their form decides.
    """
    outcome = report.outcomes.get(test_id)
    if outcome is not None:
        return outcome in PASSING
    is_file = looks_like_file(test_id, report.runner) or (target is not None and test_id in target.files)
    if not is_file or not opened(test_id, report):
        return False
    inside = tests_of(test_id, report.outcomes) or report.outcomes
    return any(o in PASSING for o in inside.values()) and not any(o in FAILING for o in inside.values())


def adopt(target: Target, report: SuiteReport) -> Target:
    """The target once a kept attempt brought new tests to light (a file that did not load now does).

    New failing tests join the goal, new passing ones the guard, and the file's own id leaves the goal.
    """
    loaded = {g for g in _files(target, report) if opened(g, report)}
    shut = unloaded(report)
    return replace(
        target,
        goal=(target.goal - loaded) | (report.failing - target.known - shut),
        guard=target.guard | (report.passing - target.known),
        files=(target.files - loaded) | (target.goal & shut),
    )


def depth_only(best: Standing, now: Standing) -> bool:
    """Is `now` better than the best tree by nothing but tests that fail later than they did?"""
    return now.ran and _repairs(now) == _repairs(best) and bool(now.further) and now.strangers <= best.strangers


def judge(best: Standing, now: Standing, report: SuiteReport) -> AttemptState:
    """The state of an attempt whose tree stands at `now`, while the best so far stands at `best`.

    `now.further` is measured from the best tree, so the best tree's own does not count against it.
    """
    cut_short = report.status in _CUT_SHORT
    if now.ran and now.green and not cut_short:
        return AttemptState.PASSED
    if now.ran and (_repairs(now) > _repairs(best) or depth_only(best, now)):
        return AttemptState.IMPROVED
    if report.status is SuiteStatus.TIMEOUT:
        return AttemptState.TIMEOUT
    if not now.ran or now.uncollected > best.uncollected:
        return AttemptState.BROKEN
    return AttemptState.WORSE if _repairs(now) < _repairs(best) else AttemptState.SAME


def _repairs(one: Standing) -> tuple[int, int, int]:
    """The score without depth."""
    return one.score[:3]
