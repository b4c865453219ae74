"""The engine for one command, closed again at its end whatever happened."""

from __future__ import annotations

import select
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.cli.lines import Line, conflict_line, diff, more, names, split
from regreen.cli.wording import worded

if TYPE_CHECKING:
    from regreen.cli.invocation import Invocation
    from regreen.cli.screen import Screen
    from regreen.model import RestoreReport
    from regreen.policy import Ask
    from regreen.sandbox import Cancel
    from regreen.session import Engine

_LOOK_S = 0.2
_SHOWN_LINES = 400  # of what a question is about


@contextmanager
def opened(invocation: Invocation, repo: Path) -> Generator[Engine]:
    """An engine that trusts `repo`. Closing it cancels what runs, puts everything back and ends every child."""
    from regreen.session import Engine

    screen = invocation.screen
    approve = partial(_ask, screen) if somebody_answers(screen) else None
    engine = Engine(invocation.settings(repo), cwd=invocation.cwd, approve=approve, caller_present=False)
    try:
        yield engine
    finally:
        engine.close()
        screen.tell(_recovered(engine.recovered))


def somebody_answers(screen: Screen) -> bool:
    """Is there a person who can be asked?"""
    return screen.answers and sys.stdin.isatty()


def _recovered(reports: Mapping[str, RestoreReport]) -> Iterator[Line]:
    """What was put back of runs that were killed, and what could not be."""
    for run_id, report in reports.items():
        shown = names((*report.restored, *report.deleted, *report.merged))
        yield Line(
            f"{run_id} had been killed; {f'put back: {shown}' if shown else 'there was nothing to put back'}", "warn"
        )
        yield from (conflict_line(c.path, c.reason) for c in report.conflicts)
        if report.ignored:
            yield Line(report.about_ignored, "warn")


def _ask(screen: Screen, question: Ask) -> bool:
    """Ask the person at the terminal; anything but a clear yes is a no, and so is an interrupt."""
    with screen.asking():
        screen.tell(_shown(question.about))
        screen.tell([Line(f"{worded(question.reason)}. Do it? [y/N]", "warn")])
        return (_typed(screen) or "").strip().lower() in ("y", "yes")


def _shown(about: str) -> Iterator[Line]:
    """What the question is about: a diff, or some words."""
    lines = list(diff(about))
    yield from lines[:_SHOWN_LINES]
    yield from more(len(lines), _SHOWN_LINES)


def answered(screen: Screen, question: str, options: Sequence[str], cancel: Cancel | None = None) -> str | None:
    """What the person at the terminal answers: text, or one of the options by its number. None where they end their
    input or interrupt, or `cancel` is set."""
    with screen.asking():
        screen.tell(split(question, "strong"))
        screen.tell(Line(f"  {number}. {option}") for number, option in enumerate(options, 1))
        screen.tell([Line("Your answer (nothing: the model decides):", "warn")])
        typed = _typed(screen, cancel)
    numbers = {str(number): option for number, option in enumerate(options, 1)}
    return None if typed is None else numbers.get(typed.strip(), typed.strip())


def _typed(screen: Screen, cancel: Cancel | None = None) -> str | None:
    """The next line that is typed; None at the end of the input, and for an interrupt."""
    while not screen.interrupted.is_set() and not (cancel is not None and cancel.is_set()):
        if select.select([sys.stdin], [], [], _LOOK_S)[0]:
            return sys.stdin.readline() or None
    return None
