"""What Maven and Gradle share of a run: the environment that Java wants, and the reports of its tests as heard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from regreen.testing.heard import Asked, Case, Heard
from regreen.testing.reports import java, junit

_AROUND = ("initializationError", "classMethod", "executionError")


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
