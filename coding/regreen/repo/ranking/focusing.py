"""What a map is to be about: from the words of a request to files and definitions of the graph."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from regreen.repo.facts import Facts
from regreen.repo.ranking.nodes import Graph

MAX_NAMED = 200  # definitions of one name
MAX_DEFINERS = 8

_ALL = ("", ".", "./", "/", "*", "**")  # about everything is about nothing
_SEPARATOR = re.compile(r"::|->|[.#/\\:]")


class Focus(NamedTuple):
    """Files by their place in the graph; definitions by file and number; files that matter besides, with weights.
    `notes` say what of a request means nothing here."""

    files: tuple[int, ...] = ()
    named: tuple[tuple[int, int], ...] = ()
    boosts: tuple[tuple[int, float], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> tuple[int, ...]:
        """The files that a map begins with: those in focus, and where what is in focus is defined, if that is clear."""
        definers = tuple(dict.fromkeys(slot for slot, _ in self.named))
        return tuple(dict.fromkeys((*self.files, *(definers if len(definers) <= MAX_DEFINERS else ()))))

    def __bool__(self) -> bool:
        return bool(self.files or self.named or self.boosts)


def focus_of(
    graph: Graph, facts: Facts, wanted: Sequence[str], boosts: Mapping[str, float], paths: Collection[str]
) -> Focus:
    """`wanted` holds paths of files, folders, and names that may be qualified; `paths` are all files there are."""
    slots = graph.slots()
    files: dict[int, None] = {}
    named: dict[tuple[int, int], None] = {}
    notes: list[str] = []
    for word in dict.fromkeys(wanted):
        if word.strip() in _ALL:
            continue
        below = _below(slots, word)
        found = [] if below else _definitions(graph, facts, word)
        files.update(dict.fromkeys(below))
        named.update(dict.fromkeys(found))
        if not below and not found:
            known = word in paths
            notes.append(f"{word}: no definitions are known in it" if known else f"{word}: no file, no definition")
    weighted = ((slots[path], weight) for path, weight in sorted(boosts.items()) if path in slots and weight > 0)
    return Focus(tuple(files), tuple(named), tuple(weighted), tuple(notes))


def _below(slots: Mapping[str, int], word: str) -> list[int]:
    """The file of that path, or those in the folder of that path."""
    if word in slots:
        return [slots[word]]
    folder = word.rstrip("/") + "/"
    return [slots[path] for path in sorted(slots) if path.startswith(folder)]


def _definitions(graph: Graph, facts: Facts, word: str) -> list[tuple[int, int]]:
    """The definitions of a name; of a qualified one, those whose container, file or folders fit best."""
    *before, last = [part for part in _SEPARATOR.split(word.strip().removesuffix("()")) if part] or [""]
    numbers = facts.identifiers({*before, last})
    wanted = numbers.get(last, 0)
    if not wanted:
        return []
    graded: list[tuple[int, int, tuple[str, int, int]]] = []
    for slot, file in enumerate(graph.files):
        if wanted in file.identifiers:
            inside = sum(part in file.path for part in before)
            for number, identifier in enumerate(file.identifiers):
                if identifier == wanted:
                    fits = _container_fits(file.identifiers, file.parent[number], before, numbers)
                    graded.append((fits, inside, (file.path, number, slot)))
    best = max(((fits, inside) for fits, inside, _ in graded), default=(0, 0))
    places = sorted(place for fits, inside, place in graded if (fits, inside) == best)
    return [(slot, number) for _, number, slot in places[:MAX_NAMED]]


def _container_fits(identifiers: Sequence[int], parent: int, before: Sequence[str], numbers: Mapping[str, int]) -> int:
    return int(bool(before) and parent >= 0 and identifiers[parent] == numbers.get(before[-1], -1))
