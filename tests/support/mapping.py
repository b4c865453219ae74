"""Repositories for ranking without files: who defines and who uses what."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from regreen.model import Symbol
from regreen.repo.facts import FileFacts, FileRole


@dataclass(frozen=True)
class Source:
    """One file. `defines` holds `name`, `kind name` or `kind Container.name`; a class is one without a kind."""

    defines: Sequence[str] = ()
    uses: Mapping[str, int] | Sequence[str] = ()
    role: FileRole = "source"

    def counts(self) -> dict[str, int]:
        counts = dict(self.uses) if isinstance(self.uses, Mapping) else dict.fromkeys(self.uses, 1)
        for word in self.defines:
            counts.setdefault(word.split()[-1].split(".")[-1], 1)
        return counts

    def symbols(self) -> tuple[Symbol, ...]:
        made: list[Symbol] = []
        for number, word in enumerate(self.defines):
            *kind, qualified = word.split(" ")
            parent, _, name = qualified.rpartition(".")
            made.append(Symbol(kind[0] if kind else "class", name, qualified, f"{kind[0] if kind else 'class'} {name}",
                               number + 1, number + 1, parent))  # fmt: skip
        return tuple(made)


@dataclass
class Repo:
    """Facts about files; `seed` decides how identifiers and contents are numbered."""

    files: dict[str, Source]
    seed: int = 0
    generation: int = 1
    reads: int = 0
    _numbers: dict[str, int] = field(default_factory=dict[str, int])
    _contents: dict[str, int] = field(default_factory=dict[str, int])
    _kept: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def __post_init__(self) -> None:
        self._number()

    def change(self, files: Mapping[str, Source | None]) -> None:
        """Other contents for these files; None takes one out."""
        for path, source in files.items():
            self.files.pop(path, None)
            if source is not None:
                self.files[path] = source
        self.generation += 1
        self._number()

    def facts(self) -> Iterator[FileFacts]:
        self.reads += 1
        for path in sorted(self.files):
            source = self.files[path]
            pairs = sorted((self._numbers[name], count) for name, count in source.counts().items())
            yield FileFacts(
                path,
                source.role,
                self._contents[repr(source)],
                array("I", [self._numbers[s.name] for s in source.symbols()]),
                array("I", [value for pair in pairs for value in pair]),
            )

    def identifiers(self, names: Iterable[str]) -> dict[str, int]:
        return {name: self._numbers[name] for name in names if name in self._numbers}

    def kept(self, what: str) -> bytes | None:
        return self._kept.get(what)

    def keep(self, what: str, data: bytes) -> None:
        self._kept[what] = data

    def symbols_of(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Symbol]:
        read = {path: source.symbols() for path, source in self.files.items()}
        return {(path, number): read[path][number] for path, number in wanted if path in read}

    def _number(self) -> None:
        """Numbers for what has none yet."""
        pick = random.Random(self.seed)
        names = {name for source in self.files.values() for name in source.counts()}
        for known, wanted in ((self._numbers, names), (self._contents, set(map(repr, self.files.values())))):
            fresh = sorted(wanted - known.keys())
            pick.shuffle(fresh)
            for name in fresh:
                known[name] = len(known) + 1
