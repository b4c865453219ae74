"""PHPUnit, for real where it is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.suites import project, run_tests, settings_with, timed_out_at

from regreen.model import SuiteStatus

needs_phpunit = pytest.mark.skipif(not shutil.which("phpunit"), reason="phpunit is not installed (Debian: phpunit)")

_HEAD = "<?php\nnamespace Calc\\Tests;\nuse PHPUnit\\Framework\\TestCase;\n"
_CALC = "<?php\nfunction add($a, $b) {\n  if ($a == 7) throw new RuntimeException('seven');\n  return $a + $b;\n}\n"
_GREEN = (
    _HEAD
    + """require_once __DIR__ . '/../src/calc.php';
class GreenTest extends TestCase {
  public function testAdds(): void { echo "FAILURES!\\n"; $this->assertSame(3, add(1, 2)); }
  public static function many(): array { return ['one' => [1], 'größe "q" 1/2' => [2], [3]]; }
  /** @dataProvider many */
  public function testMany(int $n): void { $this->assertGreaterThan(0, $n); }
  public function testRisky(): void { }
  public function testSkipped(): void { $this->markTestSkipped('later'); }
  public function testIncomplete(): void { $this->markTestIncomplete('todo'); }
}
"""
)
_RED = (
    _HEAD
    + """require_once __DIR__ . '/../src/calc.php';
class RedTest extends TestCase {
  public function testWrong(): void { echo "printed"; $this->assertSame(4, add(1, 2), 'sum'); }
  public function testDeep(): void { add(7, 2); }
  public function testFine(): void { $this->assertTrue(true); }
}
"""
)
_FILES = {"src/calc.php": _CALC, "tests/GreenTest.php": _GREEN, "tests/RedTest.php": _RED}
_XML = '<phpunit colors="true"><testsuites><testsuite name="a"><directory>tests</directory></testsuite></testsuites>' \
    "</phpunit>"  # fmt: skip
_G, _R = "Calc\\Tests\\GreenTest::", "Calc\\Tests\\RedTest::"


def _test(body: str, name: str = "ATest") -> dict[str, str]:
    return {f"tests/{name}.php": f"{_HEAD}class {name} extends TestCase {{\n{body}\n}}\n"}


@needs_phpunit
def test_green_red_and_risky_tests_are_told_with_their_places(tmp_path: Path) -> None:
    root = project(tmp_path, {**_FILES, "phpunit.xml": _XML})
    report = run_tests(root)
    assert (report.status, report.runner) == (SuiteStatus.FAILED, "phpunit"), report.message
    assert dict(report.outcomes) == {
        f"{_G}testAdds": "passed",
        f'{_G}testMany with data set "one"': "passed",
        f'{_G}testMany with data set "größe "q" 1/2"': "passed",
        f"{_G}testMany with data set #0": "passed",
        f"{_G}testRisky": "passed",
        f"{_G}testSkipped": "skipped",
        f"{_G}testIncomplete": "skipped",
        f"{_R}testWrong": "failed",
        f"{_R}testDeep": "failed",
        f"{_R}testFine": "passed",
    }
    failures = {f.id: f for f in report.failures}
    wrong, deep = failures[f"{_R}testWrong"], failures[f"{_R}testDeep"]
    assert (wrong.file, wrong.line) == ("tests/RedTest.php", 6)
    assert wrong.message == "sum\nFailed asserting that 3 is identical to 4."
    assert "printed" in wrong.excerpt
    assert (deep.file, deep.line, deep.kind, deep.message) == ("src/calc.php", 3, "RuntimeException", "seven")
    assert any("risky" in n for n in report.notes)
    assert not list(root.glob(".phpunit*"))


@needs_phpunit
def test_ids_titles_classes_files_and_folders_select(tmp_path: Path) -> None:
    root = project(tmp_path, _FILES)
    for selection, ran in (
        ([f'{_G}testMany with data set "größe "q" 1/2"', f"{_G}testMany with data set #0"], 2),
        ([f"{_G}testMany"], 3),
        (["testFine", f"{_G}testAdds"], 2),
        (["GreenTest"], 7),
        (["tests/GreenTest.php", "testFine"], 8),
    ):
        report = run_tests(root, selection=selection)
        assert (report.status, report.counts.total) == (SuiteStatus.PASSED, ran), (selection, report.message)
    folder = run_tests(root, selection=["tests"])
    assert (folder.status, folder.counts.total) == (SuiteStatus.FAILED, 10)
    again = run_tests(root, last_failed=[f"{_R}testDeep"])
    assert dict(again.outcomes) == {f"{_R}testDeep": "failed"}
    command = run_tests(root, argv=["phpunit", "--filter", "testAdds"])
    assert set(command.outcomes) == {f"{_G}testAdds"}


@needs_phpunit
def test_what_matches_nothing_or_several_is_named(tmp_path: Path) -> None:
    root = project(tmp_path, {**_FILES, **_test("public function testFine(): void { }")})
    for selection, said in (
        (["testFine"], "several tests: Calc\\Tests\\ATest::testFine, Calc\\Tests\\RedTest::testFine"),
        (["testGone"], "matches no test: testGone"),
        ([f"{_G}testGone"], f"matches no test: {_G}testGone"),
        ([f"{_G}testAdds", f"{_G}testGone"], f"matches no test: {_G}testGone"),
    ):
        report = run_tests(root, selection=selection, runner="phpunit")
        assert report.status is SuiteStatus.NO_TESTS, selection
        assert said in report.message


@needs_phpunit
@pytest.mark.parametrize("end", ["exit(0);", "die('x');", "posix_kill(getmypid(), 9);", "$x = null; gone();"])
def test_a_test_that_ends_the_process_is_a_crash(tmp_path: Path, end: str) -> None:
    body = f"public function testQuits(): void {{ {end} }}\npublic function testLate(): void {{ }}"
    report = run_tests(project(tmp_path, _test(body)))
    if "gone" in end:  # an Error is caught as any other
        assert report.status is SuiteStatus.FAILED
        return
    assert report.status is SuiteStatus.CRASHED, report
    assert "ATest::testQuits" in report.message


@needs_phpunit
def test_a_fatal_error_in_a_test_is_a_crash_and_a_file_that_cannot_be_loaded_an_error(tmp_path: Path) -> None:
    body = "public function testFatal(): void { eval('class A extends \\\\Countable {}'); }"
    fatal = run_tests(project(tmp_path / "1", _test(body)))
    assert fatal.status is SuiteStatus.CRASHED, fatal
    assert "testFatal" in fatal.message
    broken = run_tests(project(tmp_path / "2", _test("public function testX(): void { $x = ; }")))
    assert broken.status is SuiteStatus.ERROR, broken
    assert broken.failures[0].file == "tests/ATest.php"
    assert broken.failures[0].line == 5
    assert "syntax error" in broken.failures[0].message


@needs_phpunit
def test_an_error_in_what_the_bootstrap_loads_is_told_with_its_place(tmp_path: Path) -> None:
    xml = _XML.replace("colors=", 'bootstrap="tests/boot.php" colors=')
    boot = "<?php\nrequire __DIR__ . '/../src/calc.php';\n"
    files = {**_test("public function testX(): void { }"), "phpunit.xml": xml, "tests/boot.php": boot}
    broken = run_tests(
        project(tmp_path / "1", {**files, "src/calc.php": "<?php\nfunction add() {\n  return 1 + ;\n}\n"})
    )
    assert broken.status is SuiteStatus.ERROR, broken
    assert (broken.failures[0].file, broken.failures[0].line) == ("src/calc.php", 3)
    assert broken.failures[0].message.startswith("ParseError: syntax error, unexpected")
    thrown = "<?php\nfunction up() {\n  throw new RuntimeException('no database');\n}\nup();\n"
    threw = run_tests(project(tmp_path / "2", {**files, "src/calc.php": thrown}))
    assert threw.status is SuiteStatus.ERROR, threw
    assert "no database" in threw.failures[0].message


@needs_phpunit
def test_no_tests_and_a_broken_data_provider(tmp_path: Path) -> None:
    empty = run_tests(project(tmp_path / "1", _test("")))
    assert empty.status is SuiteStatus.NO_TESTS, empty
    body = "/** @dataProvider gone */ public function testX($n): void { }\n" \
        "public function testY(): void { $this->assertTrue(true); }"  # fmt: skip
    provider = run_tests(project(tmp_path / "2", _test(body)))
    assert provider.status is SuiteStatus.ERROR, provider
    assert any("testX" in f.id for f in provider.failures)


@needs_phpunit
def test_a_hanging_test_is_ended_and_named(tmp_path: Path) -> None:
    root = project(tmp_path, _test("public function testHangs(): void { while (true) { usleep(100000); } }"))
    report = timed_out_at("ATest::testHangs", lambda limit: run_tests(root, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "ATest::testHangs" in report.message


@needs_phpunit
def test_hundreds_of_failures_and_much_output_keep_their_verdict(tmp_path: Path) -> None:
    body = """public static function many(): array {
    $all = [];  // names so long that an expression of all of them does not compile
    for ($n = 0; $n < 300; $n++) $all[str_repeat('x', 120) . $n] = [$n];
    return $all;
  }
  /** @dataProvider many */
  public function testMany(int $n): void { $this->assertSame(-1, $n); }
  public function testLoud(): void { for ($i = 0; $i < 20000; $i++) echo "line $i\\n"; $this->assertTrue(true); }"""
    root = project(tmp_path, _test(body))
    report = run_tests(root)
    assert (report.status, report.counts.failed, report.counts.passed) == (SuiteStatus.FAILED, 300, 1)
    assert len(report.groups) == 1
    failed = [i for i, o in report.outcomes.items() if o == "failed"]
    again = run_tests(root, last_failed=failed)
    assert again.counts.failed == 300
    assert any("whole classes" in n for n in again.notes)


@needs_phpunit
def test_settings_that_fail_on_risky_tests_are_heeded(tmp_path: Path) -> None:
    files = {
        **_test("public function testRisky(): void { }"),
        "phpunit.xml": _XML.replace("<phpunit", '<phpunit failOnRisky="true"'),
    }
    report = run_tests(project(tmp_path, files))
    assert report.status is SuiteStatus.FAILED


@needs_phpunit
def test_a_project_in_a_folder_keeps_its_own_ids(tmp_path: Path) -> None:
    files = {f"php/{name}": text for name, text in {**_FILES, "phpunit.xml": _XML}.items()}
    report = run_tests(project(tmp_path, files), selection=["php/tests/RedTest.php"])
    assert (report.status, report.project) == (SuiteStatus.FAILED, "php")
    assert {f.file for f in report.failures} == {"php/tests/RedTest.php", "php/src/calc.php"}
    assert f"php/{_R}testFine" in report.outcomes


@needs_phpunit
def test_dependencies_that_are_not_installed_are_the_environments(tmp_path: Path) -> None:
    composer = '{"require-dev": {"phpunit/phpunit": "^9"}}'
    report = run_tests(project(tmp_path, {**_FILES, "composer.json": composer}))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "composer install" in report.message


def test_a_missing_php_is_named(tmp_path: Path) -> None:
    report = run_tests(project(tmp_path, _FILES), settings_with(tmp_path, {"PATH": str(tmp_path)}))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "PHP is not installed" in report.message


@needs_phpunit
def test_a_test_that_writes_the_report_and_ends_the_process_is_a_crash(tmp_path: Path) -> None:
    forged = '<?xml version="1.0"?><testsuites><testsuite name="a" tests="1"><testcase name="testA" class="ATest" ' \
        'classname="ATest" file="x" line="1" assertions="1" time="0.1"/></testsuite></testsuites>'  # fmt: skip
    body = f"""  public function testA(): void {{ $this->assertTrue(true); }}
  public function testB(): void {{
    $words = $_SERVER['argv'];
    foreach ($words as $i => $w) if ($w == '--log-junit') file_put_contents($words[$i + 1], '{forged}');
    exit(0);
  }}
  public function testC(): void {{ $this->fail(); }}"""
    root = project(tmp_path, {**_test(body), "phpunit.xml": _XML})
    report = run_tests(root)
    assert report.status is SuiteStatus.CRASHED
    assert "ATest::testB" in report.message
