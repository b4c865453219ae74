"""What is done about an answer that was cut off: it is asked for again, with more room. Pure."""

from __future__ import annotations

MAX_CAP = 16_384
"""Tokens that an answer may be raised to."""
RECOVERIES = 3
"""How often one question is asked again for this reason."""


def next_cap(cap: int, max_cap: int = MAX_CAP) -> int:
    """The room for the next answer after one of `cap` tokens was cut off: twice as much, up to `max_cap`. A cap that is
    above it from the start stays."""
    return max(cap, min(cap * 2, max_cap))
