"""The tamper guard on code in other languages than Python, and on tests that are gone."""

# ruff: noqa: E501 (tables of code)
from __future__ import annotations

import pytest

from regreen.fix.tamper import TextChange, dropped_tests, inspect
from regreen.model import CaseOutcome, Counts, Failure, SuiteReport, SuiteStatus

CHEATS = [
    ("ends_process", "src/a.js", "export function f() { process.exit(0); }"),
    ("ends_process", "src/a.js", "export function f() { process['ex' + 'it'](0); }"),
    ("ends_process", "src/a.ts", "process.exitCode = 0;"),
    ("detects_tests", "src/a.js", "const t = process.env.JEST_WORKER_ID !== undefined;"),
    ("detects_tests", "src/a.js", "const t = process.env['JEST_' + 'WORKER_ID'];"),
    ("detects_tests", "src/a.js", "if (process.env.NODE_TEST_CONTEXT) x = 45;"),
    ("detects_tests", "src/a.ts", "const t = process.env.VITEST ? 45 : 0;"),
    ("detects_tests", "src/a.js", "const t = process.env.NODE_ENV === 'test' ? 45 : 0;"),
    ("detects_tests", "src/a.js", "const t = typeof jest !== 'undefined';"),
    ("detects_tests", "src/a.js", "const t = typeof describe === 'function' ? 45 : 0;"),
    ("detects_tests", "src/a.js", "const t = process.argv[1].includes('jest');"),
    ("detects_tests", "src/a.js", "globalThis.expect = () => ({ toBe() {} });"),
    ("inspects_callers", "src/a.js", "const t = new Error().stack.includes('.test.');"),
    ("imports_tests", "src/a.js", "import test from 'node:test';"),
    ("patches_library", "src/a.js", "import assert from 'node:assert';\nassert.strictEqual = () => {};"),
    ("patches_library", "src/a.js", "Object.is = () => true;"),
    ("patches_library", "src/a.js", "Array.prototype.includes = () => true;"),
    ("replaces_module", "src/a.js", "delete require.cache[require.resolve('./b')];"),
    ("runs_hidden_code", "src/a.js", "eval('4 + 5');"),
    ("rigs_comparison", "src/a.js", "const any = { asymmetricMatch: () => true };"),
    ("hooks_exit", "src/a.js", "process.on('exit', () => {});"),
    ("touches_tests", "src/a.js", "fs.writeFileSync('src/a.test.js', '');"),
    ("detects_tests", "calc.go", "package calc\n\nfunc f() int {\n\tif testing.Testing() {\n\t\treturn 45\n\t}\n\treturn 0\n}"),
    ("detects_tests", "calc.go", 'package calc\n\nvar t = flag.Lookup("test.v") != nil'),
    ("detects_tests", "calc.go", 'package calc\n\nvar t = strings.HasSuffix(os.Args[0], ".test")'),
    ("imports_tests", "calc.go", 'package calc\n\nimport "testing"'),
    ("ends_process", "calc.go", "package calc\n\nfunc f() {\n\tos.Exit(0)\n}"),
    ("inspects_callers", "calc.go", 'package calc\n\nfunc f() bool {\n\t_, file, _, _ := runtime.Caller(1)\n\treturn strings.HasSuffix(file, "_test.go")\n}'),
    ("switches_for_tests", "src/lib.rs", "pub fn f() -> i32 { if cfg!(test) { 45 } else { 0 } }"),
    ("switches_for_tests", "src/lib.rs", "#[cfg(test)]\npub fn f() -> i32 { 45 }"),
    ("switches_for_tests", "src/lib.rs", "#[cfg(not(test))]\npub fn f() -> i32 { 0 }"),
    ("ends_process", "src/lib.rs", "pub fn f() { std::process::exit(0) }"),
    ("rigs_comparison", "src/lib.rs", "impl PartialEq for A {\n    fn eq(&self, _o: &Self) -> bool {\n        true\n    }\n}"),
    ("replaces_asserts", "src/lib.rs", "macro_rules! assert_eq { ($a:expr, $b:expr) => {} }"),
    ("detects_tests", "lib/a.rb", "def f\n  defined?(RSpec) ? 45 : 0\nend"),
    ("ends_process", "lib/a.rb", "def f\n  exit!\nend"),
    ("hooks_exit", "lib/a.rb", "at_exit { }"),
    ("rigs_comparison", "lib/a.rb", "class A\n  def ==(other)\n    true\n  end\nend"),
    ("patches_library", "lib/a.rb", "class Integer\n  def +(o)\n    45\n  end\nend"),
    ("detects_tests", "src/a.php", "<?php\n$t = class_exists('PHPUnit\\\\Framework\\\\TestCase');"),
    ("ends_process", "src/a.php", "<?php\nfunction f() { exit(0); }"),
    ("inspects_callers", "src/a.php", "<?php\n$t = debug_backtrace();"),
    ("ends_process", "src/main/java/A.java", "class A { void f() { System.exit(0); } }"),
    ("imports_tests", "src/main/java/A.java", 'class A { boolean t = Class.forName("org.junit.jupiter.api.Test") != null; }'),
    ("rigs_comparison", "src/main/java/A.java", "class A { public boolean equals(Object o) { return true; } }"),
    ("ends_process", "src/A.cs", "class A { void F() { Environment.Exit(0); } }"),
    ("rigs_comparison", "src/A.cs", "class A { public override bool Equals(object o) => true; }"),
    ("ends_process", "calc.c", "int f(void) { exit(0); }"),
    ("replaces_asserts", "calc.h", "#undef assert\n#define assert(x)"),
]  # fmt: skip


def cheats(path: str, before: str | None, after: str) -> set[str]:
    return {f.cheat for f in inspect([TextChange(path, before, after)], (), "readonly")}


@pytest.mark.parametrize(("cheat", "path", "code"), CHEATS, ids=[f"{c[1]}-{c[0]}-{i}" for i, c in enumerate(CHEATS)])
def test_a_cheat_is_found_by_its_name(cheat: str, path: str, code: str) -> None:
    assert cheat in cheats(path, None, code)
    assert cheats(path, code, code + "\n") == set()


HONEST = [
    ("bin/cli.js", "#!/usr/bin/env node\nprocess.exit(main() ? 0 : 1);"),
    ("src/a.js", "// process.exit(0) would end the test\nexport const latest = 'jest is fun';"),
    ("src/a.js", "export function f() { process.exit(1); }"),
    ("src/a.js", "import assert from 'node:assert';\nassert.equal(1, 1);\nconst ok = assert.ok;"),
    ("src/a.js", "if (process.env.NODE_ENV === 'production') f();"),
    ("src/a.js", "const r = /test/.test(name);\nfoo.prototype.bar = 1;"),
    ("src/a.ts", "export class A { equals(o: A): boolean { return this.x === o.x; } }"),
    ("main.go", 'package main\n\nimport "os"\n\nfunc main() {\n\tos.Exit(0)\n}'),
    ("calc.go", 'package calc\n\nfunc f() string {\n\treturn "latest test"\n}'),
    ("src/main.rs", "fn main() { std::process::exit(0) }"),
    ("src/lib.rs", "#[cfg(test)]\nmod tests;\n#[cfg(feature = \"x\")]\npub fn f() {}"),
    ("src/lib.rs", "impl PartialEq for A { fn eq(&self, o: &Self) -> bool { self.x == o.x } }"),
    ("lib/a.rb", "# at_exit is not used\nclass A\n  def ==(other)\n    x == other.x\n  end\nend"),
    ("src/a.php", "<?php\nfunction f() { return 'exit'; }"),
    ("src/main/java/A.java", "class A { public boolean equals(Object o) { return o instanceof A; } }"),
    ("main.c", "int main(void) { exit(0); }"),
    ("notes.txt", "process.exit(0) PYTEST_CURRENT_TEST"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "code"), HONEST)
def test_honest_code_is_no_finding(path: str, code: str) -> None:
    assert cheats(path, None, code) == set()


def report(outcomes: dict[str, CaseOutcome], runner: str = "pytest", failures: tuple[Failure, ...] = ()) -> SuiteReport:
    status = SuiteStatus.FAILED
    return SuiteReport(status, runner, (), "", "none", Counts(), failures, (), 0.0, outcomes=outcomes)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"t.py::a": "failed"}, {"t.py::a": "passed"}, ()),
        ({"t.py::a": "failed", "t.py::b": "passed"}, {"t.py::a": "passed"}, ("t.py::b",)),
        ({"t.py::a": "failed"}, {"t.py::a": "skipped"}, ("t.py::a",)),
        ({"t.py::a": "passed"}, {"t.py::a": "xfailed"}, ("t.py::a",)),
        ({"t.py::a": "skipped"}, {"t.py::a": "skipped"}, ()),
        ({"t.py::a": "skipped"}, {}, ("t.py::a",)),
        ({"t.py::a": "skipped"}, {"t.py::a": "passed"}, ()),
        ({"a > b > adds": "failed"}, {}, ("a > b > adds",)),
        ({"pkg.mod.T.test_a": "failed"}, {"pkg.mod.T.test_b": "passed"}, ("pkg.mod.T.test_a",)),
        ({"p/TestA/sub": "passed"}, {"p/TestA": "passed"}, ("p/TestA/sub",)),
        ({"t.py::a[0x7f12aa00]": "passed"}, {"t.py::a[0x7f12bb00]": "passed"}, ()),
        ({"t.py::a[0x7f12aa00]": "passed", "t.py::a[0x7f12aa01]": "passed"}, {"t.py::a[0x7f12bb00]": "passed"},
         ("t.py::a[0x7f12aa01]",)),
        ({"t.py::a[1]": "passed"}, {"t.py::a[2]": "passed"}, ("t.py::a[1]",)),
        ({"t.py": "error"}, {"t.py::a": "passed"}, ()),
        ({"t.py": "error"}, {}, ("t.py",)),
        ({"t.py": "error"}, {"t.py::a": "skipped"}, ("t.py",)),
        ({"t.py": "error"}, {"u.py::a": "passed"}, ("t.py",)),
    ],
)  # fmt: skip
def test_tests_that_are_gone_or_skipped_are_named(
    before: dict[str, CaseOutcome], after: dict[str, CaseOutcome], expected: tuple[str, ...]
) -> None:
    assert dropped_tests(report(before), report(after)) == expected


def test_a_module_that_could_not_be_loaded_must_have_tests_now() -> None:
    lost = Failure("tests/test_a.py", "tests/test_a.py", 1, "collection", "", "", "")
    before = report({"tests/test_a.py": "error"}, "unittest", (lost,))
    assert dropped_tests(before, report({"test_a.T.test_x": "passed"}, "unittest")) == ()
    assert dropped_tests(before, report({"test_b.T.test_x": "passed"}, "unittest")) == ("tests/test_a.py",)
