"""Mocha, started for real: green, red, broken, crashing, hanging and lying tests, with settings of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cases import ALL, sample
from support.js_projects import described, js_project, need, run_js
from support.suites import timed_out_at

from regreen.model import SuiteStatus
from regreen.testing.request import Progress

HEAD = "const assert = require('assert');\nconst soon = (ms) => new Promise((done) => setTimeout(done, ms));\n"


@pytest.fixture(autouse=True)
def _needed() -> None:
    need("mocha")


def small(base: Path, body: str, script: str = "mocha", **more: str) -> Path:
    files = {f"test/{name}.js": HEAD + text for name, text in {"a": body, **more}.items()}
    return js_project(base, {"package.json": described(script), **files})


def test_green_though_the_script_is_its_watch_mode(tmp_path: Path) -> None:
    report = run_js(small(tmp_path, "it('one', () => {});", "mocha --watch 'test/**/*.js'"))
    assert (report.status, report.runner) == (SuiteStatus.PASSED, "mocha")
    assert report.outcomes == {"test/a.js > one": "passed"}


def test_every_outcome(tmp_path: Path) -> None:
    body = (
        "describe('sums', () => {\n  it('adds', () => {\n    assert.deepStrictEqual({ a: 1 }, { a: 2 });\n  });\n"
        "  it.skip('not', () => {}); it('later'); let n = 0;\n"
        "  it('again', function () { this.retries(2); n += 1; assert.ok(n > 1); });\n});\n"
        "describe('first', () => { before(() => { throw new Error('no start'); });\n"
        "  it('a', () => {}); it('b', () => {}); });\n"
        "describe('each', () => { let m = 0; beforeEach(() => { m += 1; if (m > 1) throw new Error('no more'); });\n"
        "  it('a', () => {}); it('b', () => {}); it('c', () => {}); });\n"
        "describe('over', () => { after(() => { throw new Error('no end'); });\n"
        "  it('a', () => {}); it('b', () => {}); });\n"
        "it('late', (done) => { setTimeout(() => { throw new TypeError('uncaught'); }, 5); });\n"
    )
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.FAILED
    assert report.outcomes == {
        "test/a.js > late": "failed",
        "test/a.js > sums > adds": "failed",
        "test/a.js > sums > not": "skipped",
        "test/a.js > sums > later": "skipped",
        "test/a.js > sums > again": "passed",
        "test/a.js > first > a": "error",
        "test/a.js > first > b": "error",
        "test/a.js > each > a": "passed",
        "test/a.js > each > b": "error",
        "test/a.js > each > c": "error",
        "test/a.js > over > a": "passed",
        "test/a.js > over > b": "error",
    }
    told = {f.id: f for f in report.failures}
    adds = told["test/a.js > sums > adds"]
    assert (adds.file, adds.line, adds.kind) == ("test/a.js", 5, "AssertionError")
    assert "-   a: 2" in adds.excerpt
    assert told["test/a.js > late"].kind == "TypeError"
    assert told["test/a.js > first > b"].message == "no start"


def test_a_failing_root_hook_is_an_error_of_the_tests(tmp_path: Path) -> None:
    report = run_js(
        small(tmp_path, "before(() => { throw Error('root'); });\ndescribe('s', () => { it('b', () => {}); });")
    )
    assert report.status is SuiteStatus.ERROR
    assert report.outcomes == {"test/a.js > s > b": "error"}


@pytest.mark.parametrize(
    "body", ["require('./nowhere');", "it('x', (=> {});", "describe('s', () => { throw Error('at once'); });"]
)
def test_a_file_that_cannot_be_loaded_is_an_error(tmp_path: Path, body: str) -> None:
    report = run_js(small(tmp_path, body, b="it('fine', () => {});"))
    assert report.status is SuiteStatus.ERROR
    assert [f.id for f in report.failures] == ["test/a.js"]
    assert report.failures[0].kind == "collection"


def test_no_files_and_empty_files_are_no_tests(tmp_path: Path) -> None:
    assert run_js(js_project(tmp_path / "x", {"package.json": described("mocha")})).status is SuiteStatus.NO_TESTS
    assert run_js(small(tmp_path / "y", "")).status is SuiteStatus.NO_TESTS


def test_settings_that_cannot_be_read_are_the_environments(tmp_path: Path) -> None:
    root = small(tmp_path, "it('one', () => {});")
    (root / ".mocharc.js").write_text("throw new Error('bad settings');")
    report = run_js(root)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "bad settings" in report.message


@pytest.mark.parametrize(
    "how", ["process.exit(0)", "process.abort()", "process.kill(process.pid, 'SIGKILL'); await soon(5000)"]
)
def test_a_process_that_ends_early_is_a_crash_that_names_its_test(tmp_path: Path, how: str) -> None:
    report = run_js(
        small(tmp_path, f"it('one', () => {{}});\nit('two', async () => {{ {how}; }});\nit('three', () => {{}});")
    )
    assert report.status is SuiteStatus.CRASHED
    assert "test/a.js > two" in report.message
    assert report.outcomes == {"test/a.js > one": "passed", "test/a.js > two": "error"}


def test_an_endless_loop_is_a_timeout_that_names_its_test(tmp_path: Path) -> None:
    root = small(tmp_path, "it('one', () => {});\nit('two', () => { for (;;); });")
    report = timed_out_at("test/a.js > two", lambda limit: run_js(root, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "test/a.js > two" in report.message


def test_what_keeps_it_running_is_ended_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regreen.testing.lasting.GRACE_S", 0.5)  # in vain: the timer never ends
    report = run_js(small(tmp_path, "it('one', () => { setInterval(() => {}, 1000); });"))
    assert report.status is SuiteStatus.PASSED
    assert any("did not end when its tests were done" in n for n in report.notes)


def test_a_test_that_takes_hold_of_the_writing_functions_changes_nothing(tmp_path: Path) -> None:
    body = (
        "const fs = require('fs');\nfs.writeSync = () => 0; JSON.stringify = () => '{}';\n"
        "it('real', () => { console.log('1 passing'); for (let fd = 3; fd < 500; fd += 1) {\n"
        "  try { if (!fs.fstatSync(fd).isSocket()) continue; } catch { continue; }\n"
        '  try { fs.appendFileSync(fd, \'{"k":"end","id":"fake","outcome":"passed"}\\n\'); } catch {} }\n'
        "  const ours = Object.keys(require.cache).find((k) => k.endsWith('regreen_channel.cjs'));\n"
        "  require.cache[ours].exports.open()?.({ k: 'end', id: 'fake', outcome: 'passed' });\n"
        "  throw Error('red'); });"
    )
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.FAILED
    assert report.outcomes == {"test/a.js > real": "failed"}
    assert any("private channel" in n for n in report.notes)


TITLES = ["ünï – ok ✓", "a > b", "(x)/y.*[z]^$|?", 'it\'s "quoted" `so`', "adds", "adds two"]


def test_ids_given_back_run_those_tests_alone(tmp_path: Path) -> None:
    body = "".join(f"it({json.dumps(t)}, () => {{ console.log('ran: ' + {json.dumps(t)}); }});\n" for t in TITLES)
    root = small(tmp_path, f"describe('d > e', () => {{ {body} }});", b="it('other', () => {});")
    alone = TITLES if ALL else [TITLES[2], TITLES[4]]
    for titles in ([t for t in TITLES if t not in (TITLES[2], TITLES[4])], *([t] for t in alone)):
        report = run_js(root, selection=[f"test/a.js > d > e > {title}" for title in titles])
        assert report.status is SuiteStatus.PASSED
        assert list(report.outcomes) == [f"test/a.js > d > e > {title}" for title in titles]
        assert Path(report.log).read_text("utf-8").count("ran: ") == len(titles)


@pytest.mark.parametrize(
    ("name", "settings"),
    sample(
        [
            (".mocharc.yml", "spec: ['spec/**/*.js']\nrequire: ['./first.js']\n"),
            (".mocharc.json", '{"spec": "spec/**/*.js", "require": "./first.js"}'),
            (".mocharc.cjs", "module.exports = { spec: ['spec/**/*.js'], require: ['./first.js'] };"),
        ],
        2,
    ),
)
def test_selections_hold_against_settings_that_name_files(tmp_path: Path, name: str, settings: str) -> None:
    files = {
        "package.json": described("mocha"),
        name: settings,
        "first.js": "global.first = true;",
        "spec/a.js": "it('adds', () => { if (!global.first) throw Error('no settings'); }); it('only here', () => {});",
        "spec/b.js": "it('adds', () => {});",
        "spec/sub/c.js": "it('c', () => {});",
    }
    root = js_project(tmp_path, files)
    assert run_js(root).counts.passed == 4
    places = run_js(root, selection=["spec/b.js", "spec/sub"])
    assert set(places.outcomes) == {"spec/b.js > adds", "spec/sub/c.js > c"}
    assert set(run_js(root, selection=["only here"]).outcomes) == {"spec/a.js > only here"}
    both = run_js(root, selection=["spec/sub", "spec/a.js > adds"])
    assert both.status is SuiteStatus.PASSED
    assert set(both.outcomes) == {"spec/sub/c.js > c", "spec/a.js > adds"}
    ambiguous = run_js(root, selection=["adds"])
    assert ambiguous.status is SuiteStatus.NO_TESTS
    assert "spec/b.js > adds" in ambiguous.message
    assert run_js(root, selection=["spec/a.js > no such"]).status is SuiteStatus.NO_TESTS
    assert set(run_js(root, last_failed=["spec/a.js > adds", "gone.js > x"]).outcomes) == {"spec/a.js > adds"}


def test_a_callers_command_and_parallel_runs(tmp_path: Path) -> None:
    root = small(tmp_path, "it('one', () => {});", b="it('two', () => { assert.equal(1, 2); });")
    report = run_js(root, argv=["npx", "mocha", "--parallel", "--jobs", "2"])
    assert report.outcomes == {"test/a.js > one": "passed", "test/b.js > two": "failed"}
    assert report.failures[0].kind == "AssertionError"
    assert set(run_js(root, argv=["mocha", "-g", "one"]).outcomes) == {"test/a.js > one"}


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[Progress] = []
    run_js(small(tmp_path, "it('one', () => {}); it('two', () => { throw Error('x'); });"), on_progress=told.append)
    assert (told[-1].done, told[-1].total, told[-1].failing) == (2, 2, 1)


def test_many_failures_and_much_output_keep_their_verdict(tmp_path: Path) -> None:
    body = (
        "for (let i = 0; i < 300; i += 1) it(`t ${i}`, () => { assert.strictEqual(i, -1); });\n"
        "it('loud', () => { process.stdout.write('line of output\\n'.repeat(20000)); });"
    )
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.FAILED
    assert (report.counts.failed, report.counts.passed) == (300, 1)


def test_packages_that_are_not_installed(tmp_path: Path) -> None:
    files = {"package.json": described("mocha", devDependencies={"mocha": "^11"}), "package-lock.json": "{}"}
    report = run_js(js_project(tmp_path, files, link=False))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "npm ci" in report.message


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
    report = run_js(small(tmp_path, BLOCKS), selection=[f"test/a.js > {block}" for block in blocks])
    assert report.status is SuiteStatus.PASSED
    assert list(report.outcomes) == [f"test/a.js > {t}" for t in tests]


def test_what_stands_behind_an_error_is_told(tmp_path: Path) -> None:
    body = (
        "const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:5432')]);\n"
        "it('one', () => { throw new TypeError('fetch failed', { cause: refused }); });\n"
        "it('two', () => { throw new TypeError('outer', { cause: new Error('inner', { cause: 'why' }) }); });\n"
    )
    one, two = run_js(small(tmp_path, body)).failures
    assert one.kind == "TypeError"
    assert one.message.splitlines()[0] == "fetch failed"
    assert "cause: Error: connect ECONNREFUSED ::1:5432" in one.message
    assert "cause: Error: inner" in two.message


def test_a_file_that_cannot_be_parsed_is_shown_where_it_breaks(tmp_path: Path) -> None:
    root = small(tmp_path, "require('../add');\nit('x', () => {});")
    (root / "add.js").write_text("exports.a = 1;\nexports.add = (a) => a +;\n")
    (failure,) = run_js(root).failures
    assert (failure.kind, failure.file, failure.line) == ("collection", "add.js", 2)


def test_a_package_that_is_not_installed_is_the_environments(tmp_path: Path) -> None:
    report = run_js(small(tmp_path, "require('zod-of-nowhere');\nit('x', () => {});"))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "`npm install zod-of-nowhere`" in report.message


def test_settings_that_keep_tests_from_running_are_undone_or_told(tmp_path: Path) -> None:
    root = small(tmp_path, "it('z', () => { throw new Error('no'); });\nit('other', () => {});")
    (root / ".mocharc.json").write_text('{"dry-run": true,\n "grep": "z"}')
    report = run_js(root)
    assert dict(report.outcomes) == {"test/a.js > z": "failed"}
    assert any(".mocharc.json: grep" in n for n in report.notes), report.notes
