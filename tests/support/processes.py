"""The process table, seen from outside: which processes carry a mark in their command line."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

LIMIT_S = 10.0


def carrying(mark: str) -> list[int]:
    """Ids of the live (not zombie) processes whose command line holds `mark`."""
    return [pid for pid in _all() if mark.encode() in _read(pid, "cmdline") and not _is_zombie(pid)]


def children_of(parent: int) -> list[int]:
    return [pid for pid in _all() if _stat(pid)[1:2] == [str(parent).encode()]]


def is_alive(pid: int) -> bool:
    return bool(_stat(pid)) and not _is_zombie(pid)


def until(holds: Callable[[], bool], limit_s: float = LIMIT_S) -> bool:
    """Whether `holds` comes true within the limit."""
    end = time.monotonic() + limit_s
    pause = threading.Event()
    while time.monotonic() < end:
        if holds():
            return True
        pause.wait(0.02)
    return holds()


def _all() -> list[int]:
    return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]


def _stat(pid: int) -> list[bytes]:
    return _read(pid, "stat").rpartition(b")")[2].split()


def _is_zombie(pid: int) -> bool:
    return _stat(pid)[:1] in ([b"Z"], [b"X"])


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
