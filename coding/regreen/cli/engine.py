"""The engine for one command, closed again at its end whatever happened."""

from __future__ import annotations

import select
import shutil
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.cli.approving import Unseen, unseen
from regreen.cli.lines import Line, conflict_line, count, names, split
from regreen.cli.wording import worded
from regreen.errors import Refused

if TYPE_CHECKING:
    from regreen.cli.invocation import Invocation
    from regreen.cli.screen import Screen
    from regreen.model import RestoreReport
    from regreen.policy import Ask
    from regreen.sandbox import Cancel
    from regreen.session import Engine

_LOOK_S = 0.2
_LET_GO_S = 0.4
"""How long an interrupted question waits before it ends: a job that was cancelled looks up every few hundredths of a
second, and lets go of the call that asked before it can go on without an answer."""
_LEAST_PAGE = 10  # lines


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
    """Ask the person at the terminal; anything but a clear yes is a no. An interrupt raises Refused (`cancelled`)."""
    with screen.asking():
        shown, left = unseen(question.about).page()
        screen.tell(shown)
        while True:
            screen.tell(left.said())
            keys = "[y/N/d] (d shows the rest first)" if left else "[y/N]"
            screen.tell([Line(f"{worded(question.reason)}. Do it? {keys}", "warn")])
            word = (_typed(screen) or "").strip().lower()
            if word != "d" or not left:
                return word in ("y", "yes")
            left = _paged(screen, left)


def _paged(screen: Screen, left: Unseen) -> Unseen:
    """Show the rest, a screen at a time; what is still unseen where the person has had enough."""
    size = max(_LEAST_PAGE, shutil.get_terminal_size().lines - 2)
    while left:
        shown, left = left.page(size)
        screen.tell(shown)
        if left:
            screen.tell([Line(f"-- {count(len(left), 'line')} left: Enter goes on, a shows all, q goes back", "warn")])
            word = _typed(screen)
            if word is None or word.strip().lower() == "q":
                break
            size = len(left) if word.strip().lower() == "a" else size
    return left


def answered(screen: Screen, question: str, options: Sequence[str], cancel: Cancel | None = None) -> str | None:
    """What the person at the terminal answers: text, or one of the options by its number. None where they end their
    input, or `cancel` is set. Raises Refused (`cancelled`) for an interrupt."""
    with screen.asking():
        screen.tell(split(question, "strong"))
        screen.tell(Line(f"  {number}. {option}") for number, option in enumerate(options, 1))
        screen.tell([Line("Your answer (nothing: the model decides):", "warn")])
        typed = _typed(screen, cancel)
    numbers = {str(number): option for number, option in enumerate(options, 1)}
    return None if typed is None else numbers.get(typed.strip(), typed.strip())


def _typed(screen: Screen, cancel: Cancel | None = None) -> str | None:
    """The next line that is typed; None at the end of the input, and where `cancel` is set. An interrupt is no answer:
    it raises Refused (`cancelled`)."""
    while cancel is None or not cancel.is_set():
        ready = select.select([sys.stdin], [], [], _LOOK_S)[0]
        if screen.interrupted.is_set():
            time.sleep(_LET_GO_S)
            raise Refused("cancelled", "interrupted")
        if ready:
            return _line()
    return None


def _line() -> str | None:
    try:
        return sys.stdin.readline() or None
    except OSError:  # how a terminal says that it is gone
        return None
