"""The unified diff format: reads the diff out of a response, as a model writes it or as git does.

The diff is cut into hunks by `diff_recount`, written anew with right counts, and read by the library `unidiff`;
the edits are made of what that returns.

Rule: neither line numbers nor counts decide where a hunk goes; its lines do. What a diff asks for is done as a whole or
refused: nothing in it is skipped in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from regreen.edits.diff_recount import SHAPE, Hunk, Recount, Section
from regreen.edits.operations import CreateFile, DeleteFile, MoveFile, Operation, ReplaceLines
from regreen.edits.parsed import Format, Parsed, Unreadable
from regreen.model import EditError

if TYPE_CHECKING:
    from unidiff.patch import Hunk as ReadHunk

_MARKS = re.compile(r"(?:^|\A\ufeff)(?:diff --git |--- \S.*\n\+\+\+ \S|\+\+\+ \S.*\n@@)", re.MULTILINE)
_NO_NEWLINE = "\\ No newline at end of file\n"


@dataclass(slots=True)
class _Sides:
    """The two texts of a hunk. `old_open`/`new_open`: the line end of the last line is marked as missing."""

    line: int
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])
    removed: int = 0
    added: int = 0
    old_open: bool = False
    new_open: bool = False

    def take(self, sign: str, body: str) -> None:
        """Add one line that stays (`" "`), goes (`"-"`) or comes (`"+"`)."""
        if (self.old_open and sign != "+") or (self.new_open and sign != "-"):
            raise Unreadable(
                f"the hunk at line {self.line} of the response has a line behind the one that is marked as the last of "
                "its file",
                "put the marker `\\ No newline at end of file` right behind the last line of the file only; a line "
                "that stays cannot be the last one before the change only: write it with `-` and with `+`; then send "
                "the whole response again",
            )
        if sign != "+":
            self.old.append(body)
            self.removed += sign == "-"
        if sign != "-":
            self.new.append(body)
            self.added += sign == "+"

    def mark_open(self, sign: str) -> None:
        """Take a marker behind a line with that sign."""
        if not sign:
            raise Unreadable(f"the hunk at line {self.line} of the response begins with an end-of-file marker", SHAPE)
        self.old_open = self.old_open or sign != "+"
        self.new_open = self.new_open or sign != "-"


def parse_diff(text: str) -> Parsed:
    """Read the unified diff of a response. One without any is the problem `no_edits`."""
    reader = Recount(text)
    problem: EditError | None = None
    try:
        reader.read()
    except Unreadable as e:
        problem = e.error
    edits: list[Operation] = []
    try:
        for section, hunks in zip(reader.sections, _read_again(reader.sections), strict=True):
            edits.extend(_operations(section, hunks))
    except Unreadable as e:
        problem = e.error  # it stands before the one that stopped the reader
    if problem is None and not edits:
        problem = EditError("no_edits", "the response holds no unified diff", SHAPE)
    return Parsed(tuple(edits), problem, len(edits), "\n".join(reader.rest))


def _read_again(sections: Sequence[Section]) -> list[list[ReadHunk]]:
    """The hunks of each section, as the library reads them from a diff whose counts are right."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    text = "".join(part for number, section in enumerate(sections) for part in _canonical(number, section))
    try:
        files = {file.source_file: list(file) for file in PatchSet(text)}
    except UnidiffParseError as e:
        raise Unreadable(f"the diff of the response cannot be read: {e}", SHAPE) from e
    return [files.get(str(number), []) for number in range(len(sections))]


def _canonical(number: int, section: Section) -> Iterator[str]:
    """The section as a diff to the letter of the format; its file is named by number, which needs no quoting."""
    if section.hunks:
        yield f"--- {number}\n+++ {number}\n"
    for hunk in section.hunks:
        rows = hunk.bodies(literal=section.subject.action == "create")
        old = sum(row[0] in " -" for row in rows)
        new = sum(row[0] in " +" for row in rows)
        yield f"@@ -{min(1, old)},{old} +{min(1, new)},{new} @@\n"
        yield from (_NO_NEWLINE if row[0] == "\\" else row + "\n" for row in rows)


def _operations(section: Section, hunks: Sequence[ReadHunk]) -> Iterator[Operation]:
    """The edits of one section; of one that is cut off, those that are whole."""
    subject = section.subject
    sides = [_sides(said.line, hunk) for said, hunk in zip(section.hunks, hunks, strict=True)]
    if subject.action == "modify":
        for said, side in zip(section.hunks, sides, strict=True):
            _refuse_line_ends(said)
            made = _replacement(subject.path, side, said.anchor)
            if not said.crlf and any(row[:1] == "+" and row.endswith("\r") for row in said.raw):
                made = replace(made, eol="\r\n")
            whole = len(sides) == 1 and not made.search and not made.anchors
            yield replace(made, may_create=True) if whole else made
        if subject.to and section.complete:
            yield MoveFile(subject.path, subject.to)
    elif section.complete:
        yield _creation(section, sides) if subject.action == "create" else _deletion(section, sides)


def _sides(line: int, hunk: ReadHunk) -> _Sides:
    sides = _Sides(line)
    sign = ""
    for row in hunk:
        if row.line_type == "\\":
            sides.mark_open(sign)
        else:
            sign = row.line_type
            sides.take(sign, row.value.removesuffix("\n"))
    return sides


def _replacement(path: str, sides: _Sides, anchor: str) -> ReplaceLines:
    marked = sides.old_open or sides.new_open
    return ReplaceLines(
        path, tuple(sides.old), tuple(sides.new), (anchor,) if anchor else (), at_end=marked,
        open_end=sides.new_open if marked else None, was_open=sides.old_open, as_on_disk=True,
    )  # fmt: skip


def _refuse_line_ends(hunk: Hunk) -> None:
    """Refuse a hunk that changes nothing but the line end of some line: line ends are the file's, not the diff's.

    A line that is marked as the file's last one has no line end, so none of it changes.
    """
    if hunk.crlf:
        return
    ended = [row for row, after in pairwise([*hunk.raw, ""]) if not after.startswith("\\")]
    gone, come = ({row[1:] for row in ended if row.startswith(sign)} for sign in "-+")
    if any((row[:-1] if row.endswith("\r") else row + "\r") in come for row in gone - come):
        raise Unreadable(f"the hunk at line {hunk.line} of the response changes the line ends of lines, which edits "
                         "keep as they are", "send the whole response again without the lines that differ in their "
                         "line end only", "unsupported")  # fmt: skip


def _creation(section: Section, sides: Sequence[_Sides]) -> CreateFile:
    path = section.subject.path
    for side in sides:
        if side.old:
            raise Unreadable(
                f"the hunk at line {side.line} of the response creates `{path}`, but has lines that stay or go",
                "begin every line of a new file with `+`, blank lines too; to change a file that exists, write "
                "`--- a/path`, not `--- /dev/null`; then send the whole response again",
            )
    if any(side.new_open for side in sides[:-1]):
        raise Unreadable(f"the file section at line {section.line} of the response goes on behind the end of `{path}`",
                         SHAPE)  # fmt: skip
    text = "".join(body + "\n" for side in sides for body in side.new)
    return CreateFile(path, text[:-1] if sides and sides[-1].new_open else text)


def _deletion(section: Section, sides: Sequence[_Sides]) -> DeleteFile:
    path = section.subject.path
    for side in sides:
        if side.added:
            raise Unreadable(
                f"the hunk at line {side.line} of the response deletes `{path}`, but adds lines to it",
                "to delete a file, begin all of its lines with `-`; to keep it, write `+++ b/path`, not "
                "`+++ /dev/null`; then send the whole response again",
            )
    return DeleteFile(path, tuple(body for side in sides for body in side.old))


_PROMPT = """\
Answer with a unified diff. For each file:

```diff
--- a/path/to/file.py
+++ b/path/to/file.py
@@ ... @@
 a line that stays, exactly as it is in the file now
-a line that goes
+a line that comes in its place
```

- Paths are relative to the repository.
- Every line below `@@` begins with a blank (stays), `-` (goes) or `+` (comes); the rest of it is the line to the \
letter, with its indentation.
- Line numbers and counts are not needed. The lines that stay or go must occur together exactly once in the file; put \
as many lines around the change as make the place unique.
- One hunk for each place, in any order. All or none are applied. If one does not fit, nothing is written and all must \
be sent again.
- A new file: `--- /dev/null`, `+++ b/path`, all lines with `+`. A file that goes: `--- a/path`, `+++ /dev/null`, all \
of its lines with `-`.
- A rename: `diff --git a/old b/new`, `rename from old`, `rename to new`, then hunks, if any.
- Never shorten with `...` or "rest of the code". Modes, links, copies and binary files cannot be changed.
"""

UNIFIED_DIFF = Format("unified_diff", "a unified diff", _MARKS, parse_diff, _PROMPT)
