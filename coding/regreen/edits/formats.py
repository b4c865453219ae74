"""The table of edit formats. A new format is one new file and one row here.

Rule: `auto` decides by what stands in the response; two formats in one response are refused, so that no part of a
response is ever dropped in silence.
"""

from __future__ import annotations

import re

from regreen.edits.parsed import Format, Parsed
from regreen.edits.search_replace import SEARCH_REPLACE
from regreen.errors import UsageError
from regreen.model import EditError

FORMATS: dict[str, Format] = {row.name: row for row in (SEARCH_REPLACE,)}

_AUTO = "auto"
_FOREIGN: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("an apply_patch envelope", re.compile(r"^\*\*\* Begin Patch[ \t]*$", re.MULTILINE)),
    ("a unified diff", re.compile(r"^--- \S.*\n\+\+\+ \S.*\n@@", re.MULTILINE)),
)


def known_formats() -> tuple[str, ...]:
    """The names that `format` takes."""
    return (_AUTO, *FORMATS)


def parse(text: str, format: str = _AUTO) -> Parsed:  # noqa: A002 - the argument's name in every door
    """Read the edits of a response. Never raises on any text; UsageError only for an unknown format name."""
    row = row_of(format)
    parsed = row.parse(text)
    foreign = next((name for name, pattern in _FOREIGN if pattern.search(parsed.rest)), "")
    if not foreign or (parsed.problem is not None and parsed.problem.kind != "no_edits"):
        return parsed
    resend = f"send every change as one format ({row.name}), all of them again"
    if parsed.edits:
        message = f"the response holds {foreign} beside {row.name} blocks; it is not clear which of them is meant"
        return Parsed(parsed.edits, EditError("parse", message, resend), len(parsed.edits), parsed.rest)
    message = f"the response holds {foreign}, which is not read here; formats: {', '.join(FORMATS)}"
    return Parsed((), EditError("no_edits", message, resend), 0, parsed.rest)


def prompt(format: str = _AUTO) -> str:  # noqa: A002
    """The format's description for a model's instructions."""
    return row_of(format).prompt


def row_of(name: str) -> Format:
    """The format of that name. Raises UsageError (`invalid_arguments`) for a name that is not known."""
    if name == _AUTO:
        return SEARCH_REPLACE
    try:
        return FORMATS[name]
    except KeyError:
        raise UsageError("invalid_arguments", f"unknown edit format {name!r}",
                         f"use one of: {', '.join(known_formats())}") from None  # fmt: skip
