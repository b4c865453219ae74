"""Lists in sentences: a few names, and how many more there are."""

from __future__ import annotations

from collections.abc import Iterable


def names(items: Iterable[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    every = list(items)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")
