"""Where the lines that stand above a place (`@@ class A`, `@@ def f`) say that the place is.

Rule: an anchor must be one line of the file, and only one within the anchor before it. What it names is the block that
it heads, told by indentation, with the decorators and comments right above it; a line that heads no block names
everything below it. The method is that of the V4A patch format, where `@@` gives "the class or function to which the
snippet belongs", but nothing is taken because it came first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from regreen.edits.explain import WHOLE, printable
from regreen.edits.ladder import MAX_CANDIDATES, indent_of
from regreen.edits.lines import FileLines, Key
from regreen.edits.operations import is_blank
from regreen.model import EditError

_KEYS: tuple[Key, ...] = ("exact", "trailing", "stripped")
# how a line begins that does not end a block although it is not indented: brackets, comments, branches, labels
_CONTINUES = re.compile(r"[})\]{#]|/[/*]|\*|(?:else|elif|except|finally|catch|case|default)\b|\w{1,60}:\s*$")
_ABOVE = ("@", "#", "//", "/*", "*", "[")  # decorators, attributes and comments belong to what they stand on
_QUOTES = re.compile(r"\"\"\"|'''")
_OPEN = ("(", "[", ",")
_TAB = 8
_LINES_PER_CHARGE = 32


@dataclass(frozen=True, slots=True)
class Scope:
    """The lines that an anchor names: from `start` to `end` (0-based, half open), headed by line `head`."""

    start: int
    head: int
    end: int


def scope(path: str, lines: FileLines, anchors: Sequence[str]) -> Scope | EditError:
    """What the last of the anchors names; or why there is no such place. Raises TooRepetitive."""
    head, end = 0, len(lines)
    for anchor in anchors:
        places = _places(lines, anchor, head, end)
        if len(places) != 1:
            return _unusable(path, lines, anchor, places)
        head = places[0]
        if head not in lines.block_ends:
            lines.block_ends[head] = _block_end(lines, head)
        end = min(end, lines.block_ends[head])
    return Scope(_with_above(lines, head), head, end)


def is_unfinished(heading: str) -> bool:
    """Whether a heading goes on in the next line, so that nothing can be put right behind it."""
    return heading.rstrip().endswith(_OPEN)


def _places(lines: FileLines, anchor: str, start: int, end: int) -> list[int]:
    for key in _KEYS:
        places = list(islice((n for n in lines.places((anchor,), key) if start <= n < end), MAX_CANDIDATES + 1))
        if places:
            return places
    return []


def _block_end(lines: FileLines, head: int) -> int:
    """Where the block that a line heads ends; the end of the file if it heads none."""
    bodies = lines.rows.bodies
    depth = _depth(bodies[head])
    indented = quoted = False
    for number in range(head + 1, len(bodies)):
        body = bodies[number]
        lines.charge(number % _LINES_PER_CHARGE == 0)
        inside, quoted = quoted, quoted != bool(len(_QUOTES.findall(body)) % 2)
        if inside or is_blank(body):
            continue
        if _depth(body) > depth:
            indented = True
        elif not _CONTINUES.match(body.lstrip()):
            return number if indented else len(bodies)
    return len(bodies)


def _with_above(lines: FileLines, head: int) -> int:
    bodies, start = lines.rows.bodies, head
    indent = indent_of(bodies[head])
    while start and indent_of(bodies[start - 1]) == indent and bodies[start - 1].lstrip().startswith(_ABOVE):
        start -= 1
    return start


def _depth(body: str) -> int:
    return len(indent_of(body).expandtabs(_TAB))


def _unusable(path: str, lines: FileLines, anchor: str, places: list[int]) -> EditError:
    shown = printable(anchor.strip()[:80])
    if not places:
        return EditError("no_match", f"`{path}`: the anchor `@@ {shown}` is no line of the file (or not within the "
                         "anchor before it)", f"copy the line from the file behind `@@ `, or leave the anchor out; "
                         f"{WHOLE}")  # fmt: skip
    known = tuple(n for n in (lines.origin_of(place) for place in places[:MAX_CANDIDATES]) if n)
    several = f"more than {MAX_CANDIDATES}" if len(places) > MAX_CANDIDATES else str(len(places))
    return EditError("ambiguous", f"`{path}`: the anchor `@@ {shown}` stands at {several} places: lines "
                     f"{', '.join(map(str, known))}", "put the line of the enclosing class or function before it, as "
                     f"another `@@` line, or more context lines into the hunk; {WHOLE}", candidates=known)  # fmt: skip
