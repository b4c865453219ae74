"""`make test` and `make check`.

Where the recipe plainly is one command of a known runner, that runner runs; else make runs and only its exit status
speaks.
"""

from __future__ import annotations

import re
from dataclasses import replace

from regreen.commands.programs import find_program
from regreen.model import SuiteStatus
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.logs import tail
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports.exit_status import judged
from regreen.testing.request import SuiteRequest
from regreen.testing.runners import makefile
from regreen.testing.runners.behind import allowed, known
from regreen.testing.runners.row import CONFIGURED, FILES, Elsewhere, Row, Sign
from regreen.testing.runners.swallowing import first, says

_FILES = ("GNUmakefile", "makefile", "Makefile")
_GOALS = ("test", "check")


class MakeRunner:
    """See `Reported`."""

    name = "make"

    def plan(self, asked: Asked) -> Plan | Absent:
        request = asked.request
        goal = _goal(asked.look, (*asked.words, *asked.arguments))
        problem = _problem(asked.look, goal)
        if problem:
            return Absent(problem, SuiteStatus.NO_TESTS)
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
        why = "its recipe is not plainly one command of a known runner"
        return judged(f"make {plan.data}", asked, ended, why, _says_nothing(asked, str(plan.data), tail(ended.log)))


def resolve(look: Look, request: SuiteRequest) -> Elsewhere | None:
    """The runner behind the goal, where that is plain."""
    found = _behind(look, _goal(look, request.argv[1:]))
    if found is not None and (request.selection or request.last_failed):
        return replace(found, argv=())
    return found


def _says_nothing(asked: Asked, goal: str, log: str) -> str:
    """Why an exit status of 0 is no sign that a test passed."""
    if re.search(rf"^make: (?:\W?{goal}\W? is up to date|Nothing to be done for \W?{goal}\W?)\.$", log, re.MULTILINE):
        return f"make had nothing to do for `{goal}`: is there a file or folder of that name? Declare it .PHONY"
    made = _read(asked.look)
    keeps_on = {"-i", "--ignore-errors"} & set(asked.arguments)
    if keeps_on or (".IGNORE" in made.rules and made.rules[".IGNORE"].needs in ([], [goal])):
        return says(f"`make {goal}`", next(iter(keeps_on), ".IGNORE"))
    hidden = first(made.recipes(goal))
    return says(f"`make {goal}`", hidden) if hidden else ""


def _behind(look: Look, goal: str) -> Elsewhere | None:
    made = _read(look)
    line = made.command(goal) if goal else None
    found = known(line, look.workspace.root) if line else None
    exported = made.environment()
    exported = None if exported is None else allowed(exported)
    if found is None or found.runner == "make" or exported is None:
        return None
    return replace(found, environment={**exported, **found.environment})


def _problem(look: Look, goal: str) -> str:
    """Why make has nothing to do; make itself would take a file of the target's name for a test that passed."""
    where = look.folder or "."
    if not look.holds(_FILES):
        return f"there is no Makefile in {where}"
    made = _read(look)
    if goal in made.rules:
        rule, phony = made.rules[goal], made.rules.get(".PHONY")
        there = look.exists(goal) or look.folder_exists(goal)
        declared = phony is not None and any(need == goal or "$" in need for need in phony.needs)
        if there and not rule.needs and not declared and not made.odd:
            return f"the Makefile's target `{goal}` is never made, since {look.at(goal)} exists: declare it .PHONY"
        return ""
    if goal and (made.odd or any("$" in target or "%" in target for target in made.rules)):
        return ""
    return f"the Makefile in {where} has no target {f'`{goal}`' if goal else '`test` or `check`'}"


def _read(look: Look) -> makefile.Makefile:
    return makefile.read(next((look.text(name) for name in _FILES if look.exists(name)), ""))


def _goal(look: Look, words: tuple[str, ...]) -> str:
    """The goal that a command names, or the first of ours that the Makefile has."""
    named = [w for w in words if w in _GOALS]
    rules = _read(look).rules
    return next(iter(named), "") or next((g for g in _GOALS if g in rules), "")


def _detect(look: Look) -> Sign | None:
    goal = _goal(look, ())
    if not goal:
        return None
    found = _behind(look, goal)
    if found is not None and found.environment:
        why = f"the target `{goal}` of {look.at('Makefile')} sets variables for {found.why}"
        return Sign(CONFIGURED, why, stands_for=found.runner)
    return Sign(FILES, f"{look.at('Makefile')} has a target `{goal}`")


MAKE = MakeRunner()
ROW = Row(name="make", language="any", marks=_FILES, suffixes=(), detect=_detect, run=reported(MAKE), resolve=resolve)
