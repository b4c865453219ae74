"""Which file points to which, and why: the edges of the graph, bipartite by identifiers.

A file points to the names it uses, a name to the definitions it can mean. A name is looked up as a reader would: among
the names private to the folder, then in the sources of the language, then in tests. Of several files that define it,
those count whose own name or folder the using file mentions, as an import does; a name that no mention supports counts
little (it may stand in a comment), one that stays ambiguous not at all. A file's own names do not count for itself.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import NamedTuple, TypeAlias

from regreen.repo.facts import Facts, FileFacts
from regreen.repo.ranking.nodes import FileNode, Graph
from regreen.repo.ranking.weights import key_folder, key_public, key_tests, mentions

MAX_DEFINERS = 6  # files that a use may mean; more, and it means none
MAX_HUB = 150  # files that define a name; more, and nothing can tell which of them is meant
MAX_TEST_DEFINERS = 3  # beyond that, a name defined in tests is one of the test's own folder
_UNSUPPORTED = 12  # a use without a mention counts by this less
_RESERVE = 6000.0  # of a file's rank is not passed on, as if it used a few more names: few uses, few votes

_Place: TypeAlias = "tuple[int, int]"  # file, number of the definition
_Target: TypeAlias = "tuple[int, int, int, _Called]"  # file, number of the name, what a use is worth
_Targets: TypeAlias = "dict[int, list[_Target]]"


@dataclass(frozen=True, slots=True)
class Only:
    """What to join anew: files that changed, and files that use one of these identifiers."""

    identifiers: set[int]
    changed: Mapping[str, FileFacts]


class _Called(NamedTuple):
    """How a file that defines names is mentioned by those that use them: identifiers; and its folder's key."""

    stem: int
    folder: int
    above: int
    near: int


def resolve(graph: Graph, wanted: set[int] | None) -> None:
    """Give the definitions of all identifiers (of `wanted`) the numbers of their names and their shares of them."""
    for slot, file in enumerate(graph.files):
        if wanted is None or not wanted.isdisjoint(file.identifiers):
            graph.files[slot] = replace(file, name=file.name[:], part=file.part[:])
    files = graph.files
    names = {key: number for number, key in enumerate(graph.names)}
    for identifier, places in _holders(files, wanted).items():
        sums: dict[int, int] = {}
        for slot, number in places:
            sums[slot] = sums.get(slot, 0) + files[slot].pull[number]
        for slot, number in places:
            file = files[slot]
            pull = file.pull[number]
            if pull and len(sums) <= MAX_HUB:
                file.name[number] = names.setdefault(identifier << 24 | slot, len(names))
                file.part[number] = pull / sums[slot]
            else:
                file.name[number] = -1
                file.part[number] = 0.0
    graph.names.extend(list(names)[len(graph.names) :])


def connect(graph: Graph, facts: Facts, only: Only | None) -> None:
    """Make the edges of all files, or of those that `only` speaks of."""
    slots = graph.slots()
    if only is None:
        keys = _targets(graph, facts, None)
        _join(graph, facts.facts(), slots, keys)
        return
    again = only.changed.values() if not only.identifiers else [
        fact for fact in facts.facts()
        if fact.path in only.changed or not only.identifiers.isdisjoint(fact.uses[::2])
    ]  # fmt: skip
    _join(graph, again, slots, _targets(graph, facts, {i for fact in again for i in fact.uses[::2]}))


def _join(graph: Graph, facts: Iterable[FileFacts], slots: Mapping[str, int], keys: _Targets) -> None:
    known = {key >> 33 for key in keys}
    for fact in facts:
        if fact.path in slots:
            slot = slots[fact.path]
            graph.files[slot] = _joined(graph.files[slot], fact.uses, known, keys)


def _holders(files: Sequence[FileNode], wanted: set[int] | None) -> dict[int, list[_Place]]:
    """Where each identifier is defined."""
    holders: dict[int, list[_Place]] = {}
    for slot, file in enumerate(files):
        if wanted is not None and wanted.isdisjoint(file.identifiers):
            continue
        for number, identifier in enumerate(file.identifiers):
            if identifier and (wanted is None or identifier in wanted):
                holders.setdefault(identifier, []).append((slot, number))
    return holders


def _targets(graph: Graph, facts: Facts, wanted: set[int] | None) -> _Targets:
    """The files that define a name (one of `wanted`), by the key under which it is looked up. A file where the name is
    but a field or the like does not count beside one where it is a class."""
    best = {slot: found for slot, file in enumerate(graph.files) if (found := _best(file, wanted))}
    calls = {slot: mentions(graph.files[slot].path) for slot in best}
    numbers = facts.identifiers({call for names in calls.values() for call in names if call})
    in_tests = Counter(i for slot, found in best.items() if graph.files[slot].role == "test" for i in found)
    keys: _Targets = {}
    for slot, found in best.items():
        file = graph.files[slot]
        stem, folder, above = (numbers.get(name, 0) for name in calls[slot])
        called = _Called(stem, folder, above, key_folder(0, file.path))
        test = file.role == "test"
        outer = key_tests(0, file.path) if test else key_public(0, file.path)
        for identifier, (pull, name, private) in found.items():
            local = private or (test and in_tests[identifier] > MAX_TEST_DEFINERS)
            key = identifier << 33 | (called.near if local else outer)
            if key in keys:
                keys[key].append((slot, name, pull, called))
            else:
                keys[key] = [(slot, name, pull, called)]
    return {key: strong for key, targets in keys.items() if (strong := _strongest(targets))}


def _best(file: FileNode, wanted: set[int] | None) -> dict[int, tuple[int, int, int]]:
    """By identifier that a file defines: pull, name and privacy of the definition that matters most."""
    best: dict[int, tuple[int, int, int]] = {}
    if wanted is not None and wanted.isdisjoint(file.identifiers):
        return best
    for identifier, name, pull, private in zip(file.identifiers, file.name, file.pull, file.private, strict=True):
        if name >= 0 and (wanted is None or identifier in wanted) \
                and (identifier not in best or pull > best[identifier][0]):  # fmt: skip
            best[identifier] = pull, name, private
    return best


def _strongest(targets: list[_Target]) -> list[_Target]:
    """Those that a use can mean, if it means any: no weak ones beside strong ones, nor many that are mentioned in the
    same way."""
    if len(targets) == 1:
        return targets
    least = max(pull for _, _, pull, _ in targets)
    strong = [target for target in targets if target[2] * 4 >= least]
    if len(strong) <= MAX_DEFINERS:
        return strong
    alike = Counter(called.near for _, _, _, called in strong if not called.stem)
    return [target for target in strong if target[3].stem or alike[target[3].near] <= MAX_DEFINERS]


def _joined(file: FileNode, uses: array[int], known: set[int], keys: _Targets) -> FileNode:
    """The file with its edges."""
    counts = dict(zip(uses[::2], uses[1::2], strict=True))
    scopes = _scopes(file)
    names, weights = array("I"), array("d")
    to: dict[int, int] = {}
    for identifier in known.intersection(counts).difference(file.identifiers):
        base = identifier << 33
        for scope in scopes:
            if base | scope in keys:
                meant, share = _meant(keys[base | scope], counts, scopes[0])
                strength = min(255, isqrt(64 * counts[identifier]))
                for other, name, pull, _ in meant:
                    if weight := strength * pull // share:
                        names.append(name)
                        weights.append(weight)
                        to[other] = to.get(other, 0) + weight
                break
    return replace(file, uses=names, use_weight=weights, to=array("I", to), to_weight=array("d", to.values()),
                   total=_RESERVE + sum(to.values()))  # fmt: skip


def _meant(targets: Sequence[_Target], used: Mapping[int, int], near: int) -> tuple[Sequence[_Target], int]:
    """Which of these a file with such uses means, and what a use is to be divided by."""
    if len(targets) == 1:
        called = targets[0][3]
        supported = called.near == near or called.folder in used or called.stem in used
        return targets, 1 if supported else _UNSUPPORTED
    support = [2 * (c.stem in used) + 2 * (c.folder in used) + (c.above in used) + 3 * (c.near == near)
               for _, _, _, c in targets]  # fmt: skip
    most = max(support)
    meant = [target for target, found in zip(targets, support, strict=True) if found == most]
    if len(meant) > MAX_DEFINERS:
        return (), 1
    return meant, len(meant) * (1 if most >= 2 else _UNSUPPORTED)


def _scopes(file: FileNode) -> tuple[int, ...]:
    """In which order a name used in a file is looked up."""
    near = (key_folder(0, file.path), key_public(0, file.path))
    return (*near, key_tests(0, file.path)) if file.role == "test" else near
