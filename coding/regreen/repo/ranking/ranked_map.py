"""The map of a repository: the definitions that matter most, as text within a budget of tokens.

The same repository gives the same text, to the byte, in every process and whatever was asked before.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from regreen.errors import UsageError
from regreen.model import RepoMap, Symbol
from regreen.repo.budget import BYTES_PER_TOKEN, estimate_tokens
from regreen.repo.facts import Facts
from regreen.repo.ranking.focusing import focus_of
from regreen.repo.ranking.graph import build, patched
from regreen.repo.ranking.map_text import Lines, Sheet, fill, size
from regreen.repo.ranking.nodes import Graph, SymbolsOf
from regreen.repo.ranking.packing import pack, unpack
from regreen.repo.ranking.ranks import LARGE, Order, Ranks, focused, rank

MAX_TOKENS = 4000
KEPT = "map"  # what graph and ranks are kept as
KEEP_AFTER = 32  # changed files: it is not worth writing megabytes for fewer
MAX_HELD = 20_000  # symbols
_NOT_PARSED = ("minified", "huge", "binary")
_ROUNDS = 12  # of fitting a text to a tokenizer


@dataclass(frozen=True, slots=True)
class State:
    """All that a generation of the index gives."""

    graph: Graph
    ranks: Ranks
    orders: tuple[Order, Order]  # tests lowered, and not
    symbols: dict[tuple[str, int], Symbol] = field(default_factory=dict[tuple[str, int], Symbol])  # read already


class Mapper:
    """Maps of one repository. Holds graph and ranks from one to the next; safe for several threads."""

    def __init__(self, facts: Facts, symbols_of: SymbolsOf, shown_of: SymbolsOf | None = None) -> None:
        """`shown_of` gives definitions as they may be shown, if not as they are."""
        self._facts = facts
        self._symbols_of = symbols_of
        self._shown_of = shown_of or symbols_of
        self._lock = threading.Lock()
        self._state: State | None = None
        self._made_at = 0.0

    def state(self, old_s: float = 0.0) -> State:
        """Graph and ranks of what the index holds now: those at hand, those kept, or made anew from either. Those at
        hand may be `old_s` old."""
        with self._lock:
            if self._state is not None and time.monotonic() - self._made_at < old_s:
                return self._state
            self._made_at = time.monotonic()
            if self._state is None:
                found = unpack(self._facts.kept(KEPT))
                self._state = _state(*found) if found else None
            if self._state is None:
                graph = build(self._facts, self._symbols_of)
                self._state = self._made(graph, keep=bool(graph.files))
            elif self._state.graph.generation != self._facts.generation:
                old = self._state.graph
                graph = patched(old, self._facts, self._symbols_of)
                self._state = self._made(graph, keep=_changes(old, graph) >= KEEP_AFTER)
            return self._state

    def map(
        self,
        *,
        focus: Sequence[str] = (),
        boosts: Mapping[str, float] | None = None,
        paths: Collection[str] = (),
        max_tokens: int = MAX_TOKENS,
        tests: bool = False,
        indexed: float = 1.0,
        count: Callable[[str], int] = estimate_tokens,
        state: State | None = None,
    ) -> RepoMap:
        """The definitions that matter most, from `state` (None: from what the index holds now).

        `focus` names files, folders and (qualified) names of definitions: what they are, use and are used by comes
        first. `boosts` are files that matter besides, with weights. `paths` are all files there are, known to the
        index or not. `tests`: tests rank as other files do. `indexed`: the share of the repository that the index
        knows. `count` gives the tokens of a text. The text never has more than `max_tokens` of them.
        """
        if max_tokens < 1:
            raise UsageError("invalid_arguments", f"max_tokens is {max_tokens}", "give a number of at least 1")
        state = state or self.state()
        about = focus_of(state.graph, self._facts, focus, boosts or {}, paths)
        places = focused(state.graph, state.ranks, state.orders[tests], about)
        known = state.symbols if len(state.symbols) < MAX_HELD else {}
        lines = Lines(state.graph, places, self._shown_of, known)
        totals = _Totals(state.graph, max_tokens, indexed)
        sheet, text = _fitted(lines, totals, about.first, count)
        return RepoMap(
            text=text,
            files=tuple(state.graph.files[slot].path for slot in sheet.best_first(about.first)),
            tokens=count(text),
            ranked_symbols=tuple(sheet.symbols()),
            total_files=totals.files,
            total_symbols=totals.symbols,
            indexed=indexed,
            notes=about.notes,
        )

    def _made(self, graph: Graph, *, keep: bool) -> State:
        state = _state(graph, rank(graph))
        if keep:
            self._facts.keep(KEPT, pack(graph, state.ranks))
        return state


class _Totals:
    """The last line: how much of the repository the map shows."""

    def __init__(self, graph: Graph, max_tokens: int, indexed: float) -> None:
        self.max_tokens = max_tokens
        self.files = sum(1 for file in graph.files if file.path)
        self.symbols = sum(len(file.identifiers) for file in graph.files)
        roles = Counter(file.role for file in graph.files if file.path)
        unread = ", ".join(f"{roles[role]} {role}" for role in _NOT_PARSED if roles[role])
        self._unread = f"; not parsed: {unread}" if unread else ""
        self._partial = f"index {min(99, int(indexed * 100))} %: " if indexed < 1 else ""

    def forms(self, files: int, symbols: int, tokens: int) -> tuple[str, ...]:
        """The line in full, and shorter."""
        short = f"{self._partial}{files}/{self.files} files, {symbols}/{self.symbols} symbols"
        budget = f"; ~{tokens:,} of {self.max_tokens:,} tokens"
        full = f"{self._partial}shown {files}/{self.files} files, {symbols}/{self.symbols} symbols{budget}"
        return full + self._unread, full, short, self._partial.rstrip(": ")

    def reserve(self, room: int) -> int:
        """How many bytes to leave for the line; 0 where there is room for definitions only."""
        for number, form in enumerate(self.forms(self.files, self.symbols, self.max_tokens)):
            if form and size(form) * (4, 4, 4, 2)[number] <= room:
                return size(form)
        return 0

    def longest(self, files: int, symbols: int, tokens: int, room: int) -> str:
        """The most that can be said in so many bytes."""
        return next((form for form in self.forms(files, symbols, tokens) if form and size(form) <= room), "")


def _state(graph: Graph, ranks: Ranks) -> State:
    return State(graph, ranks, (Order(graph, ranks, tests=False), Order(graph, ranks, tests=True)))


def _changes(old: Graph, new: Graph) -> int:
    contents = {file.path: file.content for file in old.files}
    return sum(1 for file in new.files if contents.pop(file.path, None) != file.content)


def _fitted(lines: Lines, totals: _Totals, focus: Sequence[int], count: Callable[[str], int]) -> tuple[Sheet, str]:
    """The fullest text found that is within the budget. A tokenizer need not be additive: what it says of the whole
    decides, and the bytes per token that it had are the next guess."""
    most = totals.max_tokens
    room = int(most * BYTES_PER_TOKEN)
    best: tuple[int, Sheet, str] = (0, Sheet(lines, 0), "")
    fits, too_much = 0, 0
    for _ in range(_ROUNDS):
        sheet, text = _written(lines, totals, room, focus, count)
        tokens = count(text)
        if tokens <= most:
            best = max(best, (tokens, sheet, text), key=lambda found: (found[0], len(found[2])))
            fits = max(fits, room)
            if not sheet.full or tokens * 100 >= most * 97 or count is estimate_tokens:
                break
        else:
            too_much = min(too_much or room, room)
        guess = int(room * most / max(tokens, 1) * 0.99)
        room = guess if fits < guess < (too_much or guess + 1) else (fits + (too_much or room * 2)) // 2
        if room in (fits, too_much):
            break
    return best[1], best[2]


def _written(
    lines: Lines, totals: _Totals, room: int, focus: Sequence[int], count: Callable[[str], int]
) -> tuple[Sheet, str]:
    reserved = totals.reserve(room)
    sheet = fill(
        lines, room + 1 - reserved, frozenset(focus if len(focus) <= LARGE else ())
    )  # the last line has no end
    slots = sheet.best_first(focus)
    symbols = sum(map(len, sheet.shown.values()))
    rows = sheet.text(slots)
    left = room + 1 - sheet.used
    tokens, last = totals.max_tokens, ""
    for _ in range(2):  # the line says how many tokens there are, with itself
        last = totals.longest(len(slots), symbols, tokens, left)
        tokens = min(count("\n".join([*rows, last])), totals.max_tokens) if last else 0
    return sheet, "\n".join([*rows, *([last] if last else [])])
