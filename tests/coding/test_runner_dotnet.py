"""The plan for `dotnet test`, its TRX reports and its words, by a program that stands in for it: the SDK itself was not
to be had."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.standin import leave, seen, standin
from support.suites import project, run_tests, settings_with

from regreen.model import SuiteStatus
from regreen.testing.reports import trx

_FILES = {
    "Calc.sln": "",
    "Calc.Tests/Calc.Tests.csproj": '<Project><PackageReference Include="Microsoft.NET.Test.Sdk" /></Project>',
    "Calc.Tests/CalcTest.cs": "namespace Calc.Tests;\npublic class CalcTest\n{\n    [Fact] public void Adds() { }\n"
    "    [Fact] public void Deep() { }\n}\n",
    "Calc.Tests/OtherTest.cs": "namespace Calc.Tests;\npublic class OtherTest { [Fact] public void Adds() { } }\n",
}
_ID = "Calc.Tests.CalcTest."


def _result(name: str, outcome: str, output: str = "", test: str = "1") -> str:
    return f'<UnitTestResult testId="{test}" testName="{name}" duration="00:00:01.5000000" outcome="{outcome}">' \
        f"{output}</UnitTestResult>"  # fmt: skip


def _error(message: str, trace: str = "", said: str = "") -> str:
    return f"<Output><StdOut>{said}</StdOut><ErrorInfo><Message>{message}</Message><StackTrace>{trace}</StackTrace>" \
        "</ErrorInfo></Output>"  # fmt: skip


def _trx(*results: str, ended: str = "Failed", infos: str = "") -> str:
    return f"""<?xml version="1.0" encoding="utf-8"?>
<TestRun id="1" name="x" xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">
  <Results>{"".join(results)}</Results>
  <TestDefinitions><UnitTest name="Adds" storage="/p/x.dll" id="1"><Execution id="2" />
    <TestMethod codeBase="/p/x.dll" className="Calc.Tests.CalcTest" name="Adds" /></UnitTest></TestDefinitions>
  <ResultSummary outcome="{ended}"><Counters total="1" />{infos}</ResultSummary>
</TestRun>"""


_TAKE = 'while [ "$1" != "--results-directory" ]; do shift; done; cp report.xml "$2/run_net8.0_1.trx"'


def _red(root: Path) -> str:
    trace = f"   at Calc.Calc.Add(Int32 a) in {root}/Calc/Calc.cs:line 3\n" \
        f"   at Calc.Tests.CalcTest.Deep() in {root}/Calc.Tests/CalcTest.cs:line 5\n" \
        "   at System.Reflection.MethodBaseInvoker.Invoke()"  # fmt: skip
    return _trx(
        _result(f"{_ID}Adds", "Failed", _error("Assert.Equal() Failure\nExpected: 4\nActual:   3", "", "printed")),
        _result(f"{_ID}Deep", "Failed", _error("System.InvalidOperationException : seven", trace)),
        _result(f"{_ID}Many(n: 1)", "Passed"),
        _result("Größe(1)", "Passed"),
        _result(f"{_ID}Off", "NotExecuted", "<Output><ErrorInfo><Message>later</Message></ErrorInfo></Output>"),
    )


def test_reports_are_read_and_the_selection_becomes_a_filter(tmp_path: Path) -> None:
    root = project(tmp_path, {**_FILES, "Calc/Calc.cs": "namespace Calc;\npublic class Calc {\n    Add();\n}\n"})
    settings = standin(tmp_path, "dotnet", does=leave({"report.xml": _red(root)}) + "\n" + _TAKE, status=1)
    report = run_tests(root, settings)
    assert (report.status, report.runner) == (SuiteStatus.FAILED, "dotnet"), report.message
    assert dict(report.outcomes) == {
        f"{_ID}Adds": "failed",
        f"{_ID}Deep": "failed",
        f"{_ID}Many(n: 1)": "passed",
        f"{_ID}Größe(1)": "passed",
        f"{_ID}Off": "skipped",
    }
    assert report.durations_s[f"{_ID}Adds"] == 1.5
    failures = {f.id: f for f in report.failures}
    adds, deep = failures[f"{_ID}Adds"], failures[f"{_ID}Deep"]
    assert adds.kind == "AssertFailed"
    assert "Expected: 4" in adds.message
    assert "printed" in adds.excerpt
    assert (deep.kind, deep.message) == ("System.InvalidOperationException", "seven")
    assert (deep.file, deep.line) == ("Calc/Calc.cs", 3)
    words = seen(root)
    assert words[:2] == ["test", "Calc.sln"]
    assert "DOTNET_CLI_TELEMETRY_OPTOUT=1" in words

    run_tests(root, settings, selection=[f"{_ID}Deep", f"{_ID}Many(n: 1)", "OtherTest"])
    expression = f"FullyQualifiedName={_ID}Deep|FullyQualifiedName={_ID}Many|FullyQualifiedName~Calc.Tests.OtherTest."
    assert expression in seen(root)
    run_tests(root, settings, selection=["Calc.Tests/CalcTest.cs"])
    assert f"FullyQualifiedName~{_ID}" in seen(root)


def test_green_nothing_and_what_names_nothing_or_several(tmp_path: Path) -> None:
    root = project(tmp_path, _FILES)
    text = _trx(_result(f"{_ID}Adds", "Passed"), ended="Completed")
    green = standin(tmp_path, "dotnet", does=leave({"report.xml": text}) + "\n" + _TAKE)
    assert run_tests(root, green).status is SuiteStatus.PASSED
    for selection, said in (
        ([f"{_ID}Gone"], f"{_ID}Gone"),
        (["Adds"], "several tests: Calc.Tests.CalcTest.Adds, Calc.Tests.OtherTest.Adds"),
        (["Nowhere"], "matches no test: Nowhere"),
    ):
        report = run_tests(root, green, selection=selection, runner="dotnet")
        assert report.status is SuiteStatus.NO_TESTS
        assert said in report.message
    assert run_tests(root, standin(tmp_path, "dotnet")).status is SuiteStatus.NO_TESTS


@pytest.mark.parametrize(
    ("says", "status", "told"),
    [
        ("{root}/Calc.Tests/CalcTest.cs(3,5): error CS1002: ; expected [{root}/Calc.Tests/Calc.Tests.csproj]\n",
         "error", "; expected"),
        ("/p/x.csproj : error NU1101: Unable to find package xunit. No packages exist with this id [/p/x.sln]\n",
         "environment", "NU1101"),
        ("MSBUILD : error MSB1003: Specify a project or solution file.\n", "error", "MSB1003"),
        ("You must install or update .NET to run this application.\n", "environment", "You must install"),
        ("Segmentation fault\n", "crashed", "Segmentation fault"),
    ],
)  # fmt: skip
def test_a_build_that_breaks_says_why(tmp_path: Path, says: str, status: str, told: str) -> None:
    root = project(tmp_path, _FILES)
    report = run_tests(root, standin(tmp_path, "dotnet", says=says.replace("{root}", str(root)), status=1))
    assert report.status == status, report.message
    assert told in report.message + "".join(f.excerpt for f in report.failures)
    if "CS1002" in says:
        assert (report.failures[0].file, report.failures[0].line) == ("Calc.Tests/CalcTest.cs", 3)


def test_a_test_host_that_crashes_is_a_crash_although_results_were_told(tmp_path: Path) -> None:
    root = project(tmp_path, _FILES)
    infos = '<RunInfos><RunInfo outcome="Error"><Text>The active test run was aborted. Reason: Test host process ' \
        "crashed</Text></RunInfo></RunInfos>"  # fmt: skip
    text = _trx(_result(f"{_ID}Adds", "Passed"), infos=infos)
    settings = standin(tmp_path, "dotnet", does=leave({"report.xml": text}) + "\n" + _TAKE, status=1)
    assert run_tests(root, settings).status is SuiteStatus.CRASHED
    cut = standin(tmp_path, "dotnet", does=leave({"report.xml": text[:500]}) + "\n" + _TAKE)
    assert run_tests(root, cut).status is SuiteStatus.CRASHED


def test_a_report_is_data(tmp_path: Path) -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><TestRun><x>&b;</x></TestRun>'
    assert "document type" in trx.parse(bomb).problem
    assert trx.parse(b"<TestRun>" + b"<a>" * 100).problem
    assert trx.parse(b"<other/>").problem == "it is no TRX report"
    odd = _trx(_result("A", "Failed", _error("bell &#x7; nul \x00 \udcff".encode("utf-8", "replace").decode())))
    read = trx.parse(b"\xef\xbb\xbf" + odd.encode())
    assert (read.problem, read.results[0].message) == ("", "bell \\x07 nul \\x00 ?")
    many = trx.parse(_trx(*[_result(f"T{n}", "Failed", _error("x")) for n in range(5000)]).encode())
    assert (len(many.results), many.problem) == (5000, "")


def test_a_missing_sdk_and_several_projects_without_a_solution_are_named(tmp_path: Path) -> None:
    bare = settings_with(tmp_path, {"PATH": str(tmp_path)})
    report = run_tests(project(tmp_path, _FILES), bare)
    assert (report.status, ".NET SDK is not installed" in report.message) == (SuiteStatus.ENVIRONMENT, True)
    files = {n.replace("Calc.Tests/Calc", "B.Tests/B"): t for n, t in _FILES.items() if n != "Calc.sln"}
    root = project(tmp_path / "two", {**files, **{n: t for n, t in _FILES.items() if n != "Calc.sln"}})
    several = run_tests(root, standin(tmp_path, "dotnet"))
    assert (several.status, "several test projects" in several.message) == (SuiteStatus.NO_TESTS, True)
