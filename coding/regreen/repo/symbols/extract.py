"""From the bytes of one source file to its definitions, whatever the language: the query files know the grammar.

Never raises on any input. What captures mean is told in `languages.py`; how they become symbols in `definitions.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from regreen.repo.languages import Language, grammar, installed, language_named
from regreen.repo.mending.closing import attempts
from regreen.repo.symbols.declarations import Lines
from regreen.repo.symbols.definitions import symbols
from regreen.repo.symbols.extraction import Extraction
from regreen.repo.symbols.matching import Match
from regreen.repo.symbols.parsing import parse_within
from regreen.wire import counted

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_CPU_S = 3.0  # for one file
MAX_MATCHES = 30_000
MAX_ERRORS = 20
MAX_WORK = 500e6  # about a second; matching is quadratic in depth and breadth of damage; see _work

_SMALL_BYTES = 1 << 14  # up to this size no grammar takes long
_SAMPLES = 200


def extract(source: bytes, language: Language, *, docstrings: bool = False, max_cpu_s: float = MAX_CPU_S) -> Extraction:
    """The definitions in `source` (UTF-8, lines ended by LF or CRLF); `errors` names the lines that do not parse.

    Gives up where parsing takes longer than `max_cpu_s` (each part of it that is in another language: `MAX_CPU_S`).
    """
    if language.scan is not None:
        return language.scan(source, partial(_read_as, docstrings))
    reading = _Reading(language, max_cpu_s)
    try:
        shown, matches, bad = reading.read(source)
    except _TooLong:
        return Extraction(gave_up=f"takes more than {max_cpu_s:g} s to parse")
    errors = _describe(bad)
    if matches is None:
        return Extraction(errors=errors, gave_up="nested too deeply or too damaged")
    if len(matches) > MAX_MATCHES:
        matches = matches[:MAX_MATCHES]
        errors = (*errors, f"more than {MAX_MATCHES:,} definitions: the rest is left out")
    return Extraction(tuple(symbols(shown, matches, language, docstrings=docstrings)), errors)


def _read_as(docstrings: bool, source: bytes, name: str) -> Extraction | None:
    """What a part of a file holds that is in another language."""
    language = language_named(name)
    if language is None or not installed(language):
        return None
    return extract(source, language, docstrings=docstrings)


class _TooLong(Exception):
    """The time for one file is over."""


class _Reading:
    """One file being read: every parse of it counts towards one limit of processor time."""

    def __init__(self, language: Language, max_cpu_s: float) -> None:
        self._language = language
        self._parser, self._query = grammar(language)
        self._end = time.thread_time() + max_cpu_s

    def read(self, source: bytes) -> tuple[bytes, list[Match] | None, list[int]]:
        """The source that offsets are of, the matches in it (None: too much work), and the lines that do not parse.

        Raises _TooLong.
        """
        language = self._language
        shown = source
        if language.mask is not None:
            source = language.mask(source)
        root = self._parse(source)
        if root.has_error and language.broken_mask is not None:
            source = language.broken_mask(source)
            root = self._parse(source)
        if not root.has_error:
            return shown, self._matches(root), []
        if language.repair is None:
            matches, places = self._best(source, root)
            return shown, matches, _lines(shown, places)
        bad = _lines(shown, _error_places(root))
        repaired = language.repair(source, lambda code: not self._parse(code).has_error)
        if repaired is not None:
            shown = repaired.source
            bad = list(repaired.lines) or bad
            root = self._parse(shown)
        return shown, self._matches(root), bad

    def _parse(self, source: bytes) -> Node:
        if len(source) <= _SMALL_BYTES:
            if self._over():
                raise _TooLong
            return self._parser.parse(source).root_node
        tree = parse_within(source, self._parser.language, self._over)  # pyright: ignore[reportArgumentType]
        if tree is None:
            raise _TooLong
        return tree.root_node

    def _over(self) -> bool:
        return time.thread_time() >= self._end

    def _matches(self, root: Node) -> list[Match] | None:
        from tree_sitter import QueryCursor

        if root.descendant_count**2 > MAX_WORK and _work(root) > MAX_WORK:
            return None
        return QueryCursor(self._query).matches(root)

    def _best(self, source: bytes, root: Node) -> tuple[list[Match] | None, list[int]]:
        """What is found in a broken file or in what it may have been, whichever is most, and where the errors are."""
        places = list(_error_places(root))
        matches = self._matches(root)
        for attempt in attempts(source, places) if matches is not None else ():
            tree = self._parse(attempt.source)
            others = self._matches(tree)
            if others is not None and matches is not None and len(others) > len(matches):
                matches = others
                places = [*attempt.places, *(_error_places(tree) if tree.has_error else ())]
        return matches, places


def _lines(source: bytes, places: Iterable[int]) -> list[int]:
    lines = Lines(source)  # the parser's own numbers are those in what a mask made of the source
    return sorted({lines.number(min(place, len(source))) for place in places})


def _work(root: Node) -> float:
    """How much matching a query costs, from evenly spread samples: nodes times mean depth, and the square of the
    number of children that an error has."""
    cursor = root.walk()
    step = max(1, root.descendant_count // _SAMPLES)
    depths: list[int] = []
    widest = 0
    for index in range(0, root.descendant_count, step):
        cursor.goto_descendant(index)
        depths.append(cursor.depth)
        cursor.goto_parent()
        above = cursor.node
        if above is not None and above.is_error:
            widest = max(widest, above.child_count)
    return root.descendant_count * sum(depths) / len(depths) + widest**2


def _error_places(root: Node) -> Iterator[int]:
    """The offsets where the innermost errors begin. Looks at a bounded number of nodes."""
    waiting = [root]
    for _ in range(5000):
        if not waiting:
            return
        node = waiting.pop()
        below = [child for child in node.children if child.has_error] if node.child_count < 20_000 else []
        if node.is_missing or node.is_error or not below:
            yield node.start_byte
        waiting.extend(below)


def _describe(lines: list[int]) -> tuple[str, ...]:
    """One message for each run of neighbouring lines."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line <= runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    texts = [
        f"line {a}: could not be parsed" if a == b else f"lines {a}-{b}: could not be parsed" for a, b in runs
    ]  # fmt: skip
    more = len(texts) - MAX_ERRORS
    return (*texts[:MAX_ERRORS], f"{counted(more, 'more place')} could not be parsed") if more > 0 else tuple(texts)
