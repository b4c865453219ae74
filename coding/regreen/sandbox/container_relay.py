"""Carries the private channel into a container: `relay FD PATH -- CLIENT ...`. Standalone, only the standard library.

No descriptor leads into a container, but a FIFO in a folder that is mounted there does, and every language can open
one. What comes from the descriptor FD goes into `PATH.in`, what is written to `PATH.out` goes to FD. Once the inside
has spoken, the names are removed: it has both open, and nobody comes after it. The relay ends as the client ends. What
kills it does not kill the container: that is removed by who started this.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys

CHUNK_BYTES = 64 * 1024
MOST_WAITING = 64 << 20  # bytes that are on their way in and not read yet; who sends them waits for no container


class Relay:
    """The channel's end outside, and both FIFOs. Each FIFO is held open for both ways, so that it never ends."""

    def __init__(self, outside: socket.socket, path: str) -> None:
        self.outside = outside
        self.names = [path + ".in", path + ".out"]
        for name in self.names:
            os.mkfifo(name, 0o600)
        self.into, self.out_of = (os.open(name, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC) for name in self.names)
        self.waiting = bytearray()
        self.hears = True

    def step(self, wake: int) -> None:
        """Wait until something can be passed on, or the client may have ended, and pass it on."""
        reads = [wake, self.out_of]
        if self.hears and len(self.waiting) < MOST_WAITING:
            reads.append(self.outside.fileno())
        ready, writable, _ = select.select(reads, [self.into] if self.waiting else [], [])
        if wake in ready:
            os.read(wake, 4096)
        if self.outside.fileno() in ready:
            data = self.outside.recv(CHUNK_BYTES)
            self.hears = bool(data)
            self.waiting += data
        if writable:
            with contextlib.suppress(BlockingIOError):
                del self.waiting[: os.write(self.into, self.waiting[:CHUNK_BYTES])]
        if self.out_of in ready:
            self.take()

    def take(self) -> bool:
        """Pass on what the inside said; False where there is nothing."""
        try:
            data = os.read(self.out_of, CHUNK_BYTES)
        except BlockingIOError:
            return False
        self.remove_names()
        self.outside.sendall(data)
        return True

    def remove_names(self) -> None:
        """Nobody else can open the FIFOs."""
        while self.names:
            with contextlib.suppress(OSError):
                os.unlink(self.names.pop())  # noqa: PTH108 (no pathlib: it takes its time to load)


def heard(_number: int, _frame: object) -> None:
    """The end of the client is read from the wake-up pipe; without a handler it would not come there."""


def main(words: list[str]) -> int:
    number, path, _, *argv = words
    wake, waker = os.pipe()
    for fd in (wake, waker):
        os.set_blocking(fd, False)
    signal.signal(signal.SIGCHLD, heard)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    relay = Relay(socket.socket(fileno=int(number)), path)
    client = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    with contextlib.suppress(ConnectionError):  # nobody listens any more: then what the container says is lost
        while client.poll() is None:
            relay.step(wake)
        while relay.take():
            pass
    relay.remove_names()
    status = client.wait()
    if status < 0:
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
