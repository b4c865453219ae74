"""One file's lines while a plan is worked out: each with its own line end and the line it came from.

Rule: a line that no edit names keeps its bytes, line end included. New lines take the line end of the line they
replace, else of the neighbour. A missing final newline stays missing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from regreen.edits.align import align

BLANKS = " \t"
MAX_LINES = 1_000_000  # keeps the alphabet of `_Index` within what a character can be
_LETTERS = 0x110000
MAX_COMPARED = 400_000  # single line comparisons spent on one file


class TooRepetitive(Exception):
    """The places that would have to be compared are too many to tell whether one of them is the only one."""


Key: TypeAlias = Literal["exact", "trailing", "stripped", "nfc"]

_KEYS: dict[Key, Callable[[str], str] | None] = {
    "exact": None,
    "trailing": lambda body: body.rstrip(BLANKS),
    "stripped": lambda body: body.strip(BLANKS),
    "nfc": lambda body: body if body.isascii() else unicodedata.normalize("NFC", body),
}


@dataclass(slots=True)
class Rows:
    """Lines as three columns, since a file has many. `origins` are 1-based numbers on disk, 0 for an added line."""

    bodies: list[str]
    eols: list[str]
    origins: list[int]

    @classmethod
    def of(cls, lines: Sequence[tuple[str, str]]) -> Rows:
        return cls([body for body, _ in lines], [eol for _, eol in lines], list(range(1, len(lines) + 1)))

    def __len__(self) -> int:
        return len(self.bodies)

    def part(self, start: int, end: int) -> Rows:
        return Rows(self.bodies[start:end], self.eols[start:end], self.origins[start:end])

    def put(self, start: int, end: int, rows: Rows) -> None:
        self.bodies[start:end] = rows.bodies
        self.eols[start:end] = rows.eols
        self.origins[start:end] = rows.origins

    def add(self, body: str, eol: str, origin: int = 0) -> None:
        self.bodies.append(body)
        self.eols.append(eol)
        self.origins.append(origin)

    def same_text(self, other: Rows) -> bool:
        return self.bodies == other.bodies and self.eols == other.eols


@dataclass(slots=True)
class _Index:
    """Lines as single characters of a private alphabet, so that a run of lines is found by one `str.find`."""

    key: Callable[[str], str] | None
    letters: dict[str, str] = field(default_factory=dict[str, str])
    text: str = ""

    def spell(self, bodies: Sequence[str]) -> str:
        """`bodies` in this alphabet, extending it."""
        keys = bodies if self.key is None else [self.key(body) for body in bodies]
        letters = self.letters
        for key in dict.fromkeys(keys):
            if key not in letters:
                letters[key] = chr(len(letters))
        return "".join(map(letters.__getitem__, keys))

    def word(self, needle: Sequence[str]) -> str:
        """`needle` in this alphabet; empty if one of its lines is nowhere in the file."""
        keys = needle if self.key is None else [self.key(body) for body in needle]
        spelled = [self.letters.get(key, "") for key in keys]
        return "" if "" in spelled else "".join(spelled)


class FileLines:
    """The lines of a file (at most MAX_LINES), changed edit by edit. Mutable, private to one plan."""

    def __init__(self, lines: Sequence[tuple[str, str]]) -> None:
        self.rows = Rows.of(lines)
        self._indexes: dict[Key, _Index] = {}
        self._compared = 0

    def __len__(self) -> int:
        return len(self.rows)

    def charge(self, comparisons: int) -> None:
        """Count work done line by line. Raises TooRepetitive once the file has had its share."""
        self._compared += comparisons
        if self._compared > MAX_COMPARED:
            raise TooRepetitive

    def bodies(self, start: int, end: int) -> list[str]:
        return self.rows.bodies[start:end]

    def places(self, needle: Sequence[str], key: Key) -> Iterator[int]:
        """Start positions (0-based) at which all lines of `needle` stand, compared by `key`. Overlaps count."""
        index = self._index(key)
        word = index.word(needle)
        at = index.text.find(word) if word else -1
        while at >= 0:
            yield at
            at = index.text.find(word, at + 1)

    def origin_of(self, position: int) -> int:
        return self.rows.origins[position]

    def replace(self, start: int, search: Sequence[str], replace: Sequence[str], fresh: Sequence[str]) -> bool:
        """Put `replace` where `search` was laid from `start` on. Lines equal in both keep the file's bytes.

        `fresh[i]` is what to write for `replace[i]` where it is a new line. Tells whether any byte changed.
        """
        end = start + len(search)
        kept = {new: start + old for old, new in align(search, replace)}
        rows = Rows([], [], [])
        source = start  # the line of the file whose place the next new line takes
        for number, limit in enumerate(_next_kept(kept, len(replace), end)):
            if number in kept:
                source = kept[number]
                rows.add(self.rows.bodies[source], self.rows.eols[source], self.rows.origins[source])
                source += 1
            else:
                rows.add(fresh[number], self._eol_at(source, limit))
                source = min(source + 1, limit)
        return self._splice(start, end, rows)

    def _eol_at(self, position: int, limit: int) -> str:
        """The line end for a new line: of the line it replaces, else of the one before, else of the one after."""
        wanted = [position] if position < limit else []
        around = [*wanted, position - 1, position - 2, position]
        ends = (self.rows.eols[i] for i in around if 0 <= i < len(self.rows))
        return next((eol for eol in ends if eol), "\n")

    def _splice(self, start: int, end: int, rows: Rows) -> bool:
        old = self.rows.part(start, end)
        at_end = end == len(self.rows)
        if at_end and rows and old and not old.eols[-1] and rows.bodies[-1]:
            rows.eols[-1] = ""  # stays open; an empty line without an end would be no line
        for position, eol in enumerate(rows.eols):
            if not eol and not (at_end and position == len(rows) - 1 and rows.bodies[position]):
                rows.eols[position] = self._eol_at(max(start, end - 2), 0)
        self.rows.put(start, end, rows)
        self._indexes = {k: v for k, v in self._indexes.items() if len(v.letters) + len(rows) < _LETTERS}
        for index in self._indexes.values():
            index.text = index.text[:start] + index.spell(rows.bodies) + index.text[end:]
        return not old.same_text(rows)

    def _index(self, key: Key) -> _Index:
        if key not in self._indexes:
            index = _Index(_KEYS[key])
            index.text = index.spell(self.rows.bodies)
            self._indexes[key] = index
        return self._indexes[key]


def is_blank(body: str) -> bool:
    return not body.strip(BLANKS)


def _next_kept(kept: dict[int, int], count: int, end: int) -> list[int]:
    """For each new line: the position in the file of the next kept line, or `end`."""
    limits = [end] * count
    for number in range(count - 1, -1, -1):
        after = limits[number + 1] if number + 1 < count else end
        limits[number] = kept.get(number, after)
    return limits
