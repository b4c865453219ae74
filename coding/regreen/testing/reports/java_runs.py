"""What Maven and Gradle share of a run: what must be there before it, the environment that Java wants, and the reports
of its tests as heard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from regreen.commands.programs import find_program
from regreen.model import SuiteStatus
from regreen.testing.heard import Absent, Asked, Case, Heard
from regreen.testing.reports import java, junit

_AROUND = ("initializationError", "classMethod", "executionError")


@dataclass(frozen=True, slots=True)
class Kept:
    """What the reading of a run needs of its plan. `patterns` say where reports appear, `before` which stood there."""

    sources: java.Sources
    choice: java.Choice
    patterns: tuple[str, ...]
    before: junit.Standing

    def read(self, asked: Asked) -> tuple[junit.Reports, Heard]:
        """The reports that the run wrote; those that stood there before are not spoken of."""
        reports = junit.read_reports(junit.gather(asked.folder, self.patterns), self.before)
        return reports, read_java(asked, replace(reports, stale=()), self.sources)


def begin(asked: Asked, patterns: tuple[str, ...]) -> Kept | Absent:
    """Look for Java, read the selection, and mark what stands where the reports will appear."""
    environ, root = asked.request.settings.environ, asked.request.workspace.root
    if not (environ.get("JAVA_HOME") or find_program("java", environ, root)):
        return Absent("Java is not installed: there is no `java` on the PATH, and JAVA_HOME is not set")
    sources = java.Sources(asked.look)
    choice = java.choose(asked.request.last_failed or asked.request.selection, sources, asked.look)
    if choice.problem:
        return Absent(choice.problem, SuiteStatus.NO_TESTS)
    return Kept(sources, choice, patterns, junit.standing(junit.gather(asked.folder, patterns)))


def read_java(asked: Asked, reports: junit.Reports, sources: java.Sources) -> Heard:
    """Reports of tests in Java, as a runner hears them. A case without a method is what stands around a class."""
    for case in reports.cases:
        if case.result in ("failed", "error"):
            java.placed(case, sources)
    heard = junit.as_heard(
        reports, name=java.test_id, frames=lambda c: java.frames(c.text, sources), base=asked.request.project
    )
    around = {java.test_id(c) for c in reports.cases if not c.name or c.name == c.classname or c.name in _AROUND}
    cases = tuple(_as_error(c) if c.id in around and c.outcome == "failed" else c for c in heard.cases)
    return replace(heard, cases=cases)


def _as_error(case: Case) -> Case:
    return replace(case, outcome="error")


def java_environment(asked: Asked) -> dict[str, str]:
    """Java reads neither TMPDIR nor, without a locale, names beyond ASCII."""
    environ: Mapping[str, str] = asked.request.settings.environ
    env = {"JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={asked.private / 'tmp'}"}
    if not any(environ.get(k) for k in ("LC_ALL", "LC_CTYPE", "LANG")):
        env["LC_ALL"] = "C.UTF-8"
    return env
