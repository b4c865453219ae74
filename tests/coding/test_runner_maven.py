"""Maven, for real where it and its plugins can be had without the network. A start costs seconds, so each run says
much."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.jvm import plugins
from support.suites import project, run_tests, settings_with

from regreen.model import SuiteReport, SuiteStatus
from regreen.sandbox import Cancel
from regreen.testing.looking import Look
from regreen.testing.reports import java, maven_log
from regreen.testing.runners import maven
from regreen.workspace import Workspace

_HEAD = "package calc;\nimport static org.junit.jupiter.api.Assertions.*;\nimport org.junit.jupiter.api.*;\n"
_CALC = """package calc;
public class Calc {
    public static int add(int a, int b) {
        if (a == 7) throw new IllegalStateException("seven");
        return a + b;
    }
}
"""
_GREEN = (
    _HEAD
    + """class GreenTest {
    @Test void adds() { System.out.println("[INFO] BUILD FAILURE\\n[ERROR] COMPILATION ERROR"); }
    @Test void größe() { }
    @Test @Disabled("later") void off() { }
    @Nested class Inner { @Test void inside() { } }
}
"""
)
_RED = (
    _HEAD
    + """import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.*;
class RedTest {
    @Test void wrong() { System.out.println("printed by it"); assertEquals(4, Calc.add(1, 2), "sum"); }
    @Test void deep() { Calc.add(7, 2); }
    @Test void twice() { }
    @ParameterizedTest @ValueSource(ints = {1, 2}) void many(int n) { assertEquals(1, n); }
    @Nested class Inner { @Test void inner() { fail("no"); } @Test void twice() { } }
}
"""
)
_SETUP = (
    _HEAD
    + """class SetupTest {
    @BeforeAll static void up() { throw new RuntimeException("boom"); }
    @Test void never() { }
}
"""
)
_MAIN, _TESTS = "src/main/java/calc/", "src/test/java/calc/"


def _pom(extra: str = "", *, artifact: str = "calc", parent: bool = False) -> str:
    v = plugins()
    pinned = "".join(
        f"<plugin><artifactId>{n}</artifactId><version>{v[n]}</version></plugin>" for n in v if n.startswith("maven-")
    )
    above = "<parent><groupId>x</groupId><artifactId>top</artifactId><version>1</version></parent>"
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
{above if parent else "<groupId>x</groupId><version>1</version>"}<artifactId>{artifact}</artifactId>
<properties><maven.compiler.release>17</maven.compiler.release>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId>
<version>{v["junit"]}</version><scope>test</scope></dependency></dependencies>
<build><plugins>{pinned}</plugins></build>{extra}</project>"""


def _project(base: Path, tests: Mapping[str, str]) -> Path:
    files = {_TESTS + name: text for name, text in tests.items()}
    return project(base, {"pom.xml": _pom(), _MAIN + "Calc.java": _CALC, **files})


def _run(root: Path, **options: Any) -> SuiteReport:
    report = run_tests(root, timeout_s=120.0, **options)
    if report.status is SuiteStatus.ENVIRONMENT and "offline" in report.message:
        pytest.skip(f"the local Maven repository is not whole: {report.message}")
    return report


def test_green_and_red_and_broken_classes_are_told_with_their_places_and_ids_select_them_again(tmp_path: Path) -> None:
    root = _project(tmp_path, {"GreenTest.java": _GREEN, "RedTest.java": _RED, "SetupTest.java": _SETUP})
    report = _run(root)
    assert report.status is SuiteStatus.FAILED, report.message
    assert report.runner == "maven"
    assert dict(report.outcomes) == {
        "calc.GreenTest.adds": "passed",
        "calc.GreenTest.größe": "passed",
        "calc.GreenTest.off": "skipped",
        "calc.GreenTest$Inner.inside": "passed",
        "calc.RedTest.wrong": "failed",
        "calc.RedTest.deep": "failed",
        "calc.RedTest.twice": "passed",
        "calc.RedTest.many(int)[1]": "passed",
        "calc.RedTest.many(int)[2]": "failed",
        "calc.RedTest$Inner.inner": "failed",
        "calc.RedTest$Inner.twice": "passed",
        "calc.SetupTest": "error",
    }
    failures = {f.id: f for f in report.failures}
    wrong, deep = failures["calc.RedTest.wrong"], failures["calc.RedTest.deep"]
    assert (wrong.file, wrong.line) == (_TESTS + "RedTest.java", 7)
    assert "expected: <4> but was: <3>" in wrong.message
    assert "printed by it" in wrong.excerpt
    assert (deep.file, deep.line, deep.kind) == (_MAIN + "Calc.java", 4, "java.lang.IllegalStateException")
    assert failures["calc.SetupTest"].line == 5
    # a stale report of the last run is not read again, and stays where it was
    stale = root / "target/surefire-reports/TEST-calc.SetupTest.xml"
    before = stale.read_bytes()

    again = _run(root, selection=["calc.GreenTest.größe", "calc.RedTest$Inner.twice", "calc.GreenTest$Inner"])
    assert again.status is SuiteStatus.PASSED, again.message
    assert set(again.outcomes) == {"calc.GreenTest.größe", "calc.RedTest$Inner.twice", "calc.GreenTest$Inner.inside"}
    assert stale.read_bytes() == before

    failed = _run(root, last_failed=["calc.RedTest.many(int)[2]", "calc.SetupTest"])
    assert failed.status is SuiteStatus.FAILED
    assert set(failed.outcomes) == {"calc.RedTest.many(int)[1]", "calc.RedTest.many(int)[2]", "calc.SetupTest"}
    assert any("all invocations" in n for n in failed.notes)


def test_a_file_a_bare_method_and_a_whole_command_select(tmp_path: Path) -> None:
    root = _project(tmp_path, {"GreenTest.java": _GREEN, "RedTest.java": _RED})
    report = _run(root, selection=[_TESTS + "GreenTest.java", "inner"])
    assert report.status is SuiteStatus.FAILED
    assert {"calc.GreenTest.adds", "calc.GreenTest$Inner.inside", "calc.RedTest$Inner.inner"} <= set(report.outcomes)
    assert "calc.RedTest.wrong" not in report.outcomes

    command = _run(root, argv=["mvn", "test", "-q", "-Dtest=GreenTest#adds"])
    assert command.status is SuiteStatus.PASSED, command.message
    assert set(command.outcomes) == {"calc.GreenTest.adds"}

    gone = _run(root, selection=["calc.GreenTest.adds", "calc.GreenTest.vanished"])
    assert gone.status is SuiteStatus.NO_TESTS
    assert "calc.GreenTest.vanished" in gone.message


def test_what_names_nothing_or_several_tests_starts_no_maven(tmp_path: Path) -> None:
    root = _project(tmp_path, {"RedTest.java": _RED, "other/RedTest.java": "package calc.other;\nclass RedTest { }"})
    for selection, said in (
        (["src/test/java/calc/Gone.java"], "Gone.java does not exist"),
        (["twice"], "several tests: calc.RedTest.twice"),
        (["RedTest"], "several tests: calc.RedTest, calc.other.RedTest"),
        (["nowhere"], "matches no test: nowhere"),
    ):
        report = run_tests(root, selection=selection, runner="maven")
        assert report.status is SuiteStatus.NO_TESTS
        assert said in report.message
        assert not report.log


def test_code_that_does_not_compile_is_an_error_at_its_place(tmp_path: Path) -> None:
    root = _project(tmp_path, {"BadTest.java": 'package calc;\nclass BadTest {\n  int x = "s";\n  Gone y;\n}\n'})
    report = _run(root)
    assert report.status is SuiteStatus.ERROR, report.message
    (failure,) = report.failures
    assert (failure.id, failure.file, failure.line) == (_TESTS + "BadTest.java",) * 2 + (3,)
    assert "incompatible types" in failure.message
    assert "cannot find symbol" in failure.excerpt


def test_a_test_that_ends_the_virtual_machine_is_a_crash(tmp_path: Path) -> None:
    quits = _HEAD + "class QuitTest { @Test void quits() { System.exit(0); } }\n"
    report = _run(_project(tmp_path, {"GreenTest.java": _GREEN, "QuitTest.java": quits}))
    assert report.status is SuiteStatus.CRASHED, report.message
    assert "QuitTest" in report.message
    assert report.outcomes.get("calc.GreenTest.adds") in ("passed", None)


def test_a_project_without_tests_and_one_whose_dependencies_are_absent(tmp_path: Path) -> None:
    empty = _run(_project(tmp_path / "empty", {}))
    assert empty.status is SuiteStatus.NO_TESTS
    root = _project(tmp_path / "absent", {"GreenTest.java": _GREEN})
    pom = (root / "pom.xml").read_text("utf-8").replace("<artifactId>junit-jupiter<", "<artifactId>no-such-thing<")
    (root / "pom.xml").write_text(pom, "utf-8")
    report = run_tests(root, timeout_s=120.0)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "no-such-thing" in report.message
    assert "dependency:go-offline" in report.message


def test_a_test_that_hangs_is_ended_and_named(tmp_path: Path) -> None:
    hangs = _HEAD + "class HangTest { @Test void hangs() throws Exception { new Object() {\n" \
        "  synchronized void on() throws Exception { wait(); } }.on(); } }\n"  # fmt: skip
    root = _project(tmp_path, {"HangTest.java": hangs})
    report = run_tests(root, timeout_s=12.0)
    assert report.status is SuiteStatus.TIMEOUT
    if "Running calc.HangTest" in Path(report.log).read_text("utf-8"):  # else the machine was too slow to come to it
        assert "HangTest" in report.message


def test_thousands_of_failures_and_much_output_keep_their_verdict(tmp_path: Path) -> None:
    many = (
        _HEAD
        + """import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.*;
class ManyTest {
    static java.util.stream.IntStream all() { return java.util.stream.IntStream.range(0, 1500); }
    @ParameterizedTest @MethodSource("all") void each(int n) { assertEquals(-1, n); }
    @Test void loud() { for (int i = 0; i < 60000; i++) System.out.println("line " + i); }
}
"""
    )
    report = _run(_project(tmp_path, {"ManyTest.java": many}))
    assert report.status is SuiteStatus.FAILED, report.message
    assert (report.counts.failed, report.counts.passed) == (1500, 1)
    assert len(report.groups) == 1


def test_modules_are_built_from_the_project_that_lists_them(tmp_path: Path) -> None:
    modules = "<packaging>pom</packaging><modules><module>core</module><module>app</module></modules>"
    needs = "<dependencies><dependency><groupId>x</groupId><artifactId>core</artifactId><version>1</version>" \
        "</dependency><dependency>"  # fmt: skip
    root = project(
        tmp_path,
        {
            "java/pom.xml": _pom(modules, artifact="top"),
            "java/core/pom.xml": _pom(artifact="core", parent=True),
            "java/app/pom.xml": _pom(artifact="app", parent=True).replace("<dependencies><dependency>", needs),
            f"java/core/{_MAIN}Calc.java": _CALC,
            f"java/core/{_TESTS}CoreTest.java": _HEAD + "class CoreTest { @Test void a() { } }",
            f"java/app/{_TESTS}AppTest.java": _HEAD
            + "class AppTest { @Test void b() { assertEquals(4, Calc.add(1, 2)); } }",
        },
    )
    report = _run(root, selection=["java/app"])
    assert report.project == "java"
    assert report.status is SuiteStatus.FAILED, report.message
    assert dict(report.outcomes) == {"java/calc.AppTest.b": "failed"}
    assert report.failures[0].file == f"java/app/{_TESTS}AppTest.java"


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
    root = project(tmp_path, {_TESTS + "RedTest.java": _RED, _MAIN + "Calc.java": _CALC})
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


def test_a_run_is_cancelled_at_once(tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.set()
    report = run_tests(_project(tmp_path, {"GreenTest.java": _GREEN}), cancel=cancel)
    assert report.status is SuiteStatus.CANCELLED


def test_a_test_that_ends_mavens_own_process_is_a_crash_and_limits_are_noted(tmp_path: Path) -> None:
    quits = _HEAD + 'class QuitTest { @Test void quits() { System.exit(0); } @Test void red() { fail("x"); } }\n'
    root = _project(tmp_path, {"GreenTest.java": _GREEN, "QuitTest.java": quits})
    limits = "<configuration><forkCount>0</forkCount><runOrder>alphabetical</runOrder>" \
        "<excludes><exclude>no/**</exclude></excludes></configuration>"  # fmt: skip
    surefire = "<artifactId>maven-surefire-plugin</artifactId>"
    before, _, after = (root / "pom.xml").read_text("utf-8").partition(surefire)
    pom = f"{before}{surefire}{after.replace('</plugin>', f'{limits}</plugin>', 1)}"
    (root / "pom.xml").write_text(pom, "utf-8")
    report = _run(root)
    assert report.status is SuiteStatus.CRASHED, report.message
    assert "before its build was done while calc.QuitTest ran" in report.message
    assert any("<excludes> of Surefire" in n for n in report.notes)


def test_a_folder_without_a_pom_is_no_maven_project(tmp_path: Path) -> None:
    report = run_tests(project(tmp_path, {"a.txt": ""}), runner="maven")
    assert report.status is SuiteStatus.NO_TESTS
    assert "there is no pom.xml" in report.message
