"""The first run: what is red for certain, what only sometimes, and what for want of something in the environment."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measuring import failure, report
from support.suites import project, run_tests

from regreen.fix.baseline import RUNS, RUNS_IF_SLOW, SCOPE_RERUNS, SLOW_S, Baseline, take
from regreen.fix.progress import standing
from regreen.model import CaseOutcome, Failure, StopReason, SuiteReport, SuiteStatus

R = StopReason
A, B, C = "t.py::a", "t.py::b", "t.py::c"
Behaviour = Callable[[int, bool], bool]
"""Does a test pass, in its n-th run (from 0), alone or in the whole scope?"""


@dataclass
class Suite:
    """A suite of made-up tests. `calls` are the selections that were run."""

    tests: dict[str, Behaviour]
    kinds: dict[str, str] = field(default_factory=dict[str, str])
    status: SuiteStatus | None = None
    message: str = ""
    duration_s: float = 0.0
    calls: list[list[str]] = field(default_factory=list[list[str]])
    runs: dict[str, int] = field(default_factory=dict[str, int])

    def __call__(self, selection: Sequence[str]) -> SuiteReport:
        self.calls.append(list(selection))
        outcomes: dict[str, CaseOutcome] = {}
        failures: list[Failure] = []
        for test, passes in self.tests.items():
            if selection and test not in selection:
                continue
            n = self.runs.get(test, 0)
            self.runs[test] = n + 1
            outcomes[test] = "passed" if passes(n, not selection) else "failed"
            if outcomes[test] == "failed":
                kind = self.kinds.get(test, "AssertionError")
                outcomes[test] = "error" if kind == "collection" else "failed"
                failures.append(failure(test, "t.py:1:x", kind, f"no luck in {test}"))
        status = self.status if not selection else None
        made = report(outcomes, failures, status=status, message=self.message)
        return replace(made, duration_s=self.duration_s)


def always(passes: bool) -> Behaviour:
    return lambda n, whole: passes


def every(period: int, *, passes_at: Sequence[int]) -> Behaviour:
    return lambda n, whole: n % period in passes_at


def test_tests_that_fail_each_time_are_the_goal_and_cost_small_reruns() -> None:
    suite = Suite({A: always(False), B: always(False), C: always(True)})
    base = take(suite, ())
    assert base.target.goal == {A, B}
    assert base.target.guard == {C}
    assert (base.stop, base.once, base.notes) == (None, frozenset(), ())
    assert suite.calls == [[], *[[A, B]] * (RUNS - 1)]


def test_without_time_nothing_is_run_again_and_all_of_the_goal_was_seen_once() -> None:
    suite = Suite({A: always(False), B: always(True)})
    base = take(suite, (), has_time=lambda: False)
    assert (base.target.goal, base.once, suite.calls) == ({A}, {A}, [[]])


def test_tests_that_take_long_are_run_again_less_often_unless_one_passes() -> None:
    slow = Suite({A: always(False), B: always(False)}, duration_s=2 * SLOW_S)
    assert take(slow, ()).target.goal == {A, B}
    assert slow.calls == [[], *[[A, B]] * (RUNS_IF_SLOW - 1)]
    mixed = Suite({A: every(2, passes_at=[1]), B: always(False)}, duration_s=2 * SLOW_S)
    assert take(mixed, ()).target.flaky == {A}
    assert mixed.runs[B] == RUNS


@pytest.mark.parametrize("period", [2, 3])
@pytest.mark.parametrize("share", ["passes once", "fails once"])
def test_what_alternates_or_comes_every_third_time_is_always_found_out(period: int, share: str) -> None:
    for start in range(period):
        good = [n for n in range(period) if (n == start) is (share == "passes once")]
        suite = Suite({A: every(period, passes_at=good), B: always(False), C: always(True)})
        base = take(suite, ())
        if A in base.report.passing:
            continue
        assert base.target.flaky == {A}
        assert base.target.goal == {B}
        assert suite.runs[A] >= RUNS or suite.runs[A] == len(suite.calls)
        assert suite.calls.count([]) == 1


def test_one_that_fails_only_among_the_others_is_certain() -> None:
    suite = Suite({A: lambda n, whole: not whole, B: always(True)})
    base = take(suite, ())
    assert base.target.goal == {A}
    assert base.target.flaky == frozenset()
    assert suite.calls.count([]) == 1 + SCOPE_RERUNS


def test_one_that_fails_seldom_is_seen_to_pass_among_the_others() -> None:
    suite = Suite({A: lambda n, whole: n > 0, B: always(False), C: lambda n, whole: n != 1})
    base = take(suite, ())
    assert base.target.flaky == {A, C}  # C was passing at first, and failed when the scope was run again
    assert base.target.goal == {B}
    assert base.target.guard == frozenset()
    assert suite.calls.count([]) == 2


def test_nothing_but_flaky_tests_is_nothing_to_repair() -> None:
    assert take(Suite({A: every(2, passes_at=[1])}), ()).stop is R.FLAKY


def test_hanging_tests_are_not_run_again_and_named_as_seen_once() -> None:
    suite = Suite({A: always(False), B: always(False)}, kinds={A: "timeout"}, status=SuiteStatus.TIMEOUT)
    base = take(suite, ())
    assert base.target.goal == {A, B}
    assert base.once == {A}
    assert all(A not in call for call in suite.calls)


def test_a_crash_that_comes_and_goes_is_flaky() -> None:
    suite = Suite({A: every(2, passes_at=[1]), B: always(False)}, kinds={A: "crash"}, status=SuiteStatus.CRASHED)
    base = take(suite, ())
    assert base.target.flaky == {A}
    assert base.target.goal == {B}
    assert [A] in suite.calls  # by itself, so that the others run to their end
    assert [B] in suite.calls


def test_a_crash_that_stays_is_the_goal() -> None:
    suite = Suite({A: always(False)}, kinds={A: "crash"}, status=SuiteStatus.CRASHED)
    base = take(suite, ())
    assert (base.target.goal, base.stop, base.once) == (frozenset({A}), None, frozenset())


def test_reruns_that_tell_nothing_leave_tests_seen_once() -> None:
    first = Suite({A: always(False)})

    def run(selection: Sequence[str]) -> SuiteReport:
        return report({}, status=SuiteStatus.NO_TESTS) if selection else first(selection)

    base = take(run, ())
    assert (base.target.goal, base.once) == (frozenset({A}), frozenset({A}))


@pytest.mark.parametrize("at", [0, 1, 3, 5])
def test_a_cancelled_run_stops_at_once(at: int) -> None:
    suite = Suite({A: lambda n, whole: not whole})
    calls: list[int] = []

    def run(selection: Sequence[str]) -> SuiteReport:
        calls.append(1)
        if len(calls) > at:
            return report({}, status=SuiteStatus.CANCELLED)
        return suite(selection)

    assert take(run, ()).stop is R.CANCELLED
    assert len(calls) == at + 1


@pytest.mark.parametrize(
    ("status", "outcomes", "stop"),
    [
        (SuiteStatus.PASSED, {A: "passed"}, R.ALREADY_GREEN),
        (SuiteStatus.NO_TESTS, {}, R.ENVIRONMENT),
        (SuiteStatus.NO_TESTS, {A: "skipped"}, R.ENVIRONMENT),
        (SuiteStatus.DENIED, {}, R.ENVIRONMENT),
        (SuiteStatus.ENVIRONMENT, {}, R.ENVIRONMENT),
        (SuiteStatus.CRASHED, {}, R.ENVIRONMENT),
        (SuiteStatus.FAILED, {A: "passed"}, R.ENVIRONMENT),
        (SuiteStatus.ENVIRONMENT, {A: "failed"}, R.ENVIRONMENT),
    ],
)
def test_where_there_is_nothing_to_attempt_it_says_why(
    status: SuiteStatus, outcomes: dict[str, CaseOutcome], stop: StopReason
) -> None:
    calls: list[Sequence[str]] = []

    def run(selection: Sequence[str]) -> SuiteReport:
        calls.append(selection)
        return report(outcomes, status=status)

    assert take(run, ("t.py",)).stop is stop
    assert calls == [("t.py",)]


PYTHON = "missing in /x/bin/python: `requests`, `yaml` (imported for net.py). Install the project's dependencies there."
NODE = "not installed, though package.json names it: left-pad, @x/y; run `npm install`"


def lacks(message: str, runner: str, errors: dict[str, str], *failed: str) -> Baseline:
    outcomes: dict[str, CaseOutcome] = {**dict.fromkeys(errors, "error"), **dict.fromkeys(failed, "failed")}
    failures = [failure(i, f"{i}:1:<module>", "collection", said) for i, said in errors.items()]
    failures += [failure(i, "t.py:1:x") for i in failed]

    def run(selection: Sequence[str]) -> SuiteReport:
        told: dict[str, CaseOutcome] = {i: o for i, o in outcomes.items() if not selection or i in selection}
        lacking = any(i in errors for i in told)
        return report(
            told, [f for f in failures if f.id in told], runner=runner, message=message if lacking else "",
            status=SuiteStatus.ENVIRONMENT if lacking else None,
        )  # fmt: skip

    return take(run, ())


def test_a_missing_dependency_alone_is_the_environments_fault() -> None:
    base = lacks(PYTHON, "pytest", {"net.py": "ModuleNotFoundError: No module named 'requests'"})
    assert base.stop is R.ENVIRONMENT
    assert base.target.goal == frozenset()
    assert base.target.pre_existing == {"net.py"}


def test_what_fails_for_certain_besides_a_missing_dependency_is_the_goal() -> None:
    errors = {
        "net.py": "ModuleNotFoundError: No module named 'requests.adapters'",
        "conf.py": "ModuleNotFoundError: No module named 'yaml'",
        "bad.py": "SyntaxError: invalid syntax",
    }
    base = lacks(PYTHON, "pytest", errors, A)
    assert base.stop is None
    assert base.target.goal == {A, "bad.py"}
    assert base.target.pre_existing == {"net.py", "conf.py"}
    assert base.target.files == {"bad.py"}
    assert base.notes == ("left out, since the environment lacks what they need: conf.py, net.py",)
    assert standing(base.target, base.report).uncollected == 1


def test_packages_of_node_that_are_missing_are_told_from_errors_of_the_code() -> None:
    errors = {
        "a.test.js": "Error: Cannot find module 'left-pad'",
        "b.test.js": "Error: Cannot find package '@x/y/sub' imported from b.test.js",
        "c.test.js": "SyntaxError: Unexpected token",
    }
    base = lacks(NODE, "jest", errors, "d.test.js > d")
    assert base.target.pre_existing == {"a.test.js", "b.test.js"}
    assert base.target.goal == {"c.test.js", "d.test.js > d"}


def test_where_nobody_says_what_is_missing_all_that_does_not_load_is_left_out() -> None:
    base = lacks("some library is not here", "go", {"a/a.go": "build: x", "b/b.go": "build: y"}, "c/TestC")
    assert base.target.pre_existing == {"a/a.go", "b/b.go"}
    assert base.target.goal == {"c/TestC"}


def test_flaky_tests_besides_a_missing_dependency_leave_the_environment_to_be_put_right() -> None:
    suite = Suite({"net.py": always(False), A: every(2, passes_at=[1])}, kinds={"net.py": "collection"})
    suite.status, suite.message = SuiteStatus.ENVIRONMENT, PYTHON
    base = take(suite, ())
    assert base.target.flaky == {A}
    assert base.stop is R.ENVIRONMENT


def miss_rate(p: float, *, slow: bool) -> float:
    """How often a test that fails in a share p of its runs is taken for certain, having failed once."""
    chance, missed, counted = random.Random(1), 0, 0
    while counted < 800:
        tests: dict[str, Behaviour] = {A: lambda n, whole: chance.random() >= p}
        base = take(Suite(tests, duration_s=2 * SLOW_S if slow else 0.0), ())
        if A in base.report.failing:
            counted += 1
            missed += A in base.target.goal
    return missed / counted


@pytest.mark.parametrize(("p", "in_three", "in_five"), [(0.7, 0.49, 0.24), (0.5, 0.27, 0.08), (1 / 3, 0.13, 0.03)])
def test_the_miss_rates_are_those_of_the_table(p: float, in_three: float, in_five: float) -> None:
    assert miss_rate(p, slow=True) == pytest.approx(in_three, abs=0.06)
    assert miss_rate(p, slow=False) == pytest.approx(in_five, abs=0.06)


@given(st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=1, max_size=5), st.data())
def test_whatever_happens_every_test_ends_up_in_one_set(runs: list[list[bool]], data: st.DataObject) -> None:
    tests: dict[str, Behaviour] = {f"t.py::{n}": (lambda i, w, r=r: r[i % 12]) for n, r in enumerate(runs)}
    kinds = {t: data.draw(st.sampled_from(("AssertionError", "crash", "timeout"))) for t in tests}
    suite = Suite(tests, kinds)
    base = take(suite, ())
    target = base.target
    assert len(target.goal) + len(target.guard) + len(target.flaky) == len(tests)
    assert target.goal | target.guard | target.flaky == set(tests)
    assert target.goal <= base.report.failing
    assert target.guard <= base.report.passing
    assert suite.calls.count([]) <= 1 + SCOPE_RERUNS
    assert len(suite.calls) <= 1 + 2 * (RUNS - 1) + SCOPE_RERUNS
    assert (base.stop is None) is bool(target.goal)


REAL = {
    "places.py": "def far(a, b):\n    return a - b\n",
    "test_net.py": "import surely_not_installed_package\n\n\ndef test_net():\n    pass\n",
    "test_places.py": (
        "from places import far\n\n\ndef test_far():\n    assert far(1, 3) == 2\n\n\ndef test_ok():\n    pass\n"
    ),
    "test_shut.py": "from places import near\n",
}


def test_real_reports_of_a_mixed_project_are_sorted(tmp_path: Path) -> None:
    root = project(tmp_path, REAL)
    calls: list[Sequence[str]] = []

    def run(selection: Sequence[str]) -> SuiteReport:
        calls.append(selection)
        return run_tests(root, selection=tuple(selection), isolate=True)

    base = take(run, ())
    assert base.stop is None
    assert base.target.pre_existing == {"test_net.py"}
    assert base.target.goal == {"test_places.py::test_far", "test_shut.py"}
    assert base.target.guard == {"test_places.py::test_ok"}
    assert base.once == frozenset()
    assert RUNS_IF_SLOW <= len(calls) <= RUNS
