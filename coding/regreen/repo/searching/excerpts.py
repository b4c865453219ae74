"""From offsets in UTF-8 text with LF line ends to what is shown of it: line numbers, columns, lines cut to a width."""

from __future__ import annotations

from typing import NamedTuple

MAX_LINE = 300  # characters shown of a line
MAX_LINES = 10  # shown of one match
_BEFORE = 100  # characters shown before a match in a line that is cut
_BYTES = 4  # of a character at most


class Excerpt(NamedTuple):
    """`column` counts characters from 1 and is of the whole line; `text` may be cut, which an ellipsis shows."""

    column: int
    text: str


class Lines:
    """Line numbers for offsets that ascend, and the borders of lines."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._at = 0
        self._number = 1

    def number(self, start: int) -> int:
        """The 1-based number of the line that starts at an offset not before the last one asked for."""
        self._number += self.data.count(b"\n", self._at, start)
        self._at = start
        return self._number

    def start(self, offset: int) -> int:
        """Where the line begins that holds `offset`."""
        return self.data.rfind(b"\n", 0, offset) + 1

    def end(self, offset: int) -> int:
        """Where the line ends that holds `offset`: at its LF, or at the end of the text."""
        end = self.data.find(b"\n", offset)
        return end if end >= 0 else len(self.data)


def excerpt(data: bytes, line_start: int, start: int, end: int) -> Excerpt:
    """The text of a match whose first line begins at `line_start`; the lines end at `end` (without its LF)."""
    column = len(data[line_start:start].decode("utf-8", "replace")) + 1
    first_end = data.find(b"\n", start, end)
    if first_end < 0:
        return Excerpt(column, cut(data, line_start, end, start))
    lines = [cut(data, line_start, first_end, start)]
    while first_end < end and len(lines) < MAX_LINES:
        line_start = first_end + 1
        first_end = data.find(b"\n", line_start, end)
        first_end = end if first_end < 0 else first_end
        lines.append(cut(data, line_start, first_end))
    return Excerpt(column, "\n".join(lines) + ("\n…" if first_end < end else ""))


def cut(data: bytes, start: int, end: int, focus: int | None = None) -> str:
    """The line between two offsets, at most `MAX_LINE` characters of it, those around `focus`."""
    focus = start if focus is None else focus
    if end - start <= MAX_LINE * _BYTES:
        line = data[start:end].decode("utf-8", "replace")
        return _around(line, len(data[start:focus].decode("utf-8", "replace")), more=False)
    left = max(start, focus - MAX_LINE * _BYTES)
    while left > start and data[left] & 0xC0 == 0x80:  # not inside a character
        left -= 1
    right = min(end, focus + MAX_LINE * _BYTES)
    text = data[left:right].decode("utf-8", "replace")
    shown = _around(text, len(data[left:focus].decode("utf-8", "replace")), more=right < end)
    return "…" + shown if left > start and not shown.startswith("…") else shown


def _around(line: str, focus: int, *, more: bool) -> str:
    if len(line) <= MAX_LINE and not more:
        return line
    first = max(0, min(focus - _BEFORE, len(line) - MAX_LINE + 1))
    last = first + MAX_LINE - (first > 0)
    cut_off = more or last < len(line)
    if cut_off:
        last -= 1
    return ("…" if first else "") + line[first:last] + ("…" if cut_off else "")
