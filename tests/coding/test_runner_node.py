"""Node's own runner, started for real: what it says of green, red, broken, crashing, hanging and lying test files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cases import sample
from support.js_projects import described, js_project, need_node, node_folders, run_js
from support.suites import CORPUS, corpus_project, timed_out_at

from regreen.model import SuiteStatus
from regreen.testing.request import Progress

HEAD = "import test, { describe, it, before, after } from 'node:test';\nimport assert from 'node:assert/strict';\n"
SOON = "const soon = (ms) => new Promise((done) => setTimeout(done, ms));\n"


@pytest.fixture(params=node_folders() or [""], ids=lambda f: Path(f).parent.name or "none")
def node(request: pytest.FixtureRequest) -> str:
    need_node()
    return request.param


def small(base: Path, body: str, **more: str) -> Path:
    files = {f"{name}.test.mjs": HEAD + SOON + text for name, text in {"a": body, **more}.items()}
    return js_project(base, {"package.json": described("node --test"), **files}, link=False)


def test_green(tmp_path: Path, node: str) -> None:
    report = run_js(small(tmp_path, "test('one', () => {});"), node=node)
    assert (report.status, report.runner) == (SuiteStatus.PASSED, "node")
    assert report.outcomes == {"a.test.mjs > one": "passed"}
    assert node in report.interpreter


def test_red_with_place_frames_and_what_was_compared(tmp_path: Path, node: str) -> None:
    body = "describe('sums', () => {\n  it('adds', () => {\n    assert.deepEqual({ a: 1 }, { a: 2 });\n  });\n});\n"
    report = run_js(small(tmp_path, body), node=node)
    assert report.status is SuiteStatus.FAILED
    (failure,) = report.failures
    assert failure.id == "a.test.mjs > sums > adds"
    assert (failure.file, failure.line, failure.kind) == ("a.test.mjs", 6, "AssertionError")
    assert "+   a: 1" in failure.excerpt
    assert "-   a: 2" in failure.excerpt
    assert ">    6 |     assert.deepEqual" in failure.excerpt


@pytest.mark.parametrize("name", sample(["node-cart", "node-coupon"], 2))
def test_bug_cases_fail_where_they_are_said_to(tmp_path: Path, node: str, name: str) -> None:
    case = json.loads((CORPUS / name / "case.json").read_text("utf-8"))
    report = run_js(corpus_project(tmp_path, name), node=node, argv=case["test_argv"])
    assert {i.rpartition(" > ")[2] for i in report.failing} == set(case["failing"])
    assert report.counts.total == case["tests_total"]


def test_suites_are_no_tests_and_skips_are_none_that_passed(tmp_path: Path, node: str) -> None:
    body = (
        "describe('outer', () => { describe('inner', () => { it('runs', () => {}); }); it.skip('not', () => {});"
        " it.todo('later'); it('half', { todo: true }, () => { throw new Error('yet'); }); });"
    )
    report = run_js(small(tmp_path, body), node=node)
    assert report.status is SuiteStatus.PASSED
    assert report.outcomes == {
        "a.test.mjs > outer > inner > runs": "passed",
        "a.test.mjs > outer > not": "skipped",
        "a.test.mjs > outer > later": "skipped",
        "a.test.mjs > outer > half": "xfailed",
    }


def test_subtests_have_ids_of_their_own(tmp_path: Path, node: str) -> None:
    inner = "await t.test('in', () => {}); await t.test('out', () => { throw TypeError('no'); });"
    body = f"test('all', async (t) => {{ {inner} }});"
    root = small(tmp_path, body)
    report = run_js(root, node=node)
    assert report.outcomes == {
        "a.test.mjs > all > in": "passed",
        "a.test.mjs > all > out": "failed",
        "a.test.mjs > all": "failed",
    }
    again = run_js(root, node=node, selection=["a.test.mjs > all > in"])
    assert again.status is SuiteStatus.PASSED
    assert set(again.outcomes) == {"a.test.mjs > all > in"}


def test_a_file_that_cannot_be_loaded_is_an_error(tmp_path: Path, node: str) -> None:
    report = run_js(small(tmp_path, "import './nowhere.mjs';", b="test('fine', () => {});"), node=node)
    assert report.status is SuiteStatus.ERROR
    (failure,) = report.failures
    assert (failure.id, failure.kind) == ("a.test.mjs", "collection")
    assert "nowhere.mjs" in failure.message
    assert report.outcomes["b.test.mjs > fine"] == "passed"


def test_a_syntax_error_is_an_error(tmp_path: Path, node: str) -> None:
    report = run_js(small(tmp_path, "test('x', (=> {});"), node=node)
    assert report.status is SuiteStatus.ERROR
    assert report.failures[0].id == "a.test.mjs"


def test_a_dependency_that_is_not_installed_is_the_environments(tmp_path: Path) -> None:
    need_node()
    files = {
        "package.json": described("node --test", dependencies={"left-of-it": "^1.0.0"}),
        "a.test.mjs": HEAD + "import 'left-of-it';\ntest('x', () => {});",
    }
    report = run_js(js_project(tmp_path, files, link=False))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "left-of-it" in report.message
    assert "npm install" in report.message


def test_files_without_tests_are_no_tests(tmp_path: Path, node: str) -> None:
    report = run_js(small(tmp_path, "export const x = 1;"), node=node)
    assert report.status is SuiteStatus.NO_TESTS
    assert "a.test.mjs holds no tests" in report.notes


@pytest.mark.parametrize("how", sample(["process.exit(0)", "process.exit(3)", "process.reallyExit(0)"], 2))
def test_leaving_in_the_middle_is_a_crash(tmp_path: Path, node: str, how: str) -> None:
    two = f"test('two', async () => {{ await soon(30); {how}; }});"
    body = f"test('one', async () => {{ await soon(30); }});\n{two}\ntest('three', () => {{}});"
    report = run_js(small(tmp_path, body, b="test('fine', () => {});"), node=node)
    assert report.status is SuiteStatus.CRASHED
    assert "a.test.mjs" in report.message
    assert report.outcomes["b.test.mjs > fine"] == "passed"
    assert "a.test.mjs > three" not in report.passing


def test_a_killed_process_is_a_crash_that_names_its_test(tmp_path: Path, node: str) -> None:
    two = "test('one', async () => {{ await soon(30); }});\ntest('two', async () => {{ await soon(100); {}; }});"
    killed = two.format("process.kill(process.pid, 'SIGKILL'); await soon(5000)")
    report = run_js(small(tmp_path, two.format("process.abort()"), b=killed), node=node)
    assert report.status is SuiteStatus.CRASHED
    assert {f.id for f in report.failures if f.kind == "crash"} >= {"a.test.mjs > two", "b.test.mjs > two"}


def test_too_much_memory_is_a_crash(tmp_path: Path) -> None:
    need_node()
    body = "test('big', () => { const all = []; for (;;) all.push(new Array(1000).fill('x' + all.length)); });"
    root = small(tmp_path, body)
    report = run_js(root, argv=["node", "--test"], environment={"NODE_OPTIONS": "--max-old-space-size=64"})
    assert report.status is SuiteStatus.CRASHED


def test_an_endless_loop_is_a_timeout_that_names_its_test(tmp_path: Path) -> None:
    need_node()
    body = "test('one', async () => { await soon(20); });\ntest('two', async () => { await soon(50); for (;;); });"
    root = small(tmp_path, body)
    report = timed_out_at("a.test.mjs > two", lambda limit: run_js(root, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "a.test.mjs > two" in report.message


def test_what_keeps_a_file_running_is_ended_and_said(tmp_path: Path, node: str) -> None:
    root = small(tmp_path, "test('one', () => { setInterval(() => {}, 1000); });", b="test('two', () => {});")
    report = run_js(root, node=node)
    assert report.status is SuiteStatus.PASSED
    assert set(report.outcomes) == {"a.test.mjs > one", "b.test.mjs > two"}
    assert any("did not end when its tests were done" in n for n in report.notes)


def test_an_error_after_the_tests_is_not_green(tmp_path: Path, node: str) -> None:
    report = run_js(
        small(tmp_path, "test('one', () => { setTimeout(() => { throw Error('late'); }, 30); });"), node=node
    )
    assert report.status is SuiteStatus.ERROR
    assert any(f.message == "late" for f in report.failures)


def test_a_failing_hook_is_told_of_the_tests_it_kept_from_running(tmp_path: Path, node: str) -> None:
    body = "describe('s', () => { before(() => { throw Error('no start'); }); it('a', () => {}); it('b', () => {}); });"
    report = run_js(small(tmp_path, body), node=node)
    assert report.status is SuiteStatus.ERROR
    assert report.outcomes == {"a.test.mjs > s > a": "error", "a.test.mjs > s > b": "error"}
    assert {f.message for f in report.failures} == {"no start"}


def test_printed_reports_count_for_nothing(tmp_path: Path, node: str) -> None:
    lines = "console.log('TAP version 13\\nok 1 - fake\\n1..1\\n# fail 0'); console.error('# pass 99');"
    report = run_js(small(tmp_path, f"test('real', () => {{ {lines} throw Error('red'); }});"), node=node)
    assert report.status is SuiteStatus.FAILED
    assert report.outcomes == {"a.test.mjs > real": "failed"}


TITLES = ["(x)/y.*[z]^$|?", "ünï – ok ✓", 'it\'s "quoted" `so`', "a > b", "adds", "adds two", "  wide  gap "]


@pytest.mark.parametrize("titles", [TITLES[1::2], *([t] for t in sample(TITLES, 2))], ids=lambda t: "+".join(t))
def test_ids_given_back_run_those_tests_alone(tmp_path: Path, node: str, titles: list[str]) -> None:
    body = "".join(f"it({json.dumps(t)}, () => {{ console.log('ran: ' + {json.dumps(t)}); }});\n" for t in TITLES)
    root = small(tmp_path, f"describe('d > e', () => {{ {body} }});")
    wanted = [f"a.test.mjs > d > e > {title}" for title in titles]
    report = run_js(root, node=node, selection=wanted)
    assert report.status is SuiteStatus.PASSED
    assert list(report.outcomes) == wanted
    assert Path(report.log).read_text("utf-8").count("ran: ") == len(titles)


def test_selections(tmp_path: Path) -> None:
    need_node()
    root = small(tmp_path, "test('adds', () => {}); test('only here', () => {});", b="test('adds', () => {});")
    (root / "test").mkdir()
    (root / "test" / "c.mjs").write_text(HEAD + "test('c', () => {});")
    files = run_js(root, selection=["b.test.mjs", "test"])
    assert set(files.outcomes) == {"b.test.mjs > adds", "test/c.mjs > c"}
    assert set(run_js(root, selection=["only here"]).outcomes) == {"a.test.mjs > only here"}
    both = run_js(root, selection=["test/c.mjs", "a.test.mjs > adds"])
    assert set(both.outcomes) == {"test/c.mjs > c", "a.test.mjs > adds"}
    ambiguous = run_js(root, selection=["adds"])
    assert ambiguous.status is SuiteStatus.NO_TESTS
    assert "b.test.mjs > adds" in ambiguous.message
    for nothing in (["no such title", "a.test.mjs > no such"], ["z.test.mjs"]):
        report = run_js(root, selection=nothing)
        assert report.status is SuiteStatus.NO_TESTS
        assert [n for n in nothing if n not in report.message] == []
    assert set(run_js(root, last_failed=["a.test.mjs > adds", "gone.mjs > x"]).outcomes) == {"a.test.mjs > adds"}


def test_a_title_that_is_part_of_another_runs_alone_though_that_one_is_red(tmp_path: Path) -> None:
    need_node()
    root = small(tmp_path, "test('adds', () => {}); test('never adds', () => { throw Error('no'); });")
    report = run_js(root, selection=["adds"])
    assert report.status is SuiteStatus.PASSED
    assert set(report.outcomes) == {"a.test.mjs > adds"}


def test_a_callers_command_is_carried_over(tmp_path: Path) -> None:
    need_node()
    root = small(tmp_path, "test('adds', () => {}); test('other', () => {});", b="test('adds', () => {});")
    report = run_js(root, argv=["node", "--test", "--test-name-pattern", "^adds$", "a.test.mjs"])
    assert set(report.outcomes) == {"a.test.mjs > adds"}


def test_tests_of_a_shared_file_belong_to_the_file_that_runs(tmp_path: Path, node: str) -> None:
    root = small(tmp_path, "import { shared } from './shared.mjs';\ntest('own', () => {});\nshared();")
    (root / "shared.mjs").write_text(
        "import test from 'node:test';\nexport const shared = () => test('s', () => {});\n"
    )
    assert set(run_js(root, node=node).outcomes) == {"a.test.mjs > own", "a.test.mjs > s"}


def test_progress_is_told(tmp_path: Path) -> None:
    need_node()
    told: list[Progress] = []
    run_js(small(tmp_path, "test('one', () => {}); test('two', () => { throw 1; });"), on_progress=told.append)
    assert (told[-1].done, told[-1].failing) == (2, 1)
    assert "a.test.mjs > one" in {p.current for p in told}


def test_a_project_below_the_root(tmp_path: Path) -> None:
    need_node()
    body = HEAD + "test('one', () => { assert.equal(1, 2); });"
    files = {"packages/shop/package.json": described("node --test"), "packages/shop/a.test.mjs": body}
    root = js_project(tmp_path, files, link=False)
    report = run_js(root)
    assert report.project == "packages/shop"
    assert report.failures[0].id == "packages/shop/a.test.mjs > one"
    assert report.failures[0].file == "packages/shop/a.test.mjs"
    again = run_js(root, selection=["packages/shop/a.test.mjs > one"])
    assert again.counts.total == 1


def test_many_failures_and_much_output_keep_their_verdict(tmp_path: Path) -> None:
    need_node()
    body = (
        "for (let i = 0; i < 300; i += 1) test(`t ${i}`, () => { assert.equal(i, -1); });\n"
        "test('loud', () => { process.stdout.write('line of output\\n'.repeat(20000)); });"
    )
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.FAILED
    assert (report.counts.failed, report.counts.passed) == (300, 1)
    assert len(report.groups) <= 50


def test_node_missing_or_too_old_is_the_environments(tmp_path: Path) -> None:
    root = small(tmp_path, "test('one', () => {});")
    empty = tmp_path / "bin"
    empty.mkdir()
    old = empty / "node"
    old.write_text("#!/bin/sh\necho v16.20.2\n")
    old.chmod(0o755)
    report = run_js(root, node=str(empty))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "too old" in report.message


BLOCKS = (
    "describe('add', () => { it('one', () => {}); describe('deep', () => { it('two', () => {}); }); });\n"
    "describe('add more', () => { it('three', () => {}); });\n"
    "for (const n of [1, 2]) describe(`no ${n}`, () => { it('four', () => {}); });\n"
)


@pytest.mark.parametrize(
    ("blocks", "tests"),
    [(["add"], ["add > one", "add > deep > two"]), (["add > deep", "no 2"], ["add > deep > two", "no 2 > four"])],
)
def test_a_block_selects_all_tests_in_it(tmp_path: Path, node: str, blocks: list[str], tests: list[str]) -> None:
    report = run_js(small(tmp_path, BLOCKS), selection=[f"a.test.mjs > {block}" for block in blocks], node=node)
    assert report.status is SuiteStatus.PASSED
    assert list(report.outcomes) == [f"a.test.mjs > {t}" for t in tests]


def test_what_stands_behind_an_error_is_told(tmp_path: Path, node: str) -> None:
    body = (
        "const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:5432')]);\n"
        "test('one', () => { throw new TypeError('fetch failed', { cause: refused }); });\n"
        "test('two', () => { throw new TypeError('outer', { cause: new Error('inner', { cause: 'why' }) }); });\n"
    )
    one, two = run_js(small(tmp_path, body), node=node).failures
    assert one.kind == "TypeError"
    assert one.message.splitlines()[0] == "fetch failed"
    assert "cause: Error: connect ECONNREFUSED ::1:5432" in one.message
    assert "cause: Error: inner" in two.message


def test_a_file_that_cannot_be_parsed_is_shown_where_it_breaks(tmp_path: Path, node: str) -> None:
    root = small(tmp_path, "import './add.mjs';", b="import './add.cjs';")
    for name in ("add.mjs", "add.cjs"):
        (root / name).write_text("const one = 1;\nconst add = (a) => a +;\n")
    failures = run_js(root, node=node).failures
    assert {(f.id, f.kind, f.file, f.line) for f in failures} == {
        ("a.test.mjs", "collection", "add.mjs", 2),
        ("b.test.mjs", "collection", "add.cjs", 2),
    }
    assert all(">    2 | const add = (a) => a +;" in f.excerpt for f in failures)


def test_a_package_that_nobody_names_is_the_environments_and_a_file_of_the_project_is_not(tmp_path: Path) -> None:
    need_node()
    report = run_js(small(tmp_path / "one", "import 'zod-of-nowhere';"))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "`npm install zod-of-nowhere`" in report.message
    root = small(tmp_path / "two", "import 'lib/sums.mjs';")
    (root / "lib").mkdir()
    (root / "lib" / "sums.mjs").write_text("")
    assert run_js(root).status is SuiteStatus.ERROR


def test_leaving_before_the_file_has_run_to_its_end_is_a_crash_and_at_its_end_a_note(tmp_path: Path, node: str) -> None:
    early = """await test('a', () => { setTimeout(() => process.exit(0), 50); });
await soon(5000);
await test('b', () => { throw new Error('b'); });
"""
    report = run_js(small(tmp_path / "1", early), node=node)
    assert report.status is SuiteStatus.CRASHED, report
    assert "may not have run" in report.message
    last = "await test('a', () => {});\nawait soon(300);\nprocess.exit(0);\n"
    report = run_js(small(tmp_path / "2", last), node=node)
    assert report.status is SuiteStatus.PASSED, report.message


def test_a_shard_in_the_script_is_left_out(tmp_path: Path) -> None:
    files = {f"{name}.test.mjs": HEAD + "test('t', () => {});" for name in "abc"}
    script = "node --test --test-shard=1/3"
    report = run_js(js_project(tmp_path, {"package.json": described(script), **files}, link=False))
    assert len(report.outcomes) == 3, report.message
    assert any("--test-shard=1/3" in n for n in report.notes), report.notes
