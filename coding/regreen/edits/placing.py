"""Decides what one edit does to one file's lines: the place, the level and the lines to write, or the reason why not.

Pure: it reads the lines and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from regreen.edits.align import align
from regreen.edits.explain import already_applied, ambiguous, repetitive, unconvertible
from regreen.edits.ladder import MAX_CANDIDATES, Fit, find
from regreen.edits.lines import FileLines, TooRepetitive, is_blank
from regreen.model import EditError


@dataclass(frozen=True, slots=True)
class Placed:
    """Write at `start` (0-based): `fresh[i]` for each new line of `replace`; lines that SEARCH holds too stay."""

    level: str
    start: int
    search: tuple[str, ...]
    replace: tuple[str, ...]
    fresh: tuple[str, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.search)

    def new_lines(self) -> list[str]:
        """What is written that was not there."""
        kept = {new for _, new in align(self.search, self.replace)}
        return [body for number, body in enumerate(self.fresh) if number not in kept]


def place(
    path: str, lines: FileLines, search: tuple[str, ...], replace: tuple[str, ...], *, strict: bool = False
) -> Placed | EditError | None:
    """Where `search` (not blank) stands and what is to be written there. None: it stands nowhere."""
    try:
        found = find(lines, search, replace, strict=strict)
    except TooRepetitive:
        return repetitive(path)
    if found is None:
        return _standing_elsewhere(path, lines, search, replace)
    fit, *others = found.fits
    if others:
        return ambiguous(path, found, lines)
    at = _standing_here(lines, fit)
    if at is not None:
        return already_applied(path, lines.origin_of(at))
    fresh = _converted(fit)
    if fresh is None:
        window = lines.bodies(fit.start, fit.start + len(fit.search))
        return unconvertible(path, found, window, lines.origin_of(fit.start))
    return Placed(found.level, fit.start, fit.search, fit.replace, fresh)


def _converted(fit: Fit) -> tuple[str, ...] | None:
    """All lines of REPLACE as they are to be written; None if one that is new cannot be converted."""
    kept = {new for _, new in align(fit.search, fit.replace)}
    fresh = [body if number in kept else fit.convert(body) for number, body in enumerate(fit.replace)]
    done = tuple(body for body in fresh if body is not None)
    return done if len(done) == len(fresh) else None


def _standing_here(lines: FileLines, fit: Fit) -> int | None:
    """Start of a run that is REPLACE already, if REPLACE adds lines around SEARCH and they are there; else None."""
    height, size = len(fit.search), len(fit.replace)
    if size <= height:
        return None
    inside = FileLines([(body, "\n") for body in fit.replace])
    for lead in islice(inside.places(fit.search, "exact"), MAX_CANDIDATES):
        start = fit.start - lead
        if start < 0 or start + size > len(lines):
            continue
        added = [n for n in range(size) if not lead <= n < lead + height]
        says = any(not is_blank(fit.replace[n]) for n in added)
        if says and all(lines.rows.bodies[start + n] == fit.convert(fit.replace[n]) for n in added):
            return start
    return None


def _standing_elsewhere(path: str, lines: FileLines, search: Sequence[str], replace: Sequence[str]) -> EditError | None:
    """SEARCH is gone. If REPLACE, with something in it that SEARCH lacks, stands at one place: applied before."""
    known = set(search)
    if all(is_blank(body) or body in known for body in replace):
        return None
    places = list(islice(lines.places(replace, "exact"), 2))
    return already_applied(path, lines.origin_of(places[0])) if len(places) == 1 else None
