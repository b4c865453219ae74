"""PHPUnit, read from the JUnit report that it writes at its end. An id is `Class::method`, with the data set behind it
as PHPUnit prints it: `Calc\\Tests\\CalcTest::testMany with data set "one"`.

Its log for TeamCity grows while the tests run, and names the test at which the process ended; a report that does not
agree with it is not believed. Risky tests, and tests with warnings, are no failures unless the project's settings say
so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regreen.commands.programs import find_program, local_program
from regreen.model import SuiteStatus
from regreen.testing.channel import Frame, RawFailure
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.logs import tail
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports import junit
from regreen.testing.reports.junit_xml import JunitCase
from regreen.testing.runners.php_syntax import first_broken
from regreen.testing.runners.row import CONFIGURED, DEPENDENCY, FILES, Row, Sign
from regreen.testing.verdict import names

MAX_FILTER = 30_000  # characters: longer expressions do not compile
_CONFIGS = ("phpunit.xml", "phpunit.dist.xml", "phpunit.xml.dist")
_NAMESPACE = re.compile(r"^\s*namespace\s+([\w\\]+)", re.M)
_CLASS = re.compile(r"^\s*(?:final\s+|readonly\s+)*class\s+(\w+)", re.M)
_STARTED = re.compile(
    r"^##teamcity\[testStarted name='((?:[^'|]|\|.)*)' locationHint='php_qn://((?:[^'|]|\|.)*)'", re.M
)
_ENDED = re.compile(r"^##teamcity\[testFinished name='((?:[^'|]|\|.)*)'", re.M)
_PLANNED = re.compile(r"^##teamcity\[testCount count='(\d{1,9})'", re.M)
_PLACE = re.compile(r"(?:in |^|\s)(?P<path>/[^\n:]{1,300}?\.php)(?: on line |:)(?P<line>\d{1,7})", re.M)
_BOOTSTRAP = re.compile(r"^Error in bootstrap script: (?P<kind>[\w\\]+):\n(?P<message>(?:(?!#\d).*\n)+)", re.M)
_CALLED = re.compile(r"^#\d+ (?P<path>/[^\n:]{1,300}?\.php)\((?P<line>\d{1,7})\): ", re.M)
_NEEDS = re.compile(r"requires? the .{1,200} extensions?.*|requires PHP .*|is not supported on PHP .*")
_REFUSED = re.compile(
    r"^(?:Unknown option|Unrecognized|Could not read|Cannot open file|.*requires an argument).*", re.M
)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One entry of a selection. `pattern` is a regular expression over whole ids."""

    entry: str
    pattern: str
    path: str = ""


class PhpUnit:
    """Plans and reads `phpunit`."""

    name = "phpunit"

    def plan(self, asked: Asked) -> Plan | Absent:
        program = _program(asked)
        if isinstance(program, Absent):
            return program
        wanted = _wanted(asked.request.last_failed or asked.request.selection, asked.look)
        if isinstance(wanted, str):
            return Absent(wanted, SuiteStatus.NO_TESTS)
        chosen, notes = _chosen(wanted, asked)
        report = asked.private / "junit.xml"
        own = ("--log-junit", str(report), "--log-teamcity", str(asked.private / "teamcity.txt"))
        quiet = ("--colors=never", "--do-not-cache-result")
        bootstrap = _bootstrap(asked.look)
        argv = (str(program), *quiet, *own, *bootstrap, *asked.arguments, *chosen)
        return Plan(argv, str(program), notes=notes, data=tuple(wanted))

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        report, progress = asked.private / "junit.xml", _text(asked.private / "teamcity.txt")
        reports = junit.read_reports([report] if report.exists() and report.stat().st_size else [])
        running = _running(progress)
        if not reports.finished:
            return self._broken(asked, ended, running, began=bool(_STARTED.search(progress)))
        stand_ins = [c for c in reports.cases if _stands_in(c)]
        cases = tuple(c for c in reports.cases if not _stands_in(c))
        for case in cases:
            _tidy(case)
        heard = junit.as_heard(
            replace(reports, cases=cases), name=_id, frames=lambda c: _frames(c.text), base=asked.request.project
        )
        if not ended.completed.returncode:
            counted = not plan.data and not asked.arguments
            heard = replace(heard, crash=_ended_early(progress, len(reports.cases), counted=counted))
        ran = [c.id for c in heard.cases]
        unmatched = tuple(w.entry for w in plan.data if not any(re.fullmatch(w.pattern, i, re.S) for i in ran))
        return replace(
            heard,
            errors=(*heard.errors, *(_unusable(c) for c in stand_ins if c.result == "error")),
            unmatched=unmatched,
            notes=(*heard.notes, *_notes(cases, stand_ins)),
        )

    def _broken(self, asked: Asked, ended: Ended, running: tuple[str, ...], *, began: bool) -> Heard:
        """There is no whole report: PHP itself ended, while a test ran or before any did."""
        log = tail(ended.log)
        if began or not ended.completed.returncode:
            return Heard(finished=False, running=running)
        needs, refused, place = _NEEDS.search(log), _REFUSED.search(log), _PLACE.search(log)
        if needs:
            return Heard(missing=f"PHPUnit {needs[0].strip()}")
        if refused:
            return Heard(refused=refused[0].strip())
        broken = first_broken(asked) if re.search(r"\bParseError\b|\bsyntax error\b", log) else None
        broken = broken or _bootstrap_error(log)
        if broken is not None:
            return Heard(errors=(broken,), finished=False)
        if place is None:
            return Heard(finished=False)
        return Heard(errors=(_load_error(log, place, asked.folder),), finished=False)


def _program(asked: Asked) -> Path | Absent:
    environ, root = asked.request.settings.environ, asked.request.workspace.root
    own = local_program(root, asked.request.project, "vendor/bin/phpunit", pathext=environ.get("PATHEXT", ""))
    if not find_program("php", environ, root):
        return Absent("PHP is not installed: there is no `php` on the PATH")
    if own:
        return own
    if "phpunit/phpunit" in asked.look.text("composer.json"):
        return Absent("the project's dependencies are not installed: there is no vendor/bin/phpunit. "
                      "Type `composer install`.")  # fmt: skip
    return find_program("phpunit", environ, root) or Absent(
        "PHPUnit is not installed: there is neither vendor/bin/phpunit nor a `phpunit` on the PATH. "
        "Type `composer require --dev phpunit/phpunit`."
    )


def _bootstrap(look: Look) -> tuple[str, ...]:
    if any(look.exists(c) for c in _CONFIGS) or not look.exists("vendor/autoload.php"):
        return ()
    return ("--bootstrap", "vendor/autoload.php")


def _chosen(wanted: Sequence[_Wanted], asked: Asked) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The arguments that choose the tests; and what there is to note about it."""
    if len(wanted) == 1 and wanted[0].path:
        return (wanted[0].path,), ()
    places = () if any(asked.look.exists(c) for c in _CONFIGS) or _names_a_place(asked) else _default(asked.look)
    if not wanted:
        return places, ()
    pattern = "|".join(dict.fromkeys(w.pattern for w in wanted))
    if len(pattern) <= MAX_FILTER:
        return ("--filter", f"/^(?:{pattern})$/s", *places), ()
    classes = dict.fromkeys(w.pattern.partition("::")[0] + "::.*" for w in wanted)
    pattern = "|".join(classes)
    if len(pattern) <= MAX_FILTER:
        return ("--filter", f"/^(?:{pattern})$/s", *places), (
            "so many tests were selected that their whole classes are run",
        )
    return places, ("so many classes were selected that all tests are run",)


def _names_a_place(asked: Asked) -> bool:
    return any(asked.look.exists(a) or asked.look.folder_exists(a) for a in asked.arguments)


def _default(look: Look) -> tuple[str, ...]:
    return next(((f,) for f in ("tests", "test", "Tests") if look.folder_exists(f)), (".",))


def _wanted(selection: Iterable[str], look: Look) -> list[_Wanted] | str:
    """What the entries mean; or what is wrong with one of them."""
    found: list[_Wanted] = []
    for entry in selection:
        path = entry.removeprefix("./").rstrip("/")
        if path in ("", "."):
            return []
        if look.exists(path) or look.folder_exists(path):
            classes = [c for p in _tests(look) if p == path or p.startswith(f"{path}/") for c in _classes(look, p)]
            if not classes:
                return f"matches no test: {entry} holds no test classes"
            found.append(_Wanted(entry, "|".join(f"{_quoted(c)}::.*" for c in classes), path))
            continue
        one = _named(entry, look)
        if isinstance(one, str):
            return one
        found.append(one)
    return found


def _named(entry: str, look: Look) -> _Wanted | str:
    owner, colons, test = entry.partition("::")
    if colons:
        data = "" if " with data set " in test else "(?: with data set .*)?"
        return _Wanted(entry, f"{_quoted(owner.removeprefix(chr(92)))}::{_quoted(test)}{data}")
    by_path = {p: _classes(look, p) for p in _tests(look)}
    classes = [c for found in by_path.values() for c in found if entry.lstrip("\\") in (c, c.rpartition("\\")[2])]
    if not classes and re.fullmatch(r"\w+", entry):
        declared = re.compile(rf"\bfunction\s+{entry}\s*\(")
        owners = [c for p, found in by_path.items() if found and declared.search(look.text(p)) for c in found[:1]]
        classes = [f"{c}::{entry}" for c in owners]
    if len(classes) > 1:
        return f"{entry} is the name of several tests: {names(classes)}. Give the whole id."
    if not classes:
        return f"matches no test: {entry}"
    rest = "(?: with data set .*)?" if "::" in classes[0] else "::.*"
    return _Wanted(entry, f"{_quoted(classes[0])}{rest}")


def _tests(look: Look) -> list[str]:
    return [p for p in look.below() if p.endswith(".php") and ("test" in p.lower())]


def _classes(look: Look, path: str) -> list[str]:
    text = look.text(path)
    space = _NAMESPACE.search(text)
    return [f"{space[1]}\\{name}" if space else name for name in _CLASS.findall(text)]


def _quoted(text: str) -> str:
    return re.sub(r"([^\w\s])", r"\\\1", text, flags=re.ASCII) if text.isascii() else re.sub(
        r"([!-/:-@\[-^`{-~])", r"\\\1", text
    )  # fmt: skip


def _id(case: JunitCase) -> str:
    owner = case.attributes.get("class") or case.classname.replace(".", "\\")
    return f"{owner}::{case.name}" if owner else case.name


def _stands_in(case: JunitCase) -> bool:
    """PHPUnit 9 reports a class without tests, or a data provider that fails, as a test without a class."""
    return case.name in ("Warning", "Error") and not case.classname and not case.attributes.get("class")


def _notes(cases: Iterable[JunitCase], stand_ins: Iterable[JunitCase]) -> list[str]:
    risky = [_id(c) for c in cases if c.kind.endswith("RiskyTestError")]
    warned = [c.suites[-1] for c in stand_ins if c.result != "error" and c.suites]
    return [
        *([f"risky, and no failures: {names(risky)}"] if risky else []),
        *([f"PHPUnit warns, as of a class without tests: {names(warned)}"] if warned else []),
    ]


def _tidy(case: JunitCase) -> None:
    """The message without the name of the test and the trace around it; risky tests as what they came to."""
    if case.kind.endswith("RiskyTestError"):
        case.result = "passed"
        return
    head, _, rest = case.text.partition("\n")
    body = rest if head.startswith(_id(case)) else case.text
    lines = [line for line in body.splitlines() if not re.fullmatch(r"\s*/.*\.php:\d+\s*", line)]
    case.message = "\n".join(lines).strip().removeprefix(f"{case.kind}: ")
    case.text = body


def _frames(text: str) -> tuple[Frame, ...]:
    inner_first = [Frame(m["path"], int(m["line"]), "") for m in _PLACE.finditer(text[:60_000])]
    return tuple(reversed([f for f in inner_first if "/vendor/" not in f.path]))


def _unusable(case: JunitCase) -> RawFailure:
    text = case.text.partition("\n")[2].strip() or case.text
    return RawFailure(case.suites[-1] if case.suites else _id(case), "LoadError", text, _frames(text), text)


def _load_error(log: str, place: re.Match[str], folder: Path) -> RawFailure:
    path = place["path"]
    shown = Path(path).relative_to(folder).as_posix() if Path(path).is_relative_to(folder) else path
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith("PHPUnit ")]
    said = next((line for line in lines if re.search(r"error|exception", line, re.I)), lines[0] if lines else "")
    said = re.sub(r" in /\S+ on line \d+$", "", re.sub(r"^PHP ", "", said))
    return RawFailure(shown, "LoadError", said, (Frame(path, int(place["line"]), ""),), "\n".join(lines))


def _bootstrap_error(log: str) -> RawFailure | None:
    """What the project's bootstrap script threw; PHPUnit 9 does not say where."""
    said = _BOOTSTRAP.search(log)
    if said is None:
        return None
    frames = tuple(Frame(m["path"], int(m["line"]), "") for m in _CALLED.finditer(log) if "/PHPUnit/" not in m["path"])
    own = tuple(f for f in frames if "/vendor/" not in f.path and not f.path.endswith("/bin/phpunit"))
    return RawFailure("bootstrap", said["kind"], said["message"].strip(), tuple(reversed(own)))


def _running(progress: str) -> tuple[str, ...]:
    started, ended = _STARTED.findall(progress), _ENDED.findall(progress)
    if not started or (ended and len(ended) >= len(started)):
        return ()
    hint = re.sub(r"\|(.)", r"\1", started[-1][1]).partition("::\\")[2]
    return (hint or started[-1][0],)


def _ended_early(progress: str, told: int, *, counted: bool) -> str:
    """Where PHP ended with status 0 before PHPUnit was done, whatever the report says: a test can write that as well.
    `told` is the number of tests in it; `counted`: all that were planned must be there."""
    if told and "##teamcity[" not in progress:
        return "PHPUnit's log of what began is gone, so its report cannot be believed"
    running = _running(progress)
    if running:
        return f"PHP ended with exit status 0 while {running[0]} ran (exit() in a test?)"
    planned = sum(int(n) for n in _PLANNED.findall(progress))
    if counted and told < planned:
        return f"PHP ended with exit status 0 after {told} of {planned} tests (exit(), or settings that stop early?)"
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _detect(look: Look) -> Sign | None:
    for name in _CONFIGS:
        if look.exists(name):
            return Sign(CONFIGURED, f"{look.at(name)} configures PHPUnit")
    if "phpunit/phpunit" in look.text("composer.json"):
        return Sign(DEPENDENCY, f"{look.at('composer.json')} names phpunit")
    found = look.any_below("*Test.php")
    return Sign(FILES, f"{look.at(found)} looks like a test") if found else None


ROW = Row(
    name="phpunit",
    language="PHP",
    marks=("composer.json", *_CONFIGS),
    suffixes=(".php",),
    detect=_detect,
    run=reported(PhpUnit()),
)
