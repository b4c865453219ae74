"""The table of edit formats. A new format is one new file and one row here.

Rule: `auto` decides by the first mark that can only belong to one format; marks of a second format outside of the
edits that were read make the response unreadable, so that no part of it is ever dropped in silence.
"""

from __future__ import annotations

from dataclasses import replace

from regreen.edits.apply_patch import APPLY_PATCH
from regreen.edits.parsed import Format, Parsed
from regreen.edits.search_replace import SEARCH_REPLACE
from regreen.edits.str_replace import STR_REPLACE
from regreen.edits.unified_diff import UNIFIED_DIFF
from regreen.edits.whole_file import WHOLE_FILE
from regreen.errors import UsageError
from regreen.model import EditError

FORMATS: dict[str, Format] = {
    row.name: row for row in (SEARCH_REPLACE, UNIFIED_DIFF, APPLY_PATCH, STR_REPLACE, WHOLE_FILE)
}

_AUTO = "auto"


def known_formats() -> tuple[str, ...]:
    """The names that `format` takes."""
    return (_AUTO, *FORMATS)


def parse(text: str, format: str = _AUTO) -> Parsed:  # noqa: A002 - the argument's name in every door
    """Read the edits of a response. Never raises on any text; UsageError only for an unknown format name."""
    found = _detected(text) if format == _AUTO else row_of(format)
    row = found or SEARCH_REPLACE
    parsed = replace(row.parse(text), format=row.name)
    if parsed.problem is not None and parsed.problem.kind != "no_edits":
        return parsed
    foreign = next((r for r in FORMATS.values() if r is not row and r.marks and r.marks.search(parsed.rest)), None)
    if foreign is not None:
        return replace(parsed, problem=_mixed(row, foreign, bool(parsed.edits)), problem_at=len(parsed.edits))
    if found is None and not parsed.edits:
        return replace(parsed, problem=_nothing())
    return parsed


def prompt(format: str = _AUTO) -> str:  # noqa: A002
    """The format's description for a model's instructions; for `auto` that of SEARCH/REPLACE blocks."""
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


def _detected(text: str) -> Format | None:
    """The format whose mark comes first; None where there is none."""
    best, start = None, len(text) + 1
    for row in FORMATS.values():
        match = row.marks.search(text) if row.marks is not None else None
        if match is not None and match.start() < start:
            best, start = row, match.start()
    return best


def _mixed(row: Format, foreign: Format, has_edits: bool) -> EditError:
    if has_edits:
        message = f"the response holds {foreign.label} beside {row.label}; it is not clear which of them is meant"
        return EditError("parse", message, f"send every change as one format ({row.name}), all of them again")
    message = f"the response was to be read as {row.name}, but holds {foreign.label}"
    return EditError("no_edits", message, f"send it with format {foreign.name} (or auto), or write it as {row.name}")


def _nothing() -> EditError:
    labels = ", ".join(row.label for row in FORMATS.values() if row.marks is not None)
    return EditError("no_edits", f"the response holds no edits; looked for: {labels}",
                     "send each change as a SEARCH/REPLACE block: the path alone on a line, `<<<<<<< SEARCH`, the "
                     "lines as they are in the file, `=======`, the new lines, `>>>>>>> REPLACE`")  # fmt: skip
