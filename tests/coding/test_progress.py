"""Better or worse is judged on test identities."""

from __future__ import annotations

from regreen.fix.progress import Target, adopt, judge, passes, standing
from regreen.model import AttemptState, CaseOutcome, Counts, SuiteReport, SuiteStatus

TARGET = Target(goal=frozenset({"t::a", "t::b"}), guard=frozenset({"t::c", "t::d"}))


def report(outcomes: dict[str, CaseOutcome], status: SuiteStatus = SuiteStatus.FAILED) -> SuiteReport:
    return SuiteReport(status, "pytest", (), "python", "none", Counts(), (), (), 0.1, outcomes=outcomes)


BASE = report({"t::a": "failed", "t::b": "failed", "t::c": "passed", "t::d": "passed"})


def state(outcomes: dict[str, CaseOutcome], status: SuiteStatus = SuiteStatus.FAILED) -> AttemptState:
    now = report(outcomes, status)
    return judge(standing(TARGET, BASE), standing(TARGET, now), now)


def test_one_goal_test_fixed_is_an_improvement() -> None:
    assert state({"t::a": "passed", "t::b": "failed", "t::c": "passed", "t::d": "passed"}) is AttemptState.IMPROVED


def test_one_fixed_and_one_broken_is_worse() -> None:
    assert state({"t::a": "passed", "t::b": "passed", "t::c": "failed", "t::d": "passed"}) is AttemptState.WORSE


def test_the_same_number_of_failures_with_other_tests_is_not_the_same() -> None:
    assert state({"t::a": "passed", "t::b": "failed", "t::c": "failed", "t::d": "passed"}) is AttemptState.WORSE


def test_a_vanished_or_skipped_test_counts_as_failing() -> None:
    gone = {"t::c": "passed", "t::d": "passed"}
    skipped: dict[str, CaseOutcome] = {"t::a": "skipped", "t::b": "xfailed", "t::c": "passed", "t::d": "passed"}
    assert state(gone, SuiteStatus.PASSED) is AttemptState.SAME  # type: ignore[arg-type]
    assert state(skipped, SuiteStatus.PASSED) is AttemptState.SAME
    assert state({"t::a": "passed", "t::b": "passed", "t::c": "passed"}, SuiteStatus.PASSED) is AttemptState.WORSE


def test_all_green_is_passed_only_without_new_failures() -> None:
    green: dict[str, CaseOutcome] = {"t::a": "passed", "t::b": "passed", "t::c": "passed", "t::d": "passed"}
    assert state(green, SuiteStatus.PASSED) is AttemptState.PASSED
    assert state({**green, "t::new": "failed"}) is AttemptState.IMPROVED


def test_a_file_that_no_longer_collects_is_broken() -> None:
    assert state({"t": "error"}, SuiteStatus.ERROR) is AttemptState.BROKEN
    assert state({}, SuiteStatus.CRASHED) is AttemptState.BROKEN


def test_a_collection_error_is_fixed_when_its_tests_are_there_and_none_fails() -> None:
    assert not passes("t.py", report({"t.py": "error"}))
    assert not passes("t.py", report({}))
    assert not passes("t.py", report({"t.py::a": "passed", "t.py::b": "failed"}))
    assert passes("t.py", report({"t.py::a": "passed", "t.py::b": "skipped"}))


def test_tests_that_come_to_light_join_goal_and_guard() -> None:
    target = Target(goal=frozenset({"t.py"}), guard=frozenset({"u.py::x"}))
    now = report({"t.py::a": "passed", "t.py::b": "failed", "u.py::x": "passed"})
    grown = adopt(target, now)
    assert grown.goal == {"t.py::b"}
    assert grown.guard == {"t.py::a", "u.py::x"}


def test_collecting_again_is_an_improvement_even_if_tests_inside_fail() -> None:
    target = Target(goal=frozenset({"t.py"}), guard=frozenset())
    before, after = report({"t.py": "error"}, SuiteStatus.ERROR), report({"t.py::a": "failed"})
    assert judge(standing(target, before), standing(target, after), after) is AttemptState.IMPROVED


def test_a_run_that_hangs_in_one_test_is_judged_by_the_others() -> None:
    target = Target(goal=frozenset({"t::hangs", "t::b"}), guard=frozenset({"t::c"}))
    before = report({"t::hangs": "failed", "t::b": "failed", "t::c": "passed"}, SuiteStatus.TIMEOUT)
    half = report({"t::hangs": "failed", "t::b": "passed", "t::c": "passed"}, SuiteStatus.TIMEOUT)
    all_but_one = report({"t::hangs": "passed", "t::b": "passed", "t::c": "passed"}, SuiteStatus.CRASHED)
    best = standing(target, before)
    assert judge(best, standing(target, half), half) is AttemptState.IMPROVED
    assert judge(best, standing(target, before), before) is AttemptState.TIMEOUT
    assert judge(best, standing(target, all_but_one), all_but_one) is not AttemptState.PASSED


def test_a_red_exit_without_a_failing_test_is_never_green() -> None:
    green: dict[str, CaseOutcome] = {"t::a": "passed", "t::b": "passed", "t::c": "passed", "t::d": "passed"}
    assert state(green, SuiteStatus.FAILED) is not AttemptState.PASSED
