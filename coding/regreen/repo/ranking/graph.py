"""Which file uses what of which other file: the graph that ranking walks on. How it is made, and made again.

Every number is whole, and small enough for sums to be exact in any order: a graph that was patched gives the same ranks
to the last bit as one built afresh, whatever the order of files and the numbering of identifiers.
"""

from __future__ import annotations

import gc
from array import array
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace

from regreen.repo.facts import Facts, FileFacts
from regreen.repo.ranking.edges import Only, connect, resolve
from regreen.repo.ranking.nodes import FileNode, Graph, SymbolsOf, no_file, nodes

REBUILD_SHARE = 4  # more than one file in this many has changed: building anew is cheaper
_BATCH = 2000  # symbols asked for at once


def build(facts: Facts, symbols_of: SymbolsOf, old: Graph | None = None) -> Graph:
    """The graph of all files. Reads the facts twice, so that uses need not be held; what `old` says of files that are
    the same need not be found out again."""
    known = {file.path: file for file in old.files} if old else {}
    with _no_collecting():
        return _build(facts, symbols_of, known)


def _build(facts: Facts, symbols_of: SymbolsOf, known: Mapping[str, FileNode]) -> Graph:
    generation = facts.generation
    files: list[FileNode] = []
    waiting: list[FileFacts] = []
    count = 0
    for fact in facts.facts():
        node = known.get(fact.path)
        if node and node.content == fact.content and node.role == fact.role:
            files.append(replace(node, name=array("i", [-1]) * len(node.name)))
            continue
        waiting.append(fact._replace(uses=array("I")))
        count += len(fact.defines)
        if count >= _BATCH:
            files.extend(nodes(waiting, symbols_of))
            waiting, count = [], 0
    files.extend(nodes(waiting, symbols_of))
    graph = Graph(generation, files, array("Q"))
    resolve(graph, None)
    connect(graph, facts, None)
    return graph


@contextmanager
def _no_collecting() -> Generator[None]:
    """Millions of tuples and no cycle among them: looking for one takes a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def patched(graph: Graph, facts: Facts, symbols_of: SymbolsOf) -> Graph:
    """The graph of what the files are now; `graph` stays as it is. Reads the uses of other files again only where the
    definitions of changed ones differ."""
    generation = facts.generation
    gone = graph.slots()
    few = len(gone) // REBUILD_SHARE
    changed: list[FileFacts] = []
    for fact in facts.facts():
        slot = gone.pop(fact.path, -1)
        known = graph.files[slot] if slot >= 0 else None
        if known is None or known.content != fact.content or known.role != fact.role:
            changed.append(fact)
            if len(changed) > few:
                return build(facts, symbols_of, graph)
    patch = Graph(generation, list(graph.files), graph.names[:])
    affected = _remove(patch, gone)
    affected |= _put(patch, nodes(changed, symbols_of))
    if affected:
        resolve(patch, affected)
    connect(patch, facts, Only(affected, {fact.path: fact for fact in changed}))
    return patch


def _remove(graph: Graph, gone: Mapping[str, int]) -> set[int]:
    """Take these files out; returns the identifiers they defined."""
    affected: set[int] = set()
    for slot in gone.values():
        affected.update(graph.files[slot].identifiers)
        graph.files[slot] = no_file()
    return affected - {0}


def _put(graph: Graph, files: Iterable[FileNode]) -> set[int]:
    """Put these files in the place of their old versions or in free ones; returns the identifiers whose meaning is
    another now."""
    slots = graph.slots()
    free = [slot for slot, file in enumerate(graph.files) if not file.path]
    affected: set[int] = set()
    for file in files:
        slot = slots.get(file.path, -1)
        if slot >= 0:
            affected |= _differing(graph.files[slot], file)
            _keep_names(graph.files[slot], file)
        else:
            slot = free.pop() if free else len(graph.files)
            affected.update(file.identifiers)
        graph.files[slot : slot + 1] = [file]
    return affected - {0}


def _differing(old: FileNode, new: FileNode) -> set[int]:
    """The identifiers that two versions of a file do not define in the same way."""
    if old.role != new.role:
        return {*old.identifiers, *new.identifiers}
    before, after = (Counter(zip(file.identifiers, file.pull, file.private, strict=True)) for file in (old, new))
    return {key[0] for key in before.keys() | after.keys() if before[key] != after[key]}


def _keep_names(old: FileNode, new: FileNode) -> None:
    """Give the definitions of a new version the names that they had."""
    names = {identifier: name for identifier, name in zip(old.identifiers, old.name, strict=True) if name >= 0}
    sums = Counter[int]()
    for identifier, pull in zip(new.identifiers, new.pull, strict=True):
        sums[identifier] += pull
    for number, (identifier, pull) in enumerate(zip(new.identifiers, new.pull, strict=True)):
        if pull and identifier in names:
            new.name[number] = names[identifier]
            new.part[number] = pull / sums[identifier]
