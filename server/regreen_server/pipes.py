"""The two pipes of a stdio server: lines in, lines out.

Rules: once `claim` has run, nothing but messages can reach standard output (descriptor 1 is then standard error, and
descriptor 0 the null device, for us, for stray prints and for children alike); both pipes are served by daemon
threads, so that a client which neither reads nor closes can never keep the process from ending. Only the light part
of the standard library is imported: this is loaded before anything is answered.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from mcp.shared.message import SessionMessage

MAX_LINE_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_HEAD_BYTES = 64 * 1024


def claim() -> tuple[int, int]:
    """Take standard input and output for the protocol. Returns private descriptors (in, out)."""
    wire = (fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3), fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a standard error
        os.dup2(null, 2)
        os.dup2(null, 1)
    os.close(null)
    for fd in wire:
        os.set_blocking(fd, True)
    return wire


class Head(bytes):
    """The beginning of a line that was too long; the rest of it was dropped."""


def lines(fd: int, *, limit: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """The lines that arrive on `fd`, without line ends, until its end; of one past `limit` its `Head`."""
    parts: list[bytes] = []
    size = 0
    while chunk := _read(fd):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            yield _line((*parts, end), size + len(end) <= limit)
            parts, size = [], 0
        size += len(rest)
        parts = [*parts, rest] if size <= limit else [b"".join(parts)[:_HEAD_BYTES] or rest]
    if any(parts):
        yield _line(parts, size <= limit)


def _line(parts: Iterable[bytes], is_whole: bool) -> bytes:
    line = b"".join(parts)
    return line if is_whole else Head(line[:_HEAD_BYTES])


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK_BYTES)
    except OSError:  # a broken pipe is an end
        return b""


class Outbox:
    """Messages on their way out: an MCP write stream whose `send` never waits.

    What is sent with an id that begins with `unwanted` stays here: the client has had that answer already.
    """

    def __init__(self, fd: int, *, unwanted: str) -> None:
        self._fd = fd
        self._unwanted = unwanted
        self._broken = threading.Event()
        self._on_broken: Callable[[], None] | None = None
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="regreen-out", daemon=True)
        self._thread.start()

    def when_broken(self, call: Callable[[], None]) -> None:
        """Have `call` called when the client stops listening, or now if it has; maybe twice."""
        self._on_broken = call
        if self._broken.is_set():
            call()

    async def send(self, item: SessionMessage, /) -> None:
        identity = getattr(item.message, "id", None)
        if isinstance(identity, str) and identity.startswith(self._unwanted):
            return
        self._queue.put(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    def put(self, message: dict[str, Any]) -> None:
        """Send a message that the SDK does not know of."""
        self._queue.put(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def aclose(self) -> None:
        """Nothing: what is still queued goes out; `drain` ends the thread."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()

    def drain(self, timeout_s: float) -> None:
        """Write what is queued and end, waiting no longer than `timeout_s`."""
        self._queue.put(None)
        self._thread.join(timeout_s)

    def _write_all(self) -> None:
        try:
            while (line := self._queue.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
        except OSError:
            self._broken.set()
            if self._on_broken:
                self._on_broken()
