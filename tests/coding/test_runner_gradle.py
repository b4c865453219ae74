"""Gradle's plan, reports and last words, by a program that stands in for it: Gradle itself was not to be had."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.standin import leave, seen, standin
from support.suites import project, run_tests, settings_with

from regreen.model import SuiteStatus
from regreen.testing.looking import Look
from regreen.testing.runners import gradle
from regreen.workspace import Workspace

_T = "src/test/java/calc/"
_FILES = {
    "settings.gradle": "rootProject.name = 'calc'\n",
    "build.gradle": "plugins { id 'java' }\n",
    _T + "CalcTest.java": "package calc;\nclass CalcTest {\n  @Test void adds() {\n    x();\n  }\n  @Test void größe() "
    "{}\n}\n",
    _T + "OtherTest.java": "package calc;\nclass OtherTest { @Test void adds() { } }\n",
}
_REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="calc.CalcTest" tests="4" skipped="1" failures="1" errors="0" time="0.05">
  <properties/>
  <testcase name="adds()" classname="calc.CalcTest" time="0.012">
    <failure message="org.opentest4j.AssertionFailedError: expected: &lt;4&gt; but was: &lt;3&gt;"
      type="org.opentest4j.AssertionFailedError">org.opentest4j.AssertionFailedError: expected: &lt;4&gt; but was: ...
\tat app//org.junit.jupiter.api.AssertionUtils.fail(AssertionUtils.java:55)
\tat app//calc.CalcTest.adds(CalcTest.java:4)
</failure>
  </testcase>
  <testcase name="größe()" classname="calc.CalcTest" time="0.001"/>
  <testcase name="many(int)[1]" classname="calc.CalcTest" time="0.001"/>
  <testcase name="off()" classname="calc.CalcTest" time="0.0"><skipped/></testcase>
  <system-out><![CDATA[]]></system-out>
</testsuite>"""
_PLACE = "build/test-results/test/TEST-calc.CalcTest.xml"
_RED = """> Task :test FAILED

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':test'.
> There were failing tests. See the report at: file:///p/build/reports/tests/test/index.html

BUILD FAILED in 3s
"""


def test_reports_are_read_and_the_selection_becomes_filters(tmp_path: Path) -> None:
    root = project(
        tmp_path, {**_FILES, "build/test-results/test/TEST-calc.OldTest.xml": _REPORT.replace("Calc", "Old")}
    )
    settings = standin(tmp_path, "gradle", does=leave({_PLACE: _REPORT}), says=_RED, status=1)
    report = run_tests(root, settings)
    assert (report.status, report.runner) == (SuiteStatus.FAILED, "gradle"), report.message
    assert dict(report.outcomes) == {
        "calc.CalcTest.adds": "failed",
        "calc.CalcTest.größe": "passed",
        "calc.CalcTest.many(int)[1]": "passed",
        "calc.CalcTest.off": "skipped",
    }
    failure = report.failures[0]
    assert (failure.file, failure.line) == (_T + "CalcTest.java", 4)
    assert "expected: <4> but was: <3>" in failure.message
    started = seen(root)
    assert started[:3] == ["--offline", "--no-daemon", "--console=plain"]
    assert any(w.startswith(f"GRADLE_USER_HOME={settings.cache_dir / 'gradle'}") for w in started)
    assert "test" in started

    chosen = run_tests(root, settings, selection=["calc.CalcTest.größe", "calc.CalcTest.many(int)[1]"])
    words = seen(root)
    assert [words[i + 1] for i, w in enumerate(words) if w == "--tests"] == [
        "calc.CalcTest.größe",
        "calc.CalcTest.many",
    ]
    assert any("all invocations" in n for n in chosen.notes)
    run_tests(root, settings, selection=[_T + "OtherTest.java"])
    assert "calc.OtherTest$*" in seen(root)


def test_green_no_tests_and_what_matches_nothing(tmp_path: Path) -> None:
    root = project(tmp_path, _FILES)
    text = _REPORT.replace("<failure", "<system-out").replace("</failure", "</system-out")
    green = standin(tmp_path, "gradle", does=leave({_PLACE: text}), says="BUILD SUCCESSFUL in 1s\n")
    assert run_tests(root, green).status is SuiteStatus.PASSED
    gone = run_tests(root, green, selection=["calc.CalcTest.vanished"])
    assert (gone.status, "vanished" in gone.message) == (SuiteStatus.NO_TESTS, True)
    several = run_tests(root, green, selection=["adds"], runner="gradle")
    assert "calc.CalcTest.adds, calc.OtherTest.adds" in several.message
    # the reports of that run stand there still, and this one writes none
    assert run_tests(root, standin(tmp_path, "gradle")).status is SuiteStatus.NO_TESTS


@pytest.mark.parametrize(
    ("says", "status", "told"),
    [
        ("{root}/src/main/java/calc/Calc.java:3: error: incompatible types: String cannot be converted to int\n"
         "1 error\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task "
         "':compileJava'.\n> Compilation failed; see the compiler error output for details.\n", "error", "Calc.java"),
        ("e: file://{root}/src/main/kotlin/A.kt:3:5 Unresolved reference: x\n\nFAILURE: Build failed with an "
         "exception.\n\n* What went wrong:\nExecution failed for task ':compileKotlin'.\n> Compilation error.\n",
         "error", "A.kt"),
        ("\nFAILURE: Build failed with an exception.\n\n* Where:\nBuild file 'build.gradle' line: 3\n\n* What went "
         "wrong:\nA problem occurred evaluating root project 'calc'.\n> No signature of method\n\n* Try:\n", "error",
         "evaluating"),
        ("\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task "
         "':compileTestJava'.\n> Could not resolve all files.\n   > No cached version of org.junit:x:5 available for "
         "offline mode.\n", "environment", "No cached version"),
        ("\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':test'.\n"
         "> Process 'Gradle Test Executor 1' finished with non-zero exit value 137\n", "crashed", "exit value 137"),
        ("Killed\n", "crashed", "Killed"),
    ],
)  # fmt: skip
def test_a_build_that_breaks_says_why(tmp_path: Path, says: str, status: str, told: str) -> None:
    root = project(tmp_path, _FILES)
    report = run_tests(root, standin(tmp_path, "gradle", says=says.replace("{root}", str(root)), status=1))
    assert report.status == status, report.message
    assert told in report.message + "".join(f.excerpt for f in report.failures)


def test_modules_belong_to_the_build_that_holds_the_settings(tmp_path: Path) -> None:
    files = {f"java/app/{n}" if n.startswith(_T) else f"java/{n}": t for n, t in _FILES.items()}
    root = project(tmp_path, {**files, "java/app/build.gradle.kts": "plugins { java }\n"})
    does = leave({f"app/{_PLACE}": _REPORT})
    report = run_tests(root, standin(tmp_path, "gradle", does=does, says=_RED, status=1), selection=["java/app"])
    assert (report.status, report.project) == (SuiteStatus.FAILED, "java"), report.message
    assert report.failures[0].file == f"java/app/{_T}CalcTest.java"
    assert "calc.CalcTest" in seen(root / "java")


def test_the_gradle_that_a_wrapper_downloaded_is_used_and_its_absence_is_named(tmp_path: Path) -> None:
    url = "distributionUrl=https\\://services.gradle.org/distributions/gradle-8.5-bin.zip\n"
    root = project(tmp_path, {**_FILES, "gradle/wrapper/gradle-wrapper.properties": url})
    program = tmp_path / "home/.gradle/wrapper/dists/gradle-8.5-bin/1a2b/gradle-8.5/bin/gradle"
    program.parent.mkdir(parents=True)
    program.write_text("")
    workspace = Workspace(root)
    try:
        assert gradle.unpacked(Look(workspace), {"HOME": str(tmp_path / "home")}) == program
    finally:
        workspace.close()
    report = run_tests(root, settings_with(tmp_path, {"PATH": str(tmp_path), "HOME": str(tmp_path)}))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "Gradle is not installed" in report.message
