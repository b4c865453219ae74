"""Vitest, started for real: green, red, broken, crashing, hanging and lying tests, always without its watch mode."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cases import ALL
from support.js_projects import PACKAGES, described, js_project, need, run_js
from support.suites import CORPUS, corpus_project, timed_out_at

from regreen.model import SuiteStatus
from regreen.testing.request import Progress

HEAD = "import { test, describe, it, expect, beforeAll, afterAll } from 'vitest';\n"
SOON = "const soon = (ms: number) => new Promise((done) => setTimeout(done, ms));\n"


@pytest.fixture(autouse=True)
def _needed() -> None:
    need("vitest")


def small(base: Path, body: str, script: str = "vitest", **more: str) -> Path:
    files = {f"{name}.test.ts": HEAD + SOON + text for name, text in {"a": body, **more}.items()}
    return js_project(base, {"package.json": described(script, type="module"), **files})


def test_green_though_the_script_is_its_watch_mode(tmp_path: Path) -> None:
    report = run_js(small(tmp_path, "test('one', () => {});", "vitest --watch"))
    assert (report.status, report.runner) == (SuiteStatus.PASSED, "vitest")
    assert report.outcomes == {"a.test.ts > one": "passed"}


def test_every_outcome(tmp_path: Path) -> None:
    body = (
        "describe('sums', () => {\n  it('adds', () => {\n    expect({ a: 1 }).toEqual({ a: 2 });\n  });\n"
        "  it.skip('not', () => {}); it.todo('later'); it.fails('half', () => { throw new Error('yet'); });\n"
        "  it.each([1, 2])('each %i', (n) => { expect(n).toBe(1); });\n});\n"
        "describe('hook', () => { beforeAll(() => { throw new Error('no start'); }); it('a', () => {}); });\n"
        "describe('over', () => { afterAll(() => { throw new Error('no end'); }); it('a', () => {}); });\n"
        "test('old', () => { expect({ b: 1 }).toMatchInlineSnapshot('\"c\"'); });\n"
    )
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.FAILED
    assert report.outcomes == {
        "a.test.ts > sums > adds": "failed",
        "a.test.ts > sums > not": "skipped",
        "a.test.ts > sums > later": "skipped",
        "a.test.ts > sums > half": "xfailed",
        "a.test.ts > sums > each 1": "passed",
        "a.test.ts > sums > each 2": "failed",
        "a.test.ts > hook > a": "error",
        "a.test.ts > over > a": "error",
        "a.test.ts > old": "failed",
    }
    adds = report.failures[0]
    assert (adds.file, adds.line, adds.kind) == ("a.test.ts", 5, "AssertionError")
    assert '-   "a": 2' in adds.excerpt
    assert ">    5 |     expect({ a: 1 })" in adds.excerpt
    assert {f.message for f in report.failures} >= {"no start", "no end"}


def test_the_bug_case_fails_where_it_is_said_to(tmp_path: Path) -> None:
    case = json.loads((CORPUS / "vitest-hex" / "case.json").read_text("utf-8"))
    root = corpus_project(tmp_path, "vitest-hex")
    (root / "node_modules").symlink_to(PACKAGES)
    report = run_js(root, argv=case["test_argv"])
    assert report.runner == "vitest"
    assert {" ".join(i.split(" > ")[1:]) for i in report.failing} == set(case["failing"])
    assert report.counts.total == case["tests_total"]


def test_files_that_cannot_be_loaded_and_files_without_tests_are_errors(tmp_path: Path) -> None:
    root = small(tmp_path, "import './nowhere';\ntest('x', () => {});", b="test('fine', () => {});", c="export {};")
    report = run_js(root)
    assert report.status is SuiteStatus.ERROR
    assert {f.id for f in report.failures} == {"a.test.ts", "c.test.ts"}
    assert {f.kind for f in report.failures} == {"collection"}
    assert report.outcomes["b.test.ts > fine"] == "passed"


def test_no_files_are_no_tests(tmp_path: Path) -> None:
    assert run_js(js_project(tmp_path, {"package.json": described("vitest")})).status is SuiteStatus.NO_TESTS


def test_settings_that_cannot_be_read_are_the_environments(tmp_path: Path) -> None:
    root = small(tmp_path, "test('one', () => {});")
    (root / "vitest.config.js").write_text("throw new Error('bad settings');")
    report = run_js(root)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "bad settings" in report.message


def test_an_error_outside_of_the_tests_is_not_green(tmp_path: Path) -> None:
    body = "test('one', () => { setTimeout(() => { throw new Error('late'); }, 10); });\ntest('two', () => soon(100));"
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.ERROR
    assert report.counts.passed == 2
    assert any(f.message == "late" for f in report.failures)


def test_process_exit_is_not_green(tmp_path: Path) -> None:
    report = run_js(small(tmp_path, "test('one', () => {});\ntest('two', () => { process.exit(0); });"))
    assert report.status is SuiteStatus.FAILED
    assert report.outcomes["a.test.ts > two"] == "failed"


@pytest.mark.parametrize("how", ["process.abort()", "process.kill(process.pid, 'SIGKILL'); await soon(5000)"])
def test_a_killed_worker_is_a_crash_that_names_its_test(tmp_path: Path, how: str) -> None:
    body = f"test('one', () => {{}});\ntest('two', async () => {{ await soon(400); {how}; }});"
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.CRASHED
    assert "a.test.ts > two" in report.message
    assert any(f.id == "a.test.ts > two" and f.kind == "crash" for f in report.failures)


def test_an_endless_loop_is_a_timeout_that_names_its_test(tmp_path: Path) -> None:
    body = "test('one', () => {});\ntest('two', async () => { await soon(400); for (;;); });"
    root = small(tmp_path, body)
    report = timed_out_at("a.test.ts > two", lambda limit: run_js(root, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "a.test.ts > two" in report.message
    assert report.outcomes["a.test.ts > one"] == "passed"


def test_open_handles_do_not_hold_up_the_run(tmp_path: Path) -> None:
    report = run_js(small(tmp_path, "test('one', () => { setInterval(() => {}, 1000); });"))
    assert report.status is SuiteStatus.PASSED


def test_printed_reports_count_for_nothing(tmp_path: Path) -> None:
    body = (
        "test('real', () => { console.log(' Tests  99 passed (99)\\n{\"success\":true}'); throw new Error('red'); });"
    )
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.FAILED
    assert report.outcomes == {"a.test.ts > real": "failed"}


TITLES = ["ünï – ok ✓", "a > b", "(x)/y.*[z]^$|?", 'it\'s "quoted" `so`', "adds", "adds two"]


def test_ids_given_back_run_those_tests_alone(tmp_path: Path) -> None:
    body = "".join(f"it({json.dumps(t)}, () => {{ console.log('ran: ' + {json.dumps(t)}); }});\n" for t in TITLES)
    root = small(tmp_path, f"describe('d > e', () => {{ {body} }});", b="test('other', () => {});")
    alone = TITLES if ALL else [TITLES[2], TITLES[4]]
    for titles in ([t for t in TITLES if t not in (TITLES[2], TITLES[4])], *([t] for t in alone)):
        report = run_js(root, selection=[f"a.test.ts > d > e > {title}" for title in titles])
        assert report.status is SuiteStatus.PASSED
        assert list(report.outcomes) == [f"a.test.ts > d > e > {title}" for title in titles]
        assert Path(report.log).read_text("utf-8").count("ran: ") == len(titles)


def test_selections(tmp_path: Path) -> None:
    root = small(tmp_path, "test('adds', () => {}); test('only here', () => {});", b="test('adds', () => {});")
    (root / "sub").mkdir()
    (root / "sub" / "c.test.ts").write_text(HEAD + "test('c', () => {});")
    assert set(run_js(root, selection=["only here"]).outcomes) == {"a.test.ts > only here"}
    both = run_js(root, selection=["sub", "b.test.ts", "a.test.ts > adds"])
    assert set(both.outcomes) == {"sub/c.test.ts > c", "b.test.ts > adds", "a.test.ts > adds"}
    ambiguous = run_js(root, selection=["adds"])
    assert ambiguous.status is SuiteStatus.NO_TESTS
    assert "b.test.ts > adds" in ambiguous.message
    assert run_js(root, selection=["a.test.ts > no such"]).status is SuiteStatus.NO_TESTS
    assert set(run_js(root, argv=["vitest", "run", "-t", "only", "a.test.ts"]).outcomes) == {"a.test.ts > only here"}
    if ALL:  # what is left of the last failed is chosen as for node
        assert set(run_js(root, last_failed=["a.test.ts > adds", "gone.test.ts > x"]).outcomes) == {"a.test.ts > adds"}


def test_projects_of_a_workspace(tmp_path: Path) -> None:
    config = "export default { test: { projects: ['packages/*'] } };"
    body = HEAD + "test('one', () => {});"
    files = {"package.json": described("vitest"), "vitest.config.mjs": config}
    for name in ("x", "y"):
        files |= {f"packages/{name}/vitest.config.mjs": "export default {};", f"packages/{name}/a.test.ts": body}
    report = run_js(js_project(tmp_path, files), runner="vitest")
    assert set(report.outcomes) == {"packages/x/a.test.ts > one", "packages/y/a.test.ts > one"}


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[Progress] = []
    run_js(small(tmp_path, "test('one', () => {}); test('two', () => { throw 1; });"), on_progress=told.append)
    assert (told[-1].done, told[-1].failing) == (2, 1)


def test_many_failures_and_much_output_keep_their_verdict(tmp_path: Path) -> None:
    body = (
        "for (let i = 0; i < 300; i += 1) test(`t ${i}`, () => { expect(i).toBe(-1); });\n"
        "test('loud', () => { process.stdout.write('line of output\\n'.repeat(20000)); });"
    )
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.FAILED
    assert (report.counts.failed, report.counts.passed) == (300, 1)


def test_packages_that_are_not_installed(tmp_path: Path) -> None:
    files = {"package.json": described("vitest", devDependencies={"vitest": "^4"}), "pnpm-lock.yaml": ""}
    report = run_js(js_project(tmp_path, files, link=False))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "pnpm install" in report.message


BLOCKS = (
    "describe('add', () => { it('one', () => {}); describe('deep', () => { it('two', () => {}); }); });\n"
    "describe('add more', () => { it('three', () => {}); });\n"
    "for (const n of [1, 2]) describe(`no ${n}`, () => { it('four', () => {}); });\n"
)


@pytest.mark.parametrize(
    ("blocks", "tests"),
    [(["add"], ["add > one", "add > deep > two"]), (["add > deep", "no 2"], ["add > deep > two", "no 2 > four"])],
)
def test_a_block_selects_all_tests_in_it(tmp_path: Path, blocks: list[str], tests: list[str]) -> None:
    report = run_js(small(tmp_path, BLOCKS), selection=[f"a.test.ts > {block}" for block in blocks])
    assert report.status is SuiteStatus.PASSED
    assert list(report.outcomes) == [f"a.test.ts > {t}" for t in tests]


def test_what_stands_behind_an_error_is_told(tmp_path: Path) -> None:
    body = (
        "const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:5432')]);\n"
        "test('one', () => { throw new TypeError('fetch failed', { cause: refused }); });\n"
        "test('two', () => { throw new TypeError('outer', { cause: new Error('inner', { cause: 'why' }) }); });\n"
    )
    one, two = run_js(small(tmp_path, body)).failures
    assert one.kind == "TypeError"
    assert one.message.splitlines()[0] == "fetch failed"
    assert "cause: Error: connect ECONNREFUSED ::1:5432" in one.message
    assert "cause: Error: inner" in two.message


@pytest.mark.parametrize(
    ("written", "place"),
    [("export const a = 1;\nexport const add = (a) => a +;\n", ("src/add.ts", 2)), (None, ("test/add.test.ts", 3))],
)
def test_a_file_that_cannot_be_parsed_is_shown_where_it_breaks(
    tmp_path: Path, written: str | None, place: tuple[str, int]
) -> None:
    body = HEAD + "import { add } from '../src/add';\n" + ("add(1);" if written else "test('x', (=> {});")
    files = {"package.json": described("vitest", type="module"), "test/add.test.ts": body, "src/add.ts": written or ""}
    (failure,) = run_js(js_project(tmp_path, files)).failures
    assert (failure.id, failure.kind, failure.file, failure.line) == ("test/add.test.ts", "collection", *place)


def test_a_package_that_is_not_installed_is_the_environments(tmp_path: Path) -> None:
    report = run_js(small(tmp_path, "import 'zod-of-nowhere/sub';\ntest('x', () => {});"))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "`npm install zod-of-nowhere`" in report.message


def test_coverage_is_written_outside_of_the_project(tmp_path: Path) -> None:
    methods = "initialize(ctx) { this.ctx = ctx; }, resolveOptions() { return this.ctx.config.coverage; }, clean() {}"
    told = "reportCoverage() { console.log(`told ${this.ctx.config.coverage.reportsDirectory}`); }"
    provider = f"{{ name: 'custom', {methods}, onAfterSuiteRun() {{}}, generateCoverage() {{}}, {told} }}"
    root = small(tmp_path, "test('x', () => {});")
    (root / "own.mjs").write_text(f"export default {{ getProvider() {{ return {provider}; }} }};")
    settings = "{ provider: 'custom', customProviderModule: './own.mjs' }"
    (root / "vitest.config.mjs").write_text(f"export default {{ test: {{ coverage: {settings} }} }};")
    report = run_js(root, argv=["vitest", "run", "--coverage"])
    assert report.status is SuiteStatus.PASSED
    (line,) = [x for x in Path(report.log).read_text("utf-8").splitlines() if x.startswith("told ")]
    assert line.endswith("/coverage")
    assert str(root) not in line


def test_words_of_the_script_that_keep_tests_from_running_are_left_out(tmp_path: Path) -> None:
    root = small(tmp_path, "test('b', () => { throw new Error('x'); });", "vitest --changed --shard 1/2")
    report = run_js(root)
    assert report.status is SuiteStatus.FAILED, report.message
    assert any("--changed --shard 1/2" in n for n in report.notes), report.notes
