"""tox and nox: read, never run, for the runner behind them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.suites import project, run_tests, settings_with

from regreen.model import SuiteStatus

TEST = "def test_good():\n    assert True\n\ndef test_bad():\n    assert 1 == 2\n"
OUTCOMES = {"tests/test_a.py::test_good": "passed", "tests/test_a.py::test_bad": "failed"}

TOX = {
    "ini": {"tox.ini": "[tox]\nenvlist = py311\n[testenv]\ndeps = pytest\ncommands = pytest {posargs:tests}\n"},
    "python -m": {"tox.ini": "[testenv]\ncommands =\n    python -m pytest \\\n      -q {posargs}\n"},
    "with others": {"tox.ini": "[testenv]\ncommands =\n    mypy src\n    - pytest --cov=x tests\n"},
    "setup.cfg": {"setup.cfg": "[tox:tox]\n[tox:testenv]\ncommands = pytest tests\n"},
    "toml": {"tox.toml": 'env_run_base.commands = [["pytest", { replace = "posargs", default = ["tests"] }]]\n'},
    "pyproject": {"pyproject.toml": '[tool.tox]\nlegacy_tox_ini = """\n[testenv]\ncommands = pytest tests\n"""\n'},
}


@pytest.mark.parametrize("files", TOX.values(), ids=list(TOX))
def test_the_commands_of_tox_are_its_runner(tmp_path: Path, files: dict[str, str]) -> None:
    root = project(tmp_path, {**files, "tests/test_a.py": TEST})
    report = run_tests(root, argv=["tox"])
    assert (report.runner, dict(report.outcomes)) == ("pytest", OUTCOMES)
    assert any(n.startswith("tox stands for pytest") for n in report.notes)


def test_environments_and_words_of_the_caller_count(tmp_path: Path) -> None:
    ini = "[testenv]\ncommands = pytest tests\n[testenv:one]\ncommands = pytest {posargs:nowhere} -k good\n"
    root = project(tmp_path, {"tox.ini": ini, "tests/test_a.py": TEST})
    report = run_tests(root, argv=["tox", "-e", "one", "--", "tests"])
    assert dict(report.outcomes) == {"tests/test_a.py::test_good": "passed"}
    chosen = run_tests(root, runner="tox", selection=["tests/test_a.py::test_bad"])
    assert dict(chosen.outcomes) == {"tests/test_a.py::test_bad": "failed"}


NOX = """import nox

@nox.session(python=["3.11"])
def lint(session):
    session.run("ruff", "check")

@nox.session(name="tests")
def anything(session: nox.Session) -> None:
    session.install("pytest")
    session.run("pytest", "tests", *session.posargs)

raise SystemExit("this file was run")
"""


def test_the_session_of_nox_is_its_runner_and_the_file_is_not_run(tmp_path: Path) -> None:
    root = project(tmp_path, {"noxfile.py": NOX, "tests/test_a.py": TEST})
    report = run_tests(root, argv=["nox"])
    assert (report.runner, dict(report.outcomes)) == ("pytest", OUTCOMES)
    some = run_tests(root, argv=["nox", "-s", "tests", "--", "-k", "good"])
    assert dict(some.outcomes) == {"tests/test_a.py::test_good": "passed"}


@pytest.mark.parametrize(
    "files",
    [
        {"tox.ini": "[testenv]\ncommands = {toxinidir}/run.sh\n"},
        {"noxfile.py": "import nox\n@nox.session\ndef tests(session):\n    session.run(*args)\n"},
        {"noxfile.py": "import nox\n@nox.session\ndef tests(session):\n    session.run('sh', '-c', 'pytest')\n"},
    ],
)
def test_what_is_not_plain_needs_the_tool_itself(tmp_path: Path, files: dict[str, str]) -> None:
    name = "tox" if "tox.ini" in files else "nox"
    root = project(tmp_path, files)
    report = run_tests(root, settings_with(tmp_path, {"PATH": "/nowhere"}), argv=[name])
    assert report.status is SuiteStatus.ENVIRONMENT
    assert f"{name} is not installed" in report.message
    refused = run_tests(root, runner=name, selection=["test_x"])
    assert refused.status is SuiteStatus.NO_TESTS
    assert "cannot be selected" in refused.message
