"""What every edit format turns a response into: replacements in order, or the reason why it cannot be read.

Rule: parsing is pure and total. It never raises and never guesses; what it does not understand is a `problem`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from regreen.model import EditError, Replacement


@dataclass(frozen=True, slots=True)
class Parsed:
    """`edits` in the order of the response. `rest` is the text outside of them. With a `problem`, none may be applied.

    `problem_at` is the number of complete edits before the place that could not be read.
    """

    edits: tuple[Replacement, ...] = ()
    problem: EditError | None = None
    problem_at: int = 0
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table of formats: how to read it, and how to describe it to a model."""

    name: str
    parse: Callable[[str], Parsed]
    prompt: str


def lines_of(text: str) -> tuple[str, ...]:
    """The whole lines of an edit's text, without line ends. Only LF and CRLF end a line; a final one is optional."""
    if not text:
        return ()
    rows = text.split("\n")
    if rows[-1] == "":
        rows.pop()
    return tuple(row[:-1] if row.endswith("\r") else row for row in rows)
