"""The `test` script of a package: which runner it plainly is, and with which words. Pure decisions over its text.

Plain is one command without shell syntax. What stands before the runner's name and changes nothing about which tests
run is read as well: variables, `cross-env`, `npx`, and Node with options of its own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from regreen.testing.heard import Absent, Asked, Plan
from regreen.testing.looking import Look
from regreen.testing.reported import Reported
from regreen.testing.runners.row import CONFIGURED, DEPENDENCY, Sign

_SHELL = re.compile(r"[&|;<>`\n]|\$[({A-Za-z_]")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_LOCAL = re.compile(
    r"^(?:\./)?node_modules/(?:\.bin/|(?:jest|vitest|mocha)/(?:bin/)?)_?(jest|vitest|mocha)(?:\.m?js)?$"
)
_UNWRITTEN = "no test specified"
_MAX_HOPS = 5
_VALUED_OF_NODE = frozenset(("--import", "--require", "-r", "--loader", "--experimental-loader", "-C", "--conditions"))
_NO_TESTS_OF_VITEST = frozenset(("bench", "init", "list", "typecheck", "related"))


@dataclass(frozen=True, slots=True)
class Script:
    """A script that plainly is a runner: what it is given, its variables, and options of Node before it."""

    runner: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    node_options: tuple[str, ...] = ()


class Scripted(Reported, Protocol):
    """A runner that can be told what to be started with."""

    def start(self, asked: Asked, script: Script) -> Plan | Absent:
        """As `plan`, with the words and variables of `script`."""
        ...


def scripts(look: Look) -> dict[str, str]:
    """The scripts of package.json by name."""
    named = look.json("package.json").get("scripts")
    if not isinstance(named, dict):
        return {}
    return {str(k): v for k, v in cast("dict[str, Any]", named).items() if isinstance(v, str)}


def script_text(look: Look) -> str:
    """The `test` script; "" where there is none but the one that says so."""
    written = scripts(look).get("test", "").strip()
    return "" if _UNWRITTEN in written else written


def plain(look: Look, name: str = "test") -> Script | None:
    """The runner that a script plainly is; None for anything else, as with commands before and after it."""
    named = scripts(look)
    for _ in range(_MAX_HOPS):
        if f"pre{name}" in named or f"post{name}" in named:
            return None
        words = _words(named.get(name, ""))
        if words is None:
            return None
        environment, words = _assigned(words)
        other = _other_script(words, named)
        if other is None:
            return _runner(_unwrapped(words), environment)
        if environment:
            return None
        name = other
    return None


def given(asked: Asked, runner: str) -> Script:
    """What a runner is given: the caller's words; else those of the `test` script, where that plainly is the runner."""
    if not asked.request.argv:
        script = plain(asked.look)
        if script is not None and script.runner == runner:
            return script
    return Script(runner, asked.arguments)


def _words(written: str) -> list[str] | None:
    if not written or _SHELL.search(_unquoted(written)):
        return None
    try:
        return shlex.split(written)
    except ValueError:
        return None


def _unquoted(written: str) -> str:
    return re.sub(r"'[^']*'", "", written)


def _assigned(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Leading variables, and those of `cross-env`."""
    environment: dict[str, str] = {}
    rest = list(words)
    while rest:
        match = _ASSIGNMENT.fullmatch(rest[0])
        if match is not None:
            environment[match[1]] = match[2]
        elif rest[0] not in ("cross-env", "env"):
            break
        rest.pop(0)
    return environment, rest


def _other_script(words: list[str], named: Mapping[str, str]) -> str | None:
    """`npm run test:unit` stands for another script."""
    match words:
        case ["npm" | "pnpm" | "yarn" | "bun", "run", name] if name in named:
            return name
        case ["npm" | "pnpm" | "yarn", "test" | "t"] if "test" in named:
            return "test"
        case ["pnpm" | "yarn", name] if name in named:
            return name
        case _:
            return None


def _unwrapped(words: list[str]) -> list[str]:
    match words:
        case ["npx" | "bunx", "--no" | "--no-install" | "-y" | "--yes", *rest]:
            return rest
        case ["npx" | "bunx", *rest]:
            return rest
        case ["npm" | "pnpm" | "yarn", "exec", "--", *rest]:
            return rest
        case ["npm" | "pnpm" | "yarn", "exec", *rest]:
            return rest
        case ["pnpm" | "yarn", *rest]:
            return rest
        case _:
            return words


def _runner(words: list[str], environment: dict[str, str]) -> Script | None:
    if not words:
        return None
    program, *rest = words
    local = _LOCAL.match(program)
    name = local[1] if local else program.removeprefix("_")
    if name == "node":
        return _node(rest, environment)
    if name == "vitest":
        return _vitest(rest, environment)
    if name in ("jest", "mocha"):
        return Script(name, tuple(rest), environment)
    return None


def _vitest(rest: list[str], environment: dict[str, str]) -> Script | None:
    if rest[:1] and rest[0] in _NO_TESTS_OF_VITEST:
        return None
    if rest[:1] and rest[0] in ("run", "watch", "dev"):
        rest = rest[1:]
    return Script("vitest", tuple(rest), environment)


def _node(rest: list[str], environment: dict[str, str]) -> Script | None:
    """`node --test ...`, or Node that is given the script of another runner."""
    options: list[str] = []
    words = list(rest)
    while words and words[0].startswith("-"):
        options.append(words.pop(0))
        if options[-1] in _VALUED_OF_NODE and words:
            options.append(words.pop(0))
    if "--test" in rest:
        return Script("node", tuple(w for w in rest if w != "--test"), environment)
    local = _LOCAL.match(words[0]) if words else None
    return Script(local[1], tuple(words[1:]), environment, tuple(options)) if local else None


def scripts_sign(look: Look, runner: str) -> Sign | None:
    """The sign that the `test` script is for a runner."""
    script = plain(look) if script_text(look) else None
    if script is None or script.runner != runner:
        return None
    return Sign(CONFIGURED, f"the test script of {look.at('package.json')} runs {runner}")


def configured(look: Look, runner: str, why: str) -> Sign:
    """The sign of a runner's own settings file: weaker where the `test` script is something else."""
    script = plain(look)
    other = bool(script_text(look)) and (script is None or script.runner != runner)
    return Sign(DEPENDENCY if other else CONFIGURED, why)
