"""Why a build of Maven broke, in its own last words. It has no machine report of that, so its output is read; what the
tests printed stands before those words and is not.

Whether the build broke is told by the exit status and the reports of the tests: what is read here explains it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from regreen.testing.channel import Frame, RawFailure

MAX_READ = 4 * 1024 * 1024
_MAX_LINES = 4000
_MAX_PLACES = 200

_END = re.compile(r"^\[INFO\] BUILD FAILURE\s*$", re.M)
_TESTS_BEGAN = re.compile(r"^\[INFO\]\s+T E S T S\s*$", re.M)
_RUNNING = re.compile(r"^\[INFO\] Running (\S+)\s*$", re.M)
_SKIPPED_MODULE = re.compile(r"^\[INFO\] (.+?) \.* ?SKIPPED\s*$", re.M)
_ABSENT = re.compile(
    r"could not be resolved|Could not resolve dependencies|Non-resolvable (?:parent|import) POM|in offline mode|"
    r"Could not (?:find|transfer) artifact|No compiler is provided|(?:invalid target|invalid source|target) release|"
    r"release version \S+ not supported|UnsupportedClassVersionError|Unsupported class file major version"
)
_GOAL = re.compile(r"^\[ERROR\] Failed to execute goal (?:\S+:)?(?P<plugin>[\w.\-]+):[^:\s]+:(?P<goal>[\w\-]+) ", re.M)
_CRASHED = re.compile(r"The forked VM terminated|There was a timeout|error occurred in the forked process|"
                      r"ExecutionException|error in the forked process|SurefireBooterForkException")  # fmt: skip
_PLACE = re.compile(
    r"^\[ERROR\] (?:file://)?(?P<path>(?:[A-Za-z]:)?[^:\n]+\.\w+):\s?[\[(](?P<line>\d+),\s?(?P<column>\d+)[\])] "
    r"(?P<message>.*(?:\n(?:\[ERROR\])? {2,}\S.*)*)",
    re.M,
)
_POM = re.compile(
    r"^\[(?:ERROR|FATAL)\] (?:\[(?:ERROR|FATAL)\] )?"
    r"(?P<message>(?:Non-|Malformed|'|The project |Some problems|The build could not read|Could not find the sel).*)",
    re.M,
)


@dataclass(frozen=True, slots=True)
class Broken:
    """How a build ended. `missing`: what it could not get; `errors`: what does not compile, or which step refused;
    `crashed`: the machine that ran the tests ended on its own, and in which classes."""

    missing: str = ""
    errors: tuple[RawFailure, ...] = ()
    crashed: bool = False
    crashed_in: tuple[str, ...] = ()
    tests_failed: bool = False
    skipped: tuple[str, ...] = ()
    spoke: bool = field(default=False)  # whether there were last words at all


def last_words(log: Path) -> str:
    """The end of a log, in which they stand."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - MAX_READ))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def last_begun(text: str) -> str:
    """The test class that was begun last."""
    found = _RUNNING.findall(text)
    return found[-1] if found else ""


def crash_told(text: str) -> bool:
    """Whether the output tells anywhere of a test process that ended on its own."""
    return "[ERROR] The forked VM terminated" in text


def succeeded(text: str) -> bool:
    """Whether Maven came to its own end, and called it a success."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    _, said, end = plain.rpartition("[INFO] BUILD SUCCESS")
    return bool(said) and "[INFO] Finished at:" in end


def broken(text: str, folder: Path) -> Broken:
    """Why the build broke. The errors are named by files relative to the project's `folder`; their places are
    absolute."""
    ends = list(_END.finditer(text))
    if ends:
        said, before = text[ends[-1].end() :], text[max(0, ends[-1].start() - 20_000) : ends[-1].start()]
    elif not _TESTS_BEGAN.search(text):
        said, before = text, ""
    else:
        return Broken()
    said = "\n".join(said.splitlines()[:_MAX_LINES])
    missing = _ABSENT.search(said)
    if missing:
        return Broken(missing=_line_around(said, missing.start()), spoke=True)
    plugins = [m["plugin"] for m in _GOAL.finditer(said)]
    tests = any("surefire" in p or "failsafe" in p for p in plugins)
    return Broken(
        errors=_errors(said, [m for m in _GOAL.finditer(said) if not _runs_tests(m["plugin"])], folder),
        crashed=tests and _CRASHED.search(said) is not None,
        crashed_in=tuple(dict.fromkeys(re.findall(r"^\[ERROR\] Crashed tests:\s*\n\[ERROR\] (\S+)", said, re.M))),
        tests_failed=tests,
        skipped=tuple(_SKIPPED_MODULE.findall(before.partition("Reactor Summary")[2])),
        spoke=bool(plugins) or _POM.search(said) is not None,
    )


def _runs_tests(plugin: str) -> bool:
    return "surefire" in plugin or "failsafe" in plugin


def _errors(said: str, goals: list[re.Match[str]], folder: Path) -> tuple[RawFailure, ...]:
    places = list(_PLACE.finditer(said))[:_MAX_PLACES]
    by_file: dict[str, list[re.Match[str]]] = {}
    for place in places:
        by_file.setdefault(place["path"], []).append(place)
    errors = [_compilation(path, _relative(path, folder), found) for path, found in by_file.items()]
    if not errors:
        errors = [_step(said, goal) for goal in goals]
    if not errors and (pom := _POM.search(said)):
        where = (str(folder / "pom.xml"), 0)
        errors = [RawFailure("pom.xml", "BuildError", pom["message"], (), _errors_only(said), place=where)]
    return tuple(errors)


def _compilation(path: str, shown: str, places: list[re.Match[str]]) -> RawFailure:
    seen = sorted({(int(p["line"]), p["message"].replace("[ERROR]", "").strip()) for p in places})
    first, message = seen[0]
    rest = "".join(f"\nline {line}: {m}" for line, m in seen[1:])
    return RawFailure(shown, "CompilationError", message + rest, (Frame(path, first, ""),), message + rest)


def _step(said: str, goal: re.Match[str]) -> RawFailure:
    line = _line_around(said, goal.start())
    return RawFailure(f"{goal['plugin']}:{goal['goal']}", "BuildError", line, (), _errors_only(said))


def _errors_only(said: str) -> str:
    kept = [line.removeprefix("[ERROR]").strip() for line in said.splitlines() if line.startswith("[ERROR]")]
    return "\n".join(line for line in kept if line and "[Help" not in line)[:4000]


def _line_around(text: str, at: int) -> str:
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    return text[start : end if end >= 0 else len(text)].removeprefix("[ERROR]").removesuffix("-> [Help 1]").strip()


def _relative(path: str, folder: Path) -> str:
    for base in (folder, folder.resolve()):
        if Path(path).is_relative_to(base):
            return Path(path).relative_to(base).as_posix()
    return path
