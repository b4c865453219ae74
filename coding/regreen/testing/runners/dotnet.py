"""`dotnet test`, read from the TRX reports of its test projects. An id is the fully qualified name, with the arguments
of a theory behind it: `Calc.Tests.CalcTest.Adds`.

Not run here: the SDK could not be had where this was written. Its reports and its words are tested from their
documented forms.

A filter knows methods, not the arguments of a theory: all cases of a theory run, and all of them are told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regreen.commands.programs import find_program
from regreen.model import CaseOutcome, SuiteStatus
from regreen.testing.channel import Frame, RawFailure
from regreen.testing.heard import Absent, Asked, Case, Ended, Heard, Plan
from regreen.testing.logs import tail
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports import trx
from regreen.testing.runners.row import CONFIGURED, DEPENDENCY, Row, Sign
from regreen.testing.verdict import names

MAX_FILTER = 100_000
_READ_BYTES = 2 * 1024 * 1024
_SOLUTIONS = (".sln", ".slnx")
_PROJECTS = (".csproj", ".fsproj", ".vbproj")
_SOURCES = (".cs", ".fs", ".vb")
_OUTCOMES: Mapping[str, CaseOutcome] = {
    "Passed": "passed", "PassedButRunAborted": "passed", "Warning": "passed", "NotExecuted": "skipped",
    "NotRunnable": "skipped", "Inconclusive": "skipped", "Pending": "skipped", "Disconnected": "error",
}  # fmt: skip
_FRAME = re.compile(r"^\s*at (?P<name>.+?) in (?P<path>.+?):line (?P<line>\d{1,7})\s*$", re.M)
_KIND = re.compile(r"^(?:System\.\w+: )?(?P<kind>[\w.]+(?:Exception|Error))\s?:\s?")
_BUILD = re.compile(r"^\s*(?P<path>[^\n(]+\.\w+)\((?P<line>\d+)(?:,\d+)*\)\s?: error (?P<message>\w+: [^\n\[]+)", re.M)
_ABSENT = re.compile(
    r"error (?:NU\d+|NETSDK1045|NETSDK1004|MSB4236)[^\n]*|You must install or update \.NET[^\n]*|"
    r"A compatible \.NET SDK was not found[^\n]*|It was not possible to find any compatible[^\n]*"
)
_ERROR = re.compile(r"^\s*(?:[^\n]+ : )?error (?P<message>(?:MSB|NETSDK)\d+: [^\n\[]+|[^\n\[]+)", re.M)
_ABORTED = re.compile(r"[Tt]est host process (?:crashed|exited)|run was aborted|[Tt]est [Rr]un [Aa]borted")
_NAMESPACE = re.compile(r"^\s*namespace\s+([\w.]+)", re.M)
_CLASS = re.compile(r"^\s*(?:(?:public|internal|sealed|static|partial|abstract)\s+)*class\s+(\w+)", re.M)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One entry of a selection: a class (`name` ends with a dot) or a method, and an id with arguments."""

    entry: str
    names: tuple[str, ...]
    exact: str = ""

    def fits(self, test: str) -> bool:
        if self.exact:
            return test == self.exact
        return any(test.startswith(n) if n.endswith(".") else _bare(test) == n for n in self.names)


class DotNet:
    """Plans and reads `dotnet test`."""

    name = "dotnet"

    def plan(self, asked: Asked) -> Plan | Absent:
        environ, root = asked.request.settings.environ, asked.request.workspace.root
        program = find_program("dotnet", environ, root)
        if program is None:
            return Absent("the .NET SDK is not installed: there is no `dotnet` on the PATH")
        wanted = _wanted(asked.request.last_failed or asked.request.selection, asked.look)
        if isinstance(wanted, str):
            return Absent(wanted, SuiteStatus.NO_TESTS)
        given = tuple(a for a in asked.arguments if a not in ("-t", "--list-tests"))
        target = () if any(a.endswith((*_SOLUTIONS, *_PROJECTS)) for a in given) else _target(asked.look, wanted)
        if isinstance(target, str):
            return Absent(target, SuiteStatus.NO_TESTS)
        results = asked.private / "results"
        results.mkdir(mode=0o700)
        own = ("--nologo", "--logger", "trx;LogFilePrefix=run", "--results-directory", str(results))
        chosen, notes = _chosen(wanted)
        argv = (str(program), "test", *target, *own, *given, *chosen)
        return Plan(argv, str(program), env=_environment(asked), notes=notes, data=(results, tuple(wanted)))

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        results, wanted = plan.data
        reports = [trx.parse(_bytes(p)) for p in sorted(results.glob("*.trx"))]
        cases = tuple(_case(r) for report in reports for r in report.results)
        unmatched = tuple(w.entry for w in wanted if not any(w.fits(c.id) for c in cases))
        said = [text for report in reports for text in report.said]
        aborted = next((t for t in said if _ABORTED.search(t)), "") or next(
            (r.ended for r in reports if r.ended in ("Aborted", "Timeout")), ""
        )
        broken = [r.problem or "it breaks off" for r in reports if r.problem or not r.ended]
        heard = Heard(cases=cases, finished=not aborted and not broken, unmatched=unmatched)
        status = ended.completed.returncode
        if status and not any(c.outcome in ("failed", "error") for c in cases):
            return _explained(heard, tail(ended.log, _READ_BYTES), asked.folder, reported=bool(reports))
        return heard


def _explained(heard: Heard, log: str, folder: Path, *, reported: bool) -> Heard:
    """A failing exit status without a failing test: what could not be had, or does not compile. Once a test project has
    told its results its tests may have printed anything, and only errors of the build are looked for."""
    missing = None if reported else _ABSENT.search(log)
    by_file: dict[str, list[tuple[int, str]]] = {}
    for m in _BUILD.finditer(log):
        by_file.setdefault(m["path"].strip(), []).append((int(m["line"]), m["message"].strip()))
    errors = tuple(_compilation(path, sorted(set(found)), folder) for path, found in by_file.items())
    other = None if errors or missing or reported else _ERROR.search(log)
    if other:
        errors = (RawFailure("build", "BuildError", other["message"].strip(), ()),)
    return Heard(
        cases=heard.cases,
        errors=() if missing else errors,
        finished=heard.finished and reported,
        missing=f"{missing[0].strip()}. Type `dotnet restore` once where the network can be reached."
        if missing
        else "",
        unmatched=heard.unmatched if reported else (),
    )


def _compilation(path: str, places: list[tuple[int, str]], folder: Path) -> RawFailure:
    shown = Path(path).relative_to(folder).as_posix() if Path(path).is_relative_to(folder) else path
    message = places[0][1] + "".join(f"\nline {line}: {said}" for line, said in places[1:])
    return RawFailure(shown, "CompilationError", message, (Frame(path, places[0][0], ""),), message)


def _case(r: trx.TrxResult) -> Case:
    test = _id(r)
    outcome = _OUTCOMES.get(r.outcome, "failed")
    if outcome not in ("failed", "error"):
        return Case(test, outcome, r.duration_s)
    kind = _KIND.match(r.message)
    frames = [Frame(m["path"], int(m["line"]), _method(m["name"])) for m in _FRAME.finditer(r.trace)]
    sections = tuple((title, text) for title, text in (("stdout", r.stdout), ("stderr", r.stderr)) if text)
    message = r.message[kind.end() :] if kind else r.message
    failure = RawFailure(test, kind["kind"] if kind else "AssertFailed", message.strip(), tuple(reversed(frames)),
                         f"{r.message}\n{r.trace}", sections)  # fmt: skip
    return Case(test, outcome, r.duration_s, failure)


def _id(r: trx.TrxResult) -> str:
    """The fully qualified name. xUnit reports it whole; MSTest and NUnit report the method alone."""
    owner = r.owner.partition(",")[0]
    return r.name if not owner or r.name.startswith(f"{owner}.") else f"{owner}.{r.name}"


def _method(name: str) -> str:
    return name.partition("(")[0].rpartition(".")[2]


def _bare(test: str) -> str:
    return test.partition("(")[0].strip()


def _wanted(selection: Iterable[str], look: Look) -> list[_Wanted] | str:
    """What the entries mean; or what is wrong with one of them."""
    found: list[_Wanted] = []
    for entry in selection:
        path = entry.removeprefix("./").rstrip("/")
        if path in ("", "."):
            return []
        if look.exists(path) or look.folder_exists(path):
            inside = [p for p in look.below() if p.endswith(_SOURCES) and (p == path or p.startswith(f"{path}/"))]
            classes = [c for p in inside for c in _classes(look, p)]
            if not classes:
                return f"matches no test: {entry} holds no test classes"
            found.append(_Wanted(entry, tuple(f"{c}." for c in classes)))
            continue
        one = _named(entry, look)
        if isinstance(one, str):
            return one
        found.append(one)
    return found


def _named(entry: str, look: Look) -> _Wanted | str:
    base = _bare(entry)
    by_path = {p: _classes(look, p) for p in look.below() if p.endswith(_SOURCES)}
    classes = [c for found in by_path.values() for c in found]
    if base in classes:
        return _Wanted(entry, (f"{base}.",))
    if "." in base:
        return _Wanted(entry, (base,), entry if base != entry else "")
    fitting = [f"{c}." for c in classes if c.rpartition(".")[2] == base]
    if not fitting:
        declared = re.compile(rf"\b{re.escape(base)}\s*(?:<[^>]*>)?\s*\(")
        attributed = re.compile(r"\[(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b")
        owners = [c for p, found in by_path.items() if found and attributed.search(look.text(p))
                  and declared.search(look.text(p)) for c in found[:1]]  # fmt: skip
        fitting = [f"{c}.{base}" for c in owners]
    if len(fitting) > 1:
        return f"{entry} is the name of several tests: {names([f.rstrip('.') for f in fitting])}. Give the whole id."
    return _Wanted(entry, tuple(fitting)) if fitting else f"matches no test: {entry}"


def _classes(look: Look, path: str) -> list[str]:
    text = look.text(path)
    space = _NAMESPACE.search(text)
    return [f"{space[1]}.{name}" if space else name for name in _CLASS.findall(text)]


def _chosen(wanted: Sequence[_Wanted]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The filter; and what there is to note about it."""
    if not wanted:
        return (), ()
    notes = ["all cases of a theory run"] if any(w.exact for w in wanted) else []
    parts = dict.fromkeys(f"FullyQualifiedName{'~' if n.endswith('.') else '='}{_escaped(n)}"
                          for w in wanted for n in w.names)  # fmt: skip
    expression = "|".join(parts)
    if len(expression) > MAX_FILTER:
        return (), (*notes, "so many tests were selected that all are run")
    return ("--filter", expression), tuple(notes)


def _escaped(name: str) -> str:
    return re.sub(r"([()&|=!~\\])", r"\\\1", name)


def _target(look: Look, wanted: Sequence[_Wanted]) -> tuple[str, ...] | str:
    """What to build, where the folder does not say it by itself."""
    top = [p for p in look.below() if "/" not in p and p.endswith((*_SOLUTIONS, *_PROJECTS))]
    solutions = [p for p in top if p.endswith(_SOLUTIONS)]
    if len(top) == 1 or len(solutions) == 1:
        return ((solutions or top)[0],)
    tests = [p for p in look.below() if p.endswith(_PROJECTS) and _tests(look.text(p))]
    inside = [p for p in tests if any(w.entry.startswith(p.rpartition("/")[0] + "/") for w in wanted)]
    fitting = inside or tests
    if len(fitting) == 1:
        return (fitting[0],)
    return f"there are several test projects and no single solution: {names(fitting)}. Select files of one." \
        if fitting else "no project here has tests"  # fmt: skip


def _tests(project: str) -> bool:
    return "Microsoft.NET.Test.Sdk" in project or "<IsTestProject>true" in project or "MSTest.Sdk" in project


def _environment(asked: Asked) -> dict[str, str]:
    """No telemetry, no servers that outlive the run, a home that can be written. Packages are read where they lie."""
    environ = asked.request.settings.environ
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    on = (
        "DOTNET_CLI_TELEMETRY_OPTOUT",
        "DOTNET_NOLOGO",
        "DOTNET_SKIP_FIRST_TIME_EXPERIENCE",
        "MSBUILDDISABLENODEREUSE",
    )
    env = {**dict.fromkeys(on, "1"), "DOTNET_CLI_USE_MSBUILD_SERVER": "0", "UseSharedCompilation": "false",
           "DOTNET_CLI_HOME": str(asked.private), "DOTNET_CLI_UI_LANGUAGE": "en"}  # fmt: skip
    return {**env, "NUGET_PACKAGES": str(Path(home) / ".nuget" / "packages")} if home else env


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except OSError:
        return b""


def _detect(look: Look) -> Sign | None:
    projects = [p for p in look.below() if p.endswith(_PROJECTS)]
    found = next((p for p in projects if _tests(look.text(p))), "")
    if not found:
        return None
    solution = next((p for p in look.below() if "/" not in p and p.endswith(_SOLUTIONS)), "")
    if solution or "/" not in found:
        return Sign(CONFIGURED, f"{look.at(solution or found)} holds tests")
    return Sign(DEPENDENCY, f"{look.at(found)} is a test project")


ROW = Row(
    name="dotnet",
    language="C#",
    marks=(
        *("*.sln", "*.slnx"),
        *("global.json", "Directory.Build.props", "Directory.Packages.props"),
    ),
    suffixes=_SOURCES,
    detect=_detect,
    run=reported(DotNet()),
)
