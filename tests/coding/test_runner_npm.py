"""Scripts of packages: which runner they plainly are, and what is run where they are more than that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.js_projects import described, js_project, need, need_node, run_js
from support.suites import project

from regreen.model import SuiteStatus
from regreen.sandbox import Completed
from regreen.testing.javascript.chosen import Chosen, choose
from regreen.testing.javascript.parsing import Broken, broken
from regreen.testing.javascript.scripts import Script, plain
from regreen.testing.javascript.stack import frames
from regreen.testing.javascript.titles import may_be_block, titles_in
from regreen.testing.javascript.tools import fits
from regreen.testing.lasting import Lasting
from regreen.testing.looking import Look
from regreen.testing.project import NoProject, find_project
from regreen.testing.runners import ROWS
from regreen.workspace import Workspace

NODE = "import test from 'node:test';\nimport assert from 'node:assert';\n"


def look_at(base: Path, files: dict[str, str]) -> Look:
    return Look(Workspace(project(base, files)))


def script_of(base: Path, text: str, **others: str) -> Script | None:
    return plain(look_at(base, {"package.json": described(text, scripts={"test": text, **others})}))


@pytest.mark.parametrize(
    ("text", "runner", "arguments"),
    [
        ("vitest", "vitest", ()),
        ("vitest run", "vitest", ()),
        ("vitest --run src", "vitest", ("--run", "src")),
        ("vitest watch --dom", "vitest", ("--dom",)),
        ("jest --ci", "jest", ("--ci",)),
        ("npx jest", "jest", ()),
        ("yarn jest -i", "jest", ("-i",)),
        ("pnpm exec vitest run", "vitest", ()),
        ("npm exec -- mocha", "mocha", ()),
        ("mocha 'test/**/*.js'", "mocha", ("test/**/*.js",)),
        ("./node_modules/.bin/mocha --exit", "mocha", ("--exit",)),
        ("node --test", "node", ()),
        ("node --import tsx --test test/*.ts", "node", ("--import", "tsx", "test/*.ts")),
        ("npm run test:unit", "jest", ("unit",)),
    ],
)
def test_scripts_that_are_a_runner(tmp_path: Path, text: str, runner: str, arguments: tuple[str, ...]) -> None:
    script = script_of(tmp_path, text, **{"test:unit": "jest unit"})
    assert script is not None
    assert (script.runner, script.arguments) == (runner, arguments)


def test_variables_and_options_of_node_are_read(tmp_path: Path) -> None:
    script = script_of(tmp_path, "cross-env NODE_ENV=test TZ=UTC NODE_OPTIONS=--experimental-vm-modules npx jest")
    assert script is not None
    assert script.environment == {"NODE_ENV": "test", "TZ": "UTC", "NODE_OPTIONS": "--experimental-vm-modules"}
    script = script_of(tmp_path, "node --experimental-vm-modules node_modules/jest/bin/jest.js --ci")
    assert script == Script("jest", ("--ci",), {}, ("--experimental-vm-modules",))


@pytest.mark.parametrize(
    "text",
    [
        "tsc && jest", "jest; echo", "jest | cat", "jest > log", "eslint .", "react-scripts test", "npm run nothing",
        "vitest bench", "node test.js", "jest $ARGS", "jest `cat list`", "nyc mocha", "npm run test", "", "jest 'open",
    ],
)  # fmt: skip
def test_scripts_that_are_not_plainly_a_runner(tmp_path: Path, text: str) -> None:
    assert script_of(tmp_path, text) is None


@pytest.mark.parametrize("hook", ["pretest", "posttest"])
def test_a_script_with_hooks_is_more_than_its_runner(tmp_path: Path, hook: str) -> None:
    assert script_of(tmp_path, "jest", **{hook: "node build.js"}) is None


@pytest.mark.parametrize(
    ("files", "runner"),
    [
        ({"package.json": described("vitest")}, "vitest"),
        ({"package.json": described("jest"), "vitest.config.ts": ""}, "jest"),
        ({"package.json": described("tsc && jest"), "jest.config.js": ""}, "npm"),
        ({"package.json": described("tsc && jest"), "pnpm-lock.yaml": ""}, "pnpm"),
        ({"package.json": described("tsc && jest", packageManager="yarn@4.1.0")}, "yarn"),
        ({"package.json": described(), ".mocharc.yml": ""}, "mocha"),
        ({"package.json": described(jest={"verbose": True})}, "jest"),
        ({"package.json": described(devDependencies={"vitest": "^3"})}, "vitest"),
        ({"package.json": described('echo "Error: no test specified" && exit 1'), "a.test.js": NODE}, "node"),
        ({"package.json": described(), "test/x.ts": NODE}, "node"),
        ({"lib/x.test.mjs": NODE}, "node"),
    ],
)
def test_which_runner_a_repository_is_recognised_for(tmp_path: Path, files: dict[str, str], runner: str) -> None:
    found = find_project(Workspace(project(tmp_path, files)), ROWS, ())
    assert not isinstance(found, NoProject)
    assert found.row.name == runner


def test_the_nearest_package_of_a_selection_is_meant(tmp_path: Path) -> None:
    files = {
        "package.json": described("vitest"),
        "packages/old/package.json": described("mocha"),
        "packages/old/test/a.js": "",
    }
    found = find_project(Workspace(project(tmp_path, files)), ROWS, ["packages/old/test/a.js > x"])
    assert not isinstance(found, NoProject)
    assert (found.folder, found.row.name) == ("packages/old", "mocha")


def run_script(base: Path, script: str, body: str, argv: tuple[str, ...] = ("npm", "test"), **fields: Any) -> Any:
    need_node()
    files = {"package.json": described(script, **fields), "a.test.mjs": NODE + body}
    return run_js(js_project(base, files, link=False), argv=argv)


def test_npm_test_is_the_runner_that_the_script_is(tmp_path: Path) -> None:
    report = run_script(tmp_path, "WANTED=1 node --test", "test('x', () => assert.equal(process.env.WANTED, '1'));")
    assert (report.status, report.runner) == (SuiteStatus.PASSED, "node")
    assert any("npm stands for node" in n for n in report.notes)


def test_words_behind_the_dashes_are_handed_on(tmp_path: Path) -> None:
    body = "test('x', () => {}); test('y', () => {});"
    for given in (
        ("npm", "test", "--", "--test-name-pattern", "x"),
        ("npm", "run", "test", "--", "--test-name-pattern=x"),
    ):
        report = run_script(tmp_path, "node --import ./a.test.mjs --test", body, given)
        assert set(report.outcomes) == {"a.test.mjs > x"}


def test_a_script_of_several_commands_is_judged_by_its_exit_status(tmp_path: Path) -> None:
    red = run_script(tmp_path / "red", "node -e 0 && node --test", "test('x', () => { throw Error('red'); });")
    assert (red.status, red.runner) == (SuiteStatus.FAILED, "npm")
    assert red.outcomes == {"npm test": "failed"}
    assert "# fail 1" in red.failures[0].excerpt
    green = run_script(tmp_path / "green", "node -e 0 && node --test", "test('x', () => {});")
    assert green.status is SuiteStatus.PASSED
    assert any("only its exit status" in n and "`node -e 0 && node --test`" in n for n in green.notes)


def test_the_end_of_such_a_scripts_output_is_told(tmp_path: Path) -> None:
    body = "for (let i = 0; i < 60; i += 1) console.log(`line ${i}`);\ntest('x', () => { throw Error('red'); });"
    red = run_script(tmp_path, "node -e 0 && node --test", body)
    assert "characters left out" not in red.failures[0].excerpt
    (told,) = [n for n in red.notes if "its output ends" in n]
    assert "# fail 1" in told
    assert "'red'" in told


def test_single_tests_of_such_a_script_cannot_be_selected(tmp_path: Path) -> None:
    need_node()
    files = {"package.json": described("node -e 0 && node --test"), "a.test.mjs": NODE + "test('x', () => {});"}
    report = run_js(js_project(tmp_path, files, link=False), runner="npm", selection=["a.test.mjs"])
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "no single tests" in report.message
    assert "`--runner node`" in report.message


def test_a_program_that_is_missing_is_the_environments(tmp_path: Path) -> None:
    report = run_script(tmp_path, "no-such-program --x && true", "")
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "no-such-program" in report.message


def test_no_script_is_the_environments(tmp_path: Path) -> None:
    assert run_script(tmp_path, "", "").status is SuiteStatus.ENVIRONMENT


def test_a_watch_mode_behind_npm_comes_to_its_end(tmp_path: Path) -> None:
    need("vitest")
    files = {"package.json": described("vitest"), "a.test.js": "import { test } from 'vitest';\ntest('x', () => {});"}
    report = run_js(js_project(tmp_path, files), argv=["npm", "test"])
    assert (report.status, report.runner) == (SuiteStatus.PASSED, "vitest")


def test_jest_with_modules_by_an_option_of_node(tmp_path: Path) -> None:
    need("jest")
    files = {
        "package.json": described("NODE_OPTIONS=--experimental-vm-modules jest", type="module", jest={"transform": {}}),
        "sum.js": "export const sum = (a, b) => a + b;",
        "a.test.js": "import { sum } from './sum.js';\ntest('adds', () => { expect(sum(1, 2)).toBe(3); });",
    }
    assert run_js(js_project(tmp_path, files)).status is SuiteStatus.PASSED


def test_traces_are_read_outermost_first_and_without_those_of_node() -> None:
    trace = (
        "TypeError: no\n    at Object.f [as call] (/p/a.js:3:5)\n    at async Promise.all (index 0)\n"
        "    at async TestContext.<anonymous> (file:///p/my%20tests/b.test.mjs:7:9)\n    at /p/c.ts?v=1:2:1\n"
        "    at new Cart (/p/(shop)/d.js:9:1)\n    at node:internal/process/task_queues:105:5\n"
    )
    assert [(f.path, f.line, f.name) for f in frames(trace)] == [
        ("/p/(shop)/d.js", 9, "Cart"),
        ("/p/c.ts", 2, "<anonymous>"),
        ("/p/my tests/b.test.mjs", 7, "<anonymous>"),
        ("/p/a.js", 3, "f"),
    ]


@pytest.mark.parametrize(
    ("wanted", "good"),
    [("^22.12.0 || ^24.0.0 || >=26.0.0", False), ("^18 || ^20.0.0", True), (">=20.19", True), (">= 18 < 30", True),
     (">=22", False), ("", True), ("20.x", True), ("^18.14.0", False)],
)  # fmt: skip
def test_versions_of_node_that_a_package_is_made_for(wanted: str, good: bool) -> None:
    assert fits(wanted, (20, 20, 2)) is good


def test_what_a_selection_means(tmp_path: Path) -> None:
    look = look_at(tmp_path, {"a.test.js": "", "sub/b.test.js": "", "odd > name.test.js": ""})
    chosen = choose(look, ["a.test.js > x > y", "./sub/", "odd > name.test.js > t", "a title", "gone.test.js"], [])
    assert chosen.tests == (("a.test.js", "x > y"), ("odd > name.test.js", "t"))
    assert (chosen.folders, chosen.titles, chosen.missing) == (("sub",), ("a title",), ("gone.test.js",))
    assert chosen.keeps("sub/b.test.js > z")
    assert not chosen.keeps("a.test.js > x > z")
    assert choose(look, [], ["gone.test.js > x"]) == Chosen()


def test_a_runner_that_is_done_and_goes_on_is_ended_with_the_status_it_told() -> None:
    lasting = Lasting(lambda: 3.0)
    killed = Completed(None, 9, True, False, False, None, 0, False, 9.0, 1.0)
    assert lasting.judge(killed) == (killed, False)
    lasting.take({"k": "finished", "status": 1})
    assert lasting.deadline() == 8.0
    ended = replace(killed, timed_out=False)
    assert lasting.judge(ended) == (ended, False)
    completed, lasted = lasting.judge(killed)
    assert lasted
    assert completed == replace(killed, returncode=1, signal=0, timed_out=False)


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Transform failed with 1 error:\n/p/src/add.ts:1:31: ERROR: Unexpected \";\"", Broken("/p/src/add.ts", 1)),
        ("[PARSE_ERROR] Unexpected token\n   ╭─[ src/add.ts:4:12 ]\n", Broken("src/add.ts", 4)),
        ("Parse failure: Unexpected token (3:1)\nAt file: /src/add.ts:3:1", Broken("/src/add.ts", 3)),
        ("Details:\n\n    SyntaxError: /p/a b.js: Missing semicolon. (3:4)\n",
         Broken("/p/a b.js", 3, "SyntaxError", "Missing semicolon. (3:4)")),
        ("no place at all: 3:4", None),
    ],
)  # fmt: skip
def test_where_compilers_say_that_a_file_breaks(message: str, found: Broken | None) -> None:
    assert broken(message) == found


@pytest.mark.parametrize(
    ("rest", "block"),
    [("sum", True), ("sum > adds 2", False), ("it's \"so\"", True), ("no 7", True), ("case 3 x", False), ("else", True),
     ("sum > a > b", False), ("sum > tagged 1", True)],
)  # fmt: skip
def test_titles_that_are_written_in_a_test_file(rest: str, block: bool) -> None:
    text = (
        "describe('sum', () => { it('adds 2', f); test.skip(\"a > b\", f); describe.each`x`('tagged $x', f); });\n"
        "describe.only('it\\'s \\u0022so\"', f); describe(`no ${n}`, f); it.each([[1, ')']])('case %i x', f);\n"
        "describe(`${name}`, f); it(title, f);"
    )
    assert may_be_block(rest, *titles_in(text)) is block
