"""Rules about sequences, whatever is in them: do they end in a row of the same kind, or in a circle? Pure.

The fix loop asks them about attempts, the agent about its turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TypeVar

T = TypeVar("T")

PERIODS = (2, 3)


def row(items: Sequence[T], holds: Callable[[T], bool]) -> int:
    """How many of the last items are of one kind."""
    return sum(1 for _ in takewhile(holds, reversed(items)))


def in_a_row(items: Sequence[T], n: int, holds: Callable[[T], bool]) -> bool:
    """Are there `n` items, and the last `n` all of one kind?"""
    return len(items) >= n and all(holds(i) for i in items[-n:])


def circles(items: Sequence[T], times: int = 2) -> bool:
    """Does the sequence end in a period of 2 or 3 that is seen `times` times? The same thing over and over is none."""
    return any(
        len(items) >= times * p
        and all(items[-n * p : -n * p + p or None] == items[-p:] for n in range(2, times + 1))
        and any(i != items[-1] for i in items[-p:])
        for p in PERIODS
    )
