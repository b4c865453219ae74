"""Taking our change out of a file that somebody else has changed since: a merge by lines, on bytes, or nothing.

`left` is what we left there, `now` what stands there, `target` what was there before us. The merge is made elsewhere
(git does it), from files in a folder of the state folder; here it is decided what may be merged, and looked at twice.
"""

from __future__ import annotations

import contextlib
import shutil
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from regreen.store import Store
from regreen.workspace.records import Version

MergeFiles: TypeAlias = Callable[[Path], bytes | None]
"""Merges the files `ours` and `theirs`, both made from `base`, of a folder; None where that is not clean."""

_MOST_BYTES = 1 << 20
_OLD_S = 3600.0
_REMEMBERED = 32


def no_merge(_: Path) -> None:
    """Where there is no program that merges, nothing is."""


def is_mergeable(data: bytes | None) -> bool:
    """Whether these are lines of text, and not too many. Every encoding without NUL bytes is text."""
    return data is not None and len(data) <= _MOST_BYTES and b"\0" not in data


def is_plain(version: Version) -> bool:
    """Whether it is a file, and no link."""
    return version.sha != "" and (version.mode is None or stat.S_ISREG(version.mode) or not stat.S_IFMT(version.mode))


class Merger:
    """Merges contents that the store holds. Writes below the state folder only."""

    def __init__(self, store: Store, merge_files: MergeFiles) -> None:
        self._store = store
        self._merge_files = merge_files
        self._known: dict[tuple[bytes, bytes, bytes], bytes | None] = {}  # the same is asked again and again

    def bytes_of(self, version: Version) -> bytes | None:
        """A file's old bytes; None for no file, or where they were not kept."""
        if not is_plain(version):
            return None
        with contextlib.suppress(KeyError):
            return self._store.blob(version.sha)
        return None

    def take_out(self, left: Version, now: bytes, target: bytes) -> bytes | None:
        """`now` without the change that led from `target` to `left`. None where that is not beyond doubt."""
        base = self.bytes_of(left)
        if base is None or not all(is_mergeable(data) for data in (base, now, target)):
            return None
        if (base, now, target) not in self._known:
            merged = self._merge(base, now, target)
            good = merged is not None and _holds_all(merged, base, now, target)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[base, now, target] = merged if good else None
        return self._known[base, now, target]

    def blend(self, left: Version, now: Version, target: Version, data: bytes | None) -> bytes | None:
        """As `take_out`, of versions; `data` are the target's bytes if the store does not hold them."""
        stood = self.bytes_of(now)
        wanted = self.bytes_of(target) if data is None else data
        return None if stood is None or wanted is None else self.take_out(left, stood, wanted)

    def _merge(self, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        beside = self._store.folder / "merging"
        beside.mkdir(mode=0o700, exist_ok=True)
        _sweep(beside)
        with tempfile.TemporaryDirectory(dir=beside) as name:
            folder = Path(name)
            for file, data in (("base", base), ("ours", ours), ("theirs", theirs)):
                (folder / file).write_bytes(data)
            return self._merge_files(folder)


def _holds_all(merged: bytes, base: bytes, now: bytes, target: bytes) -> bool:
    """Whether each line that somebody added is in it, and no line that is in none of the three."""
    lines = [Counter(data.splitlines(keepends=True)) for data in (merged, base, now, target)]
    result, left, user, before = lines
    return not (user - left) - result and not result - (user + before)


def _sweep(folder: Path) -> None:
    """Clear away what a process that was killed left here."""
    for old in folder.iterdir():
        with contextlib.suppress(OSError):
            if old.stat().st_mtime < time.time() - _OLD_S:
                shutil.rmtree(old, ignore_errors=True)
