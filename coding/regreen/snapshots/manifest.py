"""What stood where: the record of a snapshot, and which bytes of it can be had again. Pure values.

A source names where a file's exact bytes are: `git:<object>` or `blob:<sha256>` in the store; none = no copy kept.
Links have their target as bytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from regreen.workspace import Stat

_SKIPPED = frozenset({
    "node_modules", "__pycache__", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".eggs",
})  # fmt: skip


def is_derived(folder: str) -> bool:
    """Whether a folder, by its name, holds installed dependencies or caches: recorded only as far as git tracks it."""
    return folder.rpartition("/")[2] in _SKIPPED


@dataclass(frozen=True, slots=True)
class Manifest:
    """The tree at one moment. `entries` holds files, links and folders; `sources` where their bytes are kept."""

    entries: Mapping[str, Stat]
    sources: Mapping[str, str]

    @property
    def files(self) -> int:
        return sum(1 for s in self.entries.values() if s.kind != "directory")

    @property
    def uncovered(self) -> int:
        """Files of which no copy can be had: if a test changes one, it cannot be put back."""
        return self.files - len(self.sources)

    def encode(self) -> bytes:
        rows = {path: (*stat, self.sources.get(path, "")) for path, stat in self.entries.items()}
        return pack(rows)

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        rows = unpack(data)
        entries = {path: Stat(*row[:6]) for path, row in rows.items()}
        return cls(entries, {path: row[6] for path, row in rows.items() if row[6]})

    def changed_from(self, base: Manifest) -> dict[str, Stat | None]:
        """What is not as in `base`: path -> how it is here, None where it is missing."""
        changed: dict[str, Stat | None] = {p: s for p, s in self.entries.items() if not same(s, base.entries.get(p))}
        return changed | dict.fromkeys(base.entries.keys() - self.entries.keys())


def same(one: Stat | None, other: Stat | None) -> bool:
    """Whether two rows speak of an untouched thing. A folder is the same while it is a folder of the same mode."""
    if one is None or other is None or one.kind != "directory":
        return one == other
    return (one.kind, one.mode) == (other.kind, other.mode)


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is copied: larger files, and what goes past the totals, are recorded by their stat only."""

    each_bytes: int
    total_bytes: int
    files: int

    def choose(self, names: Iterable[str], entries: Mapping[str, Stat]) -> list[str]:
        """Those of `names` that fit, smallest first."""
        chosen: list[str] = []
        total = 0
        for name in sorted(names, key=lambda n: (entries[n].size, n)):
            size = entries[name].size
            total += size
            if size > self.each_bytes or total > self.total_bytes or len(chosen) >= self.files:
                break
            chosen.append(name)
        return chosen


def pack(rows: object) -> bytes:
    """Plain data as bytes for the store; names that are not UTF-8 survive."""
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode("ascii"), 1)


def unpack(data: bytes) -> Any:
    """The data given to `pack`."""
    return json.loads(zlib.decompress(data)) if data else {}
