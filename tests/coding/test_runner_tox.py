"""tox and nox: read, never run, for the runner behind them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cases import sample
from support.suites import project, run_tests, settings_with

from regreen.model import SuiteStatus
from regreen.testing.looking import Look
from regreen.testing.request import SuiteRequest
from regreen.testing.runners import nox, tox
from regreen.testing.runners.row import Elsewhere
from regreen.workspace import Workspace

TEST = "def test_good():\n    assert True\n\ndef test_bad():\n    assert 1 == 2\n"
OUTCOMES = {"tests/test_a.py::test_good": "passed", "tests/test_a.py::test_bad": "failed"}

TOX = {
    "ini": (
        {"tox.ini": "[tox]\nenvlist = py311\n[testenv]\ndeps = pytest\ncommands = pytest {posargs:tests}\n"},
        "pytest tests",
    ),
    "python -m": (
        {"tox.ini": "[testenv]\ncommands =\n    python -m pytest \\\n      -q {posargs}\n"},
        "python -m pytest -q",
    ),
    "reports": ({"tox.ini": "[testenv]\ncommands =\n    # all\n    - pytest --cov=x tests\n"}, "pytest tests"),
    "one of two": (
        {"tox.ini": "[tox]\nenvlist = b\n[testenv:a]\ncommands = false\n[testenv:b]\ncommands = pytest tests\n"},
        "pytest tests",
    ),
    "folder": (
        {"tox.ini": "[testenv]\nchangedir = {toxinidir}\ncommands = pytest {toxinidir}/tests\n"},
        "pytest ./tests",
    ),
    "setup.cfg": ({"setup.cfg": "[tox:tox]\n[tox:testenv]\ncommands = pytest tests\n"}, "pytest tests"),
    "toml": (
        {"tox.toml": 'env_run_base.commands = [["pytest", { replace = "posargs", default = ["tests"] }]]\n'},
        "pytest tests",
    ),
    "pyproject": (
        {"pyproject.toml": '[tool.tox]\nlegacy_tox_ini = """\n[testenv]\ncommands = pytest tests\n"""\n'},
        "pytest tests",
    ),
}


@pytest.mark.parametrize(("files", "command"), TOX.values(), ids=list(TOX))
def test_the_commands_of_tox_are_its_runner(tmp_path: Path, files: dict[str, str], command: str) -> None:
    found = behind(tmp_path, {**files, "tests/test_a.py": TEST}, ("tox",))
    assert found is not None
    assert (found.runner, " ".join(found.argv)) == ("pytest", command)


@pytest.mark.parametrize("files", sample([files for files, _ in TOX.values()], 6), ids=sample(list(TOX), 6))
def test_what_stands_behind_tox_is_run_and_said(tmp_path: Path, files: dict[str, str]) -> None:
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

nox.options.sessions = ["tests"]

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


def behind(base: Path, files: dict[str, str], argv: tuple[str, ...] = ()) -> Elsewhere | None:
    """What tox or nox comes down to."""
    workspace = Workspace(project(base, files))
    resolve = nox.resolve if "noxfile.py" in files else tox.resolve
    try:
        request = SuiteRequest(workspace, settings_with(base), base / "store", 10.0, argv=argv)
        return resolve(Look(workspace), request)
    finally:
        workspace.close()


MORE_THAN_ONE = {
    "a command before": ("tox.ini", "[testenv]\ncommands =\n  python -c 'exit(1)'\n  pytest {posargs:tests}\n"),
    "a linter": ("tox.ini", "[testenv]\ncommands =\n  flake8 .\n  pytest\n"),
    "two runners": ("tox.ini", "[testenv]\ncommands =\n  pytest\n  cargo test\n"),
    "commands_pre": ("tox.ini", "[testenv]\ncommands_pre = false\ncommands = pytest tests\n"),
    "commands_post": ("tox.ini", "[testenv]\ncommands_post = false\ncommands = pytest tests\n"),
    "two environments": ("tox.ini", "[tox]\nenvlist = a,b\n[testenv]\ncommands = pytest\n[testenv:b]\ncommands = x\n"),
    "two lines of them": ("tox.ini", "[tox]\nenv_list =\n  py311\n  lint\n[testenv]\ncommands = pytest\n"),
    "generated names": ("tox.ini", "[tox]\nenvlist = py{310,311}\n[testenv]\ncommands = pytest\n"),
    "generated sections": ("tox.ini", "[testenv]\ncommands = pytest\n[testenv:{a,py}]\ncommands = false\n"),
    "a condition": ("tox.ini", "[testenv]\ncommands =\n  py311: pytest\n"),
    "another base": ("tox.ini", "[testenv]\nbase = other\ncommands = pytest\n"),
    "another folder": ("tox.ini", "[testenv]\nchangedir = sub\ncommands = pytest\n"),
    "a program of its own": ("tox.ini", "[testenv]\nallowlist_externals = ./pytest\ncommands = pytest\n"),
    "an inverted status": ("tox.ini", "[testenv]\ncommands = ! pytest\n"),
    "odd variables": ("tox.ini", "[testenv]\nsetenv = A={env:B}\ncommands = pytest\n"),
    "a file of variables": ("tox.ini", "[testenv]\nsetenv = file|.env\ncommands = pytest\n"),
    "steering variables": ("tox.ini", "[testenv]\nsetenv = PYTEST_ADDOPTS=-k x\ncommands = pytest\n"),
    "another path": ("tox.ini", "[testenv]\nsetenv = PATH=bin\ncommands = pytest\n"),
    "setup.cfg": ("setup.cfg", "[tox:tox]\nenvlist = a,b\n[tox:testenv]\ncommands = pytest\n"),
    "toml": ("pyproject.toml", '[tool.tox.env_run_base]\ncommands = [["false"], ["pytest", "tests"]]\n'),
    "toml, before": ("tox.toml", '[env_run_base]\ncommands_pre = [["false"]]\ncommands = [["pytest"]]\n'),
    "toml, environments": ("tox.toml", 'env_list = ["a", "b"]\n[env_run_base]\ncommands = [["pytest"]]\n'),
    "toml, products": ("tox.toml", 'env_list = [{ product = [["a"]] }]\n[env_run_base]\ncommands = [["pytest"]]\n'),
    "toml, references": ("tox.toml", '[env_run_base]\ncommands = [["pytest", { replace = "env", name = "X" }]]\n'),
    "toml, odd commands": ("tox.toml", '[env_run_base]\ncommands = [["pytest"], { replace = "ref", of = ["x"] }]\n'),
    "two sessions": ("noxfile.py", NOX.replace("nox.options", "options_of")),
    "two runs": ("noxfile.py", NOX.replace("    session.install", "    session.run('false')\n    session.install")),
    "a run that always runs": ("noxfile.py", NOX.replace("session.install(", "session.run_always(")),
    "a function of its own": ("noxfile.py", NOX.replace("session.install(", "check(")),
    "a branch": ("noxfile.py", NOX.replace("    session.install", "    if x():\n        return\n    session.install")),
    "several Pythons": ("noxfile.py", NOX.replace('name="tests"', 'name="tests", python=["3.11", "3.12"]')),
    "parameters": ("noxfile.py", NOX.replace("@nox.session(name", "@nox.parametrize('x', [1, 2])\n@nox.session(name")),
    "status is ignored": ("noxfile.py", NOX.replace("*session.posargs", "success_codes=[0, 1]")),
    "options are computed": ("noxfile.py", NOX.replace('= ["tests"]', "= [*names]")),
    "options by tag": ("noxfile.py", NOX.replace("options.sessions", "options.tags")),
    "hidden sessions": ("noxfile.py", NOX + "if True:\n    @nox.session\n    def more(session):\n        pass\n"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), MORE_THAN_ONE.values(), ids=list(MORE_THAN_ONE))
def test_nothing_that_would_also_run_is_dropped(tmp_path: Path, name: str, text: str) -> None:
    assert behind(tmp_path, {name: text}) is None


def test_several_environments_or_sessions_that_are_asked_for_are_run_by_the_tool(tmp_path: Path) -> None:
    ini = {"tox.ini": "[testenv]\ncommands = pytest\n"}
    assert behind(tmp_path / "a", ini, ("tox", "-e", "a")) is not None
    assert behind(tmp_path / "b", ini, ("tox", "-e", "a,b")) is None
    assert behind(tmp_path / "c", ini, ("tox", "-e", "a", "-e", "b")) is None
    assert behind(tmp_path / "d", ini, ("tox", "-eALL")) is None
    assert behind(tmp_path / "e", {"noxfile.py": NOX}, ("nox", "-s", "tests")) is not None
    assert behind(tmp_path / "f", {"noxfile.py": NOX}, ("nox", "-s", "tests", "-s", "lint")) is None
    assert behind(tmp_path / "g", {"noxfile.py": NOX}, ("nox", "-s", "gone")) is None


@pytest.mark.parametrize(
    "files",
    sample(
        [
            {"tox.ini": "[testenv]\nsetenv =\n  PYTHONPATH = {toxinidir}/src\n  FOO=bar\ncommands = pytest\n"},
            {"tox.toml": '[env_run_base]\nset_env = { PYTHONPATH = "src", FOO = "bar" }\ncommands = [["pytest"]]\n'},
            {"noxfile.py": NOX.replace("*session.posargs", 'env={"PYTHONPATH": "src", "FOO": "bar"}')},
        ],
        2,
    ),
)
def test_variables_that_it_sets_reach_the_tests(tmp_path: Path, files: dict[str, str]) -> None:
    test = "import os, shop\ndef test_a(): assert (os.environ['FOO'], shop.TOTAL) == ('bar', 1)\n"
    root = project(tmp_path, {**files, "src/shop.py": "TOTAL = 1\n", "tests/test_a.py": test})
    report = run_tests(root, argv=["nox" if "noxfile.py" in files else "tox"])
    assert (report.status, report.runner) == (SuiteStatus.PASSED, "pytest"), report.message


@pytest.mark.parametrize(
    "files",
    [
        {"tox.ini": "[testenv]\ncommands = {toxinidir}/run.sh x\n"},
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
