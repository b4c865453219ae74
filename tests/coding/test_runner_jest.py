"""Jest, started for real: green, red, broken, crashing, hanging and lying tests, always without its watch mode."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cases import ALL
from support.js_projects import PACKAGES, described, js_project, need, run_js
from support.suites import CORPUS, corpus_project, timed_out_at

from regreen.model import SuiteStatus
from regreen.testing.request import Progress

SOON = "const soon = (ms) => new Promise((done) => setTimeout(done, ms));\n"


@pytest.fixture(autouse=True)
def _needed() -> None:
    need("jest")


def small(base: Path, body: str, script: str = "jest", **more: str) -> Path:
    files = {f"{name}.test.js": SOON + text for name, text in {"a": body, **more}.items()}
    return js_project(base, {"package.json": described(script), **files})


def test_green_though_the_script_is_its_watch_mode(tmp_path: Path) -> None:
    report = run_js(small(tmp_path, "test('one', () => {});", "jest --watchAll"))
    assert (report.status, report.runner) == (SuiteStatus.PASSED, "jest")
    assert report.outcomes == {"a.test.js > one": "passed"}


def test_every_outcome(tmp_path: Path) -> None:
    body = (
        "describe('sums', () => {\n  it('adds', () => {\n    expect({ a: 1 }).toEqual({ a: 2 });\n  });\n"
        "  it.skip('not', () => {}); it.todo('later'); it.failing('half', () => { throw new Error('yet'); });\n"
        "  it.each([1, 2])('each %i', (n) => { expect(n).toBe(1); });\n});\n"
        "describe('hook', () => { beforeAll(() => { throw new Error('no start'); }); it('a', () => {}); });\n"
        "test('type', () => { null.x; });\ntest('text', () => { throw 'only text'; });\n"
        "test('new', () => { expect({ b: 1 }).toMatchSnapshot(); });\n"
    )
    root = small(tmp_path, body)
    report = run_js(root)
    assert report.status is SuiteStatus.FAILED
    assert report.outcomes == {
        "a.test.js > sums > adds": "failed",
        "a.test.js > sums > not": "skipped",
        "a.test.js > sums > later": "skipped",
        "a.test.js > sums > half": "xfailed",
        "a.test.js > sums > each 1": "passed",
        "a.test.js > sums > each 2": "failed",
        "a.test.js > hook > a": "failed",
        "a.test.js > type": "failed",
        "a.test.js > text": "failed",
        "a.test.js > new": "failed",
    }
    told = {f.id: f for f in report.failures}
    adds = told["a.test.js > sums > adds"]
    assert (adds.file, adds.line, adds.kind) == ("a.test.js", 4, "AssertionError")
    assert '-   "a": 2' in adds.excerpt
    assert ">    4 |     expect({ a: 1 })" in adds.excerpt
    assert told["a.test.js > type"].kind == "TypeError"
    assert told["a.test.js > hook > a"].message == "no start"
    assert "only text" in told["a.test.js > text"].message
    assert not (root / "__snapshots__").exists()


def test_the_bug_case_fails_where_it_is_said_to(tmp_path: Path) -> None:
    case = json.loads((CORPUS / "jest-minus" / "case.json").read_text("utf-8"))
    root = corpus_project(tmp_path, "jest-minus")
    (root / "node_modules").symlink_to(PACKAGES)
    report = run_js(root, argv=case["test_argv"])
    assert report.runner == "jest"
    assert {i.rpartition(" > ")[2] for i in report.failing} == set(case["failing"])
    assert report.counts.total == case["tests_total"]


def test_files_that_cannot_be_loaded_and_files_without_tests_are_errors(tmp_path: Path) -> None:
    root = small(tmp_path, "require('./nowhere');", b="test('fine', () => {});", c="", d="test('x', (=> {});")
    report = run_js(root)
    assert report.status is SuiteStatus.ERROR
    assert {f.id for f in report.failures} == {"a.test.js", "c.test.js", "d.test.js"}
    assert report.outcomes["b.test.js > fine"] == "passed"


def test_no_files_are_no_tests(tmp_path: Path) -> None:
    assert run_js(js_project(tmp_path, {"package.json": described("jest")})).status is SuiteStatus.NO_TESTS


def test_settings_that_cannot_be_read_are_the_environments(tmp_path: Path) -> None:
    root = small(tmp_path, "test('one', () => {});")
    (root / "jest.config.js").write_text("throw new Error('bad settings');")
    report = run_js(root)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "bad settings" in report.message


@pytest.mark.parametrize("how", ["process.exit(0)", "process.abort()"])
def test_a_process_that_ends_early_is_a_crash_that_names_its_test(tmp_path: Path, how: str) -> None:
    body = f"test('one', () => {{}});\ntest('two', async () => {{ await soon(100); {how}; await soon(5000); }});"
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.CRASHED
    assert "a.test.js > two" in report.message
    assert report.outcomes["a.test.js > one"] == "passed"
    assert report.outcomes["a.test.js > two"] == "error"


def test_a_killed_worker_is_a_crash_and_the_other_files_are_told(tmp_path: Path) -> None:
    body = "test('two', async () => { await soon(300); process.kill(process.pid, 'SIGKILL'); await soon(5000); });"
    report = run_js(small(tmp_path, body, b="test('fine', () => {});"), argv=["jest", "--maxWorkers", "2"])
    assert report.status is SuiteStatus.CRASHED
    assert "a.test.js > two" in report.message
    assert report.outcomes["b.test.js > fine"] == "passed"


def test_an_endless_loop_is_a_timeout_that_names_its_test(tmp_path: Path) -> None:
    body = "test('one', () => {});\ntest('two', async () => { await soon(100); for (;;); });"
    root = small(tmp_path, body)
    report = timed_out_at("a.test.js > two", lambda limit: run_js(root, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "a.test.js > two" in report.message
    assert report.outcomes["a.test.js > one"] == "passed"


def test_what_keeps_it_running_is_ended_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regreen.testing.lasting.GRACE_S", 0.5)  # in vain: the timer never ends
    report = run_js(small(tmp_path, "test('one', () => { setInterval(() => {}, 1000); });"))
    assert report.status is SuiteStatus.PASSED
    assert any("did not end when its tests were done" in n for n in report.notes)


def test_a_red_run_that_does_not_end_stays_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regreen.testing.lasting.GRACE_S", 0.5)
    report = run_js(small(tmp_path, "test('one', () => { setInterval(() => {}, 1000); throw Error('red'); });"))
    assert report.status is SuiteStatus.FAILED


def test_coverage_that_is_too_low_is_a_failure_without_a_failing_test(tmp_path: Path) -> None:
    settings = {"coverageThreshold": {"global": {"lines": 90}}}
    files = {
        "package.json": described("jest --coverage", jest=settings),
        "sum.js": "exports.f = () => {\n  return 1;\n};\nexports.g = () => {\n  return 2;\n};\n",
        "a.test.js": "test('f', () => { require('./sum').f(); });",
    }
    report = run_js(js_project(tmp_path, files))
    assert report.status is SuiteStatus.FAILED
    assert report.counts.failed == 0
    assert "threshold" in report.message


def test_printed_reports_count_for_nothing(tmp_path: Path) -> None:
    body = (
        "test('real', () => { process.stdout.write('Tests: 99 passed\\n{\"success\":true}\\n'); throw Error('red'); });"
    )
    report = run_js(small(tmp_path, body))
    assert report.status is SuiteStatus.FAILED
    assert report.outcomes == {"a.test.js > real": "failed"}


TITLES = ["ünï – ok ✓", "a > b", "(x)/y.*[z]^$|?", 'it\'s "quoted" `so`', "adds", "adds two"]


def test_ids_given_back_run_those_tests_alone(tmp_path: Path) -> None:
    line = "it({0}, () => {{ process.stdout.write('ran: ' + {0}); }});\n"
    body = "".join(line.format(json.dumps(t)) for t in TITLES)
    root = small(tmp_path, f"describe('d > e', () => {{ {body} }});", b="test('other', () => {});")
    alone = TITLES if ALL else [TITLES[2], TITLES[4]]
    for titles in ([t for t in TITLES if t not in (TITLES[2], TITLES[4])], *([t] for t in alone)):
        report = run_js(root, selection=[f"a.test.js > d > e > {title}" for title in titles])
        assert report.status is SuiteStatus.PASSED
        assert list(report.outcomes) == [f"a.test.js > d > e > {title}" for title in titles]
        assert Path(report.log).read_text("utf-8").count("ran: ") == len(titles)


def test_selections(tmp_path: Path) -> None:
    root = small(tmp_path, "test('adds', () => {}); test('only here', () => {});", b="test('adds', () => {});")
    (root / "sub").mkdir()
    (root / "sub" / "c.test.js").write_text("test('c', () => {});")
    assert set(run_js(root, selection=["only here"]).outcomes) == {"a.test.js > only here"}
    both = run_js(root, selection=["sub", "b.test.js", "a.test.js > adds"])
    assert set(both.outcomes) == {"sub/c.test.js > c", "b.test.js > adds", "a.test.js > adds"}
    ambiguous = run_js(root, selection=["adds"])
    assert ambiguous.status is SuiteStatus.NO_TESTS
    assert "b.test.js > adds" in ambiguous.message
    assert run_js(root, selection=["a.test.js > no such"]).status is SuiteStatus.NO_TESTS
    assert set(run_js(root, argv=["jest", "-t", "only", "a.test.js"]).outcomes) == {"a.test.js > only here"}
    if ALL:  # what is left of the last failed is chosen as for node
        assert set(run_js(root, last_failed=["a.test.js > adds", "gone.test.js > x"]).outcomes) == {"a.test.js > adds"}


def test_duplicate_titles_are_said_and_the_worst_counts(tmp_path: Path) -> None:
    report = run_js(small(tmp_path, "test('x', () => {}); test('x', () => { throw Error('second'); });"))
    assert report.outcomes == {"a.test.js > x": "failed"}
    assert report.counts.total == 2
    assert any("share a name" in n for n in report.notes)


def test_several_projects_in_one_run(tmp_path: Path) -> None:
    files = {"package.json": described("jest", jest={"projects": ["<rootDir>/x", "<rootDir>/y"]})}
    for name in ("x", "y"):
        files |= {f"{name}/jest.config.js": "module.exports = {};", f"{name}/a.test.js": "test('one', () => {});"}
    report = run_js(js_project(tmp_path, files), runner="jest")
    assert set(report.outcomes) == {"x/a.test.js > one", "y/a.test.js > one"}


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
    files = {"package.json": described("jest", devDependencies={"jest": "^30"}), "yarn.lock": ""}
    report = run_js(js_project(tmp_path, files, link=False))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "yarn install" in report.message


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
    report = run_js(small(tmp_path, BLOCKS), selection=[f"a.test.js > {block}" for block in blocks])
    assert report.status is SuiteStatus.PASSED
    assert list(report.outcomes) == [f"a.test.js > {t}" for t in tests]


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


def test_a_file_that_cannot_be_parsed_is_shown_where_it_breaks(tmp_path: Path) -> None:
    root = small(tmp_path, "require('./add');\ntest('x', () => {});")
    (root / "add.js").write_text("exports.a = 1;\nexports.add = (a) => {\n  return a +;\n};\n")
    (failure,) = run_js(root).failures
    assert (failure.id, failure.kind, failure.file, failure.line) == ("a.test.js", "collection", "add.js", 3)
    assert failure.message == "SyntaxError: add.js: Unexpected token (3:12)"
    assert ">    3 |   return a +;" in failure.excerpt
    assert "Here's what you can do" not in failure.excerpt


def test_a_package_that_is_not_installed_is_the_environments(tmp_path: Path) -> None:
    report = run_js(small(tmp_path, "require('@no/where');\ntest('x', () => {});"))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "`npm install @no/where`" in report.message


def test_coverage_is_written_outside_of_the_project(tmp_path: Path) -> None:
    root = small(tmp_path, "test('x', () => { require('./sum').f(); });")
    (root / "sum.js").write_text("exports.f = () => 1;")
    report = run_js(root, argv=["npx", "jest", "--coverage"])
    assert report.status is SuiteStatus.PASSED
    assert "sum.js" in Path(report.log).read_text("utf-8")
    assert not (root / "coverage").exists()


def test_words_of_the_script_that_keep_tests_from_running_are_left_out(tmp_path: Path) -> None:
    bodies = dict.fromkeys(("a", "b", "c"), "test('t', () => {});")
    report = run_js(small(tmp_path, bodies.pop("a"), "jest --shard=1/3 --onlyChanged", **bodies))
    assert len(report.outcomes) == 3, report.message
    assert any("--shard=1/3 --onlyChanged" in n for n in report.notes), report.notes
