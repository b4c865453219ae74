"""The files of the graph, each with what its definitions weigh. Values; the graph is joined in `edges.py`."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from regreen.model import Symbol
from regreen.repo.facts import FileFacts, FileRole
from regreen.repo.ranking.weights import family, weigh

SymbolsOf: TypeAlias = "Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], Symbol]]"


def _ints() -> array[int]:
    return array("I")


def _floats() -> array[float]:
    return array("d")


@dataclass(slots=True)
class FileNode:
    """One file. By definition: identifier, pull, show, whether it is private, the definition it is inside of (-1:
    none), the number of its name in the graph (-1: none), and its share of what that name gets. By name used, and by
    file used: its number, and how much of this file's rank goes there."""

    path: str
    role: FileRole
    content: int
    identifiers: array[int]  # I
    pull: array[int]  # B
    show: array[int]  # B
    private: array[int]  # B
    parent: array[int]  # i
    name: array[int]  # i
    part: array[float]  # d
    uses: array[int] = field(default_factory=_ints)
    use_weight: array[float] = field(default_factory=_floats)
    to: array[int] = field(default_factory=_ints)
    to_weight: array[float] = field(default_factory=_floats)
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class Graph:
    """The files in any order; a place whose path is "" is free. `names` numbers what an identifier means in a file."""

    generation: int
    files: list[FileNode]
    names: array[int]  # Q

    def slots(self) -> dict[str, int]:
        return {file.path: slot for slot, file in enumerate(self.files) if file.path}


def no_file() -> FileNode:
    """What stands in a free place."""
    return FileNode("", "source", -1, _ints(), array("B"), array("B"), array("B"), array("i"), array("i"), _floats())


def nodes(facts: Sequence[FileFacts], symbols_of: SymbolsOf) -> list[FileNode]:
    """Files with the weights of their definitions, not yet joined."""
    wanted = [(fact.path, number) for fact in facts for number in range(len(fact.defines))]
    symbols: Mapping[tuple[str, int], Symbol] = symbols_of(wanted) if wanted else {}
    return [_node(fact, symbols) for fact in facts]


def _node(fact: FileFacts, symbols: Mapping[tuple[str, int], Symbol]) -> FileNode:
    size = len(fact.defines)
    pull, show, private = array("B", bytes(size)), array("B", bytes(size)), array("B", bytes(size))
    parents = array("i")
    language = family(fact.path)
    latest: dict[str, int] = {}
    for number in range(size):
        symbol = symbols.get((fact.path, number))
        parent = latest.get(symbol.parent, -1) if symbol is not None and symbol.parent else -1
        parents.append(parent)
        if symbol is None:  # the index has moved on meanwhile
            continue
        above = symbols.get((fact.path, parent)) if parent >= 0 else None
        weight = weigh(symbol, above, language)
        pull[number], show[number], private[number] = weight.pull, weight.show, weight.private
        latest[symbol.qualified_name] = number
    for number, members in Counter(parents).items():
        if number >= 0:  # what holds much is worth knowing
            show[number] = min(255, show[number] * (8 + (members + 1).bit_length() * 3) // 8)
    return FileNode(fact.path, fact.role, fact.content, array("I", fact.defines), pull, show, private, parents,
                    array("i", [-1]) * size, array("d", [0.0]) * size)  # fmt: skip
