"""What a warm run may come to beside a report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotWarm:
    """There is no warm run, and why. Nothing is concluded about the tests: run them cold."""

    reason: str


class GoCold(Exception):
    """Raised where a warm run turns out not to be possible. `broken`: the server is of no use any more; `avoid`: names
    of modules that are not to be imported ahead from now on."""

    def __init__(self, reason: str, *, broken: bool = False, avoid: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.broken = broken
        self.avoid = avoid
