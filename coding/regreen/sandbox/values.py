"""What a child process is asked to be, and what came of it. Plain values, and the flag by which it is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from regreen.sandbox.isolation import Confinement

HEAD_BYTES = 32 * 1024
MAX_FILE_BYTES = 1024 * 1024 * 1024  # one file that a child writes
MAX_PROCESSES = 512  # that live at once in the tree of a child


@dataclass(frozen=True, slots=True)
class Command:
    """One argv to run. `argv[0]` is an absolute path: no search, no shell. `env` is all the child gets.

    `output_path`: file that the output (stdout and stderr together) is spooled to, at most `max_output_bytes` of it;
    None keeps only the head in memory. `scrap`: a private folder to be removed even if we are killed.
    `memory_mib` bounds the data of each process, and twice of it what the whole tree holds; `max_cpu_s` of 0 stands
    for a bound that follows from `timeout_s`. Other limits of 0 are no limits.
    `confinement`: what it may touch; None starts it as it is.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    timeout_s: float
    output_path: Path | None = None
    max_output_bytes: int = 64 * 1024 * 1024
    pass_fds: tuple[int, ...] = ()
    memory_mib: int = 0
    max_file_bytes: int = MAX_FILE_BYTES
    scrap: Path | None = None
    max_processes: int = MAX_PROCESSES
    max_cpu_s: float = 0.0
    confinement: Confinement | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """How a child ended. By then every process that came of it has been ended too.

    `returncode` is None where a signal (or we) ended it. `left_processes`: it ended by itself and others were still
    there. `output_cut`: more than `max_output_bytes` came, which were counted in `output_bytes` and dropped.
    `unsupervised`: something killed the supervisor, or it did not answer; how the child ended is not known, and what
    came of it was ended only as far as it could be found.
    `limit`: the limit that ended it, "" | "memory" | "processes" (the tree was ended by us) | "cpu" | "file_size".
    """

    returncode: int | None
    signal: int
    timed_out: bool
    cancelled: bool
    left_processes: bool
    output_path: Path | None
    output_bytes: int
    output_cut: bool
    duration_s: float
    cpu_s: float
    output_head: bytes = field(default=b"", repr=False)
    unsupervised: bool = False
    limit: str = ""


class Cancel:
    """A flag that is set once, from any thread. Shared by everything that one call may have to stop."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._guard = threading.Lock()
        self._wakers: list[Callable[[], None]] = []

    def set(self) -> None:
        with self._guard:
            self._event.set()
            for wake in self._wakers:
                wake()

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """True once the flag is set; False when `timeout` seconds have passed first."""
        return self._event.wait(timeout)

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Generator[None]:
        """Call `wake` when the flag is set (at once if it is), as long as the block lasts."""
        with self._guard:
            self._wakers.append(wake)
            if self._event.is_set():
                wake()
        try:
            yield
        finally:
            with self._guard:
                self._wakers.remove(wake)
