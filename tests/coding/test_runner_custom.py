"""A command that the user approved for one repository."""

from __future__ import annotations

import venv
from pathlib import Path

import pytest
from support.suites import project, run_tests, settings_with

from regreen.errors import ConfigError
from regreen.model import SuiteReport, SuiteStatus
from regreen.settings import CustomTests, load_settings

REPORT = '<testsuite name="s"><testcase classname="a" name="good"/>{more}</testsuite>'
BAD = (
    '<testcase classname="a" name="bad" file="src/a.c" line="2">'
    + '<failure message="no" type="Assert">src/a.c:2: no</failure></testcase>'
)


def run(base: Path, script: str, junit: str = "out/*.xml", **options: object) -> SuiteReport:
    """Run a project whose own `run` is this shell script."""
    root = project(
        base, {"run": f"#!/bin/sh\n{script}\n", "src/a.c": "one\ntwo\nthree\n", "test_x.py": "def test_x(): pass\n"}
    )
    (root / "run").chmod(0o755)
    tests = {str(root): CustomTests(("./run", "all tests"), junit)}
    return run_tests(root, settings_with(base, custom_tests=tests), **options)


def test_cases_come_from_its_report(tmp_path: Path) -> None:
    report = run(tmp_path, f"mkdir -p out; echo \"$1\"; echo '{REPORT.format(more=BAD)}' > out/r.xml; exit 1")
    assert (report.status, report.runner) == (SuiteStatus.FAILED, "custom")
    assert dict(report.outcomes) == {"a.good": "passed", "a.bad": "failed"}
    failure = report.failures[0]
    assert (failure.file, failure.line, failure.kind) == ("src/a.c", 2, "Assert")
    assert Path(report.log).read_text("utf-8") == "all tests\n"


def test_it_goes_before_everything_that_is_recognised(tmp_path: Path) -> None:
    green = run(tmp_path, f"mkdir -p out; echo '{REPORT.format(more='')}' > out/r.xml")
    assert (green.status, green.runner) == (SuiteStatus.PASSED, "custom")


def test_a_report_that_the_run_did_not_write_is_none(tmp_path: Path) -> None:
    run(tmp_path, f"mkdir -p out; echo '{REPORT.format(more='')}' > out/r.xml")
    stale = run(tmp_path, "true")
    assert stale.status is SuiteStatus.CRASHED
    assert any("earlier runs" in n for n in stale.notes)


@pytest.mark.parametrize("script", ["true", "mkdir -p out; echo '<testsuite><testcase' > out/r.xml", "kill -9 $$"])
def test_a_missing_or_broken_report_is_a_crash(tmp_path: Path, script: str) -> None:
    assert run(tmp_path, script).status is SuiteStatus.CRASHED


def test_a_red_exit_with_a_green_report_is_red(tmp_path: Path) -> None:
    report = run(tmp_path, f"mkdir -p out; echo '{REPORT.format(more='')}' > out/r.xml; exit 4")
    assert report.status is SuiteStatus.FAILED
    assert "exit status 4" in report.message


def test_without_a_report_its_exit_status_is_judged(tmp_path: Path) -> None:
    green = run(tmp_path / "a", "true", junit="")
    assert dict(green.outcomes) == {"./run all tests": "passed"}
    assert any("exit status alone" in n for n in green.notes)
    assert run(tmp_path / "b", "echo why; exit 2", junit="").status is SuiteStatus.FAILED


def test_a_selection_goes_to_what_is_recognised_or_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path, "true", selection=["test_x.py"]).runner == "pytest"
    refused = run(tmp_path, "true", selection=["x"], runner="custom")
    assert refused.status is SuiteStatus.NO_TESTS
    assert "cannot be selected" in refused.message


def test_where_nothing_is_recognised_it_says_that_it_takes_no_selection(tmp_path: Path) -> None:
    root = project(tmp_path, {"a.c": ""})
    settings = settings_with(tmp_path, custom_tests={str(root): CustomTests(("./run", "all"))})
    for options in ({"selection": ["a.c"]}, {"last_failed": ["./run all"]}):
        report = run_tests(root, settings, **options)
        assert report.status is SuiteStatus.NO_TESTS
        assert "the custom command `./run all` takes no selection" in report.message


@pytest.mark.parametrize("word", [".venv/bin/python", "./.venv/bin/python", "python", "tool"])
def test_the_projects_virtual_environment_is_used(tmp_path: Path, word: str) -> None:
    says = "import os, sys; assert os.environ['PATH'].startswith(os.environ['VIRTUAL_ENV']); print(sys.prefix)"
    root = project(tmp_path, {"a.py": says})
    venv.create(root / ".venv", symlinks=True)
    (root / ".venv/bin/tool").symlink_to("python")
    settings = settings_with(tmp_path, custom_tests={str(root): CustomTests((word, "a.py"))})
    report = run_tests(root, settings)
    assert report.status is SuiteStatus.PASSED, report.failures
    assert Path(report.log).read_text("utf-8").strip() == str(root / ".venv")


def test_a_program_that_is_not_there_is_the_environments_fault(tmp_path: Path) -> None:
    root = project(tmp_path, {"a": ""})
    for word in ("./gone", "no-such-program-here", "/nowhere/run"):
        settings = settings_with(tmp_path, custom_tests={str(root): CustomTests((word,))})
        report = run_tests(root, settings)
        assert report.status is SuiteStatus.ENVIRONMENT
        assert word in report.message


def test_nothing_configured_says_what_to_write(tmp_path: Path) -> None:
    report = run_tests(project(tmp_path, {"a": ""}), runner="custom")
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "[tests." in report.message


def test_the_users_file_configures_it(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[tests."/abs/repo"]\nargv = ["./run", "x"]\njunit = "build/reports/*.xml"\n[tests."/b"]\nargv = ["make"]\n'
    )
    found = load_settings({}, config_file=file).custom_tests
    assert found == {"/abs/repo": CustomTests(("./run", "x"), "build/reports/*.xml"), "/b": CustomTests(("make",))}


@pytest.mark.parametrize(
    "text",
    [
        'tests = "x"',
        "tests = 3",
        '[tests."rel/path"]\nargv = ["x"]',
        '[tests]\n"/a" = 3',
        '[tests."/a"]\njunit = "x.xml"',
        '[tests."/a"]\nargv = []',
        '[tests."/a"]\nargv = "make test"',
        '[tests."/a"]\nargv = ["x", 3]',
        '[tests."/a"]\nargv = ["x"]\nshell = true',
        '[tests."/a"]\nargv = ["x"]\njunit = "/etc/x.xml"',
        '[tests."/a"]\nargv = ["x"]\njunit = "../*.xml"',
    ],
)
def test_a_mistake_there_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings({}, config_file=file)
    assert caught.value.hint
