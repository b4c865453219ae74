"""Maven, for real where it and its plugins can be had without the network. A start costs seconds, so each run says
much; what its arguments and words decide is tried in test_runner_maven_words.py, without it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.cases import thorough
from support.jvm import plugins
from support.suites import project, run_tests, timed_out_at

from regreen.model import SuiteReport, SuiteStatus
from regreen.sandbox import Cancel

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
_MANY = (
    _HEAD
    + """import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.*;
class ManyTest {
    static java.util.stream.IntStream all() { return java.util.stream.IntStream.range(0, 300); }
    @ParameterizedTest @MethodSource("all") void each(int n) { assertEquals(-1, n); }
    @Test void loud() { for (int i = 0; i < 20000; i++) System.out.println("line " + i); }
}
"""
)
_MAIN, _TESTS = "src/main/java/calc/", "src/test/java/calc/"
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # what runs so short is not worth compiling well


def _pom(extra: str = "", *, artifact: str = "calc", parent: bool = False) -> str:
    v = plugins()
    pinned = "".join(
        f"<plugin><artifactId>{n}</artifactId><version>{v[n]}</version></plugin>" for n in v if n.startswith("maven-")
    )
    above = "<parent><groupId>x</groupId><artifactId>top</artifactId><version>1</version></parent>"
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
{above if parent else "<groupId>x</groupId><version>1</version>"}<artifactId>{artifact}</artifactId>
<properties><maven.compiler.release>17</maven.compiler.release><argLine>{_QUICK}</argLine>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId>
<version>{v["junit"]}</version><scope>test</scope></dependency></dependencies>
<build><plugins>{pinned}</plugins></build>{extra}</project>"""


def _project(base: Path, tests: Mapping[str, str]) -> Path:
    files = {_TESTS + name: text for name, text in tests.items()}
    return project(base, {"pom.xml": _pom(), _MAIN + "Calc.java": _CALC, **files})


def _run(root: Path, **options: Any) -> SuiteReport:
    report = run_tests(root, timeout_s=120.0, environment={"MAVEN_OPTS": _QUICK}, **options)
    if report.status is SuiteStatus.ENVIRONMENT and "offline" in report.message:
        pytest.skip(f"the local Maven repository is not whole: {report.message}")
    return report


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    other = _HEAD + "class OtherTest { @Test void a() { } @Test void b() { } }\n"
    tests = {"GreenTest": _GREEN, "RedTest": _RED, "SetupTest": _SETUP, "ManyTest": _MANY, "OtherTest": other}
    return _project(tmp_path_factory.mktemp("maven"), {f"{n}.java": text for n, text in tests.items()})


@pytest.fixture(scope="module")
def whole(root: Path) -> SuiteReport:
    return _run(root)


def test_a_run_tells_all_with_their_places_and_a_selection_runs_alone_without_its_reports(
    root: Path, whole: SuiteReport
) -> None:
    assert whole.status is SuiteStatus.FAILED, whole.message
    assert whole.runner == "maven"
    assert {i: o for i, o in whole.outcomes.items() if "ManyTest" not in i} == {
        "calc.GreenTest.adds": "passed",
        "calc.GreenTest.größe": "passed",
        "calc.GreenTest.off": "skipped",
        "calc.GreenTest$Inner.inside": "passed",
        "calc.OtherTest.a": "passed",
        "calc.OtherTest.b": "passed",
        "calc.RedTest.wrong": "failed",
        "calc.RedTest.deep": "failed",
        "calc.RedTest.twice": "passed",
        "calc.RedTest.many(int)[1]": "passed",
        "calc.RedTest.many(int)[2]": "failed",
        "calc.RedTest$Inner.inner": "failed",
        "calc.RedTest$Inner.twice": "passed",
        "calc.SetupTest": "error",
    }
    failures = {f.id: f for f in whole.failures}
    wrong, deep = failures["calc.RedTest.wrong"], failures["calc.RedTest.deep"]
    assert (wrong.file, wrong.line) == (_TESTS + "RedTest.java", 7)
    assert "expected: <4> but was: <3>" in wrong.message
    assert "printed by it" in wrong.excerpt
    assert (deep.file, deep.line, deep.kind) == (_MAIN + "Calc.java", 4, "java.lang.IllegalStateException")
    assert failures["calc.SetupTest"].line == 5
    many = [o for i, o in whole.outcomes.items() if "ManyTest" in i]
    assert (many.count("failed"), many.count("passed")) == (300, 1)
    assert len([g for g in whole.groups if any("ManyTest" in i for i in g.ids)]) == 1
    assert len(whole.failures) <= 100

    stale = root / "target/surefire-reports/TEST-calc.SetupTest.xml"
    before = stale.read_bytes()
    chosen = ["calc.GreenTest.größe", "calc.RedTest$Inner.twice", "calc.GreenTest$Inner", _TESTS + "OtherTest.java"]
    again = _run(root, selection=chosen)
    assert again.status is SuiteStatus.PASSED, again.message
    assert set(again.outcomes) == {"calc.GreenTest.größe", "calc.RedTest$Inner.twice", "calc.GreenTest$Inner.inside",
                                   "calc.OtherTest.a", "calc.OtherTest.b"}  # fmt: skip
    assert stale.read_bytes() == before


@thorough
def test_what_failed_last_a_bare_method_and_a_whole_command_select(root: Path, whole: SuiteReport) -> None:
    failed = _run(root, last_failed=["calc.RedTest.many(int)[2]", "calc.SetupTest", "inner"])
    assert failed.status is SuiteStatus.FAILED
    assert set(failed.outcomes) == {"calc.RedTest.many(int)[1]", "calc.RedTest.many(int)[2]", "calc.SetupTest",
                                    "calc.RedTest$Inner.inner"}  # fmt: skip
    assert any("all invocations" in n for n in failed.notes)

    command = _run(root, argv=["mvn", "test", "-q", "-Dtest=GreenTest#adds"])
    assert command.status is SuiteStatus.PASSED, command.message
    assert set(command.outcomes) == {"calc.GreenTest.adds"}

    gone = _run(root, selection=["calc.GreenTest.adds", "calc.GreenTest.vanished"])
    assert gone.status is SuiteStatus.NO_TESTS
    assert "calc.GreenTest.vanished" in gone.message


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


@thorough
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


@thorough
def test_a_test_that_hangs_is_ended_and_named(tmp_path: Path) -> None:
    hangs = _HEAD + "class HangTest { @Test void hangs() throws Exception { new Object() {\n" \
        "  synchronized void on() throws Exception { wait(); } }.on(); } }\n"  # fmt: skip
    root = _project(tmp_path, {"HangTest.java": hangs})
    report = timed_out_at("HangTest", lambda limit: run_tests(root, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "HangTest" in report.message


@thorough
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


def test_a_run_is_cancelled_at_once(tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.set()
    report = run_tests(_project(tmp_path, {"GreenTest.java": _GREEN}), cancel=cancel)
    assert report.status is SuiteStatus.CANCELLED


@thorough
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
