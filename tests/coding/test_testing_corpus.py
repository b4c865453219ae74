"""Small red projects and the traps among them: each run of their tests says what case.json says of it."""

import json

import pytest
from support.cases import ALL, sample
from support.processes import carrying
from support.suites import CORPUS, corpus_project, project, run_tests, stopped_at

from regreen.model import SuiteStatus

CASES = {p.parent.name: json.loads(p.read_text("utf-8")) for p in sorted(CORPUS.glob("*/case.json"))}
PYTHON = [n for n, c in CASES.items() if c["language"] == "python" and c["kind"] != "trap"]
STATUS = {
    "trap-abort": "crashed", "trap-contradict": "failed", "trap-env": "environment", "trap-exit0": "crashed",
    "trap-huge": "failed", "trap-hang": "timeout", "trap-orphan": "failed", "trap-regress": "failed",
    "trap-tamper": "failed", "trap-writes": "failed",
}  # fmt: skip
ONE_BY_ONE = {"trap-abort", "trap-env", "trap-exit0", "trap-hang", "trap-huge", "trap-orphan"}  # in test_testing.py


def test_every_trap_is_tried_here():
    assert {n for n in CASES if n.startswith("trap-")} == {*STATUS, "trap-flaky"}


@pytest.mark.parametrize("name", [n for n in STATUS if ALL or n not in ONE_BY_ONE])
def test_trap_gets_the_right_status_and_is_never_green(name, tmp_path):
    case = CASES[name]
    root = corpus_project(tmp_path, name)
    written = set()

    def run(limit):
        return run_tests(root, isolate=True, per_test_timeout_s=limit, on_written=written.update)

    report = stopped_at(2, run) if name == "trap-hang" else run(30.0)
    assert (report.status.value, report.green) == (STATUS[name], False), report.message
    if case["failing"]:
        assert report.failing == set(case["failing"])
    elif name == "trap-exit0":
        assert report.failing == {"test_daemon.py::test_kill", "test_daemon.py::test_unknown"}
    assert set(case.get("side_effects", ())) <= written
    assert all((root / path).exists() for path in case.get("side_effects", ()))
    assert len(repr(report)) < 100_000
    assert carrying("import time; time.sleep(25)") == []
    if name == "trap-orphan":
        assert any("left processes" in n for n in report.notes)
        assert report.duration_s < 20


def test_flaky_test_is_red_or_green_and_the_others_are_always_green(tmp_path):
    report = run_tests(corpus_project(tmp_path, "trap-flaky"))
    assert report.status in (SuiteStatus.PASSED, SuiteStatus.FAILED)
    assert report.failing <= set(CASES["trap-flaky"]["failing"])
    assert report.counts.total == CASES["trap-flaky"]["tests_total"]


def test_order_of_hashes_differs_between_runs(tmp_path):
    root = project(tmp_path, {"test_a.py": "def test_a(): assert not hash('a')\n"})
    first, second = (run_tests(root).failures[0].message for _ in range(2))
    assert first != second


@pytest.mark.parametrize("name", sample(PYTHON, 18))
def test_case_fails_in_the_tests_that_it_names_and_no_others(name, tmp_path):
    case = CASES[name]
    argv = case["test_argv"] if case["runner"] == "unittest" else []
    report = run_tests(corpus_project(tmp_path, name), argv=argv)
    assert report.status in (SuiteStatus.FAILED, SuiteStatus.ERROR)
    assert report.failing == set(case["failing"])
    assert report.counts.total >= len(case["failing"])


def test_hundreds_of_failures_are_counted_and_shown_in_part(tmp_path):
    code = "import pytest\n@pytest.mark.parametrize('n', range(300))\ndef test_n(n): assert n == -1\n"
    report = run_tests(project(tmp_path, {"test_a.py": code}))
    assert report.status is SuiteStatus.FAILED
    assert (report.counts.failed, len(report.outcomes)) == (300, 300)
    assert len(report.failures) <= 100
    told = sum(len(f.excerpt) + len(f.message) for f in report.failures)
    assert told < 70_000
    assert any("200 failures are counted" in n for n in report.notes)


def test_names_of_every_kind_come_back_whole_and_each_selects_its_test(tmp_path):
    long = "x" * 900
    code = (
        "import pytest\n"
        f"@pytest.mark.parametrize('s', ['ä', 'a/b', 'p::q', '[', ']', '{long}', 'a', 'a', '\\n', '🐍'])\n"
        "def test_s(s): assert not s\nclass TestÜber:\n    def test_ñ(self): assert 0\n"
        "def test_twice(): assert 0\ndef test_twice(): assert 1\n"
    )
    root = project(tmp_path, {"test_a.py": code})
    report = run_tests(root)
    assert report.counts.failed == 11
    assert report.counts.total == 12
    again = run_tests(root, selection=sorted(report.failing))
    assert again.failing == report.failing
    assert {f.file for f in again.failures} == {"test_a.py"}
