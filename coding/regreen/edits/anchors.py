"""Where the lines that stand above a place (`@@ class A`, `@@ def f`) say that the place is.

Rule: an anchor must be one line of the file, and only one within the anchor before it. What it names is the block that
it heads, told by indentation; a line that heads no block names everything below it. The method is that of the V4A patch
format, where `@@` gives "the class or function to which the snippet belongs", but nothing is taken because it came
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from regreen.edits.explain import WHOLE, printable
from regreen.edits.ladder import MAX_CANDIDATES, indent_of
from regreen.edits.lines import FileLines, Key
from regreen.edits.operations import is_blank
from regreen.model import EditError

_KEYS: tuple[Key, ...] = ("exact", "trailing", "stripped")
_CONTINUES = ("}", ")", "]", "{")  # how a line begins that belongs to the block above it though it is not indented
_TAB = 8


def scope(path: str, lines: FileLines, anchors: Sequence[str]) -> tuple[int, int] | EditError:
    """(line of the last anchor, end of its block), 0-based and half open; or why there is no such place."""
    start, end = 0, len(lines)
    for anchor in anchors:
        places = _places(lines, anchor, start, end)
        if len(places) != 1:
            return _unusable(path, lines, anchor, places)
        start = places[0]
        end = _block_end(lines, start, end)
    return start, end


def _places(lines: FileLines, anchor: str, start: int, end: int) -> list[int]:
    for key in _KEYS:
        places = list(islice((n for n in lines.places((anchor,), key) if start <= n < end), MAX_CANDIDATES + 1))
        if places:
            return places
    return []


def _block_end(lines: FileLines, head: int, limit: int) -> int:
    """Where the block that a line heads ends; `limit` if it heads none."""
    bodies = lines.rows.bodies
    depth = _depth(bodies[head])
    indented = False
    for number in range(head + 1, limit):
        body = bodies[number]
        lines.charge(number % 8 == 0)
        if is_blank(body):
            continue
        if _depth(body) > depth:
            indented = True
        elif not body.lstrip().startswith(_CONTINUES):
            return number if indented else limit
    return limit


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
