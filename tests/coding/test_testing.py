"""Statuses of test runs, by real pytest processes: each says what happened, and green is never claimed in error."""

import os
import sys
import textwrap
from pathlib import Path

import pytest
from support.cases import sample
from support.processes import carrying, until
from support.suites import corpus_project, project, run_tests, settings_with, stopped_at, timed_out_at, tree

from regreen.model import Counts, SuiteStatus
from regreen.sandbox import Cancel

ALL_KINDS = """
import pytest

def test_passes(): pass
def test_fails(): assert 1 == 2
def test_skips(): pytest.skip("later")
@pytest.mark.xfail
def test_xfails(): assert 0
@pytest.mark.xfail
def test_xpasses(): pass
@pytest.mark.xfail(strict=True)
def test_strict(): pass
@pytest.fixture
def broken(): raise RuntimeError("no fixture today")
def test_errs(broken): pass
@pytest.fixture
def messy():
    yield
    raise OSError("cannot tidy up")
def test_tidies(messy): pass
"""


def test_green_suite_is_passed_and_nothing_is_written_into_the_project(tmp_path):
    root = project(tmp_path, {"cart.py": "def total(x): return sum(x)\n",
                              "tests/test_cart.py": "from cart import total\ndef test_it(tmp_path):\n"
                              "    (tmp_path / 'x').write_text('')\n    assert total([1, 2]) == 3\n"})  # fmt: skip
    before = tree(root)
    report = run_tests(root)
    assert report.status is SuiteStatus.PASSED, report
    assert report.green
    assert report.outcomes == {"tests/test_cart.py::test_it": "passed"}
    assert report.counts == Counts(passed=1, total=1)
    assert report.argv == (sys.executable, "-m", "pytest")
    assert report.sandbox in ("bwrap", "landlock", "none")
    assert set(report.durations_s) == {"tests/test_cart.py::test_it"}
    assert "1 passed" in Path(report.log).read_text()
    assert tree(root) == before


def test_every_kind_of_outcome_is_told_apart(tmp_path):
    report = run_tests(project(tmp_path, {"test_kinds.py": ALL_KINDS}))
    outcomes = {i.partition("::test_")[2]: o for i, o in report.outcomes.items()}
    assert outcomes == {"passes": "passed", "fails": "failed", "skips": "skipped", "xfails": "xfailed",
                        "xpasses": "xpassed", "strict": "failed", "errs": "error", "tidies": "error"}  # fmt: skip
    assert report.status is SuiteStatus.FAILED
    assert report.counts == Counts(1, 2, 2, 1, 1, 1, 8)
    kinds = {f.id.partition("::test_")[2]: f.kind for f in report.failures}
    assert (kinds["fails"], kinds["errs"], kinds["tidies"]) == ("AssertionError", "RuntimeError", "OSError")
    fails = next(f for f in report.failures if f.id.endswith("test_fails"))
    assert (fails.file, fails.line, fails.message) == ("test_kinds.py", 5, "assert 1 == 2")
    assert report.passing == {"test_kinds.py::test_passes", "test_kinds.py::test_xpasses"}


def test_fixture_error_alone_is_an_error(tmp_path):
    report = run_tests(project(tmp_path, {"test_a.py": "def test_a(no_such_fixture): pass\n"}))
    assert report.status is SuiteStatus.ERROR
    assert "no_such_fixture" in report.failures[0].excerpt


def test_exit_with_status_zero_in_a_test_is_a_crash_and_the_rest_becomes_known_when_isolated(tmp_path):
    root = corpus_project(tmp_path, "trap-exit0")
    plain = run_tests(root)
    assert plain.status is SuiteStatus.CRASHED
    assert "test_daemon.py::test_kill" in plain.message
    assert plain.outcomes["test_daemon.py::test_kill"] == "failed"
    assert "test_daemon.py::test_unknown" not in plain.outcomes
    isolated = run_tests(root, isolate=True)
    assert isolated.status is SuiteStatus.CRASHED
    assert isolated.outcomes["test_daemon.py::test_unknown"] == "failed"
    assert isolated.outcomes["test_daemon.py::test_say"] == "passed"


def test_abort_is_a_failing_test_with_the_place_where_it_happened(tmp_path):
    report = run_tests(corpus_project(tmp_path, "trap-abort"), isolate=True)
    assert report.status is SuiteStatus.CRASHED
    assert report.failing == {"test_ringbuf.py::test_wraps_twice"}
    assert len(report.passing) == 3
    (failure,) = report.failures
    assert (failure.kind, failure.file, failure.line) == ("crash", "ringbuf.py", 15)
    assert "signal 6" in failure.message


def test_hanging_tests_are_stopped_one_by_one_and_the_rest_is_known(tmp_path):
    root = corpus_project(tmp_path, "trap-hang")
    report = stopped_at(2, lambda limit: run_tests(root, per_test_timeout_s=limit, isolate=True))
    assert report.status is SuiteStatus.TIMEOUT
    assert report.failing == {"test_pages.py::test_everything", "test_pages.py::test_one_page"}
    assert report.passing == {"test_pages.py::test_count", "test_pages.py::test_limit"}
    assert {f.kind for f in report.failures} == {"timeout"}
    assert {f.file for f in report.failures} == {"pages.py"}


def test_file_that_ends_the_process_on_import_is_left_out_and_the_others_are_known(tmp_path):
    root = project(tmp_path, {"test_a.py": "import os\nos._exit(0)\n", "test_b.py": "def test_b(): pass\n"})
    report = run_tests(root, isolate=True)
    assert report.status is SuiteStatus.CRASHED
    assert report.outcomes == {"test_a.py": "failed", "test_b.py::test_b": "passed"}


def test_time_limit_of_the_run_names_the_test_that_ran(tmp_path):
    root = project(tmp_path, {"test_a.py": "import time\ndef test_ok(): pass\ndef test_slow(): time.sleep(60)\n"})
    report = timed_out_at("test_a.py::test_slow", lambda limit: run_tests(root, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "test_a.py::test_slow" in report.message
    assert report.outcomes["test_a.py::test_ok"] == "passed"


def test_no_tests_at_all(tmp_path):
    report = run_tests(project(tmp_path, {"readme.txt": ""}))
    assert (report.status, report.outcomes) == (SuiteStatus.NO_TESTS, {})


def test_broken_module_is_an_error_and_the_tests_of_other_modules_are_still_known(tmp_path):
    root = project(tmp_path, {"test_good.py": "def test_a(): pass\n", "test_bad.py": "def test_b(:\n"})
    report = run_tests(root)
    assert report.status is SuiteStatus.ERROR
    assert report.outcomes == {"test_good.py::test_a": "passed", "test_bad.py": "error"}
    (failure,) = report.failures
    assert (failure.kind, failure.file, failure.line) == ("collection", "test_bad.py", 1)
    assert failure.message.startswith("SyntaxError")


def test_missing_third_party_module_is_the_environments_fault_and_named(tmp_path):
    report = run_tests(corpus_project(tmp_path, "trap-env"))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "`pycountry`" in report.message
    assert sys.executable in report.message


def test_missing_module_in_conftest_is_the_environments_fault(tmp_path):
    root = project(tmp_path, {"conftest.py": "import no_such_package_x\n", "test_a.py": "def test_a(): pass\n"})
    report = run_tests(root)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "`no_such_package_x`" in report.message


def test_broken_conftest_is_an_error_of_the_project(tmp_path):
    root = project(tmp_path, {"conftest.py": "1 / 0\n", "test_a.py": "def test_a(): pass\n"})
    report = run_tests(root)
    assert report.status is SuiteStatus.ERROR
    assert "ZeroDivisionError" in report.message
    assert report.outcomes == {"conftest.py": "error"}
    assert report.failures[0].file == "conftest.py"


@pytest.mark.parametrize("name", sample(["shop.prise", "os.pth", "shpo"], 2))
def test_misspelt_import_of_the_project_or_the_standard_library_is_a_mistake_in_the_code(name, tmp_path):
    root = project(tmp_path, {"shop/price.py": "", "shop/__init__.py": "",
                              "test_a.py": f"import {name}\ndef test_a(): pass\n"})  # fmt: skip
    report = run_tests(root)
    if name == "shpo":  # a name this far from any of the project could as well be a package
        assert report.status is SuiteStatus.ENVIRONMENT
    else:
        assert report.status is SuiteStatus.ERROR


def test_option_that_pytest_does_not_know_is_the_environments_fault(tmp_path):
    root = project(tmp_path, {"pytest.ini": "[pytest]\naddopts = --no-such-option\n", "test_a.py": ""})
    report = run_tests(root)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "--no-such-option" in report.message


def test_session_that_stops_itself_with_status_zero_is_not_green(tmp_path):
    root = project(tmp_path, {"test_a.py": "import pytest\ndef test_a(): pass\n"
                              "def test_b(): pytest.exit('enough', returncode=0)\ndef test_c(): pass\n"})  # fmt: skip
    report = run_tests(root)
    assert report.status is SuiteStatus.CRASHED
    assert "enough" in report.message
    assert "did not run" in report.message


@pytest.mark.parametrize("status", sample([1, 2, 3, 5, 9], 3))
def test_exit_status_that_no_test_explains_is_not_green_and_named(status, tmp_path):
    hook = (
        f"def pytest_sessionfinish(session): session.exitstatus = {status}\n"
        "def pytest_terminal_summary(terminalreporter): terminalreporter.write_line('coverage 12% is under 90%')\n"
    )
    root = project(tmp_path, {"test_a.py": "def test_a(): pass\n", "conftest.py": hook})
    report = run_tests(root)
    assert (report.status, report.green, report.failing) == (SuiteStatus.FAILED, False, frozenset())
    assert report.outcomes == {"test_a.py::test_a": "passed"}
    assert f"exit status {status} although no test failed" in report.message
    assert "coverage 12% is under 90%" in report.message


KILLS_SUPERVISOR = """
import os, sys, time

def daemon(mark):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.closerange(0, 256)
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)", mark])
    os.wait()

def test_first(): pass
def test_kills():
    daemon({mark!r})
    os.kill(os.getppid(), 9)
    time.sleep(60)
def test_last(): pass
"""


def test_daemon_of_a_test_that_kills_the_supervisor_is_ended_and_the_run_is_a_crash(tmp_path):
    mark = f"daemon of {tmp_path}"
    root = project(tmp_path, {"test_a.py": KILLS_SUPERVISOR.replace("{mark!r}", repr(mark))})
    report = run_tests(root, settings_with(tmp_path, sandbox_level="none"), isolate=True)  # else out of its sight
    assert until(lambda: carrying(mark) == []), "it is ended at the latest a moment later"
    assert report.status is SuiteStatus.CRASHED
    assert "the supervisor of the tests was killed" in report.message
    assert any("the supervisor of the tests was killed" in n for n in report.notes)
    assert report.outcomes == {"test_a.py::test_first": "passed", "test_a.py::test_kills": "failed",
                               "test_a.py::test_last": "passed"}  # fmt: skip


@pytest.mark.parametrize("where", sample(["pytest_unconfigure()", "pytest_sessionstart()"], 2))
def test_run_whose_supervisor_is_killed_outside_of_a_test_is_a_crash(where, tmp_path):
    hook = f"import os\ndef {where}: os.kill(os.getppid(), 9)\n"
    root = project(tmp_path, {"test_a.py": "def test_a(): pass\n", "conftest.py": hook})
    report = run_tests(root, settings_with(tmp_path, sandbox_level="none"))
    assert report.status is SuiteStatus.CRASHED
    assert "the supervisor of the tests was killed" in report.message


def test_process_that_dies_after_the_session_is_not_green(tmp_path):
    root = project(tmp_path, {"test_a.py": "import atexit, os\natexit.register(os.abort)\ndef test_a(): pass\n"})
    report = run_tests(root)
    assert report.status is SuiteStatus.CRASHED
    assert report.outcomes == {"test_a.py::test_a": "passed"}


def test_forged_messages_and_forked_children_of_tests_change_nothing_and_secrets_stay_out(tmp_path):
    code = """
    import json, os, sys
    def test_forges(capfd):
        with capfd.disabled():
            print("\\n===== 9 passed in 0.01s =====")
        for fd in range(3, 1024):
            try:
                os.write(fd, json.dumps({"n": "", "k": "exit", "rc": 0}).encode() + b"\\n")
            except OSError:
                pass
        assert False
    def test_forks():
        pid = os.fork()
        if pid == 0: raise SystemExit
        os.waitpid(pid, 0)
    def test_secret(): assert 'API_KEY' in str(os.environ), 'never-shown-value-1'
    """
    settings = settings_with(tmp_path, {"SOME_API_KEY": "never-shown-value-1"})
    report = run_tests(project(tmp_path, {"test_a.py": textwrap.dedent(code)}), settings)
    assert report.status is SuiteStatus.FAILED
    assert report.counts == Counts(passed=1, failed=2, total=3)
    assert report.passing == {"test_a.py::test_forks"}
    assert any("private channel" in n for n in report.notes)
    assert "never-shown" not in repr(report)


def test_huge_output_of_a_test_is_cut_in_the_report(tmp_path):
    report = run_tests(corpus_project(tmp_path, "trap-huge"))
    assert report.status is SuiteStatus.FAILED
    assert report.failing == {"test_primesieve.py::test_gaps", "test_primesieve.py::test_gap_of_one"}
    assert all(len(f.excerpt) <= 1200 for f in report.failures)


def test_child_that_outlives_the_tests_is_not_waited_for_and_ended(tmp_path):
    root = corpus_project(tmp_path, "trap-orphan")
    report = run_tests(root)
    assert report.status is SuiteStatus.FAILED
    assert report.duration_s < 20
    assert any("left processes" in n for n in report.notes)
    assert carrying("import time; time.sleep(25)") == []


def test_edit_of_equal_size_within_the_same_second_is_executed(tmp_path):
    root = project(tmp_path, {"m.py": "x = 1\n", "test_m.py": "import m, subprocess, sys\ndef test_m():\n"
                              "    assert m.x == 1\n    code = 'import m; assert m.x == 1'\n"
                              "    subprocess.run([sys.executable, '-c', code], check=True)\n"})  # fmt: skip
    os.utime(root / "m.py", (1_700_000_000, 1_700_000_000))
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    settings = settings_with(tmp_path, plain)
    assert run_tests(root, settings).green
    (root / "m.py").write_text("x = 2\n")
    os.utime(root / "m.py", (1_700_000_000, 1_700_000_000))
    assert run_tests(root, settings).failing == {"test_m.py::test_m"}
    assert not (root / "__pycache__").exists()


def test_cancel_ends_the_run(tmp_path):
    root = project(tmp_path, {"test_a.py": "import time\ndef test_a(): time.sleep(60)\n"})
    cancel = Cancel()
    seen = []

    def on_progress(progress):
        seen.append(progress)
        if progress.current:
            cancel.set()

    report = run_tests(root, cancel=cancel, on_progress=on_progress)
    assert report.status is SuiteStatus.CANCELLED
    assert (seen[-1].total, seen[-1].current) == (1, "test_a.py::test_a")


def test_first_failure_does_not_end_the_run_whatever_the_project_says_unless_the_caller_wants_it(tmp_path):
    root = project(tmp_path, {"pytest.ini": "[pytest]\naddopts = -x\n",
                              "test_a.py": "def test_a(): assert 0\ndef test_b(): pass\n"})  # fmt: skip
    assert len(run_tests(root).outcomes) == 2
    stopped = run_tests(root, argv=["pytest", "-x"])
    assert stopped.status is SuiteStatus.FAILED
    assert "1 of 2 tests did not run" in stopped.message


def test_strict_settings_of_the_project_are_not_upset_by_what_we_add(tmp_path):
    ini = "[pytest]\naddopts = -p no:cacheprovider --strict-markers --strict-config -W error\nfilterwarnings = error\n"
    root = project(tmp_path, {"pytest.ini": ini, "test_a.py": "def test_a(): pass\n"})
    report = run_tests(root)
    assert report.green, report


def test_tests_spread_over_workers_are_reported_and_a_lost_worker_is_a_crash(tmp_path):
    pytest.importorskip("xdist")
    code = "import os, pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_n(n): assert n != 1\n"
    root = project(tmp_path, {"test_a.py": code + "def test_dies(): os._exit(0)\n",
                              "pytest.ini": "[pytest]\naddopts = -p xdist.plugin -n1\n"})  # fmt: skip
    report = run_tests(root)
    assert report.status is SuiteStatus.CRASHED
    assert report.failing == {"test_a.py::test_n[1]", "test_a.py::test_dies"}
    assert {f.kind for f in report.failures} == {"AssertionError", "crash"}
    assert len(report.passing) == 2


def test_tests_that_are_all_skipped_are_no_tests_and_one_that_ran_is_enough(tmp_path):
    skipped = "import pytest\n@pytest.mark.skip\ndef test_a(): pass\n@pytest.mark.skip\ndef test_b(): assert 0\n"
    report = run_tests(project(tmp_path, {"test_a.py": skipped}))
    assert report.status is SuiteStatus.NO_TESTS
    assert report.message == "all tests were skipped (2)"
    project(tmp_path, {"test_b.py": "def test_c(): pass\n"})
    assert run_tests(tmp_path / "project").green
