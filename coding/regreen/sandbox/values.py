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


@dataclass(frozen=True, slots=True)
class Command:
    """One argv to run. `argv[0]` is an absolute path: no search, no shell. `env` is all the child gets.

    `output_path`: file that the output (stdout and stderr together) is spooled to, at most `max_output_bytes` of it;
    None keeps only the head in memory. `scrap`: a private folder to be removed even if we are killed.
    Limits of 0 are no limits.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    timeout_s: float
    output_path: Path | None = None
    max_output_bytes: int = 64 * 1024 * 1024
    pass_fds: tuple[int, ...] = ()
    memory_mib: int = 0
    max_file_bytes: int = 0
    scrap: Path | None = None
    confinement: Confinement | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """How a child ended. By then every process that came of it has been ended too.

    `returncode` is None where a signal (or we) ended it. `left_processes`: it ended by itself and others were still
    there. `output_cut`: more than `max_output_bytes` came, which were counted in `output_bytes` and dropped.
    `unsupervised`: something killed the supervisor, or it did not answer; how the child ended is not known, and what
    came of it was ended only as far as it could be found.
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
    limit: str = ""  # which limit ended it: memory, processes, cpu or file_size


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
