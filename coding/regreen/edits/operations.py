"""What an edit asks for, whatever format it was written in: the values that parsers make and the planner judges.

Rule: they say what was meant, to the letter, and know nothing of the file. Lines are whole lines without line ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from regreen.model import Replacement

BLANKS = " \t"


@dataclass(frozen=True, slots=True)
class ReplaceLines:
    """Put the lines `replace` where the lines `search` stand; lines equal in both keep the file's bytes.

    `anchors` are lines that stand above the place, the outermost first. `at_end` pins the place to the end of the
    file. `open_end` says whether the file's last line shall lack its line end; None leaves that as it is; `was_open`
    says that it lacks it now. `as_on_disk` means: `search` speaks of the file as it was before the whole response, as
    hunks of a diff do. `may_create`: they are all that a file shall hold, should it not exist. `mentions` are names in
    the text above an edit whose path was not given again: if one is another file, it is not clear which is meant. `eol`
    ends new lines where the file has no line end to go by.
    """

    path: str
    search: tuple[str, ...]
    replace: tuple[str, ...]
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    open_end: bool | None = None
    was_open: bool = False
    as_on_disk: bool = False
    may_create: bool = field(default=False, compare=False)
    mentions: tuple[str, ...] = field(default=(), compare=False)
    eol: str = field(default="\n", compare=False)


@dataclass(frozen=True, slots=True)
class FillFile:
    """Write `text` into a file that is missing or empty. `blank` tells that SEARCH held blank lines, not nothing."""

    path: str
    text: str
    blank: bool = False
    mentions: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Put `new` where the text `old` stands, which may begin and end within lines; `everywhere` allows many places."""

    path: str
    old: str
    new: str
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class InsertLines:
    """Put the lines of `text` behind line number `line` (0: before the first)."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Make a file that does not exist, with exactly `text`."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplaceFile:
    """The whole new content of a file: makes a missing one; one that exists needs a matching hash of what was read."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Remove a file; with `lines`, only if these are all that it holds."""

    path: str
    lines: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class MoveFile:
    """Give a file another path, at which nothing is yet."""

    path: str
    to: str


Operation: TypeAlias = (
    ReplaceLines | FillFile | ReplaceText | InsertLines | CreateFile | ReplaceFile | DeleteFile | MoveFile
)


def is_blank(body: str) -> bool:
    return not body.strip(BLANKS)


def lines_of(text: str) -> tuple[str, ...]:
    """The whole lines of an edit's text, without line ends. Only LF and CRLF end a line; a final one is optional."""
    if not text:
        return ()
    rows = text.split("\n")
    if rows[-1] == "":
        rows.pop()
    return tuple(row[:-1] if row.endswith("\r") else row for row in rows)


def operation_of(edit: Replacement) -> ReplaceLines | FillFile:
    """A replacement of whole lines; one without anything to search for fills a file."""
    search = lines_of(edit.search)
    if all(map(is_blank, search)):
        ended = edit.replace if not edit.replace or edit.replace.endswith("\n") else edit.replace + "\n"
        return FillFile(edit.path, ended, blank=bool(search))
    return ReplaceLines(edit.path, search, lines_of(edit.replace))
