"""The table of edit formats. A new format is one new file and one row here.

Rule: `auto` decides by the first mark that can only belong to one format; marks of a second format outside of the
edits that were read make the response unreadable, so that no part of it is ever dropped in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from regreen.edits.apply_patch import APPLY_PATCH
from regreen.edits.fences import Fence, fence_of
from regreen.edits.parsed import EDIT_WAS_HERE, Beside, Format, Parsed, response_lines
from regreen.edits.paths import names_a_file, path_above
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
_CALL_LIKE = re.compile(r"[{,]\s*\"(?:command|old_str|old_string|edits)\"\s*:")
_DIFFS = ("diff", "patch", "udiff")
_CONFLICT = re.compile(r"^(?:<{7,}|>{7,})(?:[ \t]|\r?$)", re.MULTILINE)
_COMMENTS = ("#", "//", "--", "/*", "<!--")
_ASSERTED = ("- ", "+ ", "? ", "  ")  # how a test runner shows two values, rather than lines of a file


def known_formats() -> tuple[str, ...]:
    """The names that `format` takes."""
    return (_AUTO, *FORMATS)


def parse(text: str, format: str = _AUTO) -> Parsed:  # noqa: A002 - the argument's name in every door
    """Read the edits of a response. Never raises on any text; UsageError only for an unknown format name."""
    text = text.removeprefix("\ufeff")
    found = _detected(text) if format == _AUTO else row_of(format)
    if found is None and _CALL_LIKE.search(text):
        found = STR_REPLACE
    row = found or SEARCH_REPLACE
    parsed = replace(row.parse(text), format=row.name)
    if parsed.problem is not None and parsed.problem.kind != "no_edits":
        return parsed
    if parsed.edits and row is not WHOLE_FILE:
        parsed = replace(parsed, beside=tuple(_beside(parsed.rest)))
    foreign = next((r for r in FORMATS.values() if r is not row and r.marks and r.marks.search(parsed.rest)), None)
    if foreign is None and parsed.edits and _CONFLICT.search(parsed.rest):
        foreign = SEARCH_REPLACE
    if foreign is not None:
        return replace(parsed, problem=_mixed(row, foreign, bool(parsed.edits)), problem_at=len(parsed.edits))
    if found is None and not parsed.edits:
        return replace(parsed, problem=_nothing(text))
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


def _beside(rest: str) -> Iterator[Beside]:
    """Code fences outside of the edits that stand below the name of a file, and diffs that name none."""
    above: list[str] = []
    opened: Fence | None = None
    body: list[str] = []
    for line in response_lines(rest):
        fence = fence_of(line)
        if opened is None and fence is not None:
            opened, body = fence, []
            above.append(line)
        elif opened is None:
            above.append(line)
        elif fence is None or fence.info or not fence.rivals(opened):
            body.append(line)
        else:
            yield from _meant(above, opened, body)
            opened, above = None, []
    if opened is not None and EDIT_WAS_HERE in rest and EDIT_WAS_HERE not in body:
        yield Beside("", ())


def _meant(above: list[str], opened: Fence, body: list[str]) -> Iterator[Beside]:
    """What a code fence below `above` may be meant as; nothing where an edit stood in it."""
    filled = tuple(line for line in body if line.strip())
    if EDIT_WAS_HERE in body or not filled:
        return
    if opened.info.lower() in _DIFFS:
        if not all(line[:2] in _ASSERTED for line in filled):
            yield Beside("", filled)
        return
    last = EDIT_WAS_HERE in above and len(above) - above[::-1].index(EDIT_WAS_HERE)
    inside = [filled[0]] if filled[0].lstrip().startswith(_COMMENTS) else []
    for lines in (above[last or 0 :], inside):
        path = path_above(lines).path
        if path and names_a_file(path):
            yield Beside(path, filled)
            return


def _mixed(row: Format, foreign: Format, has_edits: bool) -> EditError:
    if has_edits:
        message = f"the response holds {foreign.label} beside {row.label}; it is not clear which of them is meant"
        return EditError("parse", message, f"send every change as one format ({row.name}), all of them again")
    message = f"the response was to be read as {row.name}, but holds {foreign.label}"
    return EditError("no_edits", message, f"send it with format {foreign.name} (or auto), or write it as {row.name}")


def _nothing(text: str) -> EditError:
    if "\x1b[" in text:
        return EditError("no_edits", "the response holds no edits that can be read, but colour codes of a terminal",
                         "send it without colours (git diff --no-color)")  # fmt: skip
    if any(code.path for code in _beside(text)):
        return EditError("no_edits", "the response holds no edits, but code below a path", "if that is the whole "
                         f"content of the file, name the format: {WHOLE_FILE.name}; else send blocks")  # fmt: skip
    labels = ", ".join(row.label for row in FORMATS.values() if row.marks is not None)
    return EditError("no_edits", f"the response holds no edits; looked for: {labels}",
                     "send each change as a SEARCH/REPLACE block: the path alone on a line, `<<<<<<< SEARCH`, the "
                     "lines as they are in the file, `=======`, the new lines, `>>>>>>> REPLACE`")  # fmt: skip
