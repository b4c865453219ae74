"""The engine for one command, closed again at its end whatever happened."""

from __future__ import annotations

import select
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.cli.lines import Line, conflict_line, names
from regreen.cli.wording import worded

if TYPE_CHECKING:
    from regreen.cli.invocation import Invocation
    from regreen.cli.screen import Screen
    from regreen.model import RestoreReport
    from regreen.policy import Ask
    from regreen.session import Engine

_LOOK_S = 0.2


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
        screen.tell([Line(f"{worded(question.reason)}. Do it? [y/N]", "warn")])
        while not screen.interrupted.is_set():
            if select.select([sys.stdin], [], [], _LOOK_S)[0]:
                return sys.stdin.readline().strip().lower() in ("y", "yes")
    return False
