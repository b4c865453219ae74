"""What every edit format turns a response into: operations in order, or the reason why it cannot be read.

Rule: parsing is pure and total. It never raises and never guesses; what it does not understand is a `problem`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from regreen.edits.operations import Operation
from regreen.model import EditError


@dataclass(frozen=True, slots=True)
class Beside:
    """Code that stands beside the edits below the name of a file (or as a diff without one), and may be meant too."""

    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """`edits` in the order of the response. `rest` is the text outside of them. With a `problem`, none may be applied.

    `problem_at` is the number of complete edits before the place that could not be read. `format` is the name of the
    format that was read. `beside` is code that may be meant as an edit, unless the file holds it already.
    """

    edits: tuple[Operation, ...] = ()
    problem: EditError | None = None
    problem_at: int = 0
    rest: str = ""
    format: str = ""
    beside: tuple[Beside, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table of formats.

    `marks` finds (with `search`) the first place in a text that can only belong to this format; None: the format has
    no such marks and is read only when it is named. `label` is what messages call it.
    """

    name: str
    label: str
    marks: re.Pattern[str] | None
    parse: Callable[[str], Parsed]
    prompt: str


EDIT_WAS_HERE = "\x00"
"""The line of `Parsed.rest` that tells where an edit stood, for formats that have it beside other text."""


class Unreadable(Exception):
    """Carries a parse problem out of a reader; never leaves a parser."""

    def __init__(self, message: str, hint: str, kind: str = "parse") -> None:
        super().__init__(message)
        self.error = EditError("unsupported" if kind == "unsupported" else "parse", message, hint)


def quoted(line: str) -> str:
    """A line of a response as a message shows it."""
    return repr(line if len(line) <= 80 else line[:77] + "...")


def response_lines(text: str) -> list[str]:
    """The lines of a response; it may have come with CRLF."""
    return [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
