"""Texts of an answer as they come over the wire, made fit for everybody who writes them down."""

from __future__ import annotations

from collections.abc import Sequence

MAX_WORD = 200


def joined(pieces: Sequence[str]) -> str:
    """The pieces as one text. A character whose halves came in two pieces is whole again, and half a one is marked."""
    text = "".join(pieces)
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def text_of(value: object) -> str:
    """A value that should be a text, "" where it is none."""
    return value if isinstance(value, str) else ""


def word_of(value: object) -> str:
    """A value that should be a word (a model's name, a reason to stop), cut where it is longer than any."""
    return joined([text_of(value)[:MAX_WORD]])
