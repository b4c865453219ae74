"""Known values as they are met in text: as they are, escaped once or more, and line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MASK = "[redacted:known]"
_MIN_PIECE = 12  # characters without a blank in a line that is known by itself
_MAX_LINES = 500  # of one value
_ESCAPES = {"\t": "t", "\r": "r", "\n": "n"}
_ARMOR = re.compile(r"-{2,}.*-{2,}")
_BETWEEN = r"""((?:\r?\n|(?:\\+r)?\\+n)[-+ \t>|E0-9"']{0,24}?)"""
"""A line's end, written out perhaps, and what diffs and reports put before the next line."""


def form_of(value: str) -> str:
    """An expression for a value that may stand in a JSON string or the like, in which some characters are escaped."""
    return "".join(_form_of(char, first=n == 0) for n, char in enumerate(value))


def _form_of(char: str, *, first: bool) -> str:
    if char in "\"'":
        return char if first else rf"\\*{char}"
    if char == "\\":
        return r"\\+"
    if char in _ESCAPES:
        return rf"(?:{char}|\\+{_ESCAPES[char]})"
    if not char.isascii():
        return rf"(?:{re.escape(char)}|\\+u{ord(char):04x}|\\+x{ord(char):02x})"
    return re.escape(char)


class KnownLines:
    """Secrets of several lines. What is met of them is a few lines as often as all."""

    def __init__(self, values: Iterable[str]) -> None:
        self._lines: dict[str, re.Pattern[str]] = {}  # a piece that must be there -> a line, with the short ones by it
        for value in values:
            rows = [line.strip() for line in value.splitlines()][:_MAX_LINES]
            for number, row in enumerate(rows):
                if piece := _piece(row):
                    self._lines.setdefault(piece, re.compile(_with_neighbours(rows, number)))

    def masked(self, text: str) -> tuple[str, int]:
        """The text without these lines, and how many places that were."""
        hits = 0
        for piece, pattern in self._lines.items():
            if piece in text:
                text, n = pattern.subn(_masks, text)
                hits += n
        return text, hits


def _piece(row: str) -> str:
    """The longest run of a line that no escaping changes, if it is one that gives the line away; or ""."""
    words = row.split()
    if _ARMOR.fullmatch(row) or max(map(len, words), default=0) < _MIN_PIECE:
        return ""
    return max(re.findall(r"[!#-&(-\[\]-~]+", row), key=len, default="")


def _with_neighbours(rows: list[str], number: int) -> str:
    """A line, and the lines by it that are too short to be known by themselves."""
    before = after = ""
    at = number - 1
    while at >= 0 and not _piece(rows[at]):
        at -= 1
    for row in rows[at + 1 : number]:
        before = f"(?:{before}{form_of(row)}{_BETWEEN})?"
    at = number + 1
    while at < len(rows) and not _piece(rows[at]):
        at += 1
    for row in reversed(rows[number + 1 : at]):
        after = f"(?:{_BETWEEN}{form_of(row)}{after})?"
    return before + form_of(rows[number]) + after


def _masks(match: re.Match[str]) -> str:
    return _MASK + "".join(between + _MASK for between in match.groups() if between is not None)
