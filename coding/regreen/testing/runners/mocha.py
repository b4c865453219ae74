"""Mocha: our reporter, with Mocha's own `spec` behind it for the log."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from regreen.testing.channel import RawFailure
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.javascript import parsing, stack
from regreen.testing.javascript.begin import Begun, begin
from regreen.testing.javascript.chosen import Chosen, either
from regreen.testing.javascript.report import Told, refused_start
from regreen.testing.javascript.scripts import Script, Scripted, configured, given, scripts_sign
from regreen.testing.javascript.tools import dependencies
from regreen.testing.logs import tail
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.runners.row import DEPENDENCY, Row, Sign
from regreen.testing.sources import relative_to

_REPORTER, _LOADING = "regreen_mocha_reporter.cjs", "regreen_mocha_loading.cjs"
_CONFIGS = tuple(f".mocharc.{end}" for end in ("js", "cjs", "mjs", "yaml", "yml", "jsonc", "json"))
_VALUED = frozenset((
    "--grep", "-g", "--fgrep", "-f", "--timeout", "-t", "--slow", "-s", "--retries", "--jobs", "-j", "--ignore",
    "--exclude", "--spec", "--extension", "--reporter", "-R", "--ui", "-u", "--require", "-r", "--import", "--loader",
    "--config", "--package", "--file", "--reporter-option", "--reporter-options", "-O", "--watch-files",
    "--watch-ignore", "--node-option", "-n", "--global",
))  # fmt: skip
_OURS = {
    "--reporter": True, "-R": True, "--reporter-option": True, "--reporter-options": True, "-O": True,
    "--watch": False, "-w": False, "--watch-files": True, "--watch-ignore": True, "--exit": False, "--inspect": False,
    "--inspect-brk": False, "--debug": False, "--dry-run": False,
}  # fmt: skip
_LIMITS = ("grep", "fgrep", "invert")
_LIMITING = re.compile(r"""(?:^|[{,])\s*["']?(grep|fgrep|invert)["']?\s*:""", re.MULTILINE)
_ERROR = re.compile(r"([A-Z]?\w*Error)(?: \[\w+\])?: ?")
_FILE = re.compile(r"(/[^\n:()]+\.[cm]?[jt]sx?)\b")
_CONFIG_WITHOUT_SPEC = """'use strict';
// The project's own settings without the files that they name: others are selected.
const { findConfig, loadConfig } = require(%(config)s);
const { loadPkgRc } = require(%(options)s);
const found = %(named)s || findConfig();
const { spec, file, ...rest } = { ...(loadPkgRc() || {}), ...(found ? loadConfig(found) : {}) };
module.exports = file ? { ...rest, file } : rest;
"""


class _Mocha:
    name = "mocha"

    def plan(self, asked: Asked) -> Plan | Absent:
        return self.start(asked, given(asked, self.name))

    def start(self, asked: Asked, script: Script) -> Plan | Absent:
        begun = begin(asked, script, "mocha", _VALUED, _OURS, (_REPORTER, _LOADING))
        if isinstance(begun, Absent):
            return begun
        chosen = begun.chosen
        reporter, loading = begun.laid
        argv = (
            *begun.command, "--require", str(loading), "--reporter", str(reporter), "--no-color", *begun.options,
            *(("--no-dry-run",) if begun.package.version >= (9,) else ()),
            *(("--grep", f"/{either(chosen.names)}/") if chosen.names else ()),
            *_files(asked, begun),
        )  # fmt: skip
        plan = begun.plan(argv, {"REGREEN_MOCHA": str(begun.package.folder.resolve())})
        return replace(plan, notes=(*plan.notes, *_limited(asked.look)))

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        told = Told(asked).take(ended.messages)
        last = next((m for m in reversed(ended.messages) if m.get("k") == "exit"), None)
        if last is not None and not any(m.get("k") == "hello" for m in ended.messages):
            told.finished = True
            if last.get("files"):
                _unloaded(told, tail(ended.log))
        return refused_start(told.heard(cast("Chosen", plan.data), ended), ended)


def _limited(look: Look) -> tuple[str, ...]:
    """A note of settings that let only some of the tests run."""
    described: Any = look.json("package.json").get("mocha")
    named = {n: f"{look.at('package.json')}: {n}" for n in _LIMITS if isinstance(described, dict) and n in described}
    file = next((name for name in _CONFIGS if look.exists(name)), "")
    for found in _LIMITING.finditer(look.text(file)) if file else ():
        named[found[1]] = f"{look.at(file)}: {found[1]}"
    return (f"settings limit which tests run: {', '.join(named.values())}",) if named else ()


def _files(asked: Asked, begun: Begun) -> Sequence[str]:
    """What is selected instead of the files of the project's settings, which Mocha would add to it."""
    chosen, options = begun.chosen, begun.options
    if not chosen.places or "." in chosen.folders:
        return begun.rest
    config = asked.private / "mocharc.cjs"
    library = begun.package.folder.resolve() / "lib" / "cli"
    suffix = ".cjs" if (library / "config.cjs").is_file() else ".js"
    named = next((options[i + 1] for i, w in enumerate(options[:-1]) if w == "--config"), "")
    named = next((w.partition("=")[2] for w in options if w.startswith("--config=")), named)
    fields = {
        "config": json.dumps(str(library / f"config{suffix}")),
        "options": json.dumps(str(library / f"options{suffix}")),
        "named": json.dumps(str(asked.folder / named) if named else ""),
    }
    config.write_text(_CONFIG_WITHOUT_SPEC % fields, "utf-8")
    return ["--config", str(config), "--no-package", "--recursive", *chosen.paths, *chosen.folders]


def _unloaded(told: Told, log: str) -> None:
    """Mocha ended while it loaded the test files. Which of them, and why, it only prints."""
    said = [line for line in log.strip().splitlines() if not line.lstrip().startswith("at ")]
    error = next((line for line in said if _ERROR.search(line)), said[0] if said else "it said nothing")
    match = _ERROR.search(error)
    frames = tuple(f for f in stack.frames(log) if relative_to(f.path, told.asked.request.workspace.root))
    inside = (relative_to(m[1], told.asked.folder) for m in _FILE.finditer(log))
    file = next((f for f in inside if f and "node_modules/" not in f), "mocha")
    message = error[match.end() :].strip() if match else error
    kind = match[1] if match else "Error"
    raw = RawFailure(file, kind, message, frames, place=(told.below(file), 0))
    told.errors[file] = told.parsed(raw, parsing.broken("", log))


def _detect(look: Look) -> Sign | None:
    for name in _CONFIGS:
        if look.exists(name):
            return configured(look, "mocha", f"{look.at(name)} configures Mocha")
    described: Any = look.json("package.json").get("mocha")
    if isinstance(described, dict):
        return configured(look, "mocha", f"{look.at('package.json')} configures Mocha")
    sign = scripts_sign(look, "mocha")
    if sign is None and "mocha" in dependencies(look):
        return Sign(DEPENDENCY, f"{look.at('package.json')} depends on Mocha")
    return sign


RUNNER: Scripted = _Mocha()
ROW = Row(
    name="mocha",
    language="JavaScript",
    marks=("package.json", *_CONFIGS),
    suffixes=(".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"),
    detect=_detect,
    run=reported(RUNNER),
)
