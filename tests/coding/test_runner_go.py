from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cases import ALL, sample
from support.suites import project, settings_with, timed_out_at
from support.suites import run_tests as run_with

from regreen.model import SuiteReport, SuiteStatus
from regreen.testing import Progress
from regreen.testing.caching import project_cache

MOD = "module example.com/mathx\n\ngo 1.18\n"
FILES = {
    "go.mod": MOD,
    "m.go": "package mathx\n\nfunc Add(a, b int) int { return a + b }\n",
    "m_test.go": """package mathx

import (
	"fmt"
	"testing"
)

func TestAdd(t *testing.T) {
	fmt.Println("words of the test")
	fmt.Println("--- PASS: TestLies (0.00s)")
	fmt.Println("--- PASS: TestAdd (0.00s)")
	if Add(1, 2) != 4 {
		t.Errorf("want 4, got %d", Add(1, 2))
	}
}

func TestTable(t *testing.T) {
	for _, n := range []string{"one two", "ü", "a/b", "x(y)"} {
		t.Run(n, func(t *testing.T) {
			if n == "ü" {
				t.Fatal("no umlauts")
			}
		})
	}
}

func TestSkip(t *testing.T) { t.Skip("later") }

func TestSame(t *testing.T) {}

func ExampleAdd() {
	fmt.Println(Add(1, 2))
	// Output: 4
}
""",
    "sub/s.go": "package sub\n",
    "sub/s_test.go": """package sub

import "testing"

func TestSame(t *testing.T) {}
func TestOther(t *testing.T) {}
""",
    "none/n.go": "package none\n",
}
OUTCOMES = {
    "mathx/TestAdd": "failed",
    "mathx/TestTable": "failed",
    "mathx/TestTable/one_two": "passed",
    "mathx/TestTable/ü": "failed",
    "mathx/TestTable/a/b": "passed",
    "mathx/TestTable/x(y)": "passed",
    "mathx/TestSkip": "skipped",
    "mathx/TestSame": "passed",
    "mathx/ExampleAdd": "failed",
    "sub/TestSame": "passed",
    "sub/TestOther": "passed",
}


CACHE: list[Path] = []  # one for all: building the standard library anew for each test takes too long


@pytest.fixture(scope="module", autouse=True)
def _go(tmp_path_factory: pytest.TempPathFactory) -> None:
    if shutil.which("go") is None:
        pytest.skip("go is not installed: nothing of the go runner is tested here")
    CACHE.append(tmp_path_factory.mktemp("go-cache"))


def run_tests(root: Path, **options: Any) -> SuiteReport:
    own, shared = project_cache(CACHE[-1], "go-build", root), CACHE[-1] / "shared"
    shared.mkdir(exist_ok=True)
    if not own.is_symlink():
        own.rmdir()
        own.symlink_to(shared)
    return run_with(root, replace(settings_with(root.parent), cache_dir=CACHE[-1]), **options)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    below = {"tools/go.mod": "module example.com/tools\n", "testdata/x/go.mod": "module example.com/x\n"}
    return project(tmp_path_factory.mktemp("go"), {**FILES, **below})


@pytest.fixture(scope="module")
def whole(root: Path) -> SuiteReport:
    return run_tests(root)


def one(base: Path, text: str, **options: Any) -> SuiteReport:
    return run_tests(
        project(base, {"go.mod": MOD, "a_test.go": f'package mathx\n\nimport "testing"\n\n{text}\n'}), **options
    )


def test_every_test_has_its_own_outcome(whole: SuiteReport) -> None:
    assert dict(whole.outcomes) == OUTCOMES
    assert (whole.status, whole.runner) == (SuiteStatus.FAILED, "go")


def test_failures_have_place_and_message(whole: SuiteReport) -> None:
    by_id = {f.id: f for f in whole.failures}
    add = by_id["mathx/TestAdd"]
    assert (add.file, add.line, add.message) == ("m_test.go", 13, "want 4, got 3")
    assert "words of the test" in add.excerpt
    assert by_id["mathx/TestTable/ü"].line == 21
    assert "want:" in by_id["mathx/ExampleAdd"].message
    assert by_id["mathx/ExampleAdd"].file == "m_test.go"


@pytest.mark.parametrize("test", OUTCOMES if ALL else ["mathx/ExampleAdd", "mathx/TestSame", "mathx/TestTable/x(y)"])
def test_an_id_given_back_runs_that_test(root: Path, whole: SuiteReport, test: str) -> None:
    found = dict(run_tests(root, selection=[test]).outcomes)
    assert found[test] == OUTCOMES[test]
    assert {i for i in found if not test.startswith(i) and not i.startswith(f"{test}/")} == set()


def test_bare_names_files_and_folders_select_and_progress_is_told(root: Path, whole: SuiteReport) -> None:
    of_file = run_tests(root, selection=["TestOther", "m_test.go"])
    assert set(of_file.outcomes) == {i for i in OUTCOMES if i.startswith("mathx/")} | {"sub/TestOther"}
    seen: list[Progress] = []
    both = run_tests(root, selection=["mathx/TestSame", "sub"], on_progress=seen.append)
    assert set(both.outcomes) == {"mathx/TestSame", "sub/TestSame", "sub/TestOther"}
    assert seen[-1].done == 3


def test_what_means_nothing_or_several_is_named(root: Path, whole: SuiteReport) -> None:
    gone = ("TestGone", "mathx/TestTable/gone")
    nothing = run_tests(root, selection=gone)
    assert nothing.status is SuiteStatus.NO_TESTS
    assert [entry for entry in gone if entry not in nothing.message] == []
    assert run_tests(root, selection=["none"]).status is SuiteStatus.NO_TESTS
    several = run_tests(root, selection=["TestSame"])
    assert several.status is SuiteStatus.NO_TESTS
    assert "mathx/TestSame" in several.message
    assert "sub/TestSame" in several.message


def test_modules_below_are_told_not_to_have_been_run(whole: SuiteReport) -> None:
    assert any("not run" in n and "tools" in n and "testdata" not in n for n in whole.notes), whole.notes


def test_last_failed_and_a_callers_command(root: Path, whole: SuiteReport) -> None:
    assert set(run_tests(root, last_failed=["mathx/TestAdd", "mathx/TestGone"]).outcomes) == {"mathx/TestAdd"}
    report = run_tests(root, argv=["go", "test", "-v", "-run", "Same", "./sub"])
    assert set(report.outcomes) == {"sub/TestSame"}


def test_a_panic_fails_its_test_and_what_did_not_run_is_told(tmp_path: Path) -> None:
    bad = 'func TestBad(t *testing.T) { println("before"); inner(nil) }\nfunc inner(a []int) int { return a[2] }'
    report = one(tmp_path, f"func TestGood(t *testing.T) {{}}\n{bad}\nfunc TestNever(t *testing.T) {{}}")
    assert report.status is SuiteStatus.FAILED, report.message
    assert dict(report.outcomes) == {"mathx/TestGood": "passed", "mathx/TestBad": "failed"}
    failure = report.failures[0]
    assert (failure.id, failure.kind, failure.file, failure.line) == ("mathx/TestBad", "panic", "a_test.go", 7)
    assert failure.message == "runtime error: index out of range [2] with length 0"
    assert ("before" in failure.excerpt, failure.excerpt.count("goroutine")) == (True, 0)
    assert any("1 of its tests did not run: mathx/TestNever" in n for n in report.notes)
    chosen = run_tests(tmp_path / "project", selection=["TestBad", "TestNever"])
    assert any("1 of its tests did not run: mathx/TestNever" in n for n in chosen.notes)


PARALLEL = """func TestSubs(t *testing.T) {
	t.Run("two", func(t *testing.T) { var m map[string]int; m["a"] = 1 })
	t.Run("three", func(t *testing.T) {})
}

func TestWaits(t *testing.T) { t.Parallel(); t.Run("in", func(t *testing.T) {}) }

func TestMain(m *testing.M) { m.Run() }
"""


def test_a_panic_in_a_subtest_or_another_goroutine_is_no_crash_of_the_run(tmp_path: Path) -> None:
    report = one(tmp_path / "a", PARALLEL.replace("TestSubs(t *testing.T) {", "TestSubs(t *testing.T) {\n"))
    assert (report.status, report.outcomes["mathx/TestSubs/two"]) == (SuiteStatus.FAILED, "failed"), report.message
    assert any("mathx/TestWaits" in n for n in report.notes)
    other = one(tmp_path / "b", 'func TestA(t *testing.T) { go func() { panic("apart") }(); select {} }')
    assert (other.status, dict(other.outcomes)) == (SuiteStatus.FAILED, {"mathx/TestA": "failed"})
    assert (other.failures[0].kind, other.failures[0].message) == ("panic", "apart")


def test_patterns_of_the_go_tool_select(root: Path, whole: SuiteReport) -> None:
    for entry in sample(("./sub/...", "sub/...", "./sub", "example.com/mathx/sub", "example.com/mathx/sub/..."), 3):
        assert set(run_tests(root, selection=[entry]).outcomes) == {"sub/TestSame", "sub/TestOther"}, entry
    assert dict(run_tests(root, selection=["./..."]).outcomes) == OUTCOMES


ENDS = """package mathx

import (
	"os"
	"syscall"
	"testing"
)

var _ = syscall.SIGKILL

func TestEnds(t *testing.T) { HOW }
"""


def test_a_test_that_ends_the_program_is_found(tmp_path: Path) -> None:
    hows = {"no": "os.Exit(0)", "yes": "os.Exit(3)", "kill": "syscall.Kill(os.Getpid(), syscall.SIGKILL); select {}"}
    packages = {f"{name}/a_test.go": ENDS.replace("HOW", how) for name, how in hows.items()}
    report = run_tests(project(tmp_path, {"go.mod": MOD, **packages}))
    assert report.status is SuiteStatus.CRASHED
    assert [name for name in hows if f"{name}/TestEnds" not in report.message] == []


def test_an_endless_test_is_named_at_the_time_limit(tmp_path: Path) -> None:
    root = project(tmp_path, {"go.mod": MOD, "a_test.go": ENDS.replace("HOW", 'if os.Getenv("X") == "" { for {} }')})
    report = timed_out_at("mathx/TestEnds", lambda limit: run_tests(root, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "mathx/TestEnds" in report.message


def test_a_build_error_and_a_package_that_fails_before_its_tests_are_errors_with_their_places(tmp_path: Path) -> None:
    head = 'package p\n\nimport "testing"\n\n'
    files = {
        "bad/a_test.go": f"{head}func TestA(t *testing.T) {{ undefined() }}\n",
        "early/a_test.go": f'{head}func init() {{ panic("no database") }}\nfunc TestA(t *testing.T) {{}}\n',
    }
    report = run_tests(project(tmp_path, {"go.mod": MOD, **files}))
    assert report.status is SuiteStatus.ERROR
    bad, early = sorted(report.failures, key=lambda f: f.id)
    assert (bad.file, bad.line, bad.kind) == ("bad/a_test.go", 5, "collection")
    assert "undefined" in bad.message
    assert "no database" in early.message


def test_a_module_without_tests_is_no_green_one(tmp_path: Path) -> None:
    report = run_tests(project(tmp_path, {"go.mod": MOD, "a.go": "package mathx\n"}))
    assert report.status is SuiteStatus.NO_TESTS


def test_modules_that_are_not_here_are_the_environments_fault(tmp_path: Path) -> None:
    text = 'package mathx\n\nimport (\n"testing"\n\n"example.com/no/such"\n)\n\nfunc TestA(t *testing.T) { such.F() }\n'
    mod = f"{MOD}\nrequire example.com/no/such v1.0.0\n"
    report = run_tests(project(tmp_path, {"go.mod": mod, "a_test.go": text}))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "go mod download" in report.message


def test_a_package_that_no_module_file_names_has_to_be_added(tmp_path: Path) -> None:
    text = 'package mathx\n\nimport (\n"testing"\n\n"example.com/no/such"\n)\n\nfunc TestA(t *testing.T) { such.F() }\n'
    report = run_tests(project(tmp_path, {"go.mod": MOD, "a_test.go": text}))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "`go get example.com/no/such`" in report.message
    assert "go mod download" not in report.message


def test_no_go_is_the_environments_fault(tmp_path: Path) -> None:
    report = run_with(project(tmp_path, {"go.mod": MOD}), settings_with(tmp_path, {"PATH": "/nowhere"}))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "go is not installed" in report.message


def test_a_module_below_the_root_is_found_and_its_ids_say_where(tmp_path: Path) -> None:
    root = project(tmp_path, {f"svc/{name}": text for name, text in FILES.items()})
    report = run_tests(root, selection=["svc/m_test.go"])
    assert report.project == "svc"
    assert report.outcomes["svc/mathx/TestAdd"] == "failed"
    assert next(f.file for f in report.failures if f.id == "svc/mathx/TestAdd") == "svc/m_test.go"


MANY = """func TestMany(t *testing.T) {
	for i := 0; i < 300; i++ {
		t.Run("n", func(t *testing.T) { t.Error("no") })
	}
}

func TestLoud(t *testing.T) {
	for i := 0; i < 20000; i++ {
		println("line", i)
	}
}"""


def test_many_failures_and_much_output_stay_small(tmp_path: Path) -> None:
    report = one(tmp_path, MANY, timeout_s=110.0)
    assert report.status is SuiteStatus.FAILED
    assert report.counts.failed == 301
    assert report.outcomes["mathx/TestLoud"] == "passed"
    assert len(report.failures) <= 100


def test_a_program_that_ends_itself_with_status_0_is_a_crash_and_what_did_not_run_is_named(tmp_path: Path) -> None:
    files = {
        "go.mod": MOD,
        "early/a_test.go": 'package early\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) {\n'
        '\tif os.Getenv("DB") == "" {\n\t\tos.Exit(0)\n\t}\n\tos.Exit(m.Run())\n}\n\n'
        'func TestC(t *testing.T) { t.Fatal("c") }\n',
        "forged/a_test.go": 'package forged\n\nimport (\n\t"fmt"\n\t"syscall"\n\t"testing"\n)\n\n'
        'func TestA(t *testing.T) { fmt.Println("--- PASS: TestA (0.00s)\\nPASS"); syscall.Exit(0) }\n'
        'func TestB(t *testing.T) { t.Fatal("b") }\n',
        "good/a_test.go": 'package good\n\nimport (\n\t"fmt"\n\t"os"\n\t"testing"\n)\n\n'
        "/*\nfunc TestOld(t *testing.T) {}\n*/\n"
        'func TestUnended(t *testing.T) { fmt.Print("no line end") }\n'
        "func TestQuiet(t *testing.T) { os.Stdout, _ = os.Open(os.DevNull) }\n",
    }
    root = project(tmp_path, files)
    report = run_tests(root)
    assert report.status is SuiteStatus.CRASHED, report.message
    assert "early: its test program ended" in report.message
    assert "early/TestC" in report.message
    assert "forged/TestB" in report.message
    assert "good: its" not in report.message
    good = run_tests(root, selection=("good",))
    assert good.green, good.message
    assert dict(good.outcomes) == {"good/TestUnended": "passed", "good/TestQuiet": "passed"}
