"""A program that was started by bubblewrap, seen by the supervisor: which process it really is, and how it ended.

Between the supervisor and the program stand two processes of bubblewrap: the one that was started, which waits, and
the first process of the new process namespace. When the program ends, the waiting one ends too and with it, at once,
the namespace and whoever still lives in it. To see whether anybody does, the waiting process is stopped as soon as
the program is known, and let go when that has been looked at. No import of regreen.
"""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    import signal

    from regreen.sandbox import census
else:
    import _signal as signal

    import census

STATUS_WORD, FILTER_WORD = b"{status-fd}", b"{filter-fd}"
_FIRST_LOOK_S, _SLOWEST_LOOK_S = 0.008, 0.064  # a shorter program leaves nobody behind that we would see
_LAST_SIGNAL = 64
_NUMBER_INSIDE = 2  # of the program: the namespace has just been made for it, and 1 is bubblewrap's


def prepare(argv: list[bytes], filter_program: bytes) -> tuple[int, list[int]]:
    """Put descriptors in the place of the words for them. Returns the end to read from, and those for the child."""
    told, tell = os.pipe()
    argv[argv.index(STATUS_WORD)] = b"%d" % tell
    keep = [tell]
    if filter_program:
        reads, writes = os.pipe()
        os.write(writes, filter_program)  # shorter than what a pipe holds
        os.close(writes)
        argv[argv.index(FILTER_WORD)] = b"%d" % reads
        keep.append(reads)
    os.set_blocking(told, False)
    return told, keep


class Box:
    """`outer` is the process that we started, `first` the first of the namespace, `program` the one that it is all
    about; the two are 0 as long as they are not known."""

    def __init__(self, outer: int, told: int) -> None:
        self._outer = outer
        self._told = told
        self._text = b""
        self._pause_s = _FIRST_LOOK_S
        self._next = time.monotonic() + _FIRST_LOOK_S
        self._open = True
        self.first = 0
        self.program = 0
        self._pidfd = -1

    def descriptors(self) -> list[int]:
        """What to wait for."""
        return [*([self._told] if self._open else []), *([self._pidfd] if self._pidfd >= 0 else [])]

    def wait_s(self) -> float | None:
        """How long to wait at most; None for ever."""
        if self.program or not self.first:
            return None
        return max(0.0, self._next - time.monotonic())

    def look(self) -> bool:
        """Take in what is new. True once the program has ended while we hold the outer process."""
        self._hear()
        if time.monotonic() >= self._next:
            self.find()
        return self._pidfd >= 0 and bool(select.select([self._pidfd], [], [], 0)[0])

    def _hear(self) -> None:
        while self._open:
            try:
                data = os.read(self._told, 4096)
            except BlockingIOError:
                return
            self._open = bool(data)
            self._text += data
            self.first = self.first or self._number(b'"child-pid":')

    def _number(self, name: bytes) -> int:
        rest = self._text.partition(name)[2].lstrip()
        digits = rest[: len(rest) - len(rest.lstrip(b"0123456789"))]
        return int(digits) if digits and len(digits) < len(rest) else 0

    def find(self) -> None:
        """Find the program, if it is there and not yet known, and hold the outer process."""
        if not self.first or self.program:
            return
        self._pause_s = min(2 * self._pause_s, _SLOWEST_LOOK_S)
        self._next = time.monotonic() + self._pause_s
        program = census.first_child(self.first)
        if not program or census.inner_number(program) != _NUMBER_INSIDE:  # what it has left when it is over already
            return
        try:
            pidfd = os.pidfd_open(program)
            os.kill(self._outer, signal.SIGSTOP)
        except (OSError, AttributeError):  # it is over already, or the kernel is older than such descriptors
            self.program = program
            return
        self.program, self._pidfd = program, pidfd

    def others(self, seconds: float) -> bool:
        """The program has ended: whether, after that time, somebody else still lives beside it."""
        end = time.monotonic() + seconds
        pause = 0.0005
        while census.is_alive(self.first):
            if time.monotonic() > end:
                return True
            time.sleep(pause)
            pause = min(2 * pause, 0.01)
        return False

    def let_go(self) -> None:
        """Let the outer process end."""
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
            os.kill(self._outer, signal.SIGCONT)

    def status(self, outer_status: int) -> tuple[int, bool]:
        """How the program ended, as a wait status, and whether it was ever started.

        bubblewrap tells 128 + N for signal N, as a shell does: which of the two it was cannot be told apart.
        """
        self._hear()
        if not os.WIFEXITED(outer_status):
            return outer_status, True
        if b'"exit-code":' not in self._text:
            return outer_status, False
        number = self._number(b'"exit-code":') - 128
        return (number if 0 < number <= _LAST_SIGNAL else outer_status), True
