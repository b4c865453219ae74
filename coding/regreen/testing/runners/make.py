"""`make test` and `make check`.

Where the recipe plainly is one command of a known runner, that runner runs; else make runs and only its exit status
speaks.
"""

from __future__ import annotations

from regreen.commands.programs import find_program
from regreen.model import SuiteStatus
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports.exit_status import judged
from regreen.testing.request import SuiteRequest
from regreen.testing.runners import makefile
from regreen.testing.runners.behind import plain
from regreen.testing.runners.row import FILES, Elsewhere, Row, Sign

_FILES = ("GNUmakefile", "makefile", "Makefile")
_GOALS = ("test", "check")


class MakeRunner:
    """See `Reported`."""

    name = "make"

    def plan(self, asked: Asked) -> Plan | Absent:
        request = asked.request
        goal = _goal(asked.look, (*asked.words, *asked.arguments))
        if not goal:
            return Absent(
                f"the Makefile in {request.project or '.'} has no target `test` or `check`", SuiteStatus.NO_TESTS
            )
        if request.selection or request.last_failed:
            return Absent(
                f"`make {goal}` runs whatever its recipe says: single tests cannot be selected. Run it without a "
                "selection, or name the runner that the recipe uses.",
                SuiteStatus.NO_TESTS,
            )
        make = find_program("make", request.settings.environ, request.workspace.root)
        if make is None:
            return Absent("make is not installed, or not on the PATH (Debian: `apt-get install make`)")
        words = [w for w in asked.arguments if w != goal]
        return Plan(argv=(str(make), *words, goal), interpreter=str(make), data=goal)

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        return judged(f"make {plan.data}", asked, ended, "its recipe is not plainly one command of a known runner")


def resolve(look: Look, request: SuiteRequest) -> Elsewhere | None:
    """The runner behind the goal, where that is plain."""
    goal = _goal(look, request.argv[1:])
    line = _read(look).command(goal) if goal else None
    found = plain(line, request, look.workspace.root) if line else None
    return None if found is None or found.runner == "make" else found


def _read(look: Look) -> makefile.Makefile:
    return makefile.read(next((look.text(name) for name in _FILES if look.exists(name)), ""))


def _goal(look: Look, words: tuple[str, ...]) -> str:
    """The goal that a command names, or the first of ours that the Makefile has."""
    named = [w for w in words if w in _GOALS]
    rules = _read(look).rules
    return next(iter(named), "") or next((g for g in _GOALS if g in rules), "")


def _detect(look: Look) -> Sign | None:
    goal = _goal(look, ())
    return Sign(FILES, f"{look.at('Makefile')} has a target `{goal}`") if goal else None


MAKE = MakeRunner()
ROW = Row(name="make", language="any", marks=_FILES, suffixes=(), detect=_detect, run=reported(MAKE), resolve=resolve)
