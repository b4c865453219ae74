"""Which files and definitions matter most: PageRank over the graph of files, overall and as seen from a focus.

PageRank is that of Page, Brin, Motwani and Winograd (1999), from a focus that of Haveliwala (2002). Both are summed up
as a series: what starts somewhere, goes on one edge, two edges, and so on, a fixed number of times from a fixed start.
So files that nothing points to cost one step only, what ends in files without edges is made up for when scores become
shares, and the result depends on nothing that was computed before.

Ranks are whole numbers in floats, in all at most 2^50, as are weights: sums are exact, hence the same in any order.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge, nlargest, nsmallest
from itertools import chain
from math import fsum
from operator import mul
from typing import TypeAlias

from regreen.repo.facts import FileRole
from regreen.repo.ranking.focusing import Focus
from regreen.repo.ranking.nodes import FileNode, Graph
from regreen.repo.ranking.weights import role_factor

WHOLE = float(2**50)
DAMPING = 0.6
STEPS = 6  # from everywhere: what would come after is below a twentieth of the whole
FOCUS_STEPS = 3
LEAST = WHOLE / 2**17  # what is less is not passed on from a focus
_STAGES = (1500, 15000)  # definitions that are put in order before all are

_FLOOR = 0.001  # of a file's rank, for each definition at its top
_FROM_CONTAINER = 0.4  # of a class's worth, for its first member; a half, a third of that for the next ones
_FOCUS, _BOOSTED = 0.7, 0.5  # the share of what is seen from the focus, or from boosted files only
_OUTLINE = 0.3  # the share of the focus files' own definitions
_NAMED = 0.3  # the share of the definitions of identifiers in focus
_MEMBERS = 2.0  # of what a named definition gets, for what it holds
LARGE = 200  # files in focus: too many to look from each of them
_FEW = 8  # files in focus that are shown each; of more, what matters most in them
_MANY = 20  # files in focus whose users are looked for
_USERS = 0.3  # how much of a focus starts in the files that use it

_SHOWN = [show / 128 for show in range(256)]

Place: TypeAlias = "tuple[float, str, int, int]"  # minus its score, path, number of the definition, file


@dataclass(frozen=True, slots=True)
class Ranks:
    """Of every file its rank; of every name what arrives at it; of every definition its score without a focus."""

    files: array[float]
    names: array[float]
    scores: list[array[float]]
    sums: tuple[float, float]  # of all scores, tests lowered and not


@dataclass(slots=True)
class Order:
    """All definitions, best first; only as far as anyone has looked."""

    graph: Graph
    ranks: Ranks
    tests: bool
    _first: list[Place] = field(default_factory=list["Place"])

    def __iter__(self) -> Iterator[Place]:
        given = 0
        for enough in _STAGES:
            if len(self._first) < enough:
                self._first = self._best(enough)
            yield from self._first[given:]
            given = len(self._first)
            if given < enough:
                return
        yield from sorted(self._places())[given:]

    def _best(self, enough: int) -> list[Place]:
        """The first so many; places are made for few others."""
        least = nlargest(enough, chain.from_iterable(scores for _, _, scores in self._scores()))[-1:]
        return sorted(self._places(*least))[:enough]

    def _places(self, least: float = 0.0) -> Iterator[Place]:
        for slot, path, scores in self._scores():
            yield from ((-score, path, number, slot) for number, score in enumerate(scores) if score >= least)

    def _scores(self) -> Iterator[tuple[int, str, Sequence[float]]]:
        for slot, (file, scores) in enumerate(zip(self.graph.files, self.ranks.scores, strict=True)):
            factor = factor_of(file.role, self.tests)
            if factor:
                yield slot, file.path, scores if factor == 1 else [score * factor for score in scores]


def rank(graph: Graph) -> Ranks:
    """The ranks without a focus."""
    files = graph.files
    start = [_vote(file.role) if file.path else 0.0 for file in files]
    unit = WHOLE * (1 - DAMPING) // max(1, sum(start))
    ranks = spread(files, [vote * unit for vote in start], STEPS, 1.0)
    names = arriving(graph, ranks)
    scores = [score_all(file, ranks[slot], names) for slot, file in enumerate(files)]
    own = [fsum(values) for values in scores]
    low, high = (fsum(value * factor_of(file.role, tests) for file, value in zip(files, own, strict=True))
                 for tests in (False, True))  # fmt: skip
    return Ranks(array("d", ranks), array("d", names), scores, (low, high))


def spread(files: Sequence[FileNode], start: Sequence[float], steps: int, least: float) -> list[float]:
    """What each file has after everything has gone on `steps` times."""
    reached = list(start)
    wave = start
    for _ in range(steps):
        following = [0.0] * len(files)
        for file, amount in zip(files, wave, strict=True):
            if amount >= least and file.total:
                piece = amount * DAMPING // file.total
                for slot, weight in zip(file.to, file.to_weight, strict=True):
                    following[slot] += piece * weight
        reached = [a + b for a, b in zip(reached, following, strict=True)]
        wave = following
    return reached


def arriving(graph: Graph, ranks: Sequence[float], least: float = 1.0) -> list[float]:
    """How much of the ranks goes to each name, by its number."""
    names = [0.0] * len(graph.names)
    for file, amount in zip(graph.files, ranks, strict=True):
        if amount >= least and file.total:
            piece = amount * DAMPING // file.total
            for name, weight in zip(file.uses, file.use_weight, strict=True):
                names[name] += piece * weight
    return names


def score_all(file: FileNode, rank: float, names: Sequence[float]) -> array[float]:
    """The scores of a file's definitions: what goes to their names, and a little for being there."""
    worth: list[float] = []
    members = [1.0] * len(file.name)
    floor = rank * _FLOOR
    for name, part, parent in zip(file.name, file.part, file.parent, strict=True):
        if parent < 0:
            value = floor
        else:
            value = worth[parent] * _FROM_CONTAINER / members[parent]
            members[parent] += 1.0
        worth.append(names[name] * part + value if name >= 0 else value)
    return array("d", map(mul, worth, map(_SHOWN.__getitem__, file.show)))


def factor_of(role: FileRole, tests: bool) -> float:
    """How much of its score a definition keeps."""
    return 1.0 if tests and role == "test" else role_factor(role)


def focused(graph: Graph, ranks: Ranks, order: Order, focus: Focus) -> Iterator[Place]:
    """All definitions, best first, as seen from a focus. Scores are shares of 1."""
    whole = ranks.sums[order.tests] or 1.0
    if not focus:
        return ((score / whole, path, number, slot) for score, path, number, slot in order)
    if len(focus.files) > LARGE:
        return _within(order, frozenset(focus.files), whole)
    share = _FOCUS if focus.files or focus.named else _BOOSTED
    seen = _seen(graph, focus, order.tests)
    extra = _extras(graph, ranks, focus)
    near: list[Place] = []
    for slot in sorted(seen.keys() | extra.keys()):
        file = graph.files[slot]
        factor = factor_of(file.role, order.tests or slot in focus.files)
        values = [score * factor / whole * (1 - share) for score in ranks.scores[slot]]
        for number, score in enumerate(seen.get(slot, ())):
            values[number] += score * share
        for number, score in enumerate(extra.get(slot, ())):
            values[number] += score
        near.extend((-value, file.path, number, slot) for number, value in enumerate(values) if factor)
    far = ((score / whole * (1 - share), path, number, slot) for score, path, number, slot in order
           if slot not in seen and slot not in extra)  # fmt: skip
    return merge(_lazily_sorted(near), far)


def _within(order: Order, files: frozenset[int], whole: float) -> Iterator[Place]:
    """What matters in so many files, before what matters elsewhere."""
    inside = ((score / whole * 0.9, path, number, slot) for score, path, number, slot in order if slot in files)
    outside = ((score / whole * 0.1, path, number, slot) for score, path, number, slot in order if slot not in files)
    return merge(inside, outside)


def _lazily_sorted(places: list[Place]) -> Iterator[Place]:
    first = nsmallest(_STAGES[0], places)
    yield from first
    yield from sorted(places)[len(first) :]


def _vote(role: FileRole) -> float:
    return {"source": 16.0, "test": 8.0, "generated": 2.0, "vendored": 1.0}.get(role, 0.0)


def _seen(graph: Graph, focus: Focus, tests: bool) -> dict[int, list[float]]:
    """The scores of the definitions in the files reached from a focus; in all 1."""
    start = _start(graph, focus)
    ranks = spread(graph.files, start, FOCUS_STEPS, LEAST)
    names = arriving(graph, ranks, LEAST)
    seen: dict[int, list[float]] = {}
    for slot, amount in enumerate(ranks):
        file = graph.files[slot]
        factor = factor_of(file.role, tests or slot in focus.files)
        if amount >= LEAST and factor:
            seen[slot] = [score * factor for score in score_all(file, amount, names)]
    whole = fsum(map(fsum, seen.values())) or 1.0
    return {slot: [score / whole for score in scores] for slot, scores in seen.items()}


def _start(graph: Graph, focus: Focus) -> list[float]:
    """Where what is seen from a focus starts: there, and in files that use what is in focus."""
    files = graph.files
    parts: dict[int, float] = dict(focus.boosts)
    for slot in focus.files:
        parts[slot] = parts.get(slot, 0.0) + 1.0
    _share_out(parts, ((slot, file.to_weight[file.to.index(wanted)] / file.total * role_factor(file.role))
                       for wanted in focus.files[:_MANY] for slot, file in enumerate(files) if wanted in file.to),
               _USERS * len(focus.files))  # fmt: skip
    _share_out(parts, ((slot, 1.0) for slot, _ in focus.named), 1.0)
    names = {files[slot].name[number] for slot, number in focus.named} - {-1}
    _share_out(parts, ((slot, role_factor(file.role)) for slot, file in enumerate(files)
                       if names and not names.isdisjoint(file.uses)), _USERS if focus.named else 0.0)  # fmt: skip
    whole = fsum(parts.values()) or 1.0
    start = [0.0] * len(files)
    for slot, part in parts.items():
        start[slot] = part / whole * WHOLE * (1 - DAMPING) // 1
    return start


def _share_out(parts: dict[int, float], places: Iterable[tuple[int, float]], amount: float) -> None:
    """Give these places, in all, that amount."""
    held = list(places)
    whole = fsum(weight for _, weight in held)
    for slot, weight in held:
        if whole:
            parts[slot] = parts.get(slot, 0.0) + weight / whole * amount


def _extras(graph: Graph, ranks: Ranks, focus: Focus) -> dict[int, list[float]]:
    """What definitions get for being in focus themselves, by file."""
    extras = _outlines(graph, ranks, focus.files)
    factors = [role_factor(graph.files[slot].role) for slot, _ in focus.named]
    whole = fsum(factors) or 1.0
    for (slot, number), factor in zip(focus.named, factors, strict=True):
        file = graph.files[slot]
        own = extras.setdefault(slot, [0.0] * len(file.identifiers))
        share = _NAMED * factor / whole
        own[number] += share
        members = [n for n, parent in enumerate(file.parent) if parent == number]
        shown = sum(file.show[member] for member in members) or 1
        for member in members:
            own[member] += share * _MEMBERS * file.show[member] / shown
    return extras


def _outlines(graph: Graph, ranks: Ranks, slots: Sequence[int]) -> dict[int, list[float]]:
    """The definitions of files in focus: each file gets the same, unless they are many."""
    worth = [fsum(ranks.scores[slot]) for slot in slots]
    shown = [sum(graph.files[slot].show) for slot in slots]
    each = _OUTLINE / 2 / max(1, len(slots))
    if len(slots) > _FEW:
        worth, shown, each = [fsum(worth)] * len(slots), [sum(shown)] * len(slots), _OUTLINE / 2
    return {
        slot: [
            (score / (whole or 1.0) + show / (most or 1)) * each
            for score, show in zip(ranks.scores[slot], graph.files[slot].show, strict=True)
        ]
        for slot, whole, most in zip(slots, worth, shown, strict=True)
    }
