"""Decides what one edit does to one file's lines: the place, the level and the lines to write, or the reason why not.

Pure: it reads the lines and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from regreen.edits.align import align
from regreen.edits.anchors import Scope, is_unfinished, scope
from regreen.edits.explain import already_applied, ambiguous, not_open, placeless, repetitive, unconvertible
from regreen.edits.ladder import ANYWHERE, MAX_CANDIDATES, Fit, Where, find, indent_of
from regreen.edits.lines import FileLines, Rows, TooRepetitive
from regreen.edits.operations import InsertLines, ReplaceLines, is_blank, lines_of
from regreen.model import EditError


@dataclass(frozen=True, slots=True)
class Placed:
    """Write at `start` (0-based): `fresh[i]` for each new line of `replace`; lines that SEARCH holds too stay.

    `open_end`: whether the file's last line shall lack its line end then; None = as it is.
    """

    level: str
    start: int
    search: tuple[str, ...]
    replace: tuple[str, ...]
    fresh: tuple[str, ...]
    open_end: bool | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.search)

    def new_lines(self) -> list[str]:
        """What is written that was not there."""
        kept = {new for _, new in align(self.search, self.replace)}
        return [body for number, body in enumerate(self.fresh) if number not in kept]


def place(lines: FileLines, edit: ReplaceLines, *, strict: bool = False) -> Placed | EditError | None:
    """Where the lines to be replaced stand and what is to be written there. None: they stand nowhere."""
    if edit.was_open and not lines.rows.is_open:
        return not_open(edit.path)
    try:
        named = scope(edit.path, lines, edit.anchors) if edit.anchors else None
        if isinstance(named, EditError):
            return named
        if not edit.search:
            return _addition(lines, edit, named)
        blank = all(map(is_blank, edit.search))
        if blank and not (named or edit.at_end):
            return placeless(edit.path)
        where = Where(named.start, named.end, edit.at_end) if named else Where(at_end=edit.at_end)
        return _place(lines, edit, where, strict=strict or blank)
    except TooRepetitive:
        return repetitive(edit.path)


def place_insertion(lines: FileLines, edit: InsertLines) -> Placed | EditError:
    """Lines behind a line that is named by its number, which the caller has checked."""
    return _behind(lines, edit.path, edit.line, lines_of(edit.text))


def _place(lines: FileLines, edit: ReplaceLines, where: Where, *, strict: bool) -> Placed | EditError | None:
    found = find(lines, edit.search, edit.replace, where=where, strict=strict)
    if found is None:
        return None
    fit, *others = found.fits
    if others:
        return ambiguous(edit.path, found, lines)
    at = _standing_here(lines, fit)
    if at is not None:
        return already_applied(edit.path, lines.origin_of(at))
    fresh = None if edit.as_on_disk and fit.added == " " else _converted(fit)  # a hunk's lines without their signs
    if fresh is None:
        window = lines.bodies(fit.start, fit.start + len(fit.search))
        return unconvertible(edit.path, found, window, lines.origin_of(fit.start))
    return Placed(found.level, fit.start, fit.search, fit.replace, fresh, edit.open_end)


def _addition(lines: FileLines, edit: ReplaceLines, named: Scope | None) -> Placed | EditError:
    """Lines to be added without any line to find: at the end of the file, or right behind the anchor."""
    if edit.at_end:
        placed = _behind(lines, edit.path, len(lines), edit.replace)
    elif named is not None and not is_unfinished(lines.rows.bodies, named.head):
        placed = _behind(lines, edit.path, named.head + 1, edit.replace)
    else:
        placed = placeless(edit.path)
    return placed if isinstance(placed, EditError) else replace(placed, open_end=edit.open_end)


def _behind(lines: FileLines, path: str, position: int, new: tuple[str, ...]) -> Placed | EditError:
    """Put lines behind the first `position` lines; a neighbour goes along, so that line ends are taken from it."""
    if not len(lines):
        return Placed("exact", 0, (), new, new)
    start = max(0, position - 1)
    neighbour = (lines.rows.bodies[start],)
    replace = (*new, *neighbour) if position == 0 else (*neighbour, *new)
    fit = Fit(start, neighbour, replace, str)
    at = _standing_here(lines, fit)
    if at is not None:
        return already_applied(path, lines.origin_of(at))
    return Placed("exact", start, neighbour, replace, replace)


def _converted(fit: Fit) -> tuple[str, ...] | None:
    """All lines of REPLACE as they are to be written; None if one that is new cannot be converted."""
    kept = {new for _, new in align(fit.search, fit.replace)}
    if fit.added and _stands_deeper(fit):
        return None
    fresh = [body if number in kept else fit.convert(body) for number, body in enumerate(fit.replace)]
    done = tuple(body for body in fresh if body is not None)
    return done if len(done) == len(fresh) else None


def _stands_deeper(fit: Fit) -> bool:
    """Whether all of REPLACE has the file's indentation already, though SEARCH has not: then no shift is meant."""
    sent, said = ([len(indent_of(body)) for body in rows if not is_blank(body)] for rows in (fit.search, fit.replace))
    return bool(said) and min(said) >= min(sent) + len(fit.added)


def _standing_here(lines: FileLines, fit: Fit) -> int | None:
    """Start of a run that is REPLACE already, if REPLACE adds lines around SEARCH and they are there; else None."""
    height, size = len(fit.search), len(fit.replace)
    if size <= height:
        return None
    inside = FileLines(Rows.ended(fit.replace))
    for lead in islice(inside.places(fit.search, "exact"), MAX_CANDIDATES):
        start = fit.start - lead
        if start < 0 or start + size > len(lines):
            continue
        added = [n for n in range(size) if not lead <= n < lead + height]
        says = any(not is_blank(fit.replace[n]) for n in added)
        if says and all(lines.rows.bodies[start + n] == fit.convert(fit.replace[n]) for n in added):
            return start
    return None


def standing(lines: FileLines, edit: ReplaceLines) -> int | None:
    """Where REPLACE, with something in it that SEARCH lacks, stands at one place though SEARCH stands nowhere."""
    known = set(edit.search)
    if all(is_blank(body) or body in known for body in edit.replace):
        return None
    found = find(lines, edit.replace, (), where=ANYWHERE, strict=True)
    return found.fits[0].start if found is not None and len(found.fits) == 1 else None


def insertions(placed: Placed) -> list[int]:
    """The positions (0-based) before which a replacement puts lines without taking any away."""
    found: list[int] = []
    old = new = 0
    for a, b in [*align(placed.search, placed.replace), (len(placed.search), len(placed.replace))]:
        if a == old and b > new:
            found.append(placed.start + a)
        old, new = a + 1, b + 1
    return found
