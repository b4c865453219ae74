"""The apply_patch format: reads `*** Begin Patch` ... `*** End Patch` envelopes out of a response.

    *** Begin Patch
    *** Update File: path/to/file.py
    @@ def area(width, height):
    -    return width + height
    +    return width * height
    *** End Patch

Rule: an envelope has a beginning and an end, and every line between them has exactly one meaning; a line that has
none is a parse error. Inside a chunk, markers begin in column 0, so that whatever stands behind ` `, `-` or `+` is
content. Around an envelope anything may stand (prose, fences, a here-document), but no stray marker.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from regreen.edits.fences import fence_of
from regreen.edits.operations import BLANKS, CreateFile, DeleteFile, MoveFile, Operation, ReplaceLines, is_blank
from regreen.edits.parsed import Format, Parsed, Unreadable, quoted, response_lines
from regreen.model import EditError

_BEGIN, _END, _LAST = "*** Begin Patch", "*** End Patch", "*** End of File"
_HEADER = re.compile(r"\*\*\* (Add|Update|Delete) File:(.*)$")
_MOVE = re.compile(r"\*\*\* Move to:(.*)$")
_NUMBERS = re.compile(r" -\d+(?:,\d+)? \+\d+(?:,\d+)?(?: @@.*)?[ \t]*$")
_LIKE_A_MARKER = re.compile(
    r"[ \t]*\*{3}[ \t]*(?:(?:begin|end)[ \t]+patch\b|(?:add|update|delete)[ \t]+file[ \t]*:|move[ \t]+to[ \t]*:"
    r"|end[ \t]+of[ \t]+file\b)",
    re.IGNORECASE,
)
_WRAPPER = re.compile(r"[A-Za-z_0-9][\w.-]*[\"')]*$|[\"')]+$")  # what ends a here-document
_QUOTES = "`\"'"
_MARKS = re.compile(
    r"(?:^|\A\ufeff)[ \t]*\*\*\* (?:Begin Patch|End Patch)[ \t]*\r?$|^\*\*\* (?:Add|Update|Delete) File: ",
    re.MULTILINE,
)

_SHAPE = (
    "send the whole response again; an envelope is: `*** Begin Patch`, then for each file `*** Update File: PATH`, "
    "`*** Add File: PATH` or `*** Delete File: PATH` with its lines, then `*** End Patch`, each marker alone on its "
    "line and beginning in column 0"
)
_CHUNK = (
    "inside a chunk put one blank in front of a line that stays, `-` in front of one that goes, `+` in front of one "
    "that comes; then send the whole response again"
)


@dataclass(slots=True)
class _Reader:
    lines: list[str]
    at: int = 0
    edits: list[Operation] = field(default_factory=list[Operation])
    rest: list[str] = field(default_factory=list[str])
    envelopes: int = 0
    _settled: int = 0  # how many of `edits` belong to sections before the one that is read
    _begins: list[int] = field(init=False)
    _ends: list[int] = field(init=False)
    _padded: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self._begins = [n for n, line in enumerate(self.lines) if line.rstrip(BLANKS) == _BEGIN]
        self._ends = [n for n, line in enumerate(self.lines) if line.rstrip(BLANKS) == _END]

    def read(self) -> None:
        """Read all envelopes. Raises Unreadable at the first place that is not clear."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip(BLANKS) == _BEGIN:
                self._envelope()
                continue
            if _LIKE_A_MARKER.match(line):
                raise Unreadable(
                    f"{self._here()} stands outside of an envelope: {quoted(line)}; wanted `{_BEGIN}`, and nothing "
                    "else on its line, before it",
                    _SHAPE,
                )
            self.rest.append(line)
            self.at += 1

    def _here(self) -> str:
        return f"line {self.at + 1} of the response"

    def _envelope(self) -> None:
        begin = self.at
        limit, closed = self._limit(begin)
        self.envelopes += 1
        self._settled = len(self.edits)
        self.at += 1
        try:
            ended = self._sections(limit)
        except Unreadable:
            if closed:
                raise
            ended = False
        if ended:
            return
        if not closed:
            del self.edits[self._settled :]
            raise Unreadable(
                f"the envelope that begins at line {begin + 1} of the response has no `{_END}`"
                + (f" before another one begins at line {limit + 1}" if limit < len(self.lines) else ""),
                f"the response may have been cut off; send all of its envelopes again, each with `{_END}` as its last "
                "line, beginning in column 0",
            )
        self.at = limit + 1

    def _limit(self, begin: int) -> tuple[int, bool]:
        """The line that ends the envelope; or, and False, the line before which it should have ended."""
        stop = _after(self._begins, begin, len(self.lines))
        end = _after(self._ends, begin, len(self.lines))
        if end < stop:
            return end, True
        if stop not in self._padded:
            self._padded[stop] = self._padded_end(stop)
        padded = self._padded[stop]
        return (padded, True) if padded > begin else (stop, False)

    def _padded_end(self, stop: int) -> int:
        """The last line of text before `stop` if it is an indented end marker, else -1."""
        for at in range(stop - 1, -1, -1):
            line = self.lines[at].strip(BLANKS)
            if line == _END:
                return at
            if line and not _WRAPPER.match(line) and fence_of(line) is None:
                return -1
        return -1

    def _sections(self, limit: int) -> bool:
        """Read file sections up to `limit`. True if an indented end marker between two of them ended the envelope."""
        while self.at < limit:
            line = self.lines[self.at].strip(BLANKS)
            if line == _END:
                self.at += 1
                return True
            if line:
                self._settled = len(self.edits)
                self._section(line, limit)
            else:
                self.at += 1
        return False

    def _section(self, line: str, limit: int) -> None:
        header = _HEADER.match(line)
        if header is None:
            raise Unreadable(f"{self._here()} {_misplaced(line)}", _SHAPE)
        path = self._path(header[2], f"*** {header[1]} File:")
        self.at += 1
        if header[1] == "Add":
            self._add(path, limit)
        elif header[1] == "Delete":
            self.edits.append(DeleteFile(path, None))
        else:
            self._update(path, limit)

    def _path(self, text: str, marker: str) -> str:
        path = text.strip(BLANKS)
        if not path:
            raise Unreadable(f"{self._here()} names no path: `{marker}`", f"put the path behind `{marker} `; {_SHAPE}")
        if len(path) > 1 and path[0] in _QUOTES and path[-1] == path[0]:
            raise Unreadable(f"{self._here()} has its path in quotes: {quoted(path)}",
                             f"write the path as it is, without quotes; {_SHAPE}")  # fmt: skip
        return path

    def _add(self, path: str, limit: int) -> None:
        rows: list[str] = []
        while self.at < limit and self.lines[self.at].startswith("+"):
            rows.append(self.lines[self.at][1:] + "\n")
            self.at += 1
        self._skip_blank(limit)
        if self.at < limit and not self.lines[self.at].lstrip(BLANKS).startswith("*** "):
            raise Unreadable(
                f"{self._here()} is not part of the new file `{path}`: {quoted(self.lines[self.at])}; wanted `+` in "
                "front of every line of it, the empty ones too",
                _SHAPE,
            )
        self.edits.append(CreateFile(path, "".join(rows)))

    def _skip_blank(self, limit: int) -> None:
        while self.at < limit and is_blank(self.lines[self.at]):
            self.at += 1

    def _update(self, path: str, limit: int) -> None:
        header = self.at
        moved = self._moved(limit)
        chunks: list[ReplaceLines] = []
        while self._has_chunk(limit, first=not chunks):
            chunks.append(self._chunk(path, limit))
        if not chunks and not moved:
            raise Unreadable(
                f"line {header} of the response updates `{path}`, but nothing follows that changes it",
                f"put chunks below `*** Update File: {path}` (`@@`, then lines with ` `, `-` or `+` in front), or "
                f"`*** Move to: PATH`; {_SHAPE}",
            )
        self.edits.extend(chunks)
        if moved:
            self.edits.append(MoveFile(path, moved))

    def _moved(self, limit: int) -> str:
        """Where the file goes, or empty. Lines are consumed only if it goes somewhere."""
        start = self.at
        self._skip_blank(limit)
        found = _MOVE.match(self.lines[self.at].strip(BLANKS)) if self.at < limit else None
        if found is None:
            self.at = start
            return ""
        path = self._path(found[1], "*** Move to:")
        self.at += 1
        return path

    def _has_chunk(self, limit: int, *, first: bool) -> bool:
        """Whether a chunk of the section follows. Blank lines before one are skipped, unless they are its context."""
        start = self.at
        self._skip_blank(limit)
        if self.at == limit:
            return False
        line = self.lines[self.at]
        if line.startswith("@@"):
            return True
        if line.startswith("*** ") or _is_marker(line.strip(BLANKS)):
            return False
        if not first:
            raise Unreadable(f"{self._here()} stands behind `{_LAST}`: {quoted(line)}; wanted `@@` or the next file",
                             f"begin another chunk with a line `@@`; {_CHUNK}")  # fmt: skip
        self.at = start
        return True

    def _chunk(self, path: str, limit: int) -> ReplaceLines:
        start = self.at
        anchors = self._anchors(limit)
        first = self.at
        search: list[str] = []
        new: list[str] = []
        changed = False
        while self.at < limit and not self.lines[self.at].startswith(("@@", "*** ")):
            line = self.lines[self.at]
            kind = line[:1]
            if kind not in ("", " ", "+", "-"):
                raise Unreadable(f"{self._here()} begins with none of ` `, `-`, `+`: {quoted(line)} (a chunk of "
                                 f"`{path}`)", _CHUNK)  # fmt: skip
            if kind != "+":
                search.append(line[1:])
            if kind != "-":
                new.append(line[1:])
            changed = changed or kind in ("+", "-")
            self.at += 1
        if not changed and all(map(is_blank, search)):
            raise Unreadable(f"the chunk at line {start + 1} of the response, of `{path}`, is empty; wanted lines that "
                             "go (`-`) or come (`+`)", _CHUNK)  # fmt: skip
        gap = self._gap(first)
        search, new = search[: len(search) - gap], new[: len(new) - gap]
        return ReplaceLines(path, tuple(search), tuple(new), anchors, at_end=self._at_end(limit), as_on_disk=True)

    def _gap(self, first: int) -> int:
        """How many completely empty lines end the chunk: a gap before what follows, not lines that stay."""
        at = self.at
        while at > first and not self.lines[at - 1]:
            at -= 1
        return self.at - at

    def _at_end(self, limit: int) -> bool:
        found = self.at < limit and self.lines[self.at].rstrip(BLANKS) == _LAST
        self.at += found
        return found

    def _anchors(self, limit: int) -> tuple[str, ...]:
        anchors: list[str] = []
        while self.at < limit and self.lines[self.at].startswith("@@"):
            line = self.lines[self.at]
            if line[2:3] not in ("", " ") and not is_blank(line[2:]):
                raise Unreadable(f"{self._here()} is no beginning of a chunk: {quoted(line)}; wanted `@@` alone, or "
                                 "`@@ ` and a line that stands above the place", _CHUNK)  # fmt: skip
            anchors.append(_anchor(line[2:]))
            self.at += 1
        return tuple(filter(None, anchors))


def parse_envelopes(text: str) -> Parsed:
    """Read all apply_patch envelopes of a response. A response without any change is the problem `no_edits`."""
    text = text.removeprefix("\ufeff")
    reader = _Reader(response_lines(text))
    problem: EditError | None = None
    try:
        reader.read()
    except Unreadable as e:
        problem = e.error
    edits = tuple(reader.edits)
    if problem is None and not edits:
        problem = EditError("no_edits", _nothing(text, reader.envelopes), _SHAPE)
    return Parsed(edits, problem, len(edits), "\n".join(reader.rest), "apply_patch")


def _nothing(text: str, envelopes: int) -> str:
    if envelopes:
        return "the apply_patch envelope is empty"
    if _BEGIN in text:
        return f"the response holds no apply_patch envelope: `{_BEGIN}` does not stand alone on a line"
    return "the response holds no apply_patch envelope"


def _after(places: list[int], begin: int, default: int) -> int:
    position = bisect_right(places, begin)
    return places[position] if position < len(places) else default


def _is_marker(line: str) -> bool:
    return line in (_BEGIN, _END, _LAST) or bool(_HEADER.match(line) or _MOVE.match(line))


def _misplaced(line: str) -> str:
    """What is wrong with a line that stands where a file section should begin."""
    if line == _BEGIN:
        return f"begins another envelope before the one it stands in has ended with `{_END}`"
    if line == _LAST:
        return f"has `{_LAST}` where no chunk is; it stands right below the last line of a chunk of an updated file"
    if _MOVE.match(line):
        return "has `*** Move to:` in a wrong place; it stands right below `*** Update File:`, before the chunks"
    return (
        f"belongs to no file: {quoted(line)}; wanted `*** Update File: PATH`, `*** Add File: PATH`, "
        f"`*** Delete File: PATH` or `{_END}`"
    )


def _anchor(text: str) -> str:
    """The line named behind `@@`; empty if there is none, as in the heading of a unified diff."""
    if _NUMBERS.match(text):
        return ""
    anchor = text[1:].rstrip(BLANKS)
    if anchor in ("@@", "... @@"):
        return ""
    return anchor[: -len(" @@")].rstrip(BLANKS) if anchor.endswith(" @@") else anchor


_PROMPT = """\
Answer with one apply_patch envelope that holds every change:

*** Begin Patch
*** Update File: path/to/file.py
@@ class Shape:
@@     def area(self):
         width = self.width
-        return width + self.height
+        return width * self.height
*** Add File: path/to/new.py
+print("first line")
+
+print("third line")
*** Delete File: path/to/old.py
*** End Patch

- Markers stand alone on their line and begin in column 0. Paths are relative to the repository.
- In an update, each chunk begins with `@@`. Its lines have one more character in front: a blank for a line that \
stays, `-` for one that goes, `+` for one that comes. All else is to the letter, indentation too.
- A chunk must fit exactly one place of the file as it is now. If its lines occur more than once, show more lines \
around the change, or name lines above it: `@@ ` and the whole line with its indentation, the outermost first.
- `*** End of File` below a chunk says that it stands at the end of the file. Lines that only come need it, or lines \
around them.
- `*** Move to: new/path.py` right below `*** Update File: ...` renames the file; chunks may follow.
- Adding or moving onto a path that exists is refused. In a new file every line has `+` in front, empty ones too.
- Never shorten with `...` or "rest of the code". All or none: if one chunk does not fit, nothing is written and all \
must be sent again.
"""

APPLY_PATCH = Format("apply_patch", "an apply_patch envelope", _MARKS, parse_envelopes, _PROMPT)
