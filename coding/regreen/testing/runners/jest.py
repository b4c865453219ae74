"""Jest: always one run, with its cache outside of the project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from regreen.testing.caching import project_cache
from regreen.testing.heard import Absent, Asked, Case, Ended, Heard, Plan
from regreen.testing.javascript.begin import begin
from regreen.testing.javascript.chosen import Chosen, either, escaped
from regreen.testing.javascript.report import Told, number, refused_start
from regreen.testing.javascript.scripts import Script, Scripted, configured, given, scripts_sign
from regreen.testing.javascript.tools import dependencies
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.runners.row import DEPENDENCY, Row, Sign

_REPORTER = "regreen_jest_reporter.cjs"
_CONFIGS = tuple(f"jest.config.{end}" for end in ("ts", "mts", "cts", "js", "mjs", "cjs", "json"))
_VALUED = frozenset((
    "-t", "--testNamePattern", "--testPathPattern", "--testPathPatterns", "--testPathIgnorePatterns", "--maxWorkers",
    "-w", "--workerThreads", "--maxConcurrency", "--testTimeout", "--seed", "--shard", "--selectProjects",
    "--reporters", "--config", "-c", "--rootDir", "--env", "--testEnvironment", "--outputFile", "--cacheDirectory",
    "--coverageDirectory", "--coverageReporters", "--coverageProvider", "--projects", "--roots", "--setupFiles",
    "--setupFilesAfterEnv", "--globalSetup", "--globalTeardown", "--preset", "--runner", "--resolver", "--transform",
    "--ignoreProjects", "--testMatch", "--testRegex", "--forceCoverageMatch", "--collectCoverageFrom",
))  # fmt: skip
_OURS = {
    "--reporters": True, "--watch": False, "--watchAll": False, "--no-watch": False, "--no-watchAll": False,
    "--ci": False, "--cacheDirectory": True, "--json": False, "--outputFile": True, "--forceExit": False,
    "--testLocationInResults": False, "-u": False, "--updateSnapshot": False, "--listTests": False, "--notify": False,
    "--onlyFailures": False, "-f": False, "--debug": False, "--showConfig": False, "-o": False, "--onlyChanged": False,
    "--lastCommit": False, "--changedSince": True, "--verbose": False, "--coverageDirectory": True,
}  # fmt: skip


class _Jest:
    name = "jest"

    def plan(self, asked: Asked) -> Plan | Absent:
        return self.start(asked, given(asked, self.name))

    def start(self, asked: Asked, script: Script) -> Plan | Absent:
        begun = begin(asked, script, "jest", _VALUED, _OURS, (_REPORTER,))
        if isinstance(begun, Absent):
            return begun
        chosen = begun.chosen
        cache = project_cache(asked.request.settings.cache_dir, "jest", asked.request.workspace.root)
        argv = (
            *begun.command, "--reporters=default", f"--reporters={begun.laid[0]}", "--ci", "--watchAll=false",
            "--testLocationInResults", "--passWithNoTests", f"--cacheDirectory={cache}",
            f"--coverageDirectory={asked.private / 'coverage'}", *begun.options,
            *((f"--testNamePattern={either(chosen.names)}",) if chosen.names else ()),
            "--no-watchman", *_places(asked, chosen, begun.rest if asked.request.argv or not chosen.places else ()),
        )  # fmt: skip
        return begun.plan(argv, writable=(cache,))

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        told = Told(asked).take(ended.messages)
        for message in ended.messages:
            _take(told, message)
        if not ended.messages and ended.completed.returncode == 0:
            told.finished = True  # no file was found: its reporters are not even loaded
        return refused_start(told.heard(cast("Chosen", plan.data), ended), ended)


def _places(asked: Asked, chosen: Chosen, rest: Sequence[str]) -> Sequence[str]:
    """Files exactly as they are; where folders are among them, patterns of their paths."""
    if not chosen.places or "." in chosen.folders:
        return rest
    root = asked.folder.resolve()
    if not chosen.folders and not rest:
        return ["--runTestsByPath", *(str(root / file) for file in chosen.paths)]
    files = [f"^{escaped(str(root / file))}$" for file in chosen.paths]
    return [*rest, *files, *(f"^{escaped(str(root / folder))}/" for folder in chosen.folders)]


def _take(told: Told, message: Mapping[str, Any]) -> None:
    match message.get("k"):
        case "broken":
            _broken(told, message)
        case "loose":
            told.cases.append(Case("jest", "error", 0.0, told.failure("jest", message)))
        case _:
            pass


def _broken(told: Told, message: Mapping[str, Any]) -> None:
    """A file that Jest could not run to its end. Where tests of it had started, they took their process with them."""
    file = str(message.get("id", ""))
    failure = told.unloaded(file, message)
    standing = [str(t) for t in cast("list[object]", message.get("standing") or [])]
    for test in standing:
        told.running.setdefault(test)
        told.crashed(test, failure.message.strip().splitlines()[0][:200] if failure.message else "it is gone", file)
    if standing:
        return
    if number(message.get("tests")):
        told.cases.append(Case(file, "error", 0.0, failure))
    else:
        told.errors.setdefault(file, failure)


def _detect(look: Look) -> Sign | None:
    for name in _CONFIGS:
        if look.exists(name):
            return configured(look, "jest", f"{look.at(name)} configures Jest")
    if isinstance(look.json("package.json").get("jest"), dict):
        return configured(look, "jest", f"{look.at('package.json')} configures Jest")
    sign = scripts_sign(look, "jest")
    if sign is None and "jest" in dependencies(look):
        return Sign(DEPENDENCY, f"{look.at('package.json')} depends on Jest")
    return sign


RUNNER: Scripted = _Jest()
ROW = Row(
    name="jest",
    language="JavaScript",
    marks=("package.json", *_CONFIGS),
    suffixes=(".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"),
    detect=_detect,
    run=reported(RUNNER),
)
