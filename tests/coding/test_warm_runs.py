"""Warm runs of pytest say what cold runs say, and no run sees anything of another."""

import os
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from support.cases import sample
from support.processes import carrying
from support.suites import CORPUS, corpus_project, project, stopped_at, timed_out_at, tree
from support.warming import facts, warm

from regreen.errors import Refused
from regreen.model import Counts, SuiteStatus
from regreen.sandbox import Cancel
from regreen.testing.warm import NotWarm

KINDS = """
import pytest

def test_passes(): pass
def test_fails(): assert 1 == 2
def test_skips(): pytest.skip("later")
@pytest.mark.xfail
def test_xfails(): assert 0
@pytest.mark.xfail(strict=True)
def test_strict(): pass
@pytest.fixture
def broken(): raise RuntimeError("no fixture today")
def test_errs(broken): pass
@pytest.mark.parametrize("text", ["a b", "\\u00e9\\n", "a::b"])
def test_many(text): assert text == "a b"
"""


@pytest.mark.parametrize("files", sample([
    {"test_kinds.py": KINDS},
    {"test_good.py": "def test_a(): pass\n", "test_bad.py": "def test_b(:\n"},
    {"conftest.py": "1 / 0\n", "test_a.py": "def test_a(): pass\n"},
    {"conftest.py": "import no_such_package_x\n", "test_a.py": "def test_a(): pass\n"},
    {"readme.txt": ""},
    {"pytest.ini": "[pytest]\naddopts = --no-such-option\n", "test_a.py": ""},
    {"test_a.py": "import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit('enough', returncode=0)\n"},
    {"test_a.py": "def test_a(): pass\n", "conftest.py": "def pytest_sessionfinish(session): session.exitstatus = 3\n"},
    {"test_a.py": "import atexit, os\natexit.register(os.abort)\ndef test_a(): pass\n"},
    {"test_a.py": "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): self.assertEqual([1], [2])\n"},
    {"src/app/__init__.py": "", "src/app/core.py": "def f(): return {}['x']\n", "tests/conftest.py": "",
     "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n",
     "tests/test_core.py": "from app.core import f\ndef test_f(tmp_path): f()\n"},
], 3))  # fmt: skip
def test_report_is_that_of_a_cold_run_the_first_time_and_later(files, tmp_path):
    root = project(tmp_path, files)
    before = tree(root)
    with warm(root) as w:
        expected = facts(w.cold())
        assert [facts(w.run()), facts(w.run())] == [expected, expected]
        assert w.server.starts == 1
    assert tree(root) == before


@pytest.mark.parametrize("name", sample(["trap-exit0", "trap-abort", "trap-env", "bill-cents"], 2))
def test_bug_cases_come_out_as_in_a_cold_run(name, tmp_path):
    if not (CORPUS / name).exists():
        pytest.skip(f"there is no case {name} in the corpus")
    root = corpus_project(tmp_path, name)
    with warm(root) as w:
        expected = facts(w.cold(isolate=True))
        assert [facts(w.run(isolate=True)), facts(w.run(isolate=True))] == [expected, expected]


def test_hanging_tests_are_stopped_one_by_one_and_the_server_lives_on(tmp_path):
    with warm(corpus_project(tmp_path, "trap-hang")) as w:
        report = stopped_at(2, lambda limit: w.run(per_test_timeout_s=limit, isolate=True))
        assert report.status is SuiteStatus.TIMEOUT
        assert report.failing == {"test_pages.py::test_everything", "test_pages.py::test_one_page"}
        assert {f.file for f in report.failures} == {"pages.py"}
        assert w.run("test_pages.py::test_count").green
        assert w.server.starts == 1


def test_time_limit_of_the_run_names_the_test_that_ran(tmp_path):
    root = project(tmp_path, {"test_a.py": "import time\ndef test_ok(): pass\ndef test_slow(): time.sleep(60)\n"})
    with warm(root) as w:
        w.run("test_a.py::test_ok")
        report = timed_out_at("test_a.py::test_slow", lambda limit: w.run(timeout_s=limit))
        assert report.status is SuiteStatus.TIMEOUT
        assert "test_a.py::test_slow" in report.message
        assert report.outcomes["test_a.py::test_ok"] == "passed"


def test_selection_names_and_commands_work_as_in_a_cold_run(tmp_path):
    root = project(tmp_path, {"tests/test_a.py": "def test_a(): pass\ndef test_b(): assert 0\n"})
    with warm(root) as w:
        assert w.run("test_b").failing == {"tests/test_a.py::test_b"}
        assert w.run(argv=("pytest", "-k", "test_b")).counts == Counts(failed=1, total=1)
        assert w.run(last_failed=("tests/test_a.py::test_b",)).counts == Counts(failed=1, total=1)
        assert w.run("tests/test_no.py").status is SuiteStatus.NO_TESTS
        with pytest.raises(Refused):
            w.run("../elsewhere.py")


def test_edit_of_equal_size_within_the_same_second_is_executed(tmp_path):
    root = project(tmp_path, {"m.py": "x = 1\n", "test_m.py": "import m, subprocess, sys\ndef test_m():\n"
                              "    assert m.x == 1\n    code = 'import m; assert m.x == 1'\n"
                              "    subprocess.run([sys.executable, '-c', code], check=True)\n"})  # fmt: skip
    with warm(root) as w:
        w = replace(w, environment={**w.environment, "PYTHONDONTWRITEBYTECODE": ""})
        for number in (1, 2, 1):
            (root / "m.py").write_text(f"x = {number}\n")
            os.utime(root / "m.py", (1_700_000_000, 1_700_000_000))
            assert w.run().green == (number == 1)
        assert w.server.starts == 1
    assert not (root / "__pycache__").exists()


def test_state_of_modules_environment_and_folder_does_not_reach_the_next_run(tmp_path):
    code = """
    import decimal, json, logging, os, random, sys, tempfile, warnings
    import state
    def test_a():
        assert state.seen == []
        state.seen.append(1)
        assert "LEAKED" not in os.environ
        os.environ["LEAKED"] = "1"
        assert not hasattr(json, "leaked")
        json.leaked = True
        assert decimal.getcontext().prec == 28
        decimal.getcontext().prec = 3
        assert "/leaked" not in sys.path
        sys.path.insert(0, "/leaked")
        assert os.getcwd() == os.path.dirname(os.path.abspath(__file__))
        os.chdir("/")
        assert os.listdir(tempfile.gettempdir()) == []
        open(os.path.join(tempfile.gettempdir(), "leaked"), "w").close()
        os.umask(0o777)
    """
    with warm(project(tmp_path, {"state.py": "seen = []\n", "test_a.py": textwrap.dedent(code)})) as w:
        for _ in range(3):
            report = w.run()
            assert report.green, report.failures
        assert w.server.starts == 1


def test_each_run_has_random_numbers_and_a_log_of_its_own_and_is_said_to_be_warm(tmp_path):
    code = (
        "import os, random\ndef test_a():\n    print('said', 'by', os.getpid())\n    number = random.random()\n"
        "    assert 0, number\n"
    )
    with warm(project(tmp_path, {"test_a.py": code})) as w:
        reports = [w.run() for _ in range(3)]
    assert len({report.failures[0].message for report in reports}) == 3
    assert all(Path(report.log).read_text().count("said by") == 1 for report in reports)
    assert all(any(n.startswith("warm: ") for n in report.notes) for report in reports)


def test_environment_is_that_of_a_cold_run(tmp_path):
    code = "import os\ndef test_a(): assert 0, ' '.join(sorted(k for k in os.environ if k[0] != '_'))\n"
    with warm(project(tmp_path, {"test_a.py": code})) as w:
        cold = w.cold().failures[0].message
        assert [w.run().failures[0].message for _ in range(2)] == [cold, cold]


def test_left_processes_are_ended_and_said_wherever_they_went(tmp_path):
    mark = f"left by {tmp_path}"
    code = f"""
    import os, subprocess, sys
    ARGV = [sys.executable, "-c", "import time; time.sleep(60)", {mark!r}]
    def test_child(): subprocess.Popen(ARGV)
    def test_daemon():
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            os.execv(sys.executable, ARGV)
        os.wait()
    """
    with warm(project(tmp_path, {"test_a.py": textwrap.dedent(code)})) as w:
        for _ in range(2):
            report = w.run()
            assert report.green, report
            assert any("left processes" in n for n in report.notes)
            assert carrying(mark) == []
        assert w.server.starts == 1


def test_flood_of_output_is_cut_and_counted(tmp_path):
    code = "import os\ndef test_a():\n    for _ in range(80): os.write(1, b'x' * 65536)\n"
    with warm(project(tmp_path, {"test_a.py": code})) as w:
        settings = replace(w.settings, limits=replace(w.settings.limits, max_output_bytes=1_000_000))
        w = replace(w, settings=settings)
        w.run()
        report = w.run(argv=("pytest", "-s"))
        assert report.green
        assert any("output cut" in n for n in report.notes)
        assert Path(report.log).stat().st_size == 1_000_000


def test_tests_that_fork_or_end_their_process_do_no_harm_to_the_next_run(tmp_path):
    code = """
    import os, signal
    def test_forks():
        pid = os.fork()
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)
    def test_kills_group(): os.killpg(0, signal.SIGKILL)
    """
    with warm(project(tmp_path, {"test_a.py": textwrap.dedent(code)})) as w:
        for _ in range(2):
            report = w.run(isolate=True)
            assert report.outcomes == {"test_a.py::test_forks": "passed", "test_a.py::test_kills_group": "failed"}
        assert w.server.starts == 1


def test_messages_that_a_test_forges_change_nothing(tmp_path):
    code = """
    import json, os
    def test_forges():
        for fd in range(3, 64):
            try:
                os.write(fd, json.dumps({"n": "", "k": "exit", "rc": 0, "run": 1, "status": 0}).encode() + b"\\n")
            except OSError:
                pass
        assert False
    """
    with warm(project(tmp_path, {"test_a.py": textwrap.dedent(code)})) as w:
        for _ in range(2):
            report = w.run()
            assert report.status is SuiteStatus.FAILED
            assert any("private channel" in n for n in report.notes)


def test_cancel_ends_the_run_and_not_the_server(tmp_path):
    root = project(tmp_path, {"test_a.py": "import time\ndef test_a(): time.sleep(60)\ndef test_b(): pass\n"})
    with warm(root) as w:
        cancel = Cancel()
        seen = []

        def on_progress(progress):
            seen.append(progress)
            if progress.current:
                cancel.set()

        report = w.run(cancel=cancel, on_progress=on_progress)
        assert report.status is SuiteStatus.CANCELLED
        assert (seen[-1].total, seen[-1].current) == (2, "test_a.py::test_a")
        assert w.run("test_a.py::test_b").green
        assert w.server.starts == 1


def test_test_that_ends_the_server_gives_no_result_and_the_next_run_has_a_new_one(tmp_path):
    code = "import os\ndef test_a(): os.kill(os.getppid(), 9)\ndef test_b(): pass\n"
    with warm(project(tmp_path, {"test_a.py": code})) as w:
        assert isinstance(w.try_run(), NotWarm)
        assert w.run("test_a.py::test_b").green
        assert w.server.starts == 2


def test_written_paths_are_told(tmp_path):
    told: list[str] = []
    code = "def test_a(): open('made.txt', 'w').close()\n"
    with warm(project(tmp_path, {"test_a.py": code})) as w:
        w.run()
        w.run(on_written=told.extend)
        assert told == ["made.txt"]
