"""The second net: ending a tree of processes whose supervisor is gone, found by a mark in their environment.

Every supervised child is started with a variable that holds a random word of its own. Processes hand it on to what
they start, also where that leaves the session and is adopted by somebody else. Who carries the word was started by
that child, whatever its id; who does not, and has no parent that does, is never touched.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

VARIABLE = "REGREEN_TREE"
SWEEP_S = 5.0
_PAUSE_S = 0.02
_PROC = Path("/proc")


def new_mark() -> str:
    """A word that no other process carries."""
    return secrets.token_hex(16)


def sweep(mark: str, scrap: Path | None = None, limit_s: float = SWEEP_S) -> bool:
    """Kill, over and over, whoever carries the mark or has the private folder `scrap` in its environment.

    True when two looks at the process table in a row found nobody: between the two halves of one look, a process can
    start another one and end. Without a process table (not Linux) nobody is found.
    """
    words = [f"{VARIABLE}={mark}".encode(), *([os.fsencode(scrap) + b"/"] if scrap else [])]
    end = time.monotonic() + limit_s
    clean = 0
    while clean < 2:
        found = marked(words)
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        clean = 0 if found else clean + 1
        if time.monotonic() > end:
            return False
        if found:
            time.sleep(_PAUSE_S)
    return True


def marked(words: Iterable[bytes]) -> set[int]:
    """The live processes with one of `words` in their environment, and all that descend from them."""
    if not sys.platform.startswith("linux"):
        return set()
    found: set[int] = set()
    children: dict[int, list[int]] = {}
    for pid, parent in _live():
        children.setdefault(parent, []).append(pid)
        environment = _read(pid, "environ")
        if any(w in environment for w in words):
            found.add(pid)
    todo = list(found)
    while todo:
        below = [p for p in children.get(todo.pop(), ()) if p not in found]
        found.update(below)
        todo += below
    return found - {os.getpid()}


def _live() -> Iterator[tuple[int, int]]:
    with suppress(OSError):
        for name in os.listdir(_PROC):  # noqa: PTH208 (all names at one moment)
            fields = _read(int(name), "stat").rpartition(b")")[2].split() if name.isdigit() else []
            if len(fields) > 1 and fields[0] not in (b"Z", b"X"):
                yield int(name), int(fields[1])


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
