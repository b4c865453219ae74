"""The ladder of matching levels: how SEARCH may be laid on a file's lines, strictest first.

Rule: the first level with a candidate decides; more than one candidate is ambiguous and looser levels are not asked.
No level compares by similarity, case, inner whitespace or position. A level is a function and one row in LEVELS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from regreen.edits.lines import FileLines, Key
from regreen.edits.operations import BLANKS, is_blank

MAX_CANDIDATES = 10

Convert: TypeAlias = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class Fit:
    """SEARCH laid on the file from `start` (0-based) on, line by line, and the REPLACE that goes with it.

    `convert` turns a new line of REPLACE into what is to be written; None = it cannot be done without guessing.
    `added` is the indentation that it puts in front of every line.
    """

    start: int
    search: tuple[str, ...]
    replace: tuple[str, ...]
    convert: Convert
    added: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    name: str
    fits: Callable[[FileLines, tuple[str, ...], tuple[str, ...]], Iterator[Fit]]


@dataclass(frozen=True, slots=True)
class Found:
    """The level that decided and its candidates: at least one, at most MAX_CANDIDATES and one more."""

    level: str
    fits: tuple[Fit, ...]


@dataclass(frozen=True, slots=True)
class Where:
    """Which places count: from line `start` on and before line `end` (0-based); at the very end of the file only."""

    start: int = 0
    end: int | None = None
    at_end: bool = False

    def admits(self, lines: FileLines, fit: Fit) -> bool:
        last = fit.start + len(fit.search)
        if fit.start < self.start or (self.end is not None and last > self.end):
            return False
        return not self.at_end or last == len(lines)


ANYWHERE = Where()


def find(
    lines: FileLines,
    search: tuple[str, ...],
    replace: tuple[str, ...],
    *,
    where: Where = ANYWHERE,
    strict: bool = False,
) -> Found | None:
    """Where SEARCH stands, by the first level that finds it at all. `strict` asks the exact level only.

    Raises TooRepetitive where that cannot be told with bounded work.
    """
    for level in LEVELS[:1] if strict else LEVELS:
        fits = (fit for fit in level.fits(lines, search, replace) if where.admits(lines, fit))
        found = tuple(islice(fits, MAX_CANDIDATES + 1))
        if found:
            return Found(level.name, found)
    return None


def indent_of(body: str) -> str:
    return body[: len(body) - len(body.lstrip(BLANKS))]


def _as_sent(body: str) -> str | None:
    return body


def _same(key: Key) -> Callable[[FileLines, tuple[str, ...], tuple[str, ...]], Iterator[Fit]]:
    def fits(lines: FileLines, search: tuple[str, ...], replace: tuple[str, ...]) -> Iterator[Fit]:
        for start in lines.places(search, key):
            yield Fit(start, search, replace, _as_sent)

    return fits


def _blank_edges(lines: FileLines, search: tuple[str, ...], replace: tuple[str, ...]) -> Iterator[Fit]:
    """Without the blank lines at SEARCH's beginning, at its end, or both: whichever finds a place first."""
    head, tail = _blank_head(search), _blank_head(search[::-1])
    for lead, trail in ((head, 0), (0, tail), (head, tail)):
        if not (lead or trail):
            continue
        core = search[lead : len(search) - trail]
        first = min(lead, _blank_head(replace))
        body = replace[first:]
        body = body[: len(body) - min(trail, _blank_head(body[::-1]))]
        found = False
        for start in lines.places(core, "trailing"):
            found = True
            yield Fit(start, core, body, _as_sent)
        if found:
            return


def _blank_head(rows: Sequence[str]) -> int:
    return next((n for n, row in enumerate(rows) if not is_blank(row)), len(rows))


def _indents(lines: FileLines, search: tuple[str, ...]) -> Iterator[tuple[int, Iterator[tuple[str, str]]]]:
    """Places where the lines agree but for blanks at their edges, each with its pairs (indent sent, indent found)."""
    for start in lines.places(search, "stripped"):
        lines.charge(1 + len(search) // 64)
        yield start, _pairs(lines, search, start)


def _pairs(lines: FileLines, search: tuple[str, ...], start: int) -> Iterator[tuple[str, str]]:
    for position, sent in enumerate(search, start):
        lines.charge(1)
        if not is_blank(sent):
            yield indent_of(sent), indent_of(lines.rows.bodies[position])


def _indent_shift(lines: FileLines, search: tuple[str, ...], replace: tuple[str, ...]) -> Iterator[Fit]:
    for start, indents in _indents(lines, search):
        added, removed = _shift(indents)
        if added:
            yield Fit(start, search, replace, _adding(added), added)
        elif removed:
            yield Fit(start, search, replace, _removing(removed))


def _shift(indents: Iterator[tuple[str, str]]) -> tuple[str, str]:
    """(added, removed): the prefix that makes every line of SEARCH the file's; both empty if there is none."""
    added, removed = _prefix(*next(indents, ("", "")))
    if not (added or removed) or any(_prefix(sent, found) != (added, removed) for sent, found in indents):
        return "", ""
    return added, removed


def _prefix(sent: str, found: str) -> tuple[str, str]:
    """(added, removed); both empty when neither is a prefix longer than the other."""
    if found.endswith(sent):
        return found[: len(found) - len(sent)], ""
    return ("", sent[: len(sent) - len(found)]) if sent.endswith(found) else ("", "")


def _adding(prefix: str) -> Convert:
    def convert(body: str) -> str | None:
        if is_blank(body):
            return body
        indent = indent_of(prefix + body)
        return None if " " in indent and "\t" in indent else prefix + body

    return convert


def _removing(prefix: str) -> Convert:
    def convert(body: str) -> str | None:
        if is_blank(body):
            return body.removeprefix(prefix) if body.startswith(prefix) else ""
        return body[len(prefix) :] if body.startswith(prefix) else None

    return convert


def _indent_unit(lines: FileLines, search: tuple[str, ...], replace: tuple[str, ...]) -> Iterator[Fit]:
    for start, indents in _indents(lines, search):
        unit = _unit(indents)
        if unit is not None:
            yield Fit(start, search, replace, unit)


def _unit(indents: Iterator[tuple[str, str]]) -> Convert | None:
    """How to convert REPLACE, if one tab in the file is always the same number of blanks in SEARCH, or vice versa."""
    sent, found = next((pair for pair in indents if pair != ("", "")), ("", ""))
    size = _blanks_per_tab(sent, found)
    if size is None:
        return None
    to_tabs = found.startswith("\t")
    for sent, found in indents:
        wide, narrow = (sent, found) if to_tabs else (found, sent)
        if wide.strip(" ") or narrow.strip("\t") or len(wide) != size * len(narrow):
            return None
    return _to_tabs(size) if to_tabs else _to_blanks(size)


def _blanks_per_tab(sent: str, found: str) -> int | None:
    wide, narrow = (sent, found) if found.startswith("\t") else (found, sent)
    if not wide or wide.strip(" ") or not narrow or narrow.strip("\t"):
        return None
    size, rest = divmod(len(wide), len(narrow))
    return size if not rest and 2 <= size <= 8 else None


def _to_tabs(size: int) -> Convert:
    def convert(body: str) -> str | None:
        indent = indent_of(body)
        if is_blank(body):
            return ""
        fits = "\t" not in indent and len(indent) % size == 0
        return "\t" * (len(indent) // size) + body[len(indent) :] if fits else None

    return convert


def _to_blanks(size: int) -> Convert:
    def convert(body: str) -> str | None:
        indent = indent_of(body)
        if is_blank(body):
            return ""
        return None if " " in indent else " " * (len(indent) * size) + body[len(indent) :]

    return convert


LEVELS: tuple[Level, ...] = (
    Level("exact", _same("exact")),
    Level("trailing_ws", _same("trailing")),
    Level("blank_edges", _blank_edges),
    Level("indent_shift", _indent_shift),
    Level("indent_unit", _indent_unit),
    Level("unicode_nfc", _same("nfc")),
)
