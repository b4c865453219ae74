"""tox: its settings are read, never run, for the command behind it. That runs in the project's usual environment."""

from __future__ import annotations

import configparser
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from regreen.commands.programs import find_program
from regreen.model import SuiteStatus
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports.exit_status import judged
from regreen.testing.request import SuiteRequest
from regreen.testing.runners.behind import plain
from regreen.testing.runners.row import FILES, Elsewhere, Row, Sign

_POSARGS = re.compile(r"\{posargs(?::(?P<default>[^{}]*))?\}")


class ToxRunner:
    """See `Reported`."""

    name = "tox"

    def plan(self, asked: Asked) -> Plan | Absent:
        request = asked.request
        if request.selection or request.last_failed:
            return Absent("the commands of tox are not plainly those of one test runner, so single tests cannot be "
                          "selected: run it without a selection, or name the runner", SuiteStatus.NO_TESTS)  # fmt: skip
        tox = find_program("tox", request.settings.environ, request.workspace.root)
        if tox is None:
            return Absent("tox is not installed, or not on the PATH: `pip install tox`")
        return Plan(argv=(str(tox), *asked.words[1:], *asked.arguments), interpreter=str(tox))

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:  # noqa: ARG002 - the frame's signature
        return judged("tox", asked, ended, "its commands are not plainly one of a known runner")


def resolve(look: Look, request: SuiteRequest) -> Elsewhere | None:
    """The runner behind the environment that is asked for, where that is plain."""
    environment, after = _asked(request.argv)
    lines = [line for line in _commands(look, environment) if not line.lstrip().startswith("#")]
    found = [e for line in lines if (e := _plain(line, after, request, look)) is not None]
    if len(found) != 1 or found[0].runner == "tox":
        return None
    python = f".tox/{environment or 'py'}/bin/python"
    if (look.path / python).exists():
        return replace(
            found[0], why=f"{found[0].why} in the environment that tox keeps", python=str(look.path / python)
        )
    return replace(found[0], why=f"{found[0].why} in the project's usual environment")


def _plain(line: str, after: Sequence[str], request: SuiteRequest, look: Look) -> Elsewhere | None:
    given = " ".join(after)
    line = _POSARGS.sub(lambda m: given or m["default"] or "", line)
    return plain(line.replace("{envpython}", "python").lstrip("- "), request, look.workspace.root)


def _asked(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The environment that a command names, and the words behind `--`."""
    words = list(argv)
    after = words[words.index("--") + 1 :] if "--" in words else []
    before = words[: words.index("--")] if "--" in words else words
    for at, word in enumerate(before):
        if word == "-e" and at + 1 < len(before):
            return before[at + 1], after
        if word.startswith("-e") and len(word) > 2:
            return word[2:].lstrip("="), after
    return "", after


def _commands(look: Look, environment: str) -> list[str]:
    """The commands of an environment, from whichever file holds tox's settings."""
    for name, text in (("tox.ini", look.text("tox.ini")), ("setup.cfg", look.text("setup.cfg")), ("", _legacy(look))):
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read_string(text)
        except configparser.Error:
            continue
        prefix = "tox:" if name == "setup.cfg" else ""
        for section in (f"{prefix}testenv:{environment}", f"{prefix}testenv"):
            if parser.has_option(section, "commands"):
                joined = re.sub(r"\\\n\s*", " ", parser.get(section, "commands"))
                return [line for line in joined.splitlines() if line.strip()]
    return _from_toml(look, environment)


def _legacy(look: Look) -> str:
    text = _table(look.toml("pyproject.toml"), "tool", "tox").get("legacy_tox_ini", "")
    return text if isinstance(text, str) else ""


def _from_toml(look: Look, environment: str) -> list[str]:
    """The commands of tox's TOML settings, where each is a list of words."""
    for table in (look.toml("tox.toml"), _table(look.toml("pyproject.toml"), "tool", "tox")):
        for section in (_table(table, "env", environment), _table(table, "env_run_base")):
            lists: Any = section.get("commands", ())
            found = [" ".join(map(_word, words)) for words in lists if isinstance(words, list)]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            if found:
                return found
    return []


def _table(table: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """A table inside of others; empty where there is none."""
    for name in names:
        inner: Any = table.get(name)
        table = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return table


def _word(word: object) -> str:
    if isinstance(word, str):
        return word
    default = word.get("default", ()) if isinstance(word, dict) else ()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return f"{{posargs:{' '.join(map(str, default))}}}"  # pyright: ignore[reportUnknownArgumentType]


def _detect(look: Look) -> Sign | None:
    return Sign(FILES, f"{look.at('tox.ini')} configures tox") if _commands(look, "") else None


TOX = ToxRunner()
ROW = Row(
    name="tox", language="Python", marks=("tox.ini", "tox.toml"), suffixes=(".py",), detect=_detect,
    run=reported(TOX), resolve=resolve,
)  # fmt: skip
