"""A test that still fails may have got further; that counts last, and only by the place where it fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.measuring import failure, report
from support.suites import project, run_tests

from regreen.fix import depth
from regreen.fix.progress import Standing, Target, depth_only, judge, standing
from regreen.model import AttemptState, CaseOutcome, Failure, SuiteReport, SuiteStatus

S = AttemptState
A, B = "t.py::test_a", "t.py::test_b"
TARGET = Target(goal=frozenset({A, B}), guard=frozenset({"t.py::test_c"}))


def at(place: str, kind: str = "AssertionError", message: str = "assert 1 == 2", test: str = A) -> Failure:
    return failure(test, place, kind, message)


def red(*failures: Failure, **outcomes: CaseOutcome) -> SuiteReport:
    told: dict[str, CaseOutcome] = {A: "failed", B: "failed", "t.py::test_c": "passed"}
    told |= {f"t.py::{name}": outcome for name, outcome in outcomes.items()}
    return report(told, failures)


def now(best: SuiteReport, then: SuiteReport, target: Target = TARGET) -> tuple[Standing, Standing, AttemptState]:
    before, after = standing(target, best), standing(target, then, best)
    return before, after, judge(before, after, then)


OWN_5, OWN_9 = at("t.py:5:test_a"), at("t.py:9:test_a")
CODE = at("code.py:40:f", "KeyError", "'k'")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (OWN_5, OWN_9, S.IMPROVED),
        (OWN_5, at("t.py:9:test_a", "TypeError", "no len()"), S.IMPROVED),
        (CODE, OWN_5, S.IMPROVED),
        (CODE, at("t.py:5:test_a", "Failed", "DID NOT RAISE"), S.IMPROVED),
        (at("code.py:1:f", "crash", "signal 6"), OWN_5, S.IMPROVED),
        (at("code.py:1:f", "timeout", "it was stopped"), OWN_5, S.IMPROVED),
        (OWN_5, OWN_5, S.SAME),
        (OWN_5, at("t.py:5:test_a", message="assert 3 == 2"), S.SAME),
        (OWN_9, OWN_5, S.SAME),
        (OWN_5, CODE, S.SAME),
        (OWN_5, at("code.py:1:f", "crash", "signal 6"), S.SAME),
        (CODE, at("code.py:60:f", "KeyError", "'k'"), S.SAME),
        (CODE, at("code.py:60:f", "TypeError", "no len()"), S.SAME),
        (CODE, at("code.py:60:check", "AssertionError"), S.SAME),
        (CODE, at("t.py:5:test_a", "TypeError", "no len()"), S.SAME),
        (CODE, at("other/t.py:5:test_a"), S.SAME),
        (at("t.py:5:check"), at("t.py:6:check"), S.SAME),
        (at("t.py:5:check"), OWN_9, S.SAME),
        (at("t.py:5:test_a", "TypeError", "no len()"), OWN_5, S.SAME),
        (at("", "collection"), at("", "collection", "other"), S.SAME),
    ],
)
def test_depth_is_judged_by_the_place_alone(before: Failure, after: Failure, expected: AttemptState) -> None:
    best, here, state = now(red(before), red(after))
    assert state is expected
    assert here.further == (frozenset({A}) if expected is S.IMPROVED else frozenset())
    assert depth_only(best, here) is (expected is S.IMPROVED)


def test_what_did_not_load_and_comes_to_an_assertion_is_further() -> None:
    best = red(at("t.py:1:<module>", "collection", "SyntaxError"))
    assert depth.further([A, B], red(OWN_5), best) == {A}


def test_one_that_falls_back_spoils_the_gain_of_another() -> None:
    back = failure(B, "code.py:3:g", "KeyError", "'k'")
    _, here, state = now(red(OWN_5, failure(B, "t.py:20:test_b")), red(OWN_9, back))
    assert state is S.SAME
    assert here.further == frozenset()


@pytest.mark.parametrize("outcome", ["skipped", "xfailed"])
def test_one_that_is_skipped_now_has_fallen_back(outcome: CaseOutcome) -> None:
    assert now(red(OWN_5, failure(B, "t.py:20:test_b")), red(OWN_9, test_b=outcome))[2] is S.SAME


def test_one_that_passed_in_the_best_tree_has_fallen_back() -> None:
    best = red(OWN_5, test_b="passed")
    assert now(best, red(OWN_9, failure(B, "t.py:20:test_b")))[2] is S.WORSE


def test_repairs_come_before_depth() -> None:
    best, here, state = now(red(OWN_5), red(test_a="passed"))
    assert state is S.IMPROVED
    assert not depth_only(best, here)
    assert now(red(OWN_5), red(OWN_9, test_c="failed"))[2] is S.WORSE


def test_new_failures_that_the_baseline_did_not_know_are_no_gain() -> None:
    assert now(red(OWN_5), red(OWN_9, test_new="failed"))[2] is S.SAME


def test_without_the_best_report_there_is_no_depth() -> None:
    assert standing(TARGET, red(OWN_9)).further == frozenset()


def test_a_tree_kept_for_depth_can_be_surpassed_in_depth_again() -> None:
    first, second, third = red(OWN_5), red(OWN_9), red(at("t.py:12:test_a"))
    best = standing(TARGET, second, first)
    assert best.score == (0, 0, 0, 1)
    here = standing(TARGET, third, second)
    assert judge(best, here, third) is S.IMPROVED
    assert depth_only(best, here)
    again = standing(TARGET, second, second)
    assert judge(best, again, second) is S.SAME


def test_of_failures_that_the_report_leaves_out_nothing_is_concluded() -> None:
    assert now(red(OWN_5), red())[2] is S.SAME
    assert now(red(OWN_5), red(OWN_9, failure(B, "code.py:3:g", "KeyError")))[2] is S.IMPROVED


def test_a_run_that_was_cut_short_can_still_be_further_but_is_not_passed() -> None:
    cut = report({A: "failed", B: "failed", "t.py::test_c": "passed"}, [OWN_9], status=SuiteStatus.TIMEOUT)
    assert now(red(OWN_5), cut)[2] is S.IMPROVED


# runner, id, a failure in the code, in the test, further down in the test
RUNNERS = [
    ("unittest", "tests.test_a.A.test_one", ("code.py:2:f", "KeyError"), "tests/test_a.py:6:test_one",
     "AssertionError"),
    ("unittest", "test_a.A.test_one", ("code.py:2:f", "KeyError"), "tests/test_a.py:6:test_one", "AssertionError"),
    ("node", "a.test.js > one", ("code.js:1:exports.f", "TypeError"), "a.test.js:3:<anonymous>", "AssertionError"),
    ("jest", "src/a.spec.ts > A > one", ("src/a.ts:1:f", "TypeError"), "src/a.spec.ts:3:<anonymous>", "Error"),
    ("go", "a/TestTwo", ("a/a.go:3:ex.org/m/a.F", "panic"), "a/a_test.go:4:TestTwo", "Failure"),
    ("go", "a/TestTwo/sub", ("a/a.go:3:ex.org/m/a.F", "panic"), "a/a_test.go:4:TestTwo", "Failure"),
    ("cargo", "m::tests::one", ("src/lib.rs:2:m::f", "panic"), "src/lib.rs:9:m::tests::one", "panic"),
    ("cargo", "m::tests::one", ("src/lib.rs:2:m::one", "panic"), "src/lib.rs:9:m::tests::one", "panic"),
    ("maven", "org.x.FooTest.adds", ("src/main/java/org/x/Foo.java:3:f", "java.lang.NullPointerException"),
     "src/test/java/org/x/FooTest.java:9:adds", "org.opentest4j.AssertionFailedError"),
    ("phpunit", "FooTest::testAdds", ("src/Foo.php:3:", "TypeError"), "tests/FooTest.php:9:",
     "PHPUnit\\Framework\\ExpectationFailedException"),
    ("rspec", "Foo adds", ("lib/foo.rb:2:f", "NoMethodError"), "spec/foo_spec.rb:4:<anonymous>",
     "RSpec::Expectations::ExpectationNotMetError"),
]  # fmt: skip


@pytest.mark.parametrize(("runner", "test", "code", "own", "kind"), RUNNERS)
def test_the_tests_of_every_runner_can_get_further(
    runner: str, test: str, code: tuple[str, str], own: str, kind: str
) -> None:
    def told(place: str, kind: str, message: str = "boom") -> SuiteReport:
        return report({test: "failed"}, [failure(test, place, kind, message)], runner=runner)

    target = Target(goal=frozenset({test}), guard=frozenset())
    file, line, function = own.split(":", 2)
    raises = told(*code)
    asserts = told(own, kind, "assertion failed: 1 == 2")
    later = told(f"{file}:{int(line) + 3}:{function}", kind, "assertion failed: 1 == 2")
    other = told(own, kind, "assertion failed: 1 == 3")
    assert now(raises, asserts, target)[2] is S.IMPROVED
    assert now(asserts, later, target)[2] is S.IMPROVED
    assert now(asserts, other, target)[2] is S.SAME
    assert now(asserts, raises, target)[2] is S.SAME
    assert now(later, asserts, target)[2] is S.SAME


def test_ids_are_relative_to_the_project_and_files_to_the_root() -> None:
    inner = at("sub/t.py:5:test_a")
    assert depth.place(inner, "sub").function == "test_a"
    assert depth.place(inner, "").function is None
    assert depth.place(at("t.py:5:test_a", test="t.py::C::test_a[x::y > z]")).function == "test_a"


STAGES = ("    raise KeyError(x)", "    return None", "    return x", "    return 2 * x")
TESTS = """
import pytest
from code_under_test import f


def check(x, y):
    assert f(x) == y


@pytest.mark.parametrize("x", [0])
def test_steps(x):
    assert f(x) == 0
    check(1, 2)
    assert f(2) == 5
"""


def test_real_reports_tell_how_far_a_test_gets(tmp_path: Path) -> None:
    reports: list[SuiteReport] = []
    for n, body in enumerate(STAGES):
        root = project(tmp_path / str(n), {"code_under_test.py": f"def f(x):\n{body}\n", "test_steps.py": TESTS})
        reports.append(run_tests(root))
    raises, none, one, double = reports
    test = "test_steps.py::test_steps[0]"
    target = Target(goal=frozenset({test}), guard=frozenset())
    assert now(raises, none, target)[2] is S.IMPROVED
    assert now(none, one, target)[2] is S.SAME  # in a helper now: nobody knows which call of it
    assert now(none, double, target)[2] is S.IMPROVED
    assert now(double, none, target)[2] is S.SAME
    assert now(one, raises, target)[2] is S.SAME
