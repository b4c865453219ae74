"""Gradle: `gradle test`, read from the JUnit reports of its test tasks. Ids are `package.Class.method`, as for Maven.

Not run here: Gradle could not be had where this was written. Its reports and last words are tested from their
documented forms.

The user's Gradle home stays as it is: ours is in the cache folder, and reads the user's downloads where they lie. An
init script of ours makes the test tasks run although nothing has changed, and lets a module hold none of the selected
tests. A wrapper of the project is not started, since it would download; what it has downloaded before is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from regreen.commands.programs import find_program
from regreen.testing.caching import project_cache
from regreen.testing.channel import Frame, RawFailure
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.logs import tail
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports import java
from regreen.testing.reports.java_runs import Kept, begin, java_environment
from regreen.testing.runners.row import CONFIGURED, Row, Sign

MAX_SELECTION = 100_000
_READ_BYTES = 2 * 1024 * 1024
_BUILDS = ("build.gradle", "build.gradle.kts")
_SETTINGS = ("settings.gradle", "settings.gradle.kts")
_INIT = """allprojects {
    tasks.withType(Test).configureEach {
        outputs.upToDateWhen { false }
        outputs.doNotCacheIf("the tests are to run") { true }
        filter.setFailOnNoMatchingTests(false)
    }
}
"""
_TASK = re.compile(r":?(\w[\w.\-]*:)*test((Debug|Release)UnitTest)?")
_FAILED = re.compile(r"^FAILURE: Build (?:failed|completed) with .*$", re.M)
_STEP = re.compile(r"^(?:> )?Execution failed for task '(?P<task>[^']+)'\.", re.M)
_ABSENT = re.compile(
    r"No cached version of .* available for offline mode|Could not resolve |Could not find .*:|not found in any of the|"
    r"Unsupported class file major version|Could not determine (?:the )?java version|No matching toolchains|"
    r"release version \S+ not supported|Could not initialize native services"
)
_PLACE = re.compile(
    r"^(?:e: )?(?:file://)?(?P<path>/[^\n:]+\.\w+):\s?\(?(?P<line>\d+)(?:[,:]\s?\d+)?\)?:? (?:error: )?"
    r"(?P<message>.+)$",
    re.M,
)
_WRONG = re.compile(r"^\* What went wrong:\n(?P<said>(?:(?!\n\* ).)+)", re.M | re.S)


class Gradle:
    """Plans and reads `gradle test`."""

    name = "gradle"

    def plan(self, asked: Asked) -> Plan | Absent:
        environ, root = asked.request.settings.environ, asked.request.workspace.root
        program = unpacked(asked.look, environ) or find_program("gradle", environ, root)
        if program is None:
            return Absent("Gradle is not installed: the project's wrapper has not downloaded it yet, and there is no "
                          "`gradle` on the PATH. Type `./gradlew --version` once.")  # fmt: skip
        kept = begin(asked, _reports(asked.look))
        if isinstance(kept, Absent):
            return kept
        init = asked.private / "init.gradle"
        init.write_text(_INIT, "utf-8")
        home = project_cache(asked.request.settings.cache_dir, "gradle", root)
        argv = self._argv(asked, program, init, kept.choice)
        exact = any(t.exact for t in kept.choice.targets)
        notes = ("Gradle runs all invocations of a parameterised test",) if exact else ()
        env = {**java_environment(asked), **_homes(environ, home)}
        return Plan(argv, str(program), env=env, writable=(home,), notes=notes, data=kept)

    def _argv(self, asked: Asked, program: Path, init: Path, choice: java.Choice) -> tuple[str, ...]:
        offline = () if asked.request.settings.network else ("--offline",)
        given = tuple(a for a in asked.arguments if a not in ("-q", "--quiet", "--offline", "--no-daemon"))
        own = ("--no-daemon", "--console=plain", "--continue", "--no-watch-fs", "--init-script", str(init))
        tasks = () if any(_TASK.fullmatch(a) for a in given) else ("test",)
        return (str(program), *offline, *own, *given, *tasks, *_chosen(choice))

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        kept: Kept = plan.data
        reports, heard = kept.read(asked)
        unmatched = kept.choice.unmatched(reports.cases)
        if ended.completed.returncode == 0:
            return replace(heard, finished=not reports.problems, unmatched=unmatched)
        said = last_words(tail(ended.log, _READ_BYTES))
        red = any(c.outcome in ("failed", "error") for c in heard.cases)
        if not said:
            return replace(heard, finished=False)
        missing = _ABSENT.search(said)
        errors = () if missing else build_errors(tail(ended.log, _READ_BYTES), said, asked.folder)
        tests = any(_TASK.fullmatch(m["task"]) for m in _STEP.finditer(said))
        crashed = tests and (crash_told(said) or not (red or errors))
        return replace(
            heard,
            errors=(*heard.errors, *errors),
            finished=not crashed and not reports.problems,
            missing=f"{_wrong(said)}. Fetch what is missing once with `./gradlew testClasses`." if missing else "",
            unmatched=() if red or errors or crashed else unmatched,
        )


def last_words(text: str) -> str:
    """What Gradle says when a build has failed; it stands behind whatever the tests printed."""
    ends = list(_FAILED.finditer(text))
    return text[ends[-1].start() :] if ends else ""


def crash_told(said: str) -> bool:
    """Whether they tell of a test process that ended on its own."""
    return re.search(r"Gradle Test Executor \d+'? finished with|Test process encountered an unexpected problem|"
                     r"Could not complete execution for Gradle Test Executor", said) is not None  # fmt: skip


def build_errors(text: str, said: str, folder: Path) -> tuple[RawFailure, ...]:
    """What does not compile, or the step that failed, where that is not the tests."""
    steps = [m["task"] for m in _STEP.finditer(said)]
    others = [t for t in steps if not _TASK.fullmatch(t)]
    if steps and not others:
        return ()
    compiling = any("compile" in t.lower() for t in others)
    by_file: dict[str, list[tuple[int, str]]] = {}
    for m in _PLACE.finditer(text) if compiling else ():
        by_file.setdefault(m["path"], []).append((int(m["line"]), m["message"].strip()))
    errors = tuple(_compilation(path, sorted(set(found)), folder) for path, found in by_file.items())
    message = _wrong(said)
    name = others[0] if others else "build"
    return errors or (RawFailure(name, "BuildError", message, (), message),)


def _compilation(path: str, places: list[tuple[int, str]], folder: Path) -> RawFailure:
    shown = Path(path).relative_to(folder).as_posix() if Path(path).is_relative_to(folder) else path
    message = places[0][1] + "".join(f"\nline {line}: {said}" for line, said in places[1:])
    return RawFailure(shown, "CompilationError", message, (Frame(path, places[0][0], ""),), message)


def _wrong(said: str) -> str:
    """What went wrong, as Gradle says it, in one line."""
    found = _WRONG.search(said)
    return re.sub(r"\s*\n[\s>]*", " ", found["said"] if found else said).strip().rstrip(".")[:400]


def _chosen(choice: java.Choice) -> tuple[str, ...]:
    wanted: dict[str, None] = {}
    for t in choice.targets:
        owners = (t.owner, f"{t.owner}$*") if t.inner or not t.method else (t.owner,)
        for owner in owners:
            method = re.sub(r"[^\w$]", "*", t.method)
            wanted[f"{owner}.{method}" if method else owner] = None
    if sum(len(w) + 9 for w in wanted) > MAX_SELECTION:
        wanted = dict.fromkeys(t.owner for t in choice.targets)
    return tuple(word for pattern in wanted for word in ("--tests", pattern))


def unpacked(look: Look, environ: Mapping[str, str]) -> Path | None:
    """The Gradle that the project's wrapper has downloaded before, if it has."""
    url = re.search(r"^\s*distributionUrl\s*=\s*(\S+)", look.text("gradle/wrapper/gradle-wrapper.properties"), re.M)
    home = _user_home(environ)
    if not url or home is None:
        return None
    name = url[1].rpartition("/")[2].removesuffix(".zip")
    script = "gradle.bat" if "SYSTEMROOT" in environ and "COMSPEC" in environ else "gradle"
    return next((p for p in sorted((home / "wrapper/dists" / name).glob(f"*/*/bin/{script}")) if p.is_file()), None)


def _user_home(environ: Mapping[str, str]) -> Path | None:
    if environ.get("GRADLE_USER_HOME"):
        return Path(environ["GRADLE_USER_HOME"])
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(home) / ".gradle" if home else None


def _homes(environ: Mapping[str, str], own: Path) -> dict[str, str]:
    theirs = _user_home(environ)
    shared = (
        {"GRADLE_RO_DEP_CACHE": str(theirs / "caches")} if theirs and (theirs / "caches/modules-2").is_dir() else {}
    )
    return {"GRADLE_USER_HOME": str(own), **shared}


def _reports(look: Look) -> tuple[str, ...]:
    """Where the reports of the modules appear."""
    builds = [b for b in ("", *look.below()) if not b or PurePosixPath(b).name in _BUILDS]
    if any("buildDir" in look.text(b) or "buildDirectory" in look.text(b) for b in (*_BUILDS, *builds) if b):
        return ("**/test-results/*/TEST-*.xml",)
    folders = dict.fromkeys(str(PurePosixPath(b).parent) if b else "." for b in builds)
    return tuple(f"{f}/build/test-results/*/TEST-*.xml".removeprefix("./") for f in folders)


def _detect(look: Look) -> Sign | None:
    """A module is built from the folder above it that holds the settings."""
    found = next((n for n in (*_SETTINGS, *_BUILDS) if look.exists(n)), "")
    if not found or (not any(look.exists(n) for n in _SETTINGS) and _below_settings(look)):
        return None
    return Sign(CONFIGURED, f"{look.at(found)} is a Gradle build")


def _below_settings(look: Look) -> bool:
    above = PurePosixPath(look.folder).parents if look.folder else ()
    looks = (Look(look.workspace, "" if str(p) == "." else str(p)) for p in above)
    return any(up.exists(n) for up in looks for n in _SETTINGS)


ROW = Row(
    name="gradle",
    language="Java",
    marks=(*_SETTINGS, *_BUILDS),
    suffixes=java.SUFFIXES,
    detect=_detect,
    run=reported(Gradle()),
)
