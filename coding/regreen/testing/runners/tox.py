"""tox: its settings are read, never run, for the command behind it. That runs in the project's usual environment.

Only one command in one environment comes down to a runner; everything else is run by tox, so that nothing is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports.exit_status import judged, wrapped
from regreen.testing.request import SuiteRequest
from regreen.testing.runners import tox_settings
from regreen.testing.runners.behind import allowed, plain
from regreen.testing.runners.row import FILES, Elsewhere, Row, Sign
from regreen.testing.runners.swallowing import first, says

_POSARGS = re.compile(r"\{posargs(?::(?P<default>[^{}]*))?\}")


class ToxRunner:
    """See `Reported`."""

    name = "tox"

    def plan(self, asked: Asked) -> Plan | Absent:
        return wrapped("tox", "commands", asked, (*asked.words[1:], *asked.arguments))

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:  # noqa: ARG002 - the frame's signature
        why = "its commands are not plainly one of a known runner"
        return judged("tox", asked, ended, why, _says_nothing(asked))


def resolve(look: Look, request: SuiteRequest) -> Elsewhere | None:
    """The runner behind tox, where it comes down to one command in one environment."""
    settings = tox_settings.read(look)
    asked, after = _asked(request.argv)
    names = None if settings is None else _names(asked, settings)
    if settings is None or names is None or len(names) > 1:
        return None
    name = next(iter(names), "py")
    environment = settings.environment(name)
    if environment.odd or len(environment.commands) != 1:
        return None
    found = _plain(environment.commands[0], after, request, look)
    variables = allowed(environment.variables)
    if found is None or found.runner == "tox" or variables is None:
        return None
    found = replace(found, environment={**variables, **found.environment})
    python = look.path / f".tox/{name}/bin/python"
    if python.exists():
        return replace(found, why=f"{found.why} in the environment that tox keeps", python=str(python))
    return replace(found, why=f"{found.why} in the project's usual environment")


def _says_nothing(asked: Asked) -> str:
    """Why an exit status of 0 is no sign that a test passed."""
    settings = tox_settings.read(asked.look)
    if settings is None:
        return ""
    names = _names(_asked(asked.request.argv)[0], settings) or settings.names or ("py",)
    hidden = first(line for name in names for line in settings.environment(name).commands)
    return says("tox", hidden) if hidden else ""


def _names(asked: str, settings: tox_settings.ToxSettings) -> tuple[str, ...] | None:
    """The environments that run; None where that is not plain."""
    if not asked:
        return settings.names
    return None if asked == "ALL" else tuple(n for n in asked.split(",") if n)


def _plain(line: str, after: Sequence[str], request: SuiteRequest, look: Look) -> Elsewhere | None:
    given = " ".join(after)
    line = _POSARGS.sub(lambda m: given or m["default"] or "", line)
    line = re.sub(r"\{(?:toxinidir|tox_root)\}(?=/|\s|$)", ".", line)
    return plain(line.replace("{envpython}", "python").lstrip("- "), request, look.workspace.root)


def _asked(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The environments that a command names, and the words behind `--`."""
    words = list(argv)
    after = words[words.index("--") + 1 :] if "--" in words else []
    before = words[: words.index("--")] if "--" in words else words
    named: list[str] = []
    for at, word in enumerate(before):
        if word == "-e" and at + 1 < len(before):
            named.append(before[at + 1])
        elif word.startswith("-e") and len(word) > 2:
            named.append(word[2:].lstrip("="))
    return ",".join(named), after


def _detect(look: Look) -> Sign | None:
    return Sign(FILES, f"{look.at('tox.ini')} configures tox") if tox_settings.read(look) is not None else None


TOX = ToxRunner()
ROW = Row(
    name="tox", language="Python", marks=("tox.ini", "tox.toml"), suffixes=(".py",), detect=_detect,
    run=reported(TOX), resolve=resolve,
)  # fmt: skip
