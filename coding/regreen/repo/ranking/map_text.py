"""The text of a map: files best first, under each its chosen definitions in the order of their lines, as they nest.

Sizes are exact at every step, in UTF-8 bytes with line ends, so that a budget is filled and never passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from regreen.model import RankedSymbol, Symbol
from regreen.repo.outline import owner
from regreen.repo.ranking.nodes import Graph, SymbolsOf
from regreen.repo.ranking.ranks import Place

MAX_SIGNATURE = 200
FOCUS_SHARE = 0.5  # of the room, for the files in focus before anything else is shown
_BATCH = 300
_TRIES = 200  # definitions in a row that do not fit
_LEAST_BYTES = 12  # of any line
_FULL = 0.97


class Lines:
    """The lines of definitions and of their containers, read from the index a batch at a time and kept."""

    def __init__(
        self, graph: Graph, places: Iterator[Place], symbols_of: SymbolsOf, known: dict[tuple[str, int], Symbol]
    ) -> None:
        self.graph = graph
        self._more = places
        self._symbols_of = symbols_of
        self._known = known  # of this very graph
        self._places: list[Place] = []

    def __iter__(self) -> Iterator[Place]:
        """The places, best first; from the start each time."""
        at = 0
        while True:
            if at == len(self._places):
                batch = list(islice(self._more, _BATCH))
                if not batch:
                    return
                self._read(batch)
                self._places.extend(batch)
            yield self._places[at]
            at += 1

    def chain(self, slot: int, number: int) -> list[int]:
        """A definition and those it is inside of, innermost first."""
        parents = self.graph.files[slot].parent
        chain = [number]
        while parents[chain[-1]] >= 0:
            chain.append(parents[chain[-1]])
        return chain

    def symbol(self, slot: int, number: int) -> Symbol | None:
        return self._known.get((self.graph.files[slot].path, number))

    def line(self, slot: int, number: int) -> str:
        """A definition on one line; "" for what is not there any more."""
        symbol = self.symbol(slot, number)
        if symbol is None:
            return ""
        depth = len(self.chain(slot, number))
        signature = " ".join(symbol.signature.split()) or symbol.name
        signature = owner(symbol.parent, signature, shown=depth > 1) + signature
        if len(signature) > MAX_SIGNATURE:
            signature = signature[: MAX_SIGNATURE - 1] + "…"
        lines = f"L{symbol.line}-{symbol.end_line}" if symbol.end_line > symbol.line else f"L{symbol.line}"
        return f"{'  ' * depth}{lines} {signature}"

    def least(self, slot: int, number: int, line: str) -> int:
        """How many bytes of a line there must be when it is cut: up to the name, and an ellipsis."""
        symbol = self.symbol(slot, number)
        name = symbol.name if symbol else ""
        at = line.find(name)
        return size(line[: at + len(name)]) + 3 if at >= 0 else size(line)

    def _read(self, batch: Sequence[Place]) -> None:
        wanted = {(path, one) for _, path, number, slot in batch for one in self.chain(slot, number)}
        missing = sorted(wanted - self._known.keys())
        if missing:
            self._known.update(self._symbols_of(missing))


@dataclass(slots=True)
class Sheet:
    """What has been chosen so far, within `room` bytes."""

    lines: Lines
    room: int
    used: int = 0
    shown: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])
    scores: dict[tuple[int, int], float] = field(default_factory=dict[tuple[int, int], float])
    full: bool = False  # something was left out

    def add(self, place: Place, cut: bool = False) -> int:
        """Show a definition with what it is inside of, with `cut` as far as there is room: how many bytes that took;
        0 if it does not fit, -1 if it is shown already or has nothing to show."""
        score, path, number, slot = place
        here = self.shown.get(slot, {})
        if number in here:
            self.scores[slot, number] = max(self.scores[slot, number], -score)
            return -1
        new = {one: self.lines.line(slot, one) for one in self.lines.chain(slot, number) if one not in here}
        if not new[number]:
            return -1
        cost = sum(size(line) for line in new.values() if line) + (0 if here else size(path_line(path)))
        over = self.used + cost - self.room
        if over > 0:
            if not cut or size(new[number]) - over < self.lines.least(slot, number, new[number]):
                return 0
            new[number] = _shortened(new[number], over)
            cost -= over
        self.shown.setdefault(slot, {}).update((one, line) for one, line in new.items() if line)
        self.scores.update(((slot, one), -score) for one, line in new.items() if line)
        self.used += cost
        return cost

    def best_first(self, focus: Iterable[int]) -> list[int]:
        """The files shown, by their best definition; before others those in focus."""
        first = frozenset(focus)
        best: dict[int, float] = {}
        for (slot, _), score in self.scores.items():
            best[slot] = max(score, best.get(slot, 0.0))
        files = self.lines.graph.files
        return sorted(best, key=lambda slot: (slot not in first, -best[slot], files[slot].path))

    def text(self, slots: Iterable[int]) -> list[str]:
        rows: list[str] = []
        for slot in slots:
            shown = self.shown[slot]
            rows.extend((path_line(self.lines.graph.files[slot].path), *(shown[number] for number in sorted(shown))))
        return rows

    def symbols(self) -> Iterator[RankedSymbol]:
        """What is shown, best first."""
        files = self.lines.graph.files
        for score, path, number, slot in sorted((-score, files[s].path, n, s) for (s, n), score in self.scores.items()):
            symbol = self.lines.symbol(slot, number)
            if symbol is not None:
                yield RankedSymbol(path, symbol.kind, symbol.qualified_name, symbol.line, symbol.end_line,
                                   round(-score, 6))  # fmt: skip


def fill(lines: Lines, room: int, focus: frozenset[int]) -> Sheet:
    """As many definitions as there is room for, best first; what does not fit is passed over for what is smaller."""
    sheet = Sheet(lines, room)
    later: list[Place] = []
    left_out: list[Place] = []
    own = misses = 0
    for place in lines:
        focused = place[3] in focus
        if focused and own > room * FOCUS_SHARE:
            later.append(place)
            continue
        cost = sheet.add(place)
        own += cost if focused and cost > 0 else 0
        misses = 0 if cost > 0 else misses + (cost == 0)
        if cost == 0:
            left_out.append(place)
        if misses >= _TRIES or room - sheet.used < _LEAST_BYTES:
            break
    left_out.extend([place for place in later if not sheet.add(place)])
    sheet.full = bool(left_out) or room - sheet.used < _LEAST_BYTES
    for place in left_out:
        if sheet.used >= room * _FULL:
            break
        sheet.add(place, cut=True)
    return sheet


def path_line(path: str) -> str:
    """A path as it is written, whatever it holds."""
    clean = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in clean)


def size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


def _shortened(line: str, over: int) -> str:
    """The line, so many bytes shorter, the last three for an ellipsis."""
    data = line.encode("utf-8", "replace")
    return data[: len(data) - over - 3].decode("utf-8", "ignore") + "…"
