"""Commands that end well whatever their tests do: a good end of theirs is no green."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.js_projects import described, need_node, run_js
from support.suites import project, run_tests

from regreen.model import SuiteStatus
from regreen.testing.runners.swallowing import ignored, in_scripts, swallows


@pytest.mark.parametrize(
    "line",
    [
        "pytest || true",
        "cd x && pytest -q || exit 0",
        "pytest ; true",
        "jest; exit 0",
        "pytest || :",
        "pytest 2>&1 | tee log.txt",
        'bash -c "pytest integ || true"',
        "(pytest || true) && echo done",
        "pytest || echo failed",
    ],
)
def test_a_line_that_hides_how_its_tests_end_is_seen(line: str) -> None:
    assert swallows(line)


@pytest.mark.parametrize(
    "line",
    [
        "pytest",
        "rm -rf build || true",
        "docker stop db || true; pytest",
        "pytest && echo true",
        "set -o pipefail; pytest | tee log.txt",
        "pytest || exit 1",
        "which pytest || pip install pytest",
    ],
)
def test_a_line_that_keeps_house_or_tells_the_truth_is_not(line: str) -> None:
    assert not swallows(line)
    assert not ignored(f"@{line}")


def test_a_recipes_line_that_counts_for_nothing_and_scripts_behind_scripts_are_seen() -> None:
    assert ignored("-@pytest -q")
    assert not ignored("-rm -rf build")
    assert in_scripts("test", {"test": "npm run unit && echo ok", "unit": "node check.js || true"})


MAKEFILES = {
    "recipe": "test:\n\t./check || true\n",
    "dash": "test:\n\techo begin\n\t-./check\n",
    "needed": "test: unit\n\techo done\nunit:\n\t./check ; true\n",
    "ignore": ".IGNORE:\ntest:\n\t./check\n",
    "up to date": "test: build\n\t./check\nbuild:\n",
}


@pytest.mark.parametrize("text", MAKEFILES.values(), ids=list(MAKEFILES))
def test_a_make_that_ends_well_in_any_case_is_no_green(tmp_path: Path, text: str) -> None:
    root = project(tmp_path, {"Makefile": text, "check": "#!/bin/sh\nexit 1\n"})
    (root / "check").chmod(0o755)
    if text == MAKEFILES["up to date"]:
        (root / "build").write_text("")
        (root / "test").mkdir()
    report = run_tests(root, argv=["make", "test"])
    assert report.status is SuiteStatus.NO_TESTS, report
    assert "nothing" in report.message


def test_a_red_make_stays_red_and_an_honest_one_green(tmp_path: Path) -> None:
    red = run_tests(project(tmp_path / "1", {"Makefile": "test:\n\t-false\n\tfalse\n"}), argv=["make", "test"])
    assert red.status is SuiteStatus.FAILED
    text = "test:\n\t-rm -f x\n\ttrue && true\n"
    assert run_tests(project(tmp_path / "2", {"Makefile": text}), argv=["make", "test"]).status is SuiteStatus.PASSED


def test_what_a_pattern_makes_first_is_run_by_make(tmp_path: Path) -> None:
    text = "test: sub/test\nsub/%:\n\tfalse\ntest:\n\tpytest\n"
    report = run_tests(
        project(tmp_path, {"Makefile": text, "test_a.py": "def test_b(): pass\n"}), argv=["make", "test"]
    )
    assert (report.status, report.runner) == (SuiteStatus.FAILED, "make")


def test_a_script_that_ends_well_in_any_case_is_no_green(tmp_path: Path) -> None:
    need_node()
    script = described('node -e "process.exit(1)" || true')
    report = run_js(project(tmp_path, {"package.json": script}), runner="npm")
    assert report.status is SuiteStatus.NO_TESTS, report
    assert "hides how its tests ended" in report.message
