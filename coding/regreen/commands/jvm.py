"""The rows of Maven and Gradle. Options may stand before the goal, which is `test` and nothing beside it."""

from __future__ import annotations

from pathlib import Path

from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import CHANGES, LOADS, MOVES, SENDS, WAITS, WRITES, because
from regreen.commands.validators import Validator, number, one_of, pattern

_SETS = "it sets a property, and properties name programs and files"
_BOOL = one_of("true", "false")
_PROJECT_NAMES = pattern(r"[\w:.][\w:,.\-/]{0,199}", "names of modules such as core,web")


def _projects(value: str, root: Path) -> str:
    return _PROJECT_NAMES(value, root) or ("names of modules are wanted, without `..`" if ".." in value else "")


_DEFINED: dict[str, Validator] = {
    "-Dtest": pattern(r"[\w.#*,$\-\[\]+!/?%]{1,300}", "classes and methods such as FooTest#bar"),
    "-DfailIfNoTests": _BOOL,
    "-Dsurefire.failIfNoSpecifiedTests": _BOOL,
    "-DtrimStackTrace": _BOOL,
}
_MAVEN = Schema(
    switches=frozenset(
        (
            *("-q", "--quiet", "-B", "--batch-mode", "-o", "--offline", "-e", "--errors", "-X", "--debug", "-ntp"),
            *("--no-transfer-progress", "-fae", "--fail-at-end", "-ff", "--fail-fast", "-am", "--also-make"),
            *("-nsu", "--no-snapshot-updates", "-N", "--non-recursive"),
        )
    ),
    options={
        "-pl": _projects,
        "--projects": _projects,
        "-T": pattern(r"[0-9]{1,2}C?", "a number of threads such as 4 or 1C"),
        "--color": one_of("auto", "always", "never"),
    },
    attached=_DEFINED,
    glued="T",
    goals="test",
    refused=because(LOADS, "-f", "--file", "-s", "--settings", "-gs", "--global-settings", "-t", "--toolchains", "-gt",
                    "--global-toolchains", "-P*", "--activate-profiles", "-b", "--builder")
    | because(_SETS, "-D*", "--define")
    | because(WRITES, "-l", "--log-file")
    | because(CHANGES, "-fn", "--fail-never", "-rf", "--resume-from")
    | because(SENDS, "-U", "--update-snapshots"),
)  # fmt: skip

_GRADLE = Schema(
    switches=frozenset(
        (
            *("-q", "--quiet", "-i", "--info", "-w", "--warn", "-s", "--stacktrace", "--offline", "--continue"),
            *("--no-daemon", "--rerun-tasks", "--rerun", "--fail-fast", "--no-fail-fast", "--parallel"),
            *("--no-parallel", "--build-cache", "--no-build-cache", "--no-configuration-cache", "--no-watch-fs"),
        )
    ),
    options={
        "--tests": pattern(r"[\w.*$][\w.*$ ()\[\]\-,]{0,299}", "a class or method such as *FooTest.bar"),
        "--console": one_of("auto", "plain", "rich", "verbose"),
        "--max-workers": number(1, 32),
        "--warning-mode": one_of("all", "fail", "summary", "none"),
    },
    goals=r":?(\w[\w.\-]{0,99}:){0,9}test((Debug|Release)UnitTest)?",
    refused=because(LOADS, "-b", "--build-file", "-c", "--settings-file", "-I", "--init-script", "--include-build")
    | because(_SETS, "-D*", "-P*", "--system-prop", "--project-prop")
    | because(CHANGES, "-x", "--exclude-task")
    | because(MOVES, "-p", "--project-dir", "-g", "--gradle-user-home", "--project-cache-dir")
    | because(WRITES, "--write-*", "-M", "-F", "--profile", "--update-locks", "--export-keys")
    | because(WAITS, "-t", "--continuous", "--debug-jvm", "--foreground", "--gui", "--stop", "--daemon")
    | because(SENDS, "--scan", "--refresh-dependencies", "-U"),
)  # fmt: skip

ROWS = (
    Row(("mvn",), "maven", _MAVEN),
    Row(("./mvnw",), "maven", _MAVEN),
    Row(("gradle",), "gradle", _GRADLE),
    Row(("./gradlew",), "gradle", _GRADLE),
)
