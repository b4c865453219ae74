"""The two pipes of a stdio server: JSON-RPC messages, one a line.

Rules: once `claim` has run, nothing but messages can reach standard output (descriptor 1 is then standard error, and
descriptor 0 the null device, for us, for stray prints and for children alike); both pipes are served by daemon
threads, so that a client which neither reads nor closes can never keep the process from ending.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

log = logging.getLogger(__name__)

MAX_LINE_BYTES = 64 * 1024 * 1024
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
_CHUNK_BYTES = 64 * 1024
_LONE = (
    r"a character cannot be encoded: an escape from \ud800 to \udfff stands alone. Leave it out; "
    "a file whose name is not UTF-8 cannot be named"
)


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


def lines(fd: int, *, limit: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    """The lines that arrive on `fd`, without line ends, until its end. None stands for a line past `limit`, dropped."""
    parts: list[bytes] = []
    size = 0
    while chunk := _read(fd):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            yield None if size + len(end) > limit else b"".join((*parts, end))
            parts, size = [], 0
        size += len(rest)
        parts = [*parts, rest] if size <= limit else []
    if parts and any(parts):
        yield b"".join(parts)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK_BYTES)
    except OSError:  # a broken pipe is an end
        return b""


class Outbox:
    """Messages on their way out: an MCP write stream whose `send` never waits."""

    def __init__(self, fd: int, *, on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._on_broken = on_broken
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="regreen-out", daemon=True)
        self._thread.start()

    async def send(self, item: SessionMessage, /) -> None:
        self._queue.put(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    def put(self, message: dict[str, Any]) -> None:
        """Send a message that the SDK does not know of."""
        self._queue.put(json.dumps(message).encode() + b"\n")

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
            self._on_broken()


class Inbox:
    """Messages coming in: reads `fd` in a thread and feeds `stream`, until the end of input or `close`."""

    def __init__(self, fd: int) -> None:
        import anyio

        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._feed: MemoryObjectSendStream[SessionMessage | Exception]
        self.stream: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._feed, self.stream = anyio.create_memory_object_stream[Any](float("inf"))

    def start(self, outbox: Outbox) -> None:
        threading.Thread(target=self._read_all, args=(outbox,), name="regreen-in", daemon=True).start()

    def close(self) -> None:
        """End the input as if the client had; callable from any thread."""
        self._on_loop(self._feed.close)

    def _read_all(self, outbox: Outbox) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter
        from pydantic import ValidationError

        for line in lines(self._fd):
            if line is None:
                log.warning("a message of more than %d bytes was dropped", MAX_LINE_BYTES)
                continue
            if not line.strip():
                continue
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError:
                log.warning("a line that is no JSON-RPC message was ignored (%d bytes)", len(line))
                if answer := complaint(line):
                    outbox.put(answer)
                continue
            self._on_loop(self._send, SessionMessage(message))
        self.close()

    def _send(self, message: SessionMessage) -> None:
        import anyio

        try:
            self._feed.send_nowait(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            log.debug("a message came in after the end")

    def _on_loop(self, call: Callable[..., object], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            log.debug("the event loop has ended")


def complaint(line: bytes) -> dict[str, Any] | None:
    """The answer to a line that is no valid message, where it carries an id to answer to."""
    try:
        data: object = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    message = cast("dict[str, object]", data)
    identity = message.get("id")
    if "method" not in message or not isinstance(identity, int | str) or isinstance(identity, bool):
        return None
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        error = {"code": PARSE_ERROR, "message": "the message is not valid UTF-8"}
    else:
        what = "not a JSON-RPC 2.0 request" if _can_be_encoded(message) else _LONE
        error = {"code": INVALID_REQUEST, "message": what}
    return {"jsonrpc": "2.0", "id": identity, "error": error}


def _can_be_encoded(message: dict[str, object]) -> bool:
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    except RecursionError:
        return True  # what is nested so deeply has a fault of its own
    return True
