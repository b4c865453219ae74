"""nox: noxfile.py is read as a syntax tree, never run, for the command behind a session.

Only one command in one session comes down to a runner; everything else is run by nox, so that nothing is dropped.
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
from regreen.testing.runners import noxfiles
from regreen.testing.runners.behind import allowed, plain_words
from regreen.testing.runners.row import FILES, Elsewhere, Row, Sign


class NoxRunner:
    """See `Reported`."""

    name = "nox"

    def plan(self, asked: Asked) -> Plan | Absent:
        return wrapped("nox", "sessions", asked, asked.arguments)

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:  # noqa: ARG002 - the frame's signature
        return judged("nox", asked, ended, "its sessions are not plainly one command of a known runner")


def resolve(look: Look, request: SuiteRequest) -> Elsewhere | None:
    """The runner behind nox, where it comes down to one command in one session."""
    noxfile = noxfiles.read(look.text("noxfile.py"))
    asked, after = _asked(request.argv)
    chosen = noxfile.chosen(asked)
    if noxfile.odd or len(chosen) != 1 or chosen[0].words is None:
        return None
    session = chosen[0]
    words = [w for word in session.words or () for w in (after if word == "*" else [word])]
    found = plain_words(words, request, look.workspace.root)
    variables = allowed(session.variables)
    if found is None or found.runner == "nox" or variables is None:
        return None
    found = replace(found, environment={**variables, **found.environment})
    python = look.path / f".nox/{session.name}/bin/python"
    if python.exists():
        why = f"session {session.name}: {found.why} in the environment that nox keeps"
        return replace(found, why=why, python=str(python))
    return replace(found, why=f"session {session.name}: {found.why} in the project's usual environment")


def _asked(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The sessions that a command names, and the words behind `--`."""
    words = list(argv)
    after = words[words.index("--") + 1 :] if "--" in words else []
    before = words[: words.index("--")] if "--" in words else words
    named: list[str] = []
    for at, word in enumerate(before):
        if word in ("-s", "--session", "--sessions") and at + 1 < len(before):
            named += re.split(r"[\s,]+", before[at + 1])
        elif word.startswith(("--session=", "--sessions=")):
            named += re.split(r"[\s,]+", word.partition("=")[2])
    return [n for n in named if n], after


def _detect(look: Look) -> Sign | None:
    return (
        Sign(FILES, f"{look.at('noxfile.py')} configures nox")
        if noxfiles.read(look.text("noxfile.py")).sessions
        else None
    )


NOX = NoxRunner()
ROW = Row(
    name="nox", language="Python", marks=("noxfile.py",), suffixes=(".py",), detect=_detect, run=reported(NOX),
    resolve=resolve,
)  # fmt: skip
