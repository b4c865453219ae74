"""A run proves at its end that what must fail would have been seen: code under test may have changed the runner."""

# ruff: noqa: E501 (tables of code)
from __future__ import annotations

from pathlib import Path

import pytest
from support.cases import sample
from support.suites import project, run_tests

from regreen.model import SuiteStatus

CALC = "def total(prices):\n    return 5\n\n\n"
TESTS = "from calc import total\n\n\ndef test_total():\n    assert total([45]) == 45\n"
UNIT = (
    "import unittest\n\nfrom calc import total\n\n\nclass TestTotal(unittest.TestCase):\n"
    "    def test_total(self):\n        self.assertEqual(total([45]), 45)\n"
)
SILENT = {
    "no call": "import pytest\n\npytest.Function.runtest = lambda self: None\n",
    "no failed outcome": "import pytest\n\npytest.TestReport.outcome = property(lambda s: 'passed', lambda s, v: None)\n",
    "a plugin": (
        "import sys\n\n\nclass Plugin:\n"
        "    def pytest_runtest_call(self, item):\n        item.runtest = lambda: None\n\n\n"
        "frame = sys._getframe()\nwhile 'config' not in frame.f_locals:\n    frame = frame.f_back\n"
        "frame.f_locals['config'].pluginmanager.register(Plugin())\n"
    ),
}


@pytest.mark.parametrize("how", sample(list(SILENT), 2))
def test_code_that_silences_pytest_is_never_green(tmp_path: Path, how: str) -> None:
    root = project(tmp_path, {"calc.py": CALC + SILENT[how], "test_calc.py": TESTS})
    report = run_tests(root)
    assert not report.green
    assert report.status is SuiteStatus.CRASHED
    assert "what must fail does not fail" in report.message
    assert report.outcomes == {}  # nothing counts as passed


NO_RUN = """
import unittest


def run(self, result):
    result.startTest(self)
    result.addSuccess(self)
    result.stopTest(self)


unittest.TestCase.run = run
"""


@pytest.mark.parametrize("runner", ["unittest", "pytest"])
def test_code_that_silences_unittest_is_never_green(tmp_path: Path, runner: str) -> None:
    root = project(tmp_path, {"calc.py": CALC + NO_RUN, "test_calc.py": UNIT})
    report = run_tests(root, argv=("python", "-m", runner))
    assert report.status is SuiteStatus.CRASHED
    assert "what must fail does not fail" in report.message


NOTED = """
import pytest


@pytest.fixture(autouse=True)
def noted(request):
    with open("noted.txt", "a") as file:
        file.write(request.node.nodeid + "\\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    yield
    with open("noted.txt", "a") as file:
        file.write(call.when + "\\n")


def pytest_runtest_call(item):
    item.funcargs["noted"]
"""


def test_the_proof_is_seen_by_nobody(tmp_path: Path) -> None:
    root = project(tmp_path, {
        "calc.py": "def total(prices):\n    return sum(prices)\n", "test_calc.py": TESTS + "\n\n@__import__('pytest').mark.xfail\n"
        "def test_not_yet():\n    assert total([]) == 1\n", "conftest.py": NOTED,
    })  # fmt: skip
    report = run_tests(root)
    assert report.status is SuiteStatus.PASSED, report.message
    assert dict(report.outcomes) == {"test_calc.py::test_total": "passed", "test_calc.py::test_not_yet": "xfailed"}
    noted = (root / "noted.txt").read_text("utf-8").splitlines()
    assert noted == ["test_calc.py::test_total", "setup", "call", "teardown",
                     "test_calc.py::test_not_yet", "setup", "call", "teardown"]  # fmt: skip
    log = Path(report.log).read_text("utf-8")
    assert "canary" not in log.lower()
    assert "1 passed, 1 xfailed" in log


@pytest.mark.parametrize("words", ["-p xdist.plugin -n1", "-k total"])
def test_honest_runs_stay_green_however_they_are_started(tmp_path: Path, words: str) -> None:
    files = {"calc.py": "def total(prices):\n    return sum(prices)\n", "test_calc.py": TESTS}
    report = run_tests(project(tmp_path, {**files, "pytest.ini": f"[pytest]\naddopts = {words}\n"}))
    assert report.status is SuiteStatus.PASSED, report.message
    assert report.counts.total == 1


def test_honest_runs_of_unittest_stay_green(tmp_path: Path) -> None:
    root = project(tmp_path, {"calc.py": "def total(prices):\n    return sum(prices)\n", "test_calc.py": UNIT})
    report = run_tests(root, argv=("python", "-m", "unittest"))
    assert report.status is SuiteStatus.PASSED, report.message
    assert dict(report.outcomes) == {"test_calc.TestTotal.test_total": "passed"}
    assert "Ran 1 test" in Path(report.log).read_text("utf-8")
