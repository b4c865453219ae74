"""The `test` script of a package, run by npm, pnpm or yarn.

Where the script plainly is a runner that is known here, that runner is meant, and started without the package manager.
A script of several commands is run as it is: then the exit status is all there is to judge by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from regreen import commands
from regreen.commands.programs import find_program
from regreen.errors import RegreenError
from regreen.redact import Redactor
from regreen.testing.channel import RawFailure
from regreen.testing.condense import neutral
from regreen.testing.heard import Absent, Asked, Case, Ended, Heard, Plan
from regreen.testing.javascript.chosen import choose
from regreen.testing.javascript.scripts import Scripted, plain, script_text, scripts
from regreen.testing.javascript.tools import find_node, manager_of, to_install
from regreen.testing.logs import tail
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.request import SuiteRequest
from regreen.testing.runners import jest, mocha, node, vitest
from regreen.testing.runners.row import CONFIGURED, Elsewhere, Row, Sign
from regreen.testing.runners.swallowing import in_scripts, says

_WORDS: Mapping[str, tuple[str, ...]] = {
    "node": ("node", "--test"), "jest": ("jest",), "vitest": ("vitest", "run"), "mocha": ("mocha",),
}  # fmt: skip
_RUNNERS: Mapping[str, Scripted] = {
    "node": node.RUNNER, "jest": jest.RUNNER, "vitest": vitest.RUNNER, "mocha": mocha.RUNNER,
}  # fmt: skip
_NOT_FOUND = re.compile(
    r"(?:^|\n).*?(?:sh: (?:\d+: |line \d+: )?|')([\w@./\-]+)(?:: (?:command )?not found|' is not rec)"
)
_INSIDE = re.compile(r"(?:^|[\s/;&|])(?:(vitest|jest|mocha)(?=$|[\s;&|])|node\s(?:[^;&|]*\s)?--test(?=$|[\s;&|]))")
_EXCERPT, _TOLD = 250, 2000  # characters of output: in the failure itself, and in a note


class _Script:
    """A package manager: its script as a runner that is known, with words that no caller may give; else as it is."""

    def __init__(self, name: str) -> None:
        self.name = name

    def plan(self, asked: Asked) -> Plan | Absent:
        name = _script_name(asked.words)
        if name not in scripts(asked.look) or (name == "test" and not script_text(asked.look)):
            return Absent(f"{asked.look.at('package.json')} has no `{name}` script")
        script = plain(asked.look, name)
        if script is None:
            return self._as_it_is(asked, name)
        runner = _RUNNERS[script.runner]
        plan = runner.start(asked, replace(script, arguments=(*script.arguments, *_handed_on(asked.arguments))))
        if isinstance(plan, Absent):
            return plan
        note = f"`{name}` is {runner.name}, which was started without {self.name}"
        return replace(plan, notes=(*plan.notes, note), data=_Delegated(runner, plan.data))

    def _as_it_is(self, asked: Asked, name: str) -> Plan | Absent:
        found = find_node(asked)
        if isinstance(found, Absent):
            return found
        manager = self._manager(asked)
        if isinstance(manager, Absent):
            return manager
        chosen = choose(asked.look, asked.request.selection, ())
        if not chosen.everything:
            return Absent(
                f"the `{name}` script is not a runner that is known, so that no single tests can be selected: "
                f"{scripts(asked.look)[name][:200]}{_alone(scripts(asked.look)[name])}"
            )
        given = ("--", *asked.arguments) if asked.arguments and manager.name == "npm" else asked.arguments
        argv = (str(manager), "run", name, *given)
        written = scripts(asked.look)[name]
        note = (f"`{name}` (`{written[:200]}`) is no runner that is known here, or does more than to run one: it was "
                f"run as it is, and only its exit status says how it went{_alone(written)}")  # fmt: skip
        return Plan(argv, found.shown, notes=(note,), env=_folders(asked))

    def _manager(self, asked: Asked) -> Path | Absent:
        name = self.name if self.name != "npm" else manager_of(asked.look)
        settings = asked.request.settings
        found = find_program(name, settings.environ, asked.request.workspace.root)
        if found is None and self.name == "npm":
            found = find_program("npm", settings.environ, asked.request.workspace.root)
        return found or Absent(f"{name} was not found on the PATH; install it, or add its folder to the PATH")

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        if isinstance(plan.data, _Delegated):
            return plan.data.runner.read(asked, replace(plan, data=plan.data.data), ended)
        test = f"{self.name} {_script_name(asked.words)}"
        status = ended.completed.returncode
        if status is None:
            return Heard(finished=False, running=(test,))
        log = tail(ended.log)
        absent = _NOT_FOUND.search(log) if status == 127 else None
        if absent is not None:
            return Heard(
                missing=f"{absent[1]} was not found; are the packages installed? Run `{to_install(asked.look)}`"
            )
        seconds = ended.completed.duration_s
        hidden = in_scripts(_script_name(asked.words), scripts(asked.look)) if status == 0 else ""
        if hidden:
            return Heard(nothing=says(f"`{test}`", hidden))
        if status == 0:
            return Heard((Case(test, "passed", seconds),))
        said = neutral(Redactor.from_environ(asked.request.settings.may_be_told)(log)).strip()
        failure = RawFailure(
            test, "ExitStatus", f"exit status {status}", (), sections=(("output", _end(said, _EXCERPT)),),
            place=(asked.look.at("package.json"), 0),
        )  # fmt: skip
        notes = (f"`{test}` ended with exit status {status}; its output ends:\n{_end(said, _TOLD)}",) if said else ()
        return Heard((Case(test, "failed", seconds, failure),), notes=notes)


def _end(text: str, limit: int) -> str:
    """The last lines of an output."""
    lines = text[-limit:].split("\n")
    return "\n".join(lines[1:] if len(text) > limit and len(lines) > 1 else lines)


def _alone(script: str) -> str:
    """What can be typed where a runner that is known is among the commands of a script."""
    found = _INSIDE.search(script)
    runner = (found[1] or "node") if found else ""
    return f'; `--runner {runner}` (or `runner: "{runner}"`) runs {runner} alone' if runner else ""


class _Delegated:
    """What a plan that another runner made carries."""

    def __init__(self, runner: Scripted, data: object) -> None:
        self.runner, self.data = runner, data


def _folders(asked: Asked) -> dict[str, str]:
    """Package managers keep caches and logs in the home folder, where nothing can be written."""
    return {
        "npm_config_cache": str(asked.private / "npm"),
        "npm_config_logs_max": "0",
        "npm_config_offline": "true",
        "YARN_CACHE_FOLDER": str(asked.private / "yarn"),
        "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
        "COREPACK_ENABLE_NETWORK": "0",
    }


def _script_name(words: tuple[str, ...]) -> str:
    """The script that a command names: `npm run test:unit`."""
    named = [w for w in words[1:] if not w.startswith("-")]
    last = named[-1] if named else "test"
    return "test" if last in ("t", "tst", "run", "run-script") else last


def _resolve(look: Look, request: SuiteRequest) -> Elsewhere | None:
    """The runner that the script plainly is, where the caller may say the same words."""
    words, handed_on = _asked(request)
    name = _script_name(words)
    script = plain(look, name)
    if script is None:
        return None
    why = f"the `{name}` script: {scripts(look)[name][:120]}"
    if name == "test" and not handed_on:
        return Elsewhere(script.runner, (), why)  # which takes the script's words and variables itself
    if script.environment or script.node_options:
        return None
    argv = (*_WORDS[script.runner], *script.arguments, *handed_on)
    try:
        commands.check(argv, request.workspace.root)
    except RegreenError:
        return None
    return Elsewhere(script.runner, argv, why)


def _asked(request: SuiteRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of the caller's command, and what it hands on to the script."""
    if not request.argv:
        return (), ()
    checked = commands.check(request.argv, request.workspace.root)
    return checked.words, _handed_on(checked.arguments)


def _handed_on(arguments: Sequence[str]) -> tuple[str, ...]:
    return tuple(w for w in arguments if w not in ("--silent", "-s", "--if-present", "--"))


def _detect(name: str) -> Callable[[Look], Sign | None]:
    def detect(look: Look) -> Sign | None:
        if not script_text(look) or plain(look) is not None or manager_of(look) != name:
            return None  # a script that plainly is a runner is a sign of that runner
        return Sign(CONFIGURED, f"{look.at('package.json')} has a test script")

    return detect


def _row(name: str) -> Row:
    return Row(
        name=name,
        language="JavaScript",
        marks=("package.json",),
        suffixes=(".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"),
        detect=_detect(name),
        run=reported(_Script(name)),
        resolve=_resolve,
    )


ROW = _row("npm")
PNPM = _row("pnpm")
YARN = _row("yarn")
