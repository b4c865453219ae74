"""The unittest runner, by real processes: the same honesty as with pytest, with unittest's own ids."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import sample
from support.suites import corpus_project, project, run_tests, settings_with, stopped_at, timed_out_at, tree

from regreen.errors import Refused
from regreen.model import Counts, SuiteStatus

ALL_KINDS = """
import unittest

class KindsTest(unittest.TestCase):
    def test_passes(self): pass
    def test_fails(self): self.assertEqual(1, 2)
    def test_raises(self): {}["gone"]
    @unittest.skip("later")
    def test_skips(self): pass
    def test_skips_inside(self): self.skipTest("now")
    @unittest.expectedFailure
    def test_xfails(self): self.fail()
    @unittest.expectedFailure
    def test_strict(self): pass
    def test_parts(self):
        for i in range(9):
            with self.subTest(i=i):
                self.assertNotIn(i, (3, 4, 5), "odd one")

class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self): self.x = 1
    async def test_awaits(self): self.assertEqual(self.x, 1)
    async def test_awaits_in_vain(self): self.assertEqual(self.x, 2)
"""
GREEN = "import unittest\nclass ATest(unittest.TestCase):\n    def test_a(self): pass\n"


def unit(root, settings=None, **options):
    return run_tests(root, settings, **{"runner": "unittest", **options})


def only(name, body, more=""):
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"import os, time, unittest\nclass ATest(unittest.TestCase):\n    def {name}(self):\n{lines}{more}"


def outcomes(report):
    return {i.rpartition(".")[2].removeprefix("test_"): o for i, o in report.outcomes.items()}


def test_green_suite_is_passed_and_nothing_is_written_into_the_project(tmp_path):
    root = project(tmp_path, {"cart.py": "def total(x): return sum(x)\n", "tests/__init__.py": "",
                              "tests/test_cart.py": "import unittest\nfrom cart import total\n"
                              "class CartTest(unittest.TestCase):\n"
                              "    def test_total(self): self.assertEqual(total([1, 2]), 3)\n"})  # fmt: skip
    before = tree(root)
    report = unit(root)
    assert report.status is SuiteStatus.PASSED, report
    assert report.outcomes == {"tests.test_cart.CartTest.test_total": "passed"}
    assert (report.runner, report.counts) == ("unittest", Counts(passed=1, total=1))
    assert report.argv == (report.interpreter, "-m", "unittest")
    assert "Ran 1 test" in Path(report.log).read_text()
    assert set(report.durations_s) == set(report.outcomes)
    assert tree(root) == before


def test_every_kind_of_outcome_is_told_apart(tmp_path):
    report = unit(project(tmp_path, {"test_kinds.py": ALL_KINDS}))
    assert outcomes(report) == {
        "passes": "passed", "fails": "failed", "raises": "failed", "skips": "skipped", "skips_inside": "skipped",
        "xfails": "xfailed", "strict": "failed", "parts": "failed", "awaits": "passed", "awaits_in_vain": "failed",
    }  # fmt: skip
    assert report.status is SuiteStatus.FAILED
    assert report.counts == Counts(passed=2, failed=5, skipped=2, xfailed=1, total=10)
    by_name = {f.id.rpartition(".")[2]: f for f in report.failures}
    assert by_name["test_raises"].kind == "KeyError"
    fails = by_name["test_fails"]
    assert (fails.kind, fails.file, fails.line, fails.message) == ("AssertionError", "test_kinds.py", 6, "1 != 2")
    assert "> " in fails.excerpt
    parts = by_name["test_parts"].message
    assert parts.startswith("(i=3)")
    assert "3 subtests failed: also (i=4), (i=5)" in parts
    assert any("3 subtests failed, of 1 test" in n for n in report.notes)
    assert "marked as an expected failure" in by_name["test_strict"].message


@pytest.mark.parametrize("fixture,scope", [("setUpClass", "class"), ("setUpModule", "module")])
def test_fixture_that_fails_is_an_error_of_each_test_that_it_kept_from_running(fixture, scope, tmp_path):
    inner = "    @classmethod\n    def setUpClass(cls): {}['x']\n" if scope == "class" else ""
    outer = "" if scope == "class" else "def setUpModule(): {}['x']\n"
    code = f"import unittest\n{outer}class ATest(unittest.TestCase):\n{inner}" + (
        "    def test_a(self): pass\n    def test_b(self): pass\n"
    )
    report = unit(project(tmp_path, {"test_a.py": code, "test_b.py": GREEN}))
    assert report.status is SuiteStatus.ERROR
    assert report.outcomes == {"test_a.ATest.test_a": "error", "test_a.ATest.test_b": "error",
                               "test_b.ATest.test_a": "passed"}  # fmt: skip
    assert {f.kind for f in report.failures} == {"KeyError"}
    assert len(report.groups) == 1


def test_fixture_that_cannot_tidy_up_is_an_error_and_a_skipped_one_skips_its_tests(tmp_path):
    code = (
        "import unittest\nclass ATest(unittest.TestCase):\n    @classmethod\n    def tearDownClass(cls): 1 / 0\n"
        "    def test_a(self): pass\n    def test_b(self): pass\n"
        "class BTest(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls): raise unittest.SkipTest('no')\n"
        "    def test_c(self): pass\n"
    )
    skipped = "import unittest\nraise unittest.SkipTest('x')\n"
    report = unit(project(tmp_path, {"test_a.py": code, "test_m.py": skipped}))
    assert report.status is SuiteStatus.ERROR
    assert outcomes(report) == {"a": "passed", "b": "error", "c": "skipped", "m": "skipped"}


def test_file_that_cannot_be_loaded_is_an_error_and_the_others_are_known(tmp_path):
    root = project(tmp_path, {"test_a.py": GREEN, "test_bad.py": "import unittest\ndef broken(:\n",
                              "test_exit.py": "import unittest, sys\nsys.exit(0)\n"})  # fmt: skip
    report = unit(root)
    assert report.status is SuiteStatus.ERROR
    assert report.outcomes == {"test_a.ATest.test_a": "passed", "test_bad.py": "error", "test_exit.py": "error"}
    bad = report.failures[0]
    assert (bad.kind, bad.file, bad.line) == ("collection", "test_bad.py", 2)
    assert bad.message.startswith("SyntaxError")


def test_missing_third_party_module_is_the_environments_fault_and_one_of_the_project_is_not(tmp_path):
    root = project(tmp_path, {"test_a.py": "import unittest, no_such_package_x\n"})
    report = unit(root)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "`no_such_package_x`" in report.message
    (root / "test_a.py").write_text("import unittest, shop.prise\n")
    (root / "shop").mkdir()
    (root / "shop" / "price.py").write_text("")
    assert unit(root).status is SuiteStatus.ERROR


ENDINGS = [("os._exit(0)", "crash"), ("os.abort()", "crash"), ("while True: time.sleep(60)", "timeout")]


@pytest.mark.parametrize("body,kind", ENDINGS)
def test_test_that_ends_or_holds_up_its_process_is_named_and_the_rest_becomes_known_when_isolated(body, kind, tmp_path):
    root = project(tmp_path, {"test_a.py": only("test_bad", body, "    def test_good(self): pass\n"),
                              "test_b.py": GREEN})  # fmt: skip
    report = stopped_at(2, lambda limit: unit(root, isolate=True, per_test_timeout_s=limit))
    assert report.status is (SuiteStatus.CRASHED if kind == "crash" else SuiteStatus.TIMEOUT)
    assert report.outcomes == {"test_a.ATest.test_bad": "failed", "test_a.ATest.test_good": "passed",
                               "test_b.ATest.test_a": "passed"}  # fmt: skip
    (failure,) = report.failures
    assert (failure.kind, failure.file, failure.line) == (kind, "test_a.py", 4 if kind == "timeout" else failure.line)
    assert "test_a.ATest.test_bad" in report.message


def test_file_that_ends_the_process_on_import_is_left_out_and_the_others_are_known(tmp_path):
    root = project(tmp_path, {"test_a.py": "import os, unittest\nos._exit(0)\n", "test_b.py": GREEN})
    assert unit(root).status is SuiteStatus.CRASHED
    report = unit(root, isolate=True)
    assert report.status is SuiteStatus.CRASHED
    assert report.outcomes == {"test_a.py": "failed", "test_b.ATest.test_a": "passed"}


def test_time_limit_and_interrupt_are_not_green(tmp_path):
    root = project(tmp_path, {"test_a.py": only("test_z", "time.sleep(60)", "    def test_ok(self): pass\n")})
    late = timed_out_at("test_a.ATest.test_z", lambda limit: unit(root, timeout_s=limit))
    assert late.status is SuiteStatus.TIMEOUT
    assert "test_a.ATest.test_z" in late.message
    (root / "test_a.py").write_text(only("test_a", "raise KeyboardInterrupt", "    def test_b(self): pass\n"))
    stopped = unit(root)
    assert stopped.status is SuiteStatus.CRASHED
    assert "KeyboardInterrupt" in stopped.message


@pytest.mark.parametrize("runner", ["unittest", "pytest"])
def test_thread_that_goes_on_after_the_tests_does_not_hold_up_the_run(runner, tmp_path, monkeypatch):
    monkeypatch.setattr("regreen.testing.pytest_process.GRACE_S", 0.5)  # in vain: this thread never ends
    body = "import threading\nthreading.Thread(target=threading.Event().wait).start()"
    report = run_tests(project(tmp_path, {"test_a.py": only("test_a", body)}), runner=runner)
    assert report.status is SuiteStatus.PASSED, report.message
    assert any("did not end when its tests were done" in n for n in report.notes)


def test_nothing_to_run_is_no_tests(tmp_path):
    report = unit(project(tmp_path, {"readme.txt": "", "test_a.py": "import unittest\n"}))
    assert (report.status, report.outcomes) == (SuiteStatus.NO_TESTS, {})


def test_summary_and_messages_that_a_test_forges_change_nothing(tmp_path):
    body = (
        "import sys, json\nsys.stderr.write('\\nRan 9 tests in 0.1s\\n\\nOK\\n')\nfor fd in range(3, 1024):\n    try:\n"
        "        os.write(fd, json.dumps({'n': '', 'k': 'exit', 'rc': 0}).encode() + b'\\n')\n"
        "    except OSError:\n        pass\nself.fail()"
    )
    report = unit(project(tmp_path, {"test_a.py": only("test_forges", body)}))
    assert report.status is SuiteStatus.FAILED
    assert report.counts == Counts(failed=1, total=1)
    assert any("private channel" in n for n in report.notes)


SPREAD = {
    "tests/test_flat.py": GREEN,
    "pkg/__init__.py": "",
    "pkg/tests/__init__.py": "",
    "pkg/tests/test_deep.py": "import unittest\nclass DeepTest(unittest.TestCase):\n    def test_one(self): pass\n"
    "    def test_two(self): pass\nclass OtherTest(unittest.TestCase):\n    def test_one(self): pass\n",
    "src/lib/__init__.py": "",
    "src/lib/test_src.py": "import unittest\nfrom lib import __name__ as n\n"
    "class SrcTest(unittest.TestCase):\n    def test_ä(self): self.assertEqual(n, 'lib')\n",
    "scripts/test_speed.py": "raise SystemExit('not a test')\n",
}
DEEP = "pkg.tests.test_deep"
SPREAD_IDS = [f"{DEEP}.DeepTest.test_one", f"{DEEP}.DeepTest.test_two", f"{DEEP}.OtherTest.test_one",
              "lib.test_src.SrcTest.test_ä", "test_flat.ATest.test_a"]  # fmt: skip


@pytest.fixture(scope="module")
def spread(tmp_path_factory):
    return project(tmp_path_factory.mktemp("spread"), SPREAD)


def test_tests_are_found_in_packages_in_folders_that_are_none_and_below_src(spread):
    report = unit(spread)
    assert report.green, report
    assert set(report.outcomes) == set(SPREAD_IDS)


@pytest.mark.parametrize("entry,wanted", sample([
    (SPREAD_IDS[0], SPREAD_IDS[:1]), (SPREAD_IDS[1], SPREAD_IDS[1:2]),
    (SPREAD_IDS[3], SPREAD_IDS[3:4]), ("pkg", SPREAD_IDS[:3]),
    ("pkg/tests/test_deep.py", SPREAD_IDS[:3]), ("pkg.tests", SPREAD_IDS[:3]),
    (f"{DEEP}.DeepTest", SPREAD_IDS[:2]), (DEEP, SPREAD_IDS[:3]),
    ("tests", SPREAD_IDS[4:]), ("src", SPREAD_IDS[3:4]),
    ("test_two", SPREAD_IDS[1:2]), ("DeepTest", SPREAD_IDS[:2]),
    ("OtherTest.test_one", SPREAD_IDS[2:3]), ("tests.test_flat.ATest", SPREAD_IDS[4:]),
    ("pkg/tests/test_deep.py::DeepTest.test_two", SPREAD_IDS[1:2]), (SPREAD_IDS[2], SPREAD_IDS[2:3]),
    ("pkg/tests/", SPREAD_IDS[:3]), (SPREAD_IDS[4], SPREAD_IDS[4:]),
], 2))  # fmt: skip
def test_selection_takes_ids_and_their_beginnings_files_folders_and_bare_names(entry, wanted, spread):
    report = unit(spread, selection=[entry])
    assert report.green, report.message
    assert list(report.outcomes) == wanted


@pytest.mark.parametrize("entry", sample([
    "gone", "pkg/gone.py", "tests/test_flat.py::GoneTest", "pkg.tests.test_gone.X", f"{DEEP}.DeepTest.test_three",
    "test_on",
], 2))  # fmt: skip
def test_selection_that_matches_nothing_is_no_tests_and_named(entry, spread):
    report = unit(spread, selection=["tests", entry])
    assert report.status is SuiteStatus.NO_TESTS
    assert entry in report.message


def test_ambiguous_bare_name_lists_the_candidates_and_bad_entries_are_refused(spread):
    report = unit(spread, selection=["test_one"])
    assert report.status is SuiteStatus.NO_TESTS
    assert f"{DEEP}.DeepTest.test_one, {DEEP}.OtherTest.test_one" in report.message
    for entry in ("-v", "../x", "/etc/passwd"):
        with pytest.raises(Refused):
            unit(spread, selection=[entry])


@pytest.mark.parametrize("argv,wanted", sample([
    (["python", "-m", "unittest"], SPREAD_IDS),
    (["python", "-m", "unittest", "-v", "-k", "two"], SPREAD_IDS[1:2]),
    (["python", "-m", "unittest", "discover", "-s", "tests", "-p", "test_*.py"], SPREAD_IDS[4:]),
    (["python", "-m", "unittest", "discover", "-s", "pkg/tests", "-t", "."], SPREAD_IDS[:3]),
    (["python3", "-m", "unittest", f"{DEEP}.DeepTest.test_two", "-v"], SPREAD_IDS[1:2]),
    (["python", "-m", "unittest", "pkg/tests/test_deep.py", "-f", "-b"], SPREAD_IDS[:3]),
], 2, offset=1))  # fmt: skip
def test_whole_command_runs_as_it_says(argv, wanted, spread):
    report = run_tests(spread, argv=argv)
    assert (report.runner, report.status) == ("unittest", SuiteStatus.PASSED), report
    assert set(report.outcomes) == set(wanted)
    assert report.argv[1:] == tuple(argv[1:])


def test_last_failed_runs_those_that_the_caller_remembers_and_everything_where_none_is_left(spread):
    assert list(unit(spread, last_failed=[SPREAD_IDS[1]]).outcomes) == [SPREAD_IDS[1]]
    assert len(unit(spread, last_failed=["gone.X.test_y"]).outcomes) == 5


def test_project_decides_by_load_tests_and_each_id_of_it_selects_its_test(tmp_path):
    code = (
        "import unittest\nclass ParamTest(unittest.TestCase):\n    def __init__(self, n):\n"
        "        super().__init__('check')\n        self.n = n\n    def check(self): self.assertLess(self.n, 3)\n"
        "    def id(self): return f'{super().id()}_{self.n}'\n"
        "class PlainTest(unittest.TestCase):\n    def test_left_out(self): self.fail()\n"
        "def load_tests(loader, tests, pattern): return unittest.TestSuite(ParamTest(n) for n in range(3))\n"
    )
    root = project(tmp_path, {"test_a.py": code})
    report = unit(root)
    assert report.outcomes == {f"test_a.ParamTest.check_{n}": "passed" for n in range(3)}
    assert list(unit(root, selection=["test_a.ParamTest.check_1"]).outcomes) == ["test_a.ParamTest.check_1"]
    assert unit(root, selection=["test_a.PlainTest"]).failing == {"test_a.PlainTest.test_left_out"}


def test_tests_of_equal_name_are_one_and_the_worst_outcome_stands(tmp_path):
    code = GREEN + (
        "    n = 0\n    def runTest(self):\n        type(self).n += 1\n        self.assertNotEqual(self.n, 2)\n"
        "def load_tests(loader, tests, pattern): return unittest.TestSuite(ATest('runTest') for _ in range(3))\n"
    )
    report = unit(project(tmp_path, {"test_a.py": code}))
    assert report.outcomes == {"test_a.ATest.runTest": "failed"}
    assert any("share a name" in n for n in report.notes)


def test_project_below_the_root_runs_in_its_own_folder(tmp_path):
    root = project(tmp_path, {"sub/setup.py": "", "sub/helper.py": "x = 1\n",
                              "sub/tests/test_a.py": "import helper, os, unittest\n"
                              "class ATest(unittest.TestCase):\n"
                              "    def test_a(self): self.assertEqual(os.path.basename(os.getcwd()), 'up')\n",
                              })  # fmt: skip
    report = unit(root, selection=["sub/tests"])
    assert report.project == "sub"
    assert report.outcomes == {"sub/test_a.ATest.test_a": "failed"}
    assert report.failures[0].file == "sub/tests/test_a.py"


def test_hundreds_of_failures_are_counted_and_shown_in_part(tmp_path):
    code = (
        "import unittest\nclass ATest(unittest.TestCase):\n    pass\nfor n in range(300):\n"
        "    setattr(ATest, f'test_{n:04}', lambda self, n=n: self.assertEqual(n, -1))\n"
    )
    report = unit(project(tmp_path, {"test_a.py": code}))
    assert report.status is SuiteStatus.FAILED
    assert (report.counts.failed, len(report.outcomes)) == (300, 300)
    assert len(report.failures) <= 100
    assert len(report.groups) == 1


def test_twenty_thousand_lines_of_output_do_no_harm(tmp_path):
    body = "for n in range(20_000): print('line', n)\nself.fail('after all that')"
    report = unit(project(tmp_path, {"test_a.py": only("test_a", body)}))
    assert report.status is SuiteStatus.FAILED
    assert report.failures[0].message == "after all that"
    assert len(repr(report)) < 10_000


def bare_venv(folder):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    return str(folder / "bin" / "python")


def test_environment_without_pytest_runs_tests_of_unittest_where_nothing_names_pytest(tmp_path):
    root = project(tmp_path, {"test_a.py": GREEN})
    python = bare_venv(root / ".venv")
    report = run_tests(root)
    assert (report.runner, report.status, report.interpreter) == ("unittest", SuiteStatus.PASSED, python)
    assert any("nothing names pytest" in n for n in report.notes)
    (root / "requirements-dev.txt").write_text("pytest\n")
    named = run_tests(root)
    assert (named.runner, named.status) == ("pytest", SuiteStatus.ENVIRONMENT)


def test_pytest_runs_tests_of_unittest_where_it_can_be_had(tmp_path):
    report = run_tests(project(tmp_path, {"test_a.py": GREEN}))
    assert (report.runner, list(report.outcomes)) == ("pytest", ["test_a.py::ATest::test_a"])


def test_project_that_runs_unittest_by_its_own_word_is_run_so(tmp_path):
    root = project(tmp_path, {"test_a.py": GREEN, "tox.ini": "[testenv]\ncommands = python -m unittest\n"})
    assert run_tests(root).runner == "unittest"


def test_case_of_the_corpus_fails_as_it_says(tmp_path):
    report = run_tests(corpus_project(tmp_path, "ut-prev"), argv=["python", "-m", "unittest"])
    assert report.failing == {"tests.test_playlist.NavigationTest.test_previous_wraps"}


PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
OTHERS = [p for p in sorted(PYENV.glob("3.*/bin/python")) if int(p.parts[-3].split(".")[1]) >= 8]


@pytest.mark.parametrize("python", sample(OTHERS, 4) or [None], ids=lambda p: p.parts[-3] if p else "none")
def test_other_versions_of_python_tell_the_same(python, tmp_path):
    if python is None:
        pytest.skip("no other version of Python is installed (looked in pyenv's folder)")
    settings = settings_with(tmp_path, python=str(python))
    report = unit(project(tmp_path, {"test_kinds.py": ALL_KINDS}), settings)
    assert report.counts == Counts(passed=2, failed=5, skipped=2, xfailed=1, total=10), report
    assert report.interpreter == str(python)
    assert any("3 subtests failed" in n for n in report.notes)
