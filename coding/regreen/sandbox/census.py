"""Who lives below a process and how much memory they hold, by one look at the process table (Linux); and the guard
that ends a tree which grows past its limits. No import of regreen: the supervisor uses it.

The guard samples: there is nothing that an ordinary user can ask to bound a whole tree. Its looks are spaced by what
they cost, so that a machine with a long process table does not pay more for them.
"""

from __future__ import annotations

import os
import time

EVERY_S = 0.1
_SPACING = 40  # a look may take this part of the time
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def descendants(ancestor: int) -> dict[int, int]:
    """Every live process below `ancestor`, with the bytes that it holds in memory."""
    children: dict[int, list[tuple[int, int]]] = {}
    with os.scandir("/proc") as entries:
        names = [e.name for e in entries]
    for name in names:
        stat = read(f"/proc/{name}/stat").rpartition(b")")[2].split() if name.isdigit() else ()
        if len(stat) > 21 and stat[0] not in (b"Z", b"X"):
            children.setdefault(int(stat[1]), []).append((int(name), int(stat[21]) * _PAGE_BYTES))
    found: dict[int, int] = {}
    todo = [ancestor]
    while todo:
        below = children.get(todo.pop(), ())
        found.update(below)
        todo += (pid for pid, _ in below)
    return found


def first_child(pid: int) -> int:
    """A child of the process, the first if there are several; 0 if there is none yet."""
    try:
        words = _contents(f"/proc/{pid}/task/{pid}/children").split()
    except FileNotFoundError:  # a kernel that does not list them, or no such process
        words = sorted(descendants(pid))
    return int(words[0]) if words else 0


def inner_number(pid: int) -> int:
    """The number that the process has in the innermost process namespace; 0 where that is not told."""
    lines = read(f"/proc/{pid}/status").splitlines()
    return next((int(line.split()[-1]) for line in lines if line.startswith(b"NSpid:")), 0)


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] not in ([], [b"Z"], [b"X"])


class Guard:
    """Looks at the tree below this process from time to time. A limit of 0 is none."""

    def __init__(self, processes: int, memory: int) -> None:
        self._processes = processes
        self._memory = memory
        self._next = time.monotonic() + EVERY_S

    def wait_s(self) -> float | None:
        """How long nothing needs to be looked at; None for ever."""
        return max(0.0, self._next - time.monotonic()) if self._processes or self._memory else None

    def exceeded(self) -> str:
        """The limit that is exceeded, `processes` or `memory`; "" where none is, or it is not yet time to look."""
        if time.monotonic() < self._next or not (self._processes or self._memory):
            return ""
        begun = time.process_time()  # not the clock's: a tree that takes all processors would put off the next look
        found = descendants(os.getpid())
        limit = ""
        if self._processes and len(found) > self._processes:
            limit = "processes"
        elif self._memory and sum(found.values()) > self._memory and _own_bytes(found) > self._memory:
            limit = "memory"
        self._next = time.monotonic() + max(EVERY_S, (time.process_time() - begun) * _SPACING)
        return limit


def _own_bytes(found: dict[int, int]) -> int:
    """What the processes hold together, pages that they share counted once. Where that is not told, all of it."""
    total = 0
    for pid, resident in found.items():
        lines = read(f"/proc/{pid}/smaps_rollup").splitlines()
        total += next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:")), resident)
    return total


def read(path: str) -> bytes:
    """The start of a file of the process table; empty where it cannot be read."""
    try:
        return _contents(path)
    except OSError:
        return b""


def _contents(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)
