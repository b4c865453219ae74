from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.suites import CORPUS, project, run_tests, settings_with

from regreen.model import SuiteStatus
from regreen.testing.looking import Look
from regreen.testing.request import SuiteRequest
from regreen.testing.runners import make, makefile
from regreen.workspace import Workspace

CASE = CORPUS / "make-ean"


def behind(tmp_path: Path, text: str, argv: tuple[str, ...] = ("make", "test")) -> tuple[str, ...] | None:
    """The runner and words behind a Makefile."""
    root = project(tmp_path, {"Makefile": text})
    workspace = Workspace(root)
    try:
        request = SuiteRequest(workspace, settings_with(tmp_path), tmp_path / "store", 10.0, argv=argv)
        found = make.resolve(Look(workspace), request)
    finally:
        workspace.close()
    return None if found is None else (found.runner, *found.argv)


PLAIN = {
    "test:\n\tpytest tests\n": ("pytest", "pytest", "tests"),
    "PY ?= python\ntest:\n\t$(PY) -m pytest -q\n": ("pytest", "python", "-m", "pytest", "-q"),
    "PYTHON := .venv/bin/python3.11\nA = -x\ntest:\n\t@${PYTHON} -m pytest $(A)\n": (
        "pytest",
        "python",
        "-m",
        "pytest",
        "-x",
    ),
    "test:\n\t.venv/bin/pytest \\\n\t  -q\n": ("pytest", "pytest", "-q"),
    "test: lint-free\n\t@echo testing\n\tcargo test\nlint-free:\n": ("cargo", "cargo", "test"),
    "test:\n\t-go test ./...\n": ("go", "go", "test", "./..."),
    ".PHONY: test\ntest:\n\t@npm test\n": ("npm", "npm", "test"),
    "test: unit\nunit:\n\tpytest -q tests\n": ("pytest", "pytest", "-q", "tests"),
    "test:\n\tuv run pytest --cov=pkg --cov-report=term -q\n": ("pytest", "pytest", "-q"),
    "test: ; pytest\n": ("pytest", "pytest"),
    "test:\n\tPYTHONPATH=src:. MODE=test pytest -q\n": ("pytest", "pytest", "-q"),
    "test:\n\tenv RUST_BACKTRACE=1 cargo test\n": ("cargo", "cargo", "test"),
}
NOT_PLAIN = [
    "export A = $(UNKNOWN)\ntest:\n\tpytest\n",
    "export PYTHONPATH = /elsewhere\ntest:\n\tpytest\n",
    "export PATH := bin:$(PATH)\ntest:\n\tpytest\n",
    "A = 1\nexport\ntest:\n\tpytest\n",
    ".EXPORT_ALL_VARIABLES:\nA = 1\ntest:\n\tpytest\n",
    "export A = 1\nunexport A\ntest:\n\tpytest\n",
    "ifdef CI\nexport A = 1\nendif\ntest:\n\tpytest\n",
    "A = 1\nA = 2\nexport A\ntest:\n\tpytest\n",
    "include more.mk\ntest:\n\tpytest\n",
    "-include .env\ntest:\n\tpytest\n",
    "test:\n\tPATH=bin pytest\n",
    "test: build\n\tpytest\nbuild:\n\tcc -o x x.c\n",
    "test:\n\tpytest && ./other\n",
    "test:\n\tpytest\n\tflake8\n",
    "test:\n\tcd sub; pytest\n",
    "test:\n\tPYTHONPATH=/elsewhere pytest\n",
    "test:\n\tPYTHONPATH=a:../b pytest\n",
    "test:\n\tLD_PRELOAD=./x.so pytest\n",
    "test:\n\tPYTEST_ADDOPTS=-pevil pytest\n",
    "test:\n\tNODE_OPTIONS=--require=./x.js jest\n",
    "test:\n\t$(UNKNOWN) pytest\n",
    "test:\n\t$(shell which pytest)\n",
    "test: A = 1\ntest:\n\tpytest\n",
    "ifdef X\nPY = a\nelse\nPY = python\nendif\ntest:\n\t$(PY) -m pytest\n",
    "ifdef X\ntest:\n\tpytest\nendif\n",
    "test::\n\tpytest\n",
    "test:\n\tpytest -p evil\n",
    "test:\n\tpytest > log\n",
    "test:\n\t./run-tests.sh\n",
    "PY = $(PY)\ntest:\n\t$(PY) -m pytest\n",
]


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_recipe_is_its_runner(tmp_path: Path, text: str) -> None:
    assert behind(tmp_path, text) == PLAIN[text]


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_any_other_recipe_is_not(tmp_path: Path, text: str) -> None:
    assert behind(tmp_path, text) is None


def test_the_goal_that_is_asked_for_counts(tmp_path: Path) -> None:
    text = "test:\n\tpytest a\ncheck:\n\tpytest b\n"
    assert behind(tmp_path, text, ("make", "check")) == ("pytest", "pytest", "b")
    assert behind(tmp_path, "check:\n\tpytest b\n", ()) == ("pytest", "pytest", "b")


def test_variables_of_the_recipe_reach_the_tests(tmp_path: Path) -> None:
    root = project(
        tmp_path,
        {
            "Makefile": "test:\n\tPYTHONPATH=src MODE=fast python -m pytest -q\n",
            "src/shop.py": "TOTAL = 1\n",
            "tests/test_a.py": "import os, shop\ndef test(): assert (shop.TOTAL, os.environ['MODE']) == (1, 'fast')\n",
        },
    )
    report = run_tests(root, runner="make")
    assert (report.status, report.runner) == ("passed", "pytest"), report.message


EXPORTS = {
    "export FOO=bar\ntest:\n\tpytest\n": {"FOO": "bar"},
    "FOO = bar # why\nexport FOO\ntest:\n\tpytest\n": {"FOO": "bar"},
    "export A B C\nA := 1\nB ?= $(A)2\ntest:\n\tpytest\n": {"A": "1", "B": "12"},
    "export PYTHONPATH := src:$(PYTHONPATH)\ntest:\n\tA=1 pytest\n": {"PYTHONPATH": "src:", "A": "1"},
    "export PYTHONPATH = $(CURDIR)/src\ntest:\n\tpytest\n": {"PYTHONPATH": "./src"},
    "export override A = 1\ntest:\n\tA=2 pytest\n": {"A": "2"},
    "A = 1\ntest:\n\tpytest\n": {},
}


@pytest.mark.parametrize("text", EXPORTS)
def test_what_a_makefile_exports_is_set(tmp_path: Path, text: str) -> None:
    workspace = Workspace(project(tmp_path, {"Makefile": text}))
    request = SuiteRequest(workspace, settings_with(tmp_path), tmp_path / "store", 10.0)
    found = make.resolve(Look(workspace), request)
    workspace.close()
    assert found is not None
    assert dict(found.environment) == EXPORTS[text]


def test_a_recipe_that_sets_variables_weighs_more_than_files(tmp_path: Path) -> None:
    files = {
        "Makefile": ".PHONY: test\ntest:\n\tPYTHONPATH=src python -m pytest\n",
        "src/shop.py": "TOTAL = 1\n",
        "tests/test_a.py": "import shop\ndef test(): assert shop.TOTAL == 1\n",
        "web/package.json": '{"devDependencies": {"jest": "29"}}',
        "web/a.test.js": "",
        "requirements-dev.txt": "pytest\n",
    }
    root = project(tmp_path, files)
    report = run_tests(root)
    assert (report.status, report.runner) == (SuiteStatus.PASSED, "pytest"), report.message
    chosen = run_tests(root, selection=["tests/test_a.py::test"])
    assert dict(chosen.outcomes) == {"tests/test_a.py::test": "passed"}
    assert run_tests(root, selection=["web/a.test.js"]).runner == "jest"


def test_settings_of_the_runner_weigh_more(tmp_path: Path) -> None:
    files = {"Makefile": "test:\n\tA=1 pytest tests\n", "pytest.ini": "[pytest]\n", "test_a.py": "def test(): pass\n"}
    report = run_tests(project(tmp_path, files))
    assert dict(report.outcomes) == {"test_a.py::test": "passed"}


NOTHING_TO_MAKE = [
    {"a.py": ""},
    {"Makefile": "all:\n\ttrue\n"},
    {"Makefile": "all:\n\ttrue\n", "test/a": ""},
    {"Makefile": "test:\n\tfalse; true\n", "test/a": ""},
]


@pytest.mark.parametrize("files", NOTHING_TO_MAKE)
def test_nothing_to_make_is_no_test(tmp_path: Path, files: dict[str, str]) -> None:
    report = run_tests(project(tmp_path, files), argv=["make", "test"])
    assert (report.status, report.counts.total) == (SuiteStatus.NO_TESTS, 0), report.message
    assert "Makefile" in report.message


def test_any_text_can_be_read() -> None:
    for text in ("", "\t\t", "a:b:c", "=", ":", "define x\n", "endif\n" * 50, "$(", "test:\n\t$$x\n"):
        makefile.read(text).command("test")


def test_the_reference_case_is_red_where_it_must_be(tmp_path: Path) -> None:
    if not CASE.exists():
        pytest.skip("the reference cases are not here")
    told = json.loads((CASE / "case.json").read_text("utf-8"))
    root = tmp_path / "project"
    shutil.copytree(CASE / "repo", root, copy_function=shutil.copyfile)
    report = run_tests(root, argv=told["test_argv"])
    assert sorted(report.failing) == sorted(told["failing"])
    assert report.runner == "pytest"
    assert any("make stands for pytest" in n for n in report.notes)
    assert run_tests(root, selection=told["failing"][:1], runner="make").failing == {told["failing"][0]}


@pytest.fixture
def _make() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed: running it is not tested here")


@pytest.mark.usefixtures("_make")
def test_what_is_not_plain_is_judged_by_its_exit_status(tmp_path: Path) -> None:
    green = run_tests(project(tmp_path / "a", {"Makefile": "test:\n\t@echo 1 failed; true\n"}))
    assert (green.status, green.runner) == (SuiteStatus.PASSED, "make")
    assert dict(green.outcomes) == {"make test": "passed"}
    assert any("exit status alone" in n for n in green.notes)
    red = run_tests(project(tmp_path / "b", {"Makefile": "check:\n\t@echo it is broken; exit 3\n"}))
    assert red.status is SuiteStatus.FAILED
    assert dict(red.outcomes) == {"make check": "failed"}
    assert "it is broken" in red.failures[0].excerpt


@pytest.mark.usefixtures("_make")
def test_a_selection_cannot_be_honoured_there_and_that_is_said(tmp_path: Path) -> None:
    report = run_tests(project(tmp_path, {"Makefile": "test:\n\t./x && true\n"}), selection=["some_test"])
    assert report.status is SuiteStatus.NO_TESTS
    assert "cannot be selected" in report.message


@pytest.mark.usefixtures("_make")
def test_a_hang_is_a_timeout_and_a_missing_goal_no_tests(tmp_path: Path) -> None:
    hung = run_tests(project(tmp_path / "a", {"Makefile": "test:\n\t@while :; do :; done\n"}), timeout_s=0.3)
    assert hung.status is SuiteStatus.TIMEOUT
    gone = run_tests(project(tmp_path / "b", {"Makefile": "all:\n\ttrue\n"}), argv=["make", "test"])
    assert gone.status is SuiteStatus.NO_TESTS


def test_no_make_is_the_environments_fault(tmp_path: Path) -> None:
    root = project(tmp_path, {"Makefile": "test:\n\ttrue; true\n"})
    assert run_tests(root, settings_with(tmp_path, {"PATH": "/nowhere"})).status is SuiteStatus.ENVIRONMENT
