"""What stood where: the record of a snapshot, and which bytes of it can be had again. Pure values.

A source names where a file's exact bytes are: `git:<object>` or `blob:<sha256>` in the store; none = no copy kept.
Links have their target as bytes. A record is written whole, or as what differs from one that is kept elsewhere.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from regreen.workspace import Kind, Stat

_SKIPPED = frozenset({
    "node_modules", "__pycache__", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".eggs",
})  # fmt: skip
_KINDS: tuple[Kind, ...] = ("file", "absent", "symlink", "directory", "other")  # their places are in the store
_CODES = {kind: code for code, kind in enumerate(_KINDS)}
_COLUMNS = b"\x01"  # before a record in columns; one in rows begins with zlib's 0x78
_HEAD = struct.Struct("<QQQ")  # how many rows, and the bytes of their names and of their sources


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
        """The whole record, in columns, which is fast; in rows where a number is too large for that."""
        columns = zip(*self.entries.values(), strict=True) if self.entries else [()] * 6
        size, mtime_ns, ctime_ns, ino, mode, kind = columns
        names = _text("\0".join(self.entries))
        sources = _text("\0".join([self.sources.get(path, "") for path in self.entries]))
        count = len(self.entries)
        try:
            numbers = struct.pack(f"<{count}Q{count}q{count}q{count}Q{count}I", *size, *mtime_ns, *ctime_ns, *ino,
                                  *mode)  # fmt: skip
        except struct.error:
            return pack({path: (*stat, self.sources.get(path, "")) for path, stat in self.entries.items()})
        kinds = bytes(map(_CODES.__getitem__, kind))
        return b"".join((_COLUMNS, _HEAD.pack(count, len(names), len(sources)), names, sources, kinds, numbers))

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        if data[:1] != _COLUMNS:
            rows = unpack(data)
            entries = {path: Stat(*row[:6]) for path, row in rows.items()}
            return cls(entries, {path: row[6] for path, row in rows.items() if row[6]})
        count, names_end, sources_end = _HEAD.unpack_from(data, 1)
        names_end += 1 + _HEAD.size
        sources_end += names_end
        names = _names(data[1 + _HEAD.size : names_end], count)
        sources = _names(data[names_end:sources_end], count)
        kinds = [_KINDS[code] for code in data[sources_end : sources_end + count]]
        numbers = struct.unpack_from(f"<{count}Q{count}q{count}q{count}Q{count}I", data, sources_end + count)
        columns = [numbers[n * count : (n + 1) * count] for n in range(5)]
        rows = map(Stat._make, zip(*columns, kinds, strict=True))
        found = {path: source for path, source in zip(names, sources, strict=True) if source}
        return cls(dict(zip(names, rows, strict=True)), found)

    def changed_from(self, base: Manifest) -> dict[str, Stat | None]:
        """What is not as in `base`: path -> how it is here, None where it is missing."""
        was = base.entries.get
        differs = [(p, s) for p, s in self.entries.items() if (w := was(p)) is not s and w != s]
        changed: dict[str, Stat | None] = {p: s for p, s in differs if not same(s, was(p))}
        return changed | dict.fromkeys(base.entries.keys() - self.entries.keys())

    def beyond(self, base: Manifest, paths: Iterable[str]) -> dict[str, Any]:
        """All that `base` does not have like this, as plain data: `base.with_more` of it is this again.

        Only `paths` may differ.
        """
        rows: dict[str, Stat] = {}
        copies: dict[str, str] = {}
        gone: list[str] = []
        for path in sorted(paths):
            row, source = self.entries.get(path), self.sources.get(path)
            if row is None and path in base.entries:
                gone.append(path)
            elif row is not None and row != base.entries.get(path):
                rows[path] = row
            if source != base.sources.get(path):
                copies[path] = source or ""
        return {"rows": rows, "gone": gone, "sources": copies}

    def with_more(self, more: Mapping[str, Any]) -> Manifest:
        """The record that had `more` beyond this one."""
        entries, sources = dict(self.entries), dict(self.sources)
        entries |= {path: Stat(*row) for path, row in more["rows"].items()}
        sources |= more["sources"]
        for path in more["gone"]:
            del entries[path]
        return Manifest(entries, {path: source for path, source in sources.items() if source})


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


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _names(data: bytes, count: int) -> list[str]:
    return data.decode("utf-8", "surrogatepass").split("\0") if count else []
