"""What the tamper guard works with, and the names of the cheats that it knows. A name never changes its meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Weight: TypeAlias = Literal["refuse", "warn"]


@dataclass(frozen=True, slots=True)
class TextChange:
    """One file before and after a change; None = the file is not there."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a change that must not be there. `cheat` is its stable name; `line` is of the file as changed."""

    cheat: str
    path: str
    line: int
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Sign:
    """A place in one file that looks like a cheat. `key` is what it says there: equal keys are the same code."""

    cheat: str
    line: int
    key: str
    weight: Weight = "refuse"


def added(before: Iterable[Sign], after: Iterable[Sign]) -> list[Sign]:
    """The signs of `after` that `before` has not as often."""
    left = Counter((s.cheat, s.key) for s in before)
    fresh: list[Sign] = []
    for sign in after:
        if left[sign.cheat, sign.key] > 0:
            left[sign.cheat, sign.key] -= 1
        else:
            fresh.append(sign)
    return fresh


_RUNNER = "code under test must behave the same whether tests run it or not: fix the cause in the code"
_TESTS = "the tests say what is wanted: fix the code under test; if a test is wrong, say so and stop"

CHEATS: dict[str, tuple[str, str]] = {
    # production code
    "detects_tests": ("the code asks whether tests are running", _RUNNER),
    "inspects_callers": ("the code looks at who called it", _RUNNER),
    "imports_tests": ("code under test imports a test runner or the tests", _RUNNER),
    "patches_runner": ("the code changes the test runner", _RUNNER),
    "hooks_runner": ("the code defines what test runners pick up and act on", _RUNNER),
    "ends_process": ("the code ends the process", "return a value or raise an error instead"),
    "hooks_exit": ("the code asks to be called when the process ends", _RUNNER),
    "hooks_interpreter": ("the code hooks itself into the interpreter", _RUNNER),
    "reaches_into_interpreter": ("the code reaches into objects of others behind their backs", _RUNNER),
    "reaches_reporter": ("the code names what reports the results", _RUNNER),
    "rigs_comparison": ("a comparison always has the same answer", "compare what the objects hold"),
    "replaces_builtins": ("the code replaces what every module uses", _RUNNER),
    "replaces_module": ("the code replaces or removes modules that others import", _RUNNER),
    "patches_library": ("the code changes a library that the tests use too", "write a function of your own instead"),
    "replaces_asserts": ("the code defines assertions anew", _RUNNER),
    "shadows_module": ("the new file stands in front of a module of the same name", "give the file another name"),
    "runs_hidden_code": ("the code runs other code that is written as data", "write it as code"),
    "touches_tests": ("the code opens test files or what sets tests up", _RUNNER),
    "writes_startup_files": ("the code reaches for what interpreters run at their start", _RUNNER),
    "switches_for_tests": ("the code is another one when it is built for tests", _RUNNER),
    "changes_doctest": ("an example that is run as a test is changed", _TESTS),
    "varies_by_run": ("the code decides by what differs from run to run",
                      "the same input must have the same result: decide by the input"),
    "remembers_runs": ("the code asks a file that it writes itself whether it ran before",
                       "the same input must have the same result: keep nothing between runs"),
    # tests
    "removes_test": ("a test is gone", _TESTS),
    "redefines_test": ("a later definition takes the place of a test", "give the new test another name"),
    "skips_test": ("a test is skipped or expected to fail", _TESTS),
    "removes_assert": ("an assertion is gone", _TESTS),
    "weakens_assert": ("an assertion asks for something else than before", _TESTS),
    "changes_expected": ("an expected value is changed", _TESTS),
    "widens_tolerance": ("a tolerance is changed", _TESTS),
    "hides_assert": ("what an assertion says is caught and lost", _TESTS),
    "returns_early": ("a test may end before its assertions", _TESTS),
    "changes_parametrize": ("the cases of a parametrized test are changed", _TESTS),
    "changes_fixture": ("what a test is given is changed", _TESTS),
    "changes_test": ("what a test does is changed", _TESTS),
    "changes_test_data": ("data of the tests is changed", _TESTS),
    "influences_tests": ("what is added acts on tests that are there already",
                         "add test functions, and imports and helpers with new names, and nothing else"),
    "breaks_test_file": ("the test file cannot be read any more", "hand in a file that parses"),
    "stops_run": ("the tests end the test run", _TESTS),
    "hides_tests": ("tests are kept from being run", _TESTS),
}  # fmt: skip


def finding(path: str, sign: Sign) -> Finding:
    """The finding that a sign comes to, in words."""
    what, hint = CHEATS[sign.cheat]
    shown = f" (`{sign.key[:80]}`)" if sign.key else ""
    where = f"`{path}`, line {sign.line}" if sign.line else f"`{path}`"
    return Finding(sign.cheat, path, sign.line, f"{where}: {what}{shown}", hint)
