"""Lines that came in, as messages for the SDK.

Rule: a line that is no message never ends the connection; where it carries an id, it is answered.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from regreen_server.pipes import MAX_LINE_BYTES, Outbox

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

log = logging.getLogger(__name__)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
_LONE = (
    r"a character cannot be encoded: an escape from \ud800 to \udfff stands alone. Leave it out; "
    "a file whose name is not UTF-8 cannot be named"
)


class Inbox:
    """Feeds `stream`, an MCP read stream, with the lines that `take` is given, until `close`.

    Make it on the event loop; `take` and `close` may be called from any thread.
    """

    def __init__(self, outbox: Outbox) -> None:
        import anyio

        self._outbox = outbox
        self._loop = asyncio.get_running_loop()
        self._feed: MemoryObjectSendStream[SessionMessage | Exception]
        self.stream: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._feed, self.stream = anyio.create_memory_object_stream[Any](float("inf"))

    def take(self, line: bytes | None) -> None:
        """Hand on one line; None stands for one that was too long."""
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter
        from pydantic import ValidationError

        if line is None:
            log.warning("a message of more than %d bytes was dropped", MAX_LINE_BYTES)
            return
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            log.warning("a line that is no JSON-RPC message was ignored (%d bytes)", len(line))
            if answer := complaint(line):
                self._outbox.put(answer)
            return
        self._on_loop(self._send, SessionMessage(message))

    def close(self) -> None:
        """End the input as if the client had."""
        self._on_loop(self._feed.close)

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
