"""How long a run has worked. The only clock in the loop."""

from __future__ import annotations

import time


class WorkClock:
    """Adds up the time spent inside it: `with clock: ...`, and what is charged by `add`."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._begin: float | None = None

    def __enter__(self) -> None:
        self._begin = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._sum, self._begin = self.spent_s, None

    def add(self, seconds: float) -> None:
        self._sum += seconds

    @property
    def spent_s(self) -> float:
        return self._sum + (time.monotonic() - self._begin if self._begin is not None else 0.0)
