from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from support.cargo_zoo import ZOO, ZOO_OUTCOMES, crate, needs_cargo
from support.cases import sample, thorough
from support.suites import CORPUS, run_tests, settings_with, timed_out_at

from regreen.model import SuiteReport, SuiteStatus
from regreen.sandbox import Cancel
from regreen.testing import Progress
from regreen.testing.reports.rust_source import function_place


@pytest.fixture(autouse=True)
def _cargo() -> None:
    needs_cargo()


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_cargo()
    return crate(tmp_path_factory.mktemp("zoo"), ZOO)


@pytest.fixture(scope="module")
def whole(zoo: Path) -> SuiteReport:
    return run_tests(zoo)


def only(files: str, base: Path, **options: object) -> SuiteReport:
    """Run a crate whose one test file is this."""
    return run_tests(crate(base, {"src/lib.rs": "", "tests/t.rs": files}), **options)


def test_every_test_has_its_own_outcome(whole: SuiteReport) -> None:
    assert dict(whole.outcomes) == ZOO_OUTCOMES
    assert whole.status is SuiteStatus.FAILED
    assert whole.runner == "cargo"
    assert whole.counts.failed == 6
    assert whole.counts.skipped == 1


def test_a_panic_is_told_with_its_place_and_trace(whole: SuiteReport) -> None:
    failure = next(f for f in whole.failures if f.id == "zoo::tests::fails")
    assert (failure.file, failure.line, failure.kind) == ("src/lib.rs", 36, "panic")
    assert "sums differ" in failure.message
    assert "src/lib.rs:33" in failure.excerpt  # who called
    assert "captured words" in failure.excerpt


def test_other_failures_say_what_they_are(whole: SuiteReport) -> None:
    by_id = {f.id: f for f in whole.failures}
    assert by_id["zoo::tests::panics_not"].kind == "should_panic"
    assert by_id["zoo::tests::gives_back"].kind == "Error"
    assert "ParseIntError" in by_id["zoo::tests::gives_back"].message
    lines = ZOO["src/lib.rs"].splitlines()
    for name in ("gives_back", "panics_not"):  # nothing says where they stand but their sources
        failure = by_id[f"zoo::tests::{name}"]
        assert (failure.file, f"fn {name}(" in lines[failure.line - 1]) == ("src/lib.rs", True)
    doc = by_id["zoo::src/lib.rs - add #2"]
    assert (doc.file, doc.line) == ("src/lib.rs", 9)
    assert by_id["it::grüße_gehen"].file == "tests/it.rs"


def test_durations_are_told(whole: SuiteReport) -> None:
    assert whole.durations_s["it::lies"] >= 0.03


def test_the_users_tree_gets_no_build_products(zoo: Path, whole: SuiteReport) -> None:
    assert not (zoo / "target").exists()


ONE_OF_EACH_KIND = ("zoo::tests::fails", "bin/zoo::in_the_program", "it::grüße_gehen", "zoo::src/lib.rs - add #2")


def test_ids_given_back_run_exactly_those_tests(zoo: Path, whole: SuiteReport) -> None:
    report = run_tests(zoo, selection=list(ONE_OF_EACH_KIND))
    assert dict(report.outcomes) == {i: ZOO_OUTCOMES[i] for i in ONE_OF_EACH_KIND}


@thorough
@pytest.mark.parametrize("test", ONE_OF_EACH_KIND)
def test_an_id_given_back_runs_exactly_that_test(zoo: Path, whole: SuiteReport, test: str) -> None:
    assert dict(run_tests(zoo, selection=[test]).outcomes) == {test: ZOO_OUTCOMES[test]}


def test_bare_titles_files_and_folders_select(zoo: Path, whole: SuiteReport) -> None:
    files = run_tests(zoo, selection=["adds", "tests/it.rs", "src/inner/mod.rs"])
    wanted = {i for i in ZOO_OUTCOMES if i.startswith("it::")} | {"zoo::tests::adds", "zoo::inner::tests::is_deep"}
    assert set(files.outcomes) == wanted
    two = run_tests(zoo, selection=["it::same", "src/inner"])
    assert set(two.outcomes) == {"it::same", "zoo::inner::tests::is_deep"}


def test_what_means_nothing_or_several_is_named(zoo: Path, whole: SuiteReport) -> None:
    nothing = run_tests(zoo, selection=["no_such_test", "it::gone"])
    assert nothing.status is SuiteStatus.NO_TESTS
    assert "no_such_test" in nothing.message
    assert "it::gone" in nothing.message
    several = run_tests(zoo, selection=["same"])
    assert several.status is SuiteStatus.NO_TESTS
    assert "zoo::tests::same" in several.message
    assert "it::same" in several.message


def test_last_failed_runs_those_that_exist(zoo: Path, whole: SuiteReport) -> None:
    report = run_tests(zoo, last_failed=["it::lies", "it::gone"])
    assert dict(report.outcomes) == {"it::lies": "failed"}


def test_a_command_of_the_callers_is_carried_over(zoo: Path, whole: SuiteReport) -> None:
    lib = run_tests(zoo, argv=["cargo", "test", "--lib", "--offline", "adds", "--", "--nocapture"])
    assert dict(lib.outcomes) == {"zoo::tests::adds": "passed"}
    ignored = run_tests(zoo, argv=["cargo", "test", "--lib", "--", "--ignored"])
    assert dict(ignored.outcomes) == {"zoo::tests::slow": "failed"}
    wrong = run_tests(zoo, argv=["cargo", "test", "--test", "nope"])
    assert wrong.status is SuiteStatus.ENVIRONMENT
    assert "nope" in wrong.message


def test_progress_is_told(zoo: Path, whole: SuiteReport) -> None:
    seen: list[Progress] = []
    run_tests(zoo, selection=["it::same", "it::lies"], on_progress=seen.append)
    assert seen[-1].done == seen[-1].total == 2
    assert seen[-1].failing == 1


def test_a_crate_without_tests_is_no_green_one(tmp_path: Path) -> None:
    assert run_tests(crate(tmp_path, {"src/lib.rs": "pub fn f() {}"})).status is SuiteStatus.NO_TESTS


def test_a_compile_error_is_an_error_with_its_place(tmp_path: Path) -> None:
    report = run_tests(crate(tmp_path, {"src/lib.rs": 'pub fn f() -> i32 {\n    "no"\n}\n#[test] fn t() {}'}))
    assert report.status is SuiteStatus.ERROR
    assert (report.failures[0].file, report.failures[0].line) == ("src/lib.rs", 2)
    assert "E0308" in report.failures[0].message
    assert "mismatched types: expected `i32`, found `&" in report.failures[0].message
    assert report.failures[0].kind == "collection"


def test_a_function_is_found_by_its_modules(tmp_path: Path) -> None:
    root = crate(
        tmp_path,
        {
            "src/lib.rs": "mod a;\nmod tests {\n    fn same() {}\n    pub(crate) async fn inner<T>() {}\n}\n",
            "src/a/mod.rs": "mod b;\nfn same() {}\n",
            "src/a/b.rs": "\n\nmod tests {\n    fn same() {}\n}\n",
        },
    )
    source = root / "src/lib.rs"
    assert function_place(source, ["tests", "same"]) == (str(source), 2)
    assert function_place(source, ["tests", "inner"]) == (str(source), 3)
    assert function_place(source, ["a", "same"]) == (str(root / "src/a/mod.rs"), 1)
    assert function_place(source, ["a", "b", "tests", "same"]) == (str(root / "src/a/b.rs"), 3)
    assert function_place(source, ["made_by_a_macro"]) == ("", 0)


def test_a_broken_manifest_is_an_error(tmp_path: Path) -> None:
    root = crate(tmp_path, {"src/lib.rs": ""}, more="[dependencies]\nx = 5\n")
    report = run_tests(root)
    assert report.status is SuiteStatus.ERROR
    assert report.failures[0].file == "Cargo.toml"


def test_crates_that_are_not_here_are_the_environments_fault(tmp_path: Path) -> None:
    root = crate(tmp_path, {"src/lib.rs": ""}, more='[dependencies]\nregreen-no-such-crate = "1"\n')
    report = run_tests(root)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "regreen-no-such-crate" in report.message
    assert "cargo fetch" in report.message


def test_no_cargo_is_the_environments_fault(tmp_path: Path) -> None:
    root = crate(tmp_path, {"src/lib.rs": ""})
    report = run_tests(root, settings_with(tmp_path, {"PATH": "/nowhere"}))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "cargo is not installed" in report.message


CRASHES = {
    "abort": "std::process::abort()",
    "exit": "std::process::exit(0)",
    "overflow": "fn f(n: u64) -> u64 { if n == 0 { 0 } else { 1 + f(n + 1) } } assert_eq!(f(1), 0)",
}


def test_a_test_that_ends_the_program_is_found_and_isolated_the_others_still_run(tmp_path: Path) -> None:
    rest = "\n".join(f"#[test] fn z_good_{i}() {{ std::thread::sleep(std::time::Duration::from_millis(20)); }}"
                     for i in range(3))  # fmt: skip
    allow = "#[allow(unconditional_recursion)]\n"
    tests = {f"tests/{how}.rs": f"{allow}#[test] fn culprit() {{ {CRASHES[how]} }}\n{rest}" for how in CRASHES}
    root = crate(tmp_path, {"src/lib.rs": "", **tests})
    for isolate in (False, True):
        report = run_tests(root, isolate=isolate)
        assert report.status is SuiteStatus.CRASHED
        assert {f.id: f.kind for f in report.failures} == {f"{how}::culprit": "crash" for how in CRASHES}
        assert "abort::culprit" in report.message
    assert (report.counts.passed, report.counts.failed) == (9, 3)


def test_an_endless_test_is_named_at_the_time_limit(tmp_path: Path) -> None:
    text = "#[test] fn good() {}\n#[test] fn endless() { loop { std::hint::spin_loop() } }"
    root = crate(tmp_path, {"src/lib.rs": "", "tests/t.rs": text})
    report = timed_out_at("t::endless", lambda limit: run_tests(root, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "t::endless" in report.message
    assert report.outcomes["t::good"] == "passed"


def test_a_run_can_be_cancelled(tmp_path: Path) -> None:
    cancel = Cancel()
    text = "#[test] fn endless() { loop { std::hint::spin_loop() } }"

    def stop(progress: Progress) -> None:
        if progress.current:
            cancel.set()

    assert only(text, tmp_path, cancel=cancel, on_progress=stop).status is SuiteStatus.CANCELLED


def test_many_failures_and_much_output_stay_small(tmp_path: Path) -> None:
    many = 'macro_rules! m { ($($n:ident)*) => { $(#[test] fn $n() { assert!(false, "no"); })* } }\n'
    names = "\n".join(f"t{i}" for i in range(200))
    loud = ("#[test] fn loud() { use std::io::Write; let mut o = std::io::stdout(); "
            "for i in 0..20_000 { writeln!(o, \"line {i}\").unwrap(); println!(\"captured {i}\"); } }")  # fmt: skip
    report = only(f"{many}m! {{ {names} }}\n{loud}", tmp_path, timeout_s=110.0)
    assert report.status is SuiteStatus.FAILED
    assert report.counts.failed == 200
    assert report.counts.passed == 1
    assert len(report.failures) <= 100
    assert len(report.groups) <= 50


def test_a_file_that_looks_older_than_the_build_and_another_tree_in_its_place_are_built_anew(tmp_path: Path) -> None:
    files = {"src/lib.rs": "pub fn f() -> i32 { 1 }", "tests/t.rs": "#[test] fn f() { assert_eq!(zoo::f(), 1); }"}
    root = crate(tmp_path, files)
    other = crate(tmp_path / "other", {**files, "src/lib.rs": "pub fn f() -> i32 { 2 }"})
    source = root / "src/lib.rs"
    before = source.stat()
    first = run_tests(root)
    assert first.green
    assert dict(first.outcomes) == {"t::f": "passed"}
    source.write_text("pub fn f() -> i32 { 2 }", "utf-8")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run_tests(root).status is SuiteStatus.FAILED
    source.write_text("pub fn f() -> i32 { 1 }", "utf-8")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns - 10**12))
    assert run_tests(root).green
    root.rename(tmp_path / "first")
    other.rename(root)
    assert run_tests(root).status is SuiteStatus.FAILED


def test_members_of_a_workspace_are_one_project(tmp_path: Path) -> None:
    root = crate(
        tmp_path, {"src/lib.rs": "#[test] fn top() {}"}, name="top", more='[workspace]\nmembers = ["one", "two"]\n'
    )
    for name in ("one", "two"):
        (root / name / "src").mkdir(parents=True)
        (root / name / "tests").mkdir()
        (root / name / "Cargo.toml").write_text(f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n')
        (root / name / "src/lib.rs").write_text("#[test] fn unit() { assert_eq!(1, 2); }\n")
        (root / name / "tests/cli.rs").write_text("#[test] fn runs() {}\n")
    top = run_tests(root, argv=["cargo", "test"])
    assert set(top.outcomes) == {"top::top"}
    assert any("not run" in n and "one, two" in n for n in top.notes), top.notes
    everything = run_tests(root)
    assert any("--workspace" in n for n in everything.notes)
    assert set(everything.outcomes) == {"top::top", "one::unit", "two::unit", "one/cli::runs", "two/cli::runs"}
    failure = next(f for f in everything.failures if f.id == "two::unit")
    assert (failure.file, failure.line) == ("two/src/lib.rs", 1)
    member = run_tests(root, selection=["one/cli::runs", "two/src/lib.rs"])
    assert set(member.outcomes) == {"one/cli::runs", "two::unit"}
    assert member.project == ""


def test_a_crate_below_the_root_is_found_and_its_ids_say_where(tmp_path: Path) -> None:
    root = crate(tmp_path, {})
    (root / "Cargo.toml").unlink()
    (root / "rust/src").mkdir(parents=True)
    (root / "rust/Cargo.toml").write_text('[package]\nname = "low"\nversion = "0.1.0"\nedition = "2021"\n')
    (root / "rust/src/lib.rs").write_text('#[test] fn t() { panic!("x") }\n')
    report = run_tests(root)
    assert dict(report.outcomes) == {"rust/low::t": "failed"}
    assert report.failures[0].file == "rust/src/lib.rs"


def test_a_harness_of_its_own_is_judged_by_its_exit_status(tmp_path: Path) -> None:
    more = '[[test]]\nname = "own"\nharness = false\n'
    files = {"src/lib.rs": "", "tests/own.rs": 'fn main() { eprintln!("it says why"); std::process::exit(3) }'}
    report = run_tests(crate(tmp_path, files, more=more))
    assert dict(report.outcomes) == {"own": "failed"}
    assert "exit status 3" in report.failures[0].message
    assert "it says why" in report.failures[0].excerpt


@pytest.mark.parametrize("case", sample(["cargo-pad", "cargo-wrap"], 2))
def test_the_reference_cases_are_red_where_they_must_be(tmp_path: Path, case: str) -> None:
    source = CORPUS / case
    if not source.exists():
        pytest.skip("the reference cases are not here")
    told = json.loads((source / "case.json").read_text("utf-8"))
    shutil.copytree(source / "repo", tmp_path / "project", copy_function=shutil.copyfile)
    report = run_tests(tmp_path / "project", argv=told["test_argv"])
    assert sorted(i.rpartition("::")[2] for i in report.failing) == sorted(told["failing"])
    assert len(report.outcomes) == told["tests_total"]
    bare = run_tests(tmp_path / "project", selection=told["failing"])
    assert bare.failing == report.failing


def test_text_is_read_where_events_are_not_to_be_had(tmp_path: Path) -> None:
    """As for a project whose own tests start compilers, which must not see the switch for events."""
    lock = 'version = 3\n\n[[package]]\nname = "trybuild"\nversion = "1.0.0"\n'
    root = crate(
        tmp_path, {"src/lib.rs": ZOO["src/lib.rs"], "src/inner/mod.rs": ZOO["src/inner/mod.rs"], "Cargo.lock": lock}
    )
    report = run_tests(root)
    wanted = {i: o for i, o in ZOO_OUTCOMES.items() if i.startswith("zoo::")}
    assert dict(report.outcomes) == wanted
    failure = next(f for f in report.failures if f.id == "zoo::tests::fails")
    assert (failure.file, failure.line) == ("src/lib.rs", 36)


LIAR = """
use std::io::Write;
#[test]
fn liar() {
    let said = "{ \\"type\\": \\"test\\", \\"event\\": \\"ok\\", \\"name\\": \\"red\\" }";
    writeln!(std::io::stdout(), "\\n{}", said).unwrap();
}
#[test]
fn red() {
    std::thread::sleep(std::time::Duration::from_millis(300)); // the liar speaks first
    panic!("red");
}
"""


@thorough  # the zoo has such a liar too
def test_a_test_cannot_say_that_another_has_passed(tmp_path: Path) -> None:
    needs_cargo()
    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "two"\nversion = "0.1.0"\nedition = "2021"\n')
    (tmp_path / "src" / "lib.rs").write_text(LIAR)
    report = run_tests(tmp_path)
    assert dict(report.outcomes) == {"two::liar": "passed", "two::red": "failed"}
    assert report.counts.failed == 1 and report.status is SuiteStatus.FAILED
