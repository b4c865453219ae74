"""What does not load is told from tests that fail, whatever the runner calls them, and however much was cut."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.measuring import failure, report

from regreen.fix.identities import looks_like_file, opened, unloaded
from regreen.fix.progress import Target, adopt, judge, passes, standing
from regreen.model import AttemptState, CaseOutcome, FailureGroup, SuiteReport, SuiteStatus
from regreen.testing.bounding import bounded
from regreen.testing.condense import group

S = AttemptState

# runner, a file or build that does not load, a test that it holds, another test
SHUT = [
    ("pytest", "tests/test_a.py", "tests/test_a.py::test_x", "tests/test_b.py::test_y"),
    ("pytest", "tests/conftest.py", "tests/test_a.py::test_x", "other/test_b.py::test_y"),
    ("pytest", "conftest.py", "tests/test_a.py::test_x", ""),
    ("pytest", "checks.py", "checks.py::test_x", "test_b.py::test_y"),
    ("unittest", "tests/test_a.py", "tests.test_a.A.test_x", "tests.test_b.A.test_y"),
    ("unittest", "tests/test_a.py", "test_a.A.test_x", "test_b.A.test_y"),
    ("unittest", "tests/__init__.py", "tests.test_a.A.test_x", "other.test_b.A.test_y"),
    ("jest", "src/a.spec.ts", "src/a.spec.ts > A > x", "src/b.spec.ts > y"),
    ("node", "a.test.mjs", "a.test.mjs > x", "b.test.mjs > y"),
    ("mocha", "test/a.js", "test/a.js > x", "test/b.js > y"),
    ("mocha", "setup.js", "test/a.js > x", ""),
    ("go", "calc/calc.go", "calc/TestX/sub", "other/TestY"),
    ("go", "calc/calc.go", "calc/TestX", "calc/inner/TestY"),
    ("go", "go.mod", "m/TestX", ""),
    ("go", "main.go", "m/TestX", ""),
    ("cargo", "src/lib.rs", "m::tests::x", ""),
    ("cargo", "Cargo.toml", "m::tests::x", ""),
    ("maven", "src/test/java/org/x/FooTest.java", "org.x.FooTest.adds", "org.x.BarTest.adds"),
    ("gradle", "src/main/java/org/x/Foo.java", "org.x.FooTest.adds", ""),
    ("phpunit", "src/Foo.php", "FooTest::testX", ""),
    ("rspec", "spec/foo_spec.rb", "Foo adds", ""),
    ("dotnet", "src/Foo.cs", "Ns.FooTests.Adds(x: 1)", ""),
]


def shut(runner: str, file: str, other: str = "") -> SuiteReport:
    outcomes: dict[str, CaseOutcome] = {file: "error"}
    if other:
        outcomes[other] = "passed"
    return report(
        outcomes, [failure(file, f"{file}:1:", "collection", "boom")], runner=runner, status=SuiteStatus.ERROR
    )


@pytest.mark.parametrize(("runner", "file", "test", "other"), SHUT)
def test_what_did_not_load_passes_once_its_tests_run_and_pass(runner: str, file: str, test: str, other: str) -> None:
    before = shut(runner, file, other)
    rest: dict[str, CaseOutcome] = {other: "passed"} if other else {}
    target = Target(goal=frozenset({file}), guard=frozenset(rest), files=unloaded(before))
    assert target.files == {file}
    best = standing(target, before)
    assert (best.uncollected, best.green) == (1, False)

    loads = report({test: "passed", **rest}, runner=runner)
    assert judge(best, standing(target, loads), loads) is S.PASSED
    assert adopt(target, loads).goal == frozenset()

    half = report({test: "passed", f"{test}2": "failed", **rest}, runner=runner)
    assert judge(best, standing(target, half), half) is S.IMPROVED
    grown = adopt(target, half)
    assert grown.goal == {f"{test}2"}
    assert test in grown.guard
    assert grown.files == frozenset()

    gone = report(rest, runner=runner)
    if rest and tells(runner):
        assert judge(best, standing(target, gone), gone) is S.SAME
    skipped = report({test: "skipped", **rest}, runner=runner)
    assert judge(best, standing(target, skipped), skipped) is not S.PASSED


def tells(runner: str) -> bool:
    """Do this runner's ids tell which file a test is in?"""
    return runner in ("pytest", "unittest", "jest", "node", "mocha")


@pytest.mark.parametrize(("runner", "file", "test", "other"), SHUT)
def test_a_file_that_is_gone_is_not_loaded(runner: str, file: str, test: str, other: str) -> None:
    if other:
        assert opened(file, report({other: "passed"}, runner=runner)) is not tells(runner)
    assert not opened(file, report({}, runner=runner))
    assert not opened(file, shut(runner, file, other))


def test_without_ids_that_tell_everything_must_load_first() -> None:
    two = report(
        {"m::tests::x": "passed", "tests/it.rs": "error"},
        [failure("tests/it.rs", "tests/it.rs:1:", "collection")],
        runner="cargo",
    )
    assert not opened("src/lib.rs", two)
    assert opened("src/lib.rs", report({"m::tests::x": "passed"}, runner="cargo"))


TESTS_NOT_FILES = [
    ("pytest", "t.py::test_x", "error", "RuntimeError"),
    ("unittest", "tests.test_a.A.test_x", "error", "ValueError"),
    ("go", "pkg/TestParse/foo.go", "failed", "Failure"),
    ("go", "pkg/TestParse/foo.go", "failed", "crash"),
    ("rspec", "Parser reads foo.rb", "failed", "RuntimeError"),
    ("npm", "npm test", "failed", "ExitStatus"),
    ("jest", "a.test.js > loads b.js", "error", "Error"),
    ("cargo", "m::tests::x", "failed", "crash"),
]


@pytest.mark.parametrize(("runner", "test", "outcome", "kind"), TESTS_NOT_FILES)
def test_tests_that_fail_are_not_taken_for_files(runner: str, test: str, outcome: CaseOutcome, kind: str) -> None:
    told = report({test: outcome}, [failure(test, "x:1:", kind)], runner=runner)
    assert unloaded(told) == frozenset()
    assert unloaded(replace(told, failures=())) == frozenset()


@pytest.mark.parametrize(
    ("runner", "file", "outcome", "kind"),
    [
        ("pytest", "t.py", "failed", "crash"),
        ("pytest", "t.py", "failed", "timeout"),
        ("unittest", "tests/test_a.py", "failed", "crash"),
        ("jest", "a.test.js", "error", "SyntaxError"),
        ("pytest", "t.py::TestX", "error", "collection"),
        ("go", "pkg", "error", "collection"),
        ("cargo", "documentation tests", "error", "collection"),
    ],
)
def test_what_ends_the_process_while_it_loads_is_a_file(
    runner: str, file: str, outcome: CaseOutcome, kind: str
) -> None:
    assert unloaded(report({file: outcome}, [failure(file, "x:1:", kind)], runner=runner)) == {file}


@pytest.mark.parametrize("runner", ["pytest", "unittest", "jest", "go", "cargo"])
def test_cut_reports_say_the_same_of_what_does_not_load(runner: str) -> None:
    suffix = {"pytest": "py", "unittest": "py", "jest": "js", "go": "go", "cargo": "rs"}[runner]
    files = [f"src/f{n}.{suffix}" for n in range(400)]
    tests = {
        "pytest": "src/t.py::test",
        "unittest": "src.t.T.test",
        "jest": "t.js > t",
        "go": "src/TestT",
        "cargo": "m::t",
    }
    failing = [f"{tests[runner]}{n}" for n in range(400)]
    outcomes: dict[str, CaseOutcome] = {**dict.fromkeys(files, "error"), **dict.fromkeys(failing, "failed")}
    for shared in (True, False):
        failures = [failure(f, f"{f if not shared else 'x'}:1:", "collection") for f in files]
        failures += [failure(t, "x:2:t") for t in failing]
        whole = report(outcomes, failures, runner=runner, groups=group(failures))
        cut = bounded(whole)
        assert len(cut.failures) < 200
        assert unloaded(whole) == unloaded(cut) == set(files)


def test_groups_tell_of_ids_that_have_no_failure_and_no_form() -> None:
    outcomes: dict[str, CaseOutcome] = {"pkg/a": "error", "pkg/b": "error"}
    told = report(
        outcomes, [failure("pkg/a", "a.go:1:", "collection")], runner="go",
        groups=[FailureGroup("collection a.go: 12345678", "boom", ("pkg/a", "pkg/b"))],
    )  # fmt: skip
    assert unloaded(told) == {"pkg/a", "pkg/b"}


@pytest.mark.parametrize(("test", "runner", "expected"), [
    ("tests", "pytest", True), ("a/b.py", "", True), ("a/b.py::x", "", False), ("a.js > x", "", False),
    ("pkg/TestX", "go", False), ("pkg/TestX/y.go", "go", False), ("pkg/Testing/y.go", "go", True),
])  # fmt: skip
def test_the_form_of_an_id(test: str, runner: str, expected: bool) -> None:
    assert looks_like_file(test, runner) is expected


MIXED: dict[str, CaseOutcome] = {"t.py": "error", "u.py::a": "failed", "u.py::b": "passed"}


def test_what_the_environment_lacks_does_not_keep_a_run_from_getting_green() -> None:
    target = Target(frozenset({"u.py::a"}), frozenset({"u.py::b"}), pre_existing=frozenset({"t.py"}))
    before = report(MIXED, status=SuiteStatus.ENVIRONMENT)
    after = report({**MIXED, "u.py::a": "passed"}, status=SuiteStatus.ENVIRONMENT)
    best = standing(target, before)
    assert best.still == {"u.py::a"}
    assert best.uncollected == 0
    assert judge(best, standing(target, after), after) is S.PASSED
    assert judge(best, best, before) is S.SAME


def test_something_else_missing_than_at_the_baseline_breaks_it() -> None:
    target = Target(frozenset({"u.py::a"}), frozenset({"u.py::b"}), pre_existing=frozenset({"t.py"}))
    best = standing(target, report(MIXED, status=SuiteStatus.ENVIRONMENT))
    worse = report({"t.py": "error", "u.py": "error"}, status=SuiteStatus.ENVIRONMENT)
    assert judge(best, standing(target, worse), worse) is S.BROKEN
    plain = Target(frozenset({"u.py::a"}), frozenset())
    assert not standing(plain, report({"u.py::a": "passed"}, status=SuiteStatus.ENVIRONMENT)).ran


@pytest.mark.parametrize("outcome", ["skipped", "xfailed", None])
def test_a_test_that_does_not_run_to_its_end_counts_as_failing_in_goal_and_guard(outcome: CaseOutcome | None) -> None:
    target = Target(frozenset({"t.py::a"}), frozenset({"t.py::b"}))
    best = standing(target, report({"t.py::a": "failed", "t.py::b": "passed"}))

    def with_outcome(name: str, other: str) -> SuiteReport:
        told: dict[str, CaseOutcome] = {other: "passed"}
        if outcome is not None:
            told[name] = outcome
        return report(told)

    goal, guard = with_outcome("t.py::a", "t.py::b"), with_outcome("t.py::b", "t.py::a")
    assert standing(target, goal).still == {"t.py::a"}
    assert judge(best, standing(target, goal), goal) is S.SAME
    assert standing(target, guard).broken == {"t.py::b"}
    assert judge(best, standing(target, guard), guard) is S.WORSE
    assert not passes("t.py::a", goal)
