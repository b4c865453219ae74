"""What Maven is asked for, and what its words and reports mean, by a program that stands in for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.standin import leave, seen, standin
from support.suites import project, run_tests, settings_with, timed_out_at

from regreen.model import SuiteReport, SuiteStatus
from regreen.testing.looking import Look
from regreen.testing.reports import java, maven_log
from regreen.testing.runners import maven
from regreen.workspace import Workspace

_MAIN, _TESTS = "src/main/java/calc/", "src/test/java/calc/"
_GREEN = "package calc;\nclass GreenTest { @Test void adds() { } }\n"
_RED = """package calc;
class RedTest {
    @Test void twice() { }
    @ParameterizedTest void many(int n) { }
    @Nested class Inner { @Test void inner() { fail("no"); } @Test void twice() { } }
}
"""
_TOP = "<project><modules><module>core</module><module>app</module></modules></project>"
_BUILT = "[INFO] BUILD SUCCESS\n[INFO] Finished at: 2026-01-01T00:00:00Z\n"


def _stand_in(base: Path, files: Mapping[str, str], *, says: str, does: str = "", **options: Any) -> SuiteReport:
    """Run a project with a program that stands in for Maven."""
    settings = standin(base, "mvn", says=says, does=does, status=options.pop("status", 0))
    return run_tests(project(base, files), settings, **options)


def test_what_is_chosen_becomes_arguments_of_maven(tmp_path: Path) -> None:
    files = {
        "java/pom.xml": _TOP, "java/core/pom.xml": "<project/>", "java/app/pom.xml": "<project/>",
        f"java/core/{_TESTS}GreenTest.java": _GREEN, f"java/app/{_TESTS}RedTest.java": _RED,
    }  # fmt: skip
    report = "<testsuite><testcase name='many(int)[2]' classname='calc.RedTest'/>" \
        "<testcase name='inner' classname='calc.RedTest$Inner'><failure>x</failure></testcase></testsuite>"  # fmt: skip
    does = leave({"app/target/surefire-reports/TEST-calc.RedTest.xml": report})
    failed = _stand_in(tmp_path, files, says=_BUILT, does=does, last_failed=["java/calc.RedTest.many(int)[2]", "inner"])
    assert dict(failed.outcomes) == {
        "java/calc.RedTest.many(int)[2]": "passed",
        "java/calc.RedTest$Inner.inner": "failed",
    }
    assert failed.project == "java"
    assert any("all invocations" in n for n in failed.notes)
    told = seen(tmp_path / "project/java")
    assert "-Dtest=calc.RedTest#many+inner,calc.RedTest$*#inner" in told
    assert told[told.index("-pl") + 1 :][:2] == ["app", "-am"]
    gone = _stand_in(tmp_path, files, says=_BUILT, selection=["java/calc.RedTest.vanished"])
    assert gone.status is SuiteStatus.NO_TESTS
    assert "calc.RedTest.vanished" in gone.message


def test_what_names_nothing_or_several_tests_starts_no_maven(tmp_path: Path) -> None:
    other = "package calc.other;\nclass RedTest { }"
    files = {_TESTS + "RedTest.java": _RED, _TESTS + "other/RedTest.java": other, "pom.xml": "<project/>"}
    root, settings = project(tmp_path, files), standin(tmp_path, "mvn")
    for selection, said in (
        (["src/test/java/calc/Gone.java"], "Gone.java does not exist"),
        (["twice"], "several tests: calc.RedTest.twice"),
        (["RedTest"], "several tests: calc.RedTest, calc.other.RedTest"),
        (["nowhere"], "matches no test: nowhere"),
    ):
        report = run_tests(root, settings, selection=selection, runner="maven")
        assert report.status is SuiteStatus.NO_TESTS
        assert said in report.message
        assert not report.log


def test_the_class_that_ran_is_named_at_the_time_limit(tmp_path: Path) -> None:
    files, begun = {"pom.xml": "<project/>", _TESTS + "GreenTest.java": _GREEN}, "[INFO] Running calc.HangTest"
    does = f"echo '{begun}'; exec sleep 600"
    report = timed_out_at("HangTest", lambda limit: _stand_in(tmp_path, files, says="", does=does, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "HangTest" in report.message


def test_a_build_that_ends_early_or_without_tests_or_dependencies_is_told_by_its_words(tmp_path: Path) -> None:
    limits = "<plugin><artifactId>maven-surefire-plugin</artifactId><excludes>no/**</excludes></plugin>"
    files = {"pom.xml": f"<project>{limits}</project>", _TESTS + "GreenTest.java": _GREEN}
    begun = "[INFO]  T E S T S\n[INFO] Running calc.QuitTest\n"
    quit_ = _stand_in(tmp_path, files, says=begun)
    assert quit_.status is SuiteStatus.CRASHED, quit_.message
    assert "before its build was done while calc.QuitTest ran" in quit_.message
    assert any("<excludes> of Surefire" in n for n in quit_.notes)

    empty = _stand_in(tmp_path, files, says=f"[INFO] No tests to run.\n{_BUILT}")
    assert empty.status is SuiteStatus.NO_TESTS

    words = "[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal on project calc: Could not resolve dependencies " \
        "for project x:calc:jar:1: Cannot access central in offline mode: no-such-thing -> [Help 1]\n"  # fmt: skip
    absent = _stand_in(tmp_path, files, says=words, status=1)
    assert absent.status is SuiteStatus.ENVIRONMENT
    assert "no-such-thing" in absent.message
    assert "dependency:go-offline" in absent.message


def test_without_maven_the_result_says_what_is_missing(tmp_path: Path) -> None:
    root = project(tmp_path, {"pom.xml": "<project/>", _TESTS + "GreenTest.java": _GREEN})
    report = run_tests(root, settings_with(tmp_path, {"PATH": str(tmp_path)}))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "Maven is not installed" in report.message


def test_the_maven_that_a_wrapper_downloaded_is_used_without_running_the_wrapper(tmp_path: Path) -> None:
    url = "distributionUrl=https://host/x/apache-maven-3.9.6-bin.zip\n"
    root = project(tmp_path, {"pom.xml": "<project/>", ".mvn/wrapper/maven-wrapper.properties": url})
    program = tmp_path / "home/.m2/wrapper/dists/apache-maven-3.9.6-bin/1a2b/apache-maven-3.9.6/bin/mvn"
    program.parent.mkdir(parents=True)
    program.write_text("")
    workspace = Workspace(root)
    try:
        assert maven.unpacked(Look(workspace), {"HOME": str(tmp_path / "home")}) == program
        assert maven.unpacked(Look(workspace), {"HOME": str(tmp_path)}) is None
    finally:
        workspace.close()


def test_only_the_words_behind_the_last_failed_build_are_mavens_own() -> None:
    spoofed = "[INFO]  T E S T S\n[INFO] BUILD FAILURE\n[ERROR] Could not resolve dependencies\n"
    own = "[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.2.5:" \
        "test (default-test) on project calc: There are test failures.\n"  # fmt: skip
    why = maven_log.broken(spoofed + own, Path("/p"))
    assert why.tests_failed
    assert not (why.missing or why.errors or why.crashed)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[ERROR] Failed to execute goal on project app: Could not resolve dependencies for project x", "resolve"),
        ("[ERROR] Non-resolvable parent POM for x:y:1: Cannot access central in offline mode", "parent POM"),
        ("[ERROR] Failed to execute goal p:maven-compiler-plugin:3:compile (c) on project x: Fatal error compiling: "
         "error: release version 21 not supported -> [Help 1]", "release version 21"),
        ("[ERROR] No compiler is provided in this environment. Perhaps you are running on a JRE", "No compiler"),
    ],
    ids=["dependency", "parent", "release", "compiler"],
)  # fmt: skip
def test_what_cannot_be_had_is_the_environments(text: str, said: str) -> None:
    assert said in maven_log.broken(f"[INFO] BUILD FAILURE\n{text}\n", Path("/p")).missing


def test_a_step_that_refuses_and_a_broken_pom_are_errors() -> None:
    goal = "[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-enforcer-plugin:3:" \
        "enforce (x) on project calc: Some rules have failed -> [Help 1]\n"  # fmt: skip
    (step,) = maven_log.broken(goal, Path("/p")).errors
    assert (step.id, "rules have failed" in step.message) == ("maven-enforcer-plugin:enforce", True)
    pom = "[ERROR] [ERROR] Some problems were encountered while processing the POMs:\n[FATAL] Non-parseable POM\n"
    (broken,) = maven_log.broken(pom, Path("/p")).errors
    assert broken.id == "pom.xml"
    kotlin = "[INFO] BUILD FAILURE\n[ERROR] /p/src/A.kt: (3, 5) Unresolved reference: x\n[ERROR] Failed to execute " \
        "goal org.jetbrains.kotlin:kotlin-maven-plugin:2:compile (c) on project x: Compilation failure\n"  # fmt: skip
    (place,) = maven_log.broken(kotlin, Path("/p")).errors
    assert (place.id, place.frames[0].path, place.frames[0].line) == ("src/A.kt", "/p/src/A.kt", 3)


def test_frames_of_the_project_are_put_outermost_first_and_end_at_the_first_cause(tmp_path: Path) -> None:
    root = project(tmp_path, {_TESTS + "RedTest.java": _RED, _MAIN + "Calc.java": "package calc;\n"})
    trace = (
        "java.lang.RuntimeException: outer\n\tat calc.RedTest.lambda$wrong$0(RedTest.java:7)\n"
        "\tat app//calc.RedTest.wrong(RedTest.java:6)\n\tat java.base/java.util.List.of(List.java:1511)\n"
        "Caused by: java.lang.IllegalStateException: seven\n\tat calc.Calc.add(Calc.java:4)\n\t... 2 more\n"
    )
    workspace = Workspace(root)
    try:
        found = java.frames(trace, java.Sources(Look(workspace)))
    finally:
        workspace.close()
    assert [(f.path.rpartition("/")[2], f.line, f.name) for f in found] == [
        ("RedTest.java", 6, "wrong"), ("RedTest.java", 7, "wrong"), ("Calc.java", 4, "add"),
    ]  # fmt: skip


def test_a_folder_without_a_pom_is_no_maven_project(tmp_path: Path) -> None:
    report = run_tests(project(tmp_path, {"a.txt": ""}), runner="maven")
    assert report.status is SuiteStatus.NO_TESTS
    assert "there is no pom.xml" in report.message
