"""`node --test`: Node's own runner, each test file in a process of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from regreen.testing.heard import Absent, Asked, Case, Ended, Heard, Plan
from regreen.testing.javascript.chosen import (
    Chosen,
    absent_paths,
    choose,
    expanded,
    lifted,
    options_of,
    spelled,
    without,
)
from regreen.testing.javascript.report import Told
from regreen.testing.javascript.scripts import Script, Scripted, given, scripts_sign
from regreen.testing.javascript.titles import SEPARATOR
from regreen.testing.javascript.tools import find_node, lay_out
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.runners.row import FILES, Row, Sign

_OLDEST = (18, 15)
_FULL_NAMES = (22, 8)  # before, a pattern is held against the own title of a test alone
_REPORTER, _PROCESS = "regreen_node_reporter.mjs", "regreen_node_process.cjs"
_VALUED = frozenset((
    "--test-name-pattern", "--test-skip-pattern", "--test-concurrency", "--test-timeout", "--test-shard",
    "--test-reporter", "--test-reporter-destination", "--test-isolation", "--experimental-test-isolation",
    "--import", "--require", "-r", "--loader", "--experimental-loader", "--conditions", "-C", "--env-file",
))  # fmt: skip
_OURS = {
    "--test": False, "--watch": False, "--test-reporter": True, "--test-reporter-destination": True,
    "--test-isolation": True, "--experimental-test-isolation": True, "--test-force-exit": False,
}  # fmt: skip
_IMPORTS = re.compile(r"""\bfrom\s+['"]node:test['"]|\brequire\(\s*['"]node:test['"]""")
_FILES = re.compile(r"(^|/)(test|[^/]*[._-]test|test-[^/]*)\.[cm]?[jt]s$|(^|/)(tests?|__tests__)/.*\.[cm]?[jt]sx?$")
_TESTS = re.compile(r"\b(?:test|it|describe|suite)\b[\w.]*\(|\bimport\b|\brequire\(")
_TOP_LEVEL = re.compile(r"at (?:async )?file://[^()]*:(\d{1,7}):\d{1,7}")
_INNER_TEST = re.compile(r"\.test\(")
_MAX_READ = 40


class _Node:
    name = "node"

    def plan(self, asked: Asked) -> Plan | Absent:
        return self.start(asked, given(asked, self.name))

    def start(self, asked: Asked, script: Script) -> Plan | Absent:
        node = find_node(asked)
        if isinstance(node, Absent):
            return node
        if node.version < _OLDEST:
            return Absent(f"{node.shown} is too old: its test runner can be read from Node 18.15 on; install Node 20+")
        words, limits = lifted(script.arguments, asked.arguments)
        options, rest = options_of(words, _VALUED)
        request = asked.request
        limited = bool(request.selection or request.last_failed) and not request.argv
        named = () if limited else expanded(asked.look, rest)
        chosen = choose(asked.look, (*named, *request.selection), request.last_failed)
        if chosen.missing:
            return absent_paths(chosen)
        files, names = _limits(asked.look, chosen, node.version)
        reporter, process = lay_out(asked, (_REPORTER, _PROCESS))
        argv = (
            str(node.path), f"--require={process}", "--test", "--test-reporter=spec",
            "--test-reporter-destination=stdout", f"--test-reporter={reporter.as_uri()}",
            "--test-reporter-destination=stderr", *without(options, _OURS),
            *(f"--test-name-pattern=/{n}/" for n in names), *files,
        )  # fmt: skip
        notes = (f"left out of the script, since they keep tests from running: {' '.join(limits)}",) if limits else ()
        env = {**script.environment, "REGREEN_CHANNEL": "{channel}"}
        return Plan(argv, node.shown, env, live=True, notes=notes, data=chosen)

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        told = Told(asked).take(ended.messages)
        processes = _processes(asked)
        for message in ended.messages:
            file = str(message.get("file", ""))
            if message.get("k") == "file":
                _file_ended(told, message, processes.get(file, {}))
            elif message.get("k") == "suite":
                _hook_failed(told, message)
            elif message.get("k") == "process":
                _process_ended(told, message, processes.get(file, {}))
        return told.heard(cast("Chosen", plan.data), ended)


def _limits(look: Look, chosen: Chosen, version: tuple[int, ...]) -> tuple[list[str], list[str]]:
    """The files to run, and expressions for the names of tests.

    A subtest (`t.test`) is there only while its parent runs, so where a file has such the whole of the outermost test
    is let through.
    """
    files = [*chosen.paths]
    for folder in chosen.folders if chosen.places else ():
        below = (p for p in look.below() if folder == "." or p.startswith(f"{folder}/"))
        files += [p for p in below if _FILES.search(p)]
    if any(_INNER_TEST.search(look.text(file)) and SEPARATOR in rest for file, rest in chosen.tests):
        return files, []
    names = [*chosen.names]
    if chosen.blocks and version < _FULL_NAMES:
        names = []  # the tests in a block have titles that are not known here
    elif names and version < _FULL_NAMES:
        names += [f"^{spelled(end)}$" for _, rest in chosen.tests for end in _ends(rest)]
    return list(dict.fromkeys(files)), list(dict.fromkeys(names))


def _ends(rest: str) -> list[str]:
    """What can be the own title of a test with these titles: a title may hold the separator."""
    parts = rest.split(SEPARATOR)
    return [SEPARATOR.join(parts[i:]) for i in range(len(parts))]


def _processes(asked: Asked) -> dict[str, dict[str, Any]]:
    """What the test processes told of themselves, by file: `start`, `natural`, `exit`, `uncaught`."""
    found: dict[str, dict[str, Any]] = {}
    folders = (asked.folder, asked.folder.resolve())
    for message in _lines(asked):
        file = str(message.get("file", ""))
        for folder in folders:
            file = file.removeprefix(f"{folder}/")
        kinds = found.setdefault(file, {})
        kinds[str(message.get("k"))] = message
    return found


def _lines(asked: Asked) -> Iterator[Mapping[str, Any]]:
    try:
        text = (asked.private / "processes.jsonl").read_text("utf-8", "replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            yield cast("dict[str, Any]", message)


def _file_ended(told: Told, message: Mapping[str, Any], process: Mapping[str, Any]) -> None:
    """A file of its own in the report: it had no tests, or it did not end as its tests did."""
    file = str(message.get("file", ""))
    if message.get("lingering"):
        told.notes[f"{file}: its process did not end when its tests were done (an open handle), and was ended"] = None
        told.exit_may_lie = True
        return
    if message.get("passed"):
        if "natural" in process and not _tests_of(told, file):
            told.notes[f"{file} holds no tests"] = None
        return  # how its process ended is asked for all files
    if message.get("signal") or ("start" in process and not {"natural", "exit"} & set(process)):
        _crashed(told, file, f"its process was ended by {message.get('signal') or 'something'}")
        return
    uncaught = process.get("uncaught", {})
    if uncaught:
        failure = told.unloaded(file, {**uncaught, "file": file, "line": 1}, str(message.get("output", "")))
        if _tests_of(told, file):
            told.cases.append(Case(file, "error", 0.0, failure))
        else:
            told.errors.setdefault(file, failure)
    elif "exit" in process and "natural" not in process:
        _crashed(told, file, f"its process ended early with exit status {message.get('exit')} ({_by(process)})")
    else:
        told.errors.setdefault(file, told.unloaded(file, _with_output(message, file), str(message.get("output", ""))))


def _process_ended(told: Told, message: Mapping[str, Any], process: Mapping[str, Any]) -> None:
    """A file whose tests were told, and passed or failed as such: did its process end by itself, and after all?"""
    file = str(message.get("file", ""))
    if "start" not in process or "natural" in process or message.get("lingering") or file in told.errors:
        return
    if "exit" in process and message.get("waiting") == message.get("done") and _tests_of(told, file):
        if process["exit"].get("evaluated") is False and not _at_the_end(told, file, process["exit"]):
            how = "its process ended itself with process.exit before the file had run to its end"
            _crashed(told, file, f"{how}, so that tests behind it may not have run")
            return
        told.notes[f"{file}: the tests end their process with process.exit"] = None
    elif "uncaught" not in process:
        _crashed(told, file, f"its process ended early ({_by(process)})")


def _at_the_end(told: Told, file: str, process: Mapping[str, Any]) -> bool:
    """Whether the process was ended by the last thing that a file says."""
    frame = _TOP_LEVEL.fullmatch(str(process.get("left", "")))
    lines = told.asked.look.text(file).splitlines()
    if frame is None or not 0 < (line := int(frame[1])) <= len(lines):
        return False
    return not lines[line - 1][:1].isspace() and not _TESTS.search("\n".join(lines[line:]))


def _with_output(message: Mapping[str, Any], file: str) -> dict[str, Any]:
    output = str(message.get("output", ""))
    return {**message, "file": file, "line": 1, "sections": [("stderr", output)] if output else []}


def _by(process: Mapping[str, Any]) -> str:
    return "process.exit was called before the results were told" if "exit" in process else "without its last words"


def _crashed(told: Told, file: str, how: str) -> None:
    """A test process is gone without its results: of its tests, those that had started stand for it."""
    standing = [t for t in told.running if t.startswith(f"{file}{SEPARATOR}")]
    for test in standing or [file]:
        told.crashed(test, how, file)


def _tests_of(told: Told, file: str) -> bool:
    return any(c.id.startswith(f"{file}{SEPARATOR}") for c in told.cases)


def _hook_failed(told: Told, message: Mapping[str, Any]) -> None:
    """A suite's hook failed: the error is that of the tests that could not run, else of the last one."""
    suite = str(message.get("id", ""))
    inside = [c for c in told.cases if c.id.startswith(f"{suite}{SEPARATOR}")]
    unrun = [c.id for c in inside if c.failure is not None and c.failure.message.startswith("test did not finish")]
    for test in unrun or [inside[-1].id] if inside else []:
        told.blamed.setdefault(test, told.failure(test, message))
    if not inside:
        told.cases.append(Case(suite, "error", 0.0, told.failure(suite, message)))


def _detect(look: Look) -> Sign | None:
    sign = scripts_sign(look, "node")
    if sign is not None:
        return sign
    if not look.exists("package.json") and look.folder:
        return None
    candidates = [p for p in look.below() if _FILES.search(p)][:_MAX_READ]
    found = next((p for p in candidates if _IMPORTS.search(look.text(p)[:4000])), "")
    return Sign(FILES, f"{look.at(found)} imports node:test") if found else None


RUNNER: Scripted = _Node()
ROW = Row(
    name="node",
    language="JavaScript",
    marks=("package.json",),
    suffixes=(".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"),
    detect=_detect,
    run=reported(RUNNER),
)
