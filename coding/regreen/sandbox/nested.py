"""Repositories inside a project that only a walk of its tree can find, as those tell who walk it anyway.

The start of a child must not walk a tree, so this is a memory of what walks came across. What came while tests ran is
theirs, as long as this process lives: they may go on with it in later runs, so it is not held against change.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

MOST = 256  # of one project that are known
NAME = ".git"


class _Memory:
    """By the project's real folder: the `.git` of repositories in it, and of those the ones that tests made."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known: dict[Path, dict[Path, None]] = {}
        self._made: dict[Path, set[Path]] = {}

    def tell(self, root: Path, found: Iterable[Path]) -> None:
        with self._guard:
            known = self._known.setdefault(_real(root), {})
            for path in found:
                if len(known) < MOST:
                    known[path] = None

    def came(self, root: Path, found: Iterable[Path]) -> None:
        with self._guard:
            self._made.setdefault(_real(root), set()).update(found)

    def known(self, root: Path) -> tuple[Path, ...]:
        with self._guard:
            folder = _real(root)
            known, made = self._known.get(folder, {}), self._made.get(folder, ())
            gone = [p for p in known if not os.path.lexists(p)]  # `exists` of a path raises where it may not look
            for path in gone:
                del known[path]
            return tuple(p for p in known if p not in made)


def _real(root: Path) -> Path:
    return Path(os.path.realpath(root))


_memory = _Memory()


def tell(root: Path, found: Iterable[str]) -> None:
    """A walk came across these names `.git`, before tests ran. Paths are relative to the project's real folder."""
    _memory.tell(root, [root / path for path in found if _is_inner(path)])


def came(root: Path, found: Iterable[str]) -> None:
    """These came while tests ran."""
    _memory.came(root, [root / path for path in found if _is_inner(path)])


def known(root: Path) -> tuple[Path, ...]:
    """The `.git` of repositories in the project that were there before the tests, and still are."""
    return _memory.known(root)


def _is_inner(path: str) -> bool:
    return path.endswith("/" + NAME)
