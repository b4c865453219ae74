"""Vitest: always one run, never its watch mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from regreen.testing.heard import Absent, Asked, Case, Ended, Heard, Plan
from regreen.testing.javascript.begin import begin
from regreen.testing.javascript.chosen import Chosen, either
from regreen.testing.javascript.report import Told, refused_start
from regreen.testing.javascript.scripts import Script, Scripted, configured, given, scripts_sign
from regreen.testing.javascript.tools import caches, dependencies
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.runners.row import DEPENDENCY, Row, Sign

_REPORTER = "regreen_vitest_reporter.mjs"
_CONFIGS = tuple(f"vitest.{kind}.{end}" for kind in ("config", "workspace", "projects")
                 for end in ("ts", "mts", "cts", "js", "mjs", "cjs", "json"))  # fmt: skip
_VALUED = frozenset((
    "-t", "--testNamePattern", "--test-name-pattern", "--bail", "--reporter", "--maxWorkers", "--minWorkers", "--pool",
    "--testTimeout", "--test-timeout", "--hookTimeout", "--retry", "--shard", "--project", "--maxConcurrency",
    "--exclude", "--sequence.seed", "-c", "--config", "-r", "--root", "--dir", "--environment", "--outputFile",
    "--mode", "--teardownTimeout", "--slowTestThreshold",
))  # fmt: skip
_OURS = {
    "--reporter": True, "--watch": False, "-w": False, "--run": False, "--ui": False, "--open": False,
    "--outputFile": True, "--typecheck": False, "--no-watch": False, "--standalone": False, "--inspect": False,
    "--inspect-brk": False, "--inspectBrk": False, "-u": False, "--update": False, "--coverage.reportsDirectory": True,
}  # fmt: skip


class _Vitest:
    name = "vitest"

    def plan(self, asked: Asked) -> Plan | Absent:
        return self.start(asked, given(asked, self.name))

    def start(self, asked: Asked, script: Script) -> Plan | Absent:
        begun = begin(asked, script, "vitest", _VALUED, _OURS, (_REPORTER,))
        if isinstance(begun, Absent):
            return begun
        chosen, package = begun.chosen, begun.package
        argv = (
            *begun.command, "run", "--watch=false", f"--reporter={begun.laid[0]}", "--reporter=default",
            *_with_coverage(begun.options, asked),
            *(("--typecheck.enabled=false",) if package.version >= (1,) else ()),
            *(("--includeTaskLocation",) if package.version >= (3,) else ()),
            *(("--testNamePattern", either(chosen.names)) if chosen.names else ()),
            *(begun.rest if asked.request.argv or not chosen.places else ()),
            *(f"{asked.folder / p}{'/' if p in chosen.folders else ''}" for p in chosen.places if p != "."),
        )  # fmt: skip
        env: dict[str, str] = {}
        if package.version >= (5,) and "XDG_DATA_HOME" not in script.environment:
            env["XDG_DATA_HOME"] = str(asked.private / "data")  # it writes a token into the home folder at its start
        return begun.plan(argv, env, caches(package, asked.request.workspace.root, (".vite", ".vite-temp")))

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        told = Told(asked).take(ended.messages)
        kinds = {m.get("k") for m in ended.messages}
        for message in sorted(ended.messages, key=lambda m: m.get("k") != "lost"):
            _take(told, message)
        if "nothing" in kinds:
            told.finished = True
        return refused_start(told.heard(cast("Chosen", plan.data), ended), ended)


def _with_coverage(options: Sequence[str], asked: Asked) -> list[str]:
    """Options, with what coverage writes sent to the private folder: it is no part of the project."""
    if not any(o.startswith("--coverage") for o in options):
        return list(options)
    kept = ["--coverage.enabled" if o == "--coverage" else o for o in options]
    return [*kept, f"--coverage.reportsDirectory={asked.private / 'coverage'}"]


def _take(told: Told, message: Mapping[str, Any]) -> None:
    match message.get("k"):
        case "loose":
            _loose(told, message)
        case "lost" if message.get("started"):
            told.crashed(str(message.get("id", "")), "its process ended without telling its results", "vitest")
        case "lost":
            told.unrun.append(str(message.get("id", "")))
        case _:
            pass


def _loose(told: Told, message: Mapping[str, Any]) -> None:
    """An error that no test is told to have: an unhandled rejection, or a worker that is gone."""
    test = str(message.get("id", "")) or "vitest"
    failure = told.failure(test, message)
    if message.get("id") or not told.crash:
        told.cases.append(Case(test, "error", 0.0, failure))
    during = str(message.get("during", ""))
    what = f"{failure.kind}: {failure.message}"[:200]
    told.notes[f"an error outside of the tests{f' while `{during}` ran' if during else ''}: {what}"] = None


def _detect(look: Look) -> Sign | None:
    for name in _CONFIGS:
        if look.exists(name):
            return configured(look, "vitest", f"{look.at(name)} configures Vitest")
    sign = scripts_sign(look, "vitest")
    if sign is None and "vitest" in dependencies(look):
        return Sign(DEPENDENCY, f"{look.at('package.json')} depends on Vitest")
    return sign


RUNNER: Scripted = _Vitest()
ROW = Row(
    name="vitest",
    language="JavaScript",
    marks=("package.json", *_CONFIGS),
    suffixes=(".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"),
    detect=_detect,
    run=reported(RUNNER),
)
