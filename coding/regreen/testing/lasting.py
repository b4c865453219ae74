"""A runner that has told everything and does not end: something that its tests left open keeps it running.

Its reporter says `finished` with the exit status that it would have; after a grace it is ended, and that status counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from regreen.sandbox import Completed

GRACE_S = 5.0
MAX_GRACE_S = 120.0
LASTED = (
    "the runner did not end when its tests were done (something that they opened keeps it running: a timer, a server, "
    "a connection); it was ended"
)


class Lasting:
    """What the reporter of one run said of its end. `grace_s` in the message asks for a longer grace."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = float("inf")
        self._status = 0

    def take(self, message: Mapping[str, Any]) -> None:
        """Hear a message."""
        if message.get("k") != "finished":
            return
        status, grace = message.get("status"), message.get("grace_s")
        self._status = status if isinstance(status, int) and 0 <= status < 256 else 1
        wanted = float(grace) if isinstance(grace, (int, float)) else GRACE_S
        self._until = self._clock() + min(max(wanted, 0.0), MAX_GRACE_S)

    def deadline(self) -> float:
        """When the process is to be ended."""
        return self._until

    def judge(self, completed: Completed) -> tuple[Completed, bool]:
        """How the run ended, and whether it was we who ended it, with its results told."""
        if not completed.timed_out or self._until == float("inf"):
            return completed, False
        return replace(completed, timed_out=False, signal=0, returncode=self._status, limit=""), True
