"""The engine for one command, closed again at its end whatever happened."""

from __future__ import annotations

import select
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.cli.lines import Line

if TYPE_CHECKING:
    from regreen.cli.invocation import Invocation
    from regreen.cli.screen import Screen
    from regreen.policy import Ask
    from regreen.session import Engine

_LOOK_S = 0.2


@contextmanager
def opened(invocation: Invocation, repo: Path) -> Generator[Engine]:
    """An engine that trusts `repo`. Closing it cancels what runs, puts everything back and ends every child."""
    from regreen.session import Engine

    screen = invocation.screen
    approve = partial(_ask, screen) if screen.answers and sys.stdin.isatty() else None
    engine = Engine(invocation.settings(repo), cwd=invocation.cwd, approve=approve, caller_present=False)
    try:
        yield engine
    finally:
        engine.close()


def _ask(screen: Screen, question: Ask) -> bool:
    """Ask the person at the terminal; anything but a clear yes is a no, and so is an interrupt."""
    with screen.asking():
        screen.tell([Line(f"{question.reason}. Do it? [y/N]", "warn")])
        while not screen.interrupted.is_set():
            if select.select([sys.stdin], [], [], _LOOK_S)[0]:
                return sys.stdin.readline().strip().lower() in ("y", "yes")
    return False
