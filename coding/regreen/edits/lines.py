"""One file's lines while a plan is worked out: each with its own line end and the line it came from.

Rule: a line that no edit names keeps its bytes, line end included. New lines take the line end of the line they
replace, else of the neighbour. A missing final newline stays missing unless an edit says otherwise.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Literal, TypeAlias

from regreen.edits.align import align
from regreen.edits.operations import BLANKS
from regreen.workspace import split_lines

MAX_LINES = 1_000_000  # keeps the alphabet of `_Index` within what a character can be
_LETTERS = 0x110000
MAX_COMPARED = 400_000  # single line comparisons spent on one file


class TooRepetitive(Exception):
    """The places that would have to be compared are too many to tell whether one of them is the only one."""


Key: TypeAlias = Literal["exact", "trailing", "stripped", "nfc"]

_KEYS: dict[Key, Callable[[str], str]] = {
    "trailing": lambda body: body.rstrip(BLANKS),
    "stripped": lambda body: body.strip(BLANKS),
    "nfc": lambda body: body if body.isascii() else unicodedata.normalize("NFC", body),
}


@dataclass(slots=True)
class Rows:
    """Lines as two columns, since a file has many: their bodies, and their ends."""

    bodies: list[str]
    eols: list[str]

    @classmethod
    def of(cls, text: str) -> Rows:
        return cls(*split_lines(text))

    @classmethod
    def ended(cls, bodies: Sequence[str]) -> Rows:
        """Lines that all end with LF."""
        return cls(list(bodies), ["\n"] * len(bodies))

    def __len__(self) -> int:
        return len(self.bodies)

    @property
    def text(self) -> str:
        """The lines with their ends, in one piece."""
        if not self.eols:
            return ""
        eol, last = self.eols[0], self.eols[-1]
        if self.eols.count(eol) + (last != eol) == len(self.eols):
            return eol.join(self.bodies) + last
        return "".join(map(add, self.bodies, self.eols))

    @property
    def is_open(self) -> bool:
        """Whether the last line lacks its end."""
        return bool(self.eols) and not self.eols[-1]

    def part(self, start: int, end: int) -> Rows:
        return Rows(self.bodies[start:end], self.eols[start:end])

    def put(self, start: int, end: int, rows: Rows) -> None:
        self.bodies[start:end] = rows.bodies
        self.eols[start:end] = rows.eols

    def add(self, body: str, eol: str) -> None:
        self.bodies.append(body)
        self.eols.append(eol)


@dataclass(slots=True)
class Block:
    """Lines a1..a2 on disk are lines b1..b2 now (0-based, half open); `edit` is the number of the last edit there."""

    a1: int
    a2: int
    b1: int
    b2: int
    edit: int = 0


@dataclass(slots=True)
class _Index:
    """Lines as single characters of a private alphabet, so that a run of lines is found by one `str.find`."""

    key: Callable[[str], str]
    letters: dict[str, str] = field(default_factory=dict[str, str])
    text: str = ""

    def spell(self, bodies: Sequence[str]) -> str:
        """`bodies` in this alphabet, extending it."""
        keys = list(map(self.key, bodies))
        letters = self.letters
        for key in dict.fromkeys(keys):
            if key not in letters:
                letters[key] = chr(len(letters))
        return "".join(map(letters.__getitem__, keys))

    def word(self, needle: Sequence[str]) -> str:
        """`needle` in this alphabet; empty if one of its lines is nowhere in the file."""
        spelled = [self.letters.get(self.key(body), "") for body in needle]
        return "" if "" in spelled else "".join(spelled)


class FileLines:
    """The lines of a file (at most MAX_LINES), changed edit by edit. Mutable, private to one plan.

    `blocks` are the changes so far, in order and disjoint: what is outside of them is as on disk.
    """

    def __init__(self, rows: Rows, text: str = "") -> None:
        """`text`: the lines with their ends, where the caller has them in one piece."""
        self.rows = rows
        self.blocks: list[Block] = []
        self.block_ends: dict[int, int] = {}  # of headings that were asked for; forgotten with every change
        self.eol = next((eol for eol in rows.eols[:1] if eol), "")  # of the first line; "" = not known
        self._text = text if text and "\r" not in text else None  # None = to be made
        self._indexes: dict[Key, _Index] = {}
        self._compared = 0

    @classmethod
    def instead_of(cls, old: Rows, rows: Rows) -> FileLines:
        """The lines of a file all of whose old lines were replaced."""
        lines = cls(rows)
        lines.blocks = [Block(0, len(old), 0, len(rows))]
        lines.eol = next((eol for eol in [*rows.eols[:1], *old.eols[:1]] if eol), "")
        return lines

    def __len__(self) -> int:
        return len(self.rows)

    def charge(self, comparisons: int) -> None:
        """Count work done line by line. Raises TooRepetitive once the file has had its share."""
        self._compared += comparisons
        if self._compared > MAX_COMPARED:
            raise TooRepetitive

    def bodies(self, start: int, end: int) -> list[str]:
        return self.rows.bodies[start:end]

    @property
    def text(self) -> str:
        """All lines in one piece, each with LF for its end."""
        if self._text is None:
            self._text = "\n".join(self.rows.bodies) + ("\n" if len(self.rows) and not self.rows.is_open else "")
        return self._text

    def places(self, needle: Sequence[str], key: Key) -> Iterator[int]:
        """Start positions (0-based) at which all lines of `needle` stand, compared by `key`. Overlaps count."""
        if not needle:
            return
        if key == "exact":
            yield from self._exact(needle)
            return
        index = self._index(key)
        word = index.word(needle)
        at = index.text.find(word) if word else -1
        while at >= 0:
            yield at
            at = index.text.find(word, at + 1)

    def _exact(self, needle: Sequence[str]) -> Iterator[int]:
        text, wanted = self.text, "\n".join(needle)
        word = f"\n{wanted}\n"
        if text.startswith(word[1:]):
            yield 0
        line, before = 1, 0
        at = text.find(word)
        while at >= 0:
            line += text.count("\n", before, at)
            before = at
            yield line
            at = text.find(word, at + 1)
        if self.rows.is_open and f"\n{text}".endswith(word[:-1]):
            yield len(self.rows) - len(needle)

    def origin_of(self, position: int) -> int:
        """The number (1-based) of a line on disk; 0 for a line that an edit wrote."""
        at = bisect_right(self.blocks, position, key=lambda block: block.b1) - 1
        if at < 0:
            return position + 1
        block = self.blocks[at]
        return 0 if position < block.b2 else position - block.b2 + block.a2 + 1

    def position_of(self, origin: int) -> int:
        """Where the line (0-based) on disk is now, or what stands before it; of a line that no edit changed."""
        at = bisect_right(self.blocks, origin, key=lambda block: block.a2) - 1
        return origin if at < 0 else origin - self.blocks[at].a2 + self.blocks[at].b2

    def changed_by(self, start: int, end: int) -> int:
        """The number of an edit that changed these lines on disk (0-based, half open), or added some between them."""
        first = bisect_right(self.blocks, start, key=lambda block: block.a2)
        near = self.blocks[first : first + 1]
        return next((block.edit for block in near if block.a1 < end), 0)

    def written_by(self, start: int, end: int) -> int:
        """The number of an edit that wrote, or left side by side, some of these lines (0-based, half open)."""
        return next((block.edit for block in self.blocks if block.b1 < end and block.b2 >= start), 0)

    def added_by(self, origin: int) -> int:
        """The number of an edit that put lines before this line (0-based) on disk and changed nothing else there."""
        first = bisect_left(self.blocks, origin, key=lambda block: block.a2)
        near = self.blocks[first : first + 1]
        return next((block.edit for block in near if block.a1 == block.a2 == origin), 0)

    def replace(
        self,
        start: int,
        search: Sequence[str],
        replace: Sequence[str],
        fresh: Sequence[str],
        *,
        open_end: bool | None = None,
        edit: int = 0,
    ) -> bool:
        """Put `replace` where `search` was laid from `start` on. Lines equal in both keep the file's bytes.

        `fresh[i]` is what to write for `replace[i]` where it is a new line. `open_end` (with lines that reach the end
        of the file) says whether the last line shall lack its end. Tells whether any byte changed.
        """
        end = start + len(search)
        old = self.rows.part(start, end)
        kept = {new: start + old for old, new in align(search, replace)}
        rows = Rows([], [])
        source = start  # the line of the file whose place the next new line takes
        for number, limit in enumerate(_next_kept(kept, len(replace), end)):
            if number in kept:
                source = kept[number]
                rows.add(self.rows.bodies[source], self.rows.eols[source])
                source += 1
            else:
                rows.add(fresh[number], self._eol_at(source, limit))
                source = min(source + 1, limit)
        self._end(rows, start, end, old.is_open if open_end is None else open_end)
        same = {new: at for new, at in kept.items() if rows.eols[new] == self.rows.eols[at]}
        self._put(start, end, rows, same, edit)
        return old != rows

    def _eol_at(self, position: int, limit: int) -> str:
        """The line end for a new line: of the line it replaces, else of the one before, else of the one after."""
        wanted = [position] if position < limit else []
        around = [*wanted, position - 1, position - 2, position]
        ends = (self.rows.eols[i] for i in around if 0 <= i < len(self.rows))
        return next((eol for eol in ends if eol), self.eol or "\n")

    def _end(self, rows: Rows, start: int, end: int, wants_open: bool) -> None:
        """Give every line of `rows` its end, except the file's last one where it shall have none."""
        at_end = end == len(self.rows)
        for position, eol in enumerate(rows.eols):
            last = at_end and position == len(rows) - 1
            if last and wants_open and rows.bodies[position]:
                rows.eols[position] = ""  # an empty line without an end would be no line
            elif not eol:
                rows.eols[position] = self._eol_at(max(start, end - 1), 0)

    def _put(self, start: int, end: int, rows: Rows, kept: dict[int, int], edit: int) -> None:
        """Write `rows` over the lines from `start` to `end`, run by run between the lines that are kept."""
        new, old, grown = 0, start, 0
        for number, at in [*sorted(kept.items()), (len(rows), end)]:
            if number > new or at > old:
                self._splice(old + grown, at + grown, rows.part(new, number), edit)
                grown += (number - new) - (at - old)
            new, old = number + 1, at + 1

    def _splice(self, start: int, end: int, rows: Rows, edit: int) -> None:
        self.rows.put(start, end, rows)
        self._note(start, end, len(rows), edit)
        self._text = None
        self.block_ends = {}
        self._indexes = {k: v for k, v in self._indexes.items() if len(v.letters) + len(rows) < _LETTERS}
        for index in self._indexes.values():
            index.text = index.text[:start] + index.spell(rows.bodies) + index.text[end:]

    def _note(self, start: int, end: int, count: int, edit: int) -> None:
        """Take into `blocks` that `count` lines are now where `start` to `end` was; what it touches becomes one."""
        first = bisect_left(self.blocks, start, key=lambda block: block.b2)
        last = bisect_right(self.blocks, end, key=lambda block: block.b1)
        grown = count - (end - start)
        if first < last:
            low, high = self.blocks[first], self.blocks[last - 1]
            b1, b2 = min(start, low.b1), max(end, high.b2)
            a1, a2 = low.a1 - (low.b1 - b1), high.a2 + (b2 - high.b2)
        else:
            shift = self.blocks[first - 1].b2 - self.blocks[first - 1].a2 if first else 0
            b1, b2, a1, a2 = start, end, start - shift, end - shift
        for block in self.blocks[last:]:
            block.b1 += grown
            block.b2 += grown
        nothing = a1 == a2 and b1 == b2 + grown  # lines that were put in and taken out again
        self.blocks[first:last] = [] if nothing else [Block(a1, a2, b1, b2 + grown, edit)]

    def _index(self, key: Key) -> _Index:
        if key not in self._indexes:
            index = _Index(_KEYS[key])
            index.text = index.spell(self.rows.bodies)
            self._indexes[key] = index
        return self._indexes[key]


def _next_kept(kept: dict[int, int], count: int, end: int) -> list[int]:
    """For each new line: the position in the file of the next kept line, or `end`."""
    limits = [end] * count
    for number in range(count - 1, -1, -1):
        after = limits[number + 1] if number + 1 < count else end
        limits[number] = kept.get(number, after)
    return limits
