"""nox: noxfile.py is read as a syntax tree, never run, for the command behind a session."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from regreen.commands.programs import find_program
from regreen.model import SuiteStatus
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports.exit_status import judged
from regreen.testing.request import SuiteRequest
from regreen.testing.runners.behind import plain_words
from regreen.testing.runners.row import FILES, Elsewhere, Row, Sign

_USUAL = ("tests", "test", "unit", "pytest")


class NoxRunner:
    """See `Reported`."""

    name = "nox"

    def plan(self, asked: Asked) -> Plan | Absent:
        request = asked.request
        if request.selection or request.last_failed:
            return Absent("the sessions of nox are not plainly those of one test runner, so single tests cannot be "
                          "selected: run it without a selection, or name the runner", SuiteStatus.NO_TESTS)  # fmt: skip
        nox = find_program("nox", request.settings.environ, request.workspace.root)
        if nox is None:
            return Absent("nox is not installed, or not on the PATH: `pip install nox`")
        return Plan(argv=(str(nox), *asked.arguments), interpreter=str(nox))

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:  # noqa: ARG002 - the frame's signature
        return judged("nox", asked, ended, "its sessions are not plainly one command of a known runner")


def resolve(look: Look, request: SuiteRequest) -> Elsewhere | None:
    """The runner behind the session that is asked for, or behind the one that runs tests."""
    name, after = _asked(request.argv)
    sessions = {s: runs for s, runs in _sessions(look).items() if not name or s == name}
    found = {s: e for s, runs in sessions.items() if (e := _plain(runs, after, request, look)) is not None}
    chosen = next((s for s in _USUAL if s in found), "") or (next(iter(found)) if len(found) == 1 else "")
    if not chosen:
        return None
    one = found[chosen]
    python = look.path / f".nox/{chosen}/bin/python"
    if python.exists():
        return replace(one, why=f"session {chosen}: {one.why} in the environment that nox keeps", python=str(python))
    return replace(one, why=f"session {chosen}: {one.why} in the project's usual environment")


def _plain(
    runs: Sequence[list[str] | None], after: Sequence[str], request: SuiteRequest, look: Look
) -> Elsewhere | None:
    found: list[Elsewhere] = []
    for words in runs:
        if words is None:
            return None
        given = [w for word in words for w in (after if word == "*" else [word])]
        one = plain_words(given, request, look.workspace.root)
        if one is not None and one.runner != "nox":
            found.append(one)
    return found[0] if len(found) == 1 else None


def _asked(argv: Sequence[str]) -> tuple[str, list[str]]:
    words = list(argv)
    after = words[words.index("--") + 1 :] if "--" in words else []
    for at, word in enumerate(words):
        if word in ("-s", "--session", "--sessions") and at + 1 < len(words):
            return words[at + 1], after
        if word.startswith(("--session=", "--sessions=")):
            return word.partition("=")[2], after
    return "", after


def _sessions(look: Look) -> dict[str, list[list[str] | None]]:
    """What each session runs: words, `*` for those of the caller; None for what is only known when it runs."""
    try:
        tree = ast.parse(look.text("noxfile.py"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, list[list[str] | None]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (name := _session_name(node)):
            found[name] = [_words(call) for call in ast.walk(node) if isinstance(call, ast.Call) and _runs(call)]
    return found


def _session_name(node: ast.FunctionDef) -> str:
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        text = ast.unparse(call)
        if text in ("nox.session", "session"):
            named = [k.value for k in decorator.keywords if k.arg == "name"] if isinstance(decorator, ast.Call) else []
            value = named[0].value if named and isinstance(named[0], ast.Constant) else node.name
            return str(value)
    return ""


def _runs(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute) and call.func.attr == "run" and ast.unparse(call.func.value) == "session"
    )


def _words(call: ast.Call) -> list[str] | None:
    words: list[str] = []
    for argument in call.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            words.append(argument.value)
        elif isinstance(argument, ast.Starred) and ast.unparse(argument.value) == "session.posargs":
            words.append("*")
        else:
            return None
    return words


def _detect(look: Look) -> Sign | None:
    return Sign(FILES, f"{look.at('noxfile.py')} configures nox") if _sessions(look) else None


NOX = NoxRunner()
ROW = Row(
    name="nox", language="Python", marks=("noxfile.py",), suffixes=(".py",), detect=_detect, run=reported(NOX),
    resolve=resolve,
)  # fmt: skip
