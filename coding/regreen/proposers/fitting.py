"""Text for a model within a number of bytes: fences, whole pieces, parts of files. Pure.

A token is taken for 3.5 bytes of UTF-8, as everywhere here; that errs on the high side. What is cut is cut at the end
of a line, and said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regreen.repo.budget import BYTES_PER_TOKEN

_TICKS = re.compile(r"`{3,}")
_RADII = (200, 80, 40, 20, 10, 5, 2)
_CUT = "[... the rest is left out]"


def room_of(tokens: int) -> int:
    """How many bytes so many tokens are."""
    return int(tokens * BYTES_PER_TOKEN)


def size(text: str) -> int:
    """Bytes of the text as it is sent."""
    return len(text.encode("utf-8", "replace"))


def fenced(text: str) -> str:
    """The text in a code fence that is longer than any in it."""
    longest = max((len(m) for m in _TICKS.findall(text)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{mark}"


def cut(text: str, room: int) -> str:
    """As many whole lines from the beginning as fit, with a mark that there are more; "" where not one does."""
    if size(text) <= room:
        return text
    kept: list[str] = []
    left = room - size(_CUT)
    for line in text.split("\n"):
        left -= size(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join((*kept, _CUT)) if kept else ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a section: what heads it, text to be quoted in a fence, and plain words below."""

    head: str
    quoted: str = ""
    foot: str = ""

    def fit(self, room: int) -> tuple[str, bool]:
        """The piece in this room, and whether all of it is there; its quoted part is cut where it must be. Empty where
        its frame alone has no room."""
        whole = self._framed(self.quoted)
        if size(whole) <= room:
            return whole, True
        for spare in (0, 8, 64):  # a mark that is added, or a fence in the text, makes the frame larger
            shorter = cut(self.quoted, room - size(self._framed(".")) - spare)
            framed = self._framed(shorter)
            if shorter and size(framed) <= room:
                return framed, False
        return "", False

    def _framed(self, quoted: str) -> str:
        return "\n\n".join(p for p in (self.head, fenced(quoted) if quoted else "", self.foot) if p)


def fitted(pieces: Iterable[Piece], room: int) -> str:
    """The pieces that fit, in order, up to the first that has to be cut. One that cannot even be cut is left out."""
    out: list[str] = []
    for piece in pieces:
        text, complete = piece.fit(room)
        if text:
            out.append(text)
            room -= size(text) + 2
        if text and not complete:
            break
    return "\n\n".join(out)


@dataclass(frozen=True, slots=True)
class Part:
    """Lines `first` to `last` (1-based, inclusive) of a file, as text."""

    first: int
    last: int
    text: str


def parts(text: str, around: Sequence[int], room: int, each: int) -> tuple[Part, ...]:
    """Parts of a file around some lines, as wide as the room allows; its beginning where no line is known. `each` is
    what a part takes besides its text."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    known = [n for n in around if 0 < n <= len(lines)]
    for most in dict.fromkeys((len(known), min(3, len(known)), min(1, len(known)))):
        for radius in _RADII if most else ():
            spans = _merged(sorted((max(1, n - radius), min(len(lines), n + radius)) for n in known[:most]))
            found = tuple(Part(a, b, "\n".join(lines[a - 1 : b])) for a, b in spans)
            if sum(size(p.text) + each for p in found) <= room:
                return found
    return () if known else _beginning(lines, room - each)


def _beginning(lines: Sequence[str], room: int) -> tuple[Part, ...]:
    last = 0
    for line in lines:
        room -= size(line) + 1
        if room < 0:
            break
        last += 1
    return (Part(1, last, "\n".join(lines[:last])),) if last else ()


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for first, last in spans:
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out
