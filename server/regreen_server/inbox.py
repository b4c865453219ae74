"""Lines that came in, as messages for the SDK.

Rules: a line that is no message never ends the connection; a request among them is answered, where it carries an id;
what is no answer to a question of ours ends the wait for it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from regreen_server.pipes import MAX_LINE_BYTES, Head, Outbox

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

log = logging.getLogger(__name__)

_TOLD = 20
"""Lines that are told in the log; a client that goes on for hours must not fill a disk."""
_MAX_LOOKED_AT = 1_000_000
_STRING = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(
    rf'"id"\s*:\s*(?P<id>{_STRING}|-?\d{{1,18}}(?![\d.eE]))|(?P<method>"method")\s*:|{_STRING}|(?P<bracket>[{{}}\[\]])'
)
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
        self._refused = 0
        self._loop = asyncio.get_running_loop()
        self._feed: MemoryObjectSendStream[SessionMessage | Exception]
        self.stream: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._feed, self.stream = anyio.create_memory_object_stream[Any](float("inf"))

    def take(self, line: bytes) -> None:
        """Hand on one line."""
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        if not line.strip():
            return
        try:
            if isinstance(line, Head):
                raise ValueError
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:  # pydantic's is one, too
            self._refuse(line)
            return
        self._on_loop(self._send, SessionMessage(message))

    def _refuse(self, line: bytes) -> None:
        self._refused += 1
        if self._refused <= _TOLD:
            more = "; no more of them are told" if self._refused == _TOLD else ""
            log.warning("a line that is no JSON-RPC message was ignored (%d bytes)%s", len(line), more)
        if answer := complaint(line):
            self._outbox.put(answer)
        if (asked := answered_by(line)) is not None:
            from mcp.shared.message import SessionMessage
            from mcp_types import ErrorData, JSONRPCError

            fault = ErrorData(code=INVALID_REQUEST, message="the client's answer is none")
            self._on_loop(self._send, SessionMessage(JSONRPCError(jsonrpc="2.0", id=asked, error=fault)))

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
    text = line.decode("utf-8", "replace")
    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError):
        return _error(_id_in(text), PARSE_ERROR, _unreadable(line))
    if not isinstance(data, dict):
        return None
    message = cast("dict[str, object]", data)
    identity = message.get("id")
    if "method" not in message or not isinstance(identity, int | str) or isinstance(identity, bool):
        return None
    if "\ufffd" in text and not _is_utf8(line):
        return _error(identity, PARSE_ERROR, "the message is not valid UTF-8")
    return _error(identity, INVALID_REQUEST, "not a JSON-RPC 2.0 request" if _can_be_encoded(message) else _LONE)


def answered_by(line: bytes) -> int | str | None:
    """The id of our own request that the line is meant to answer, though it is no valid answer; None for any other."""
    try:
        data: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or "method" in data or not {"result", "error"} & set(cast("dict[str, object]", data)):
        return None
    identity = cast("dict[str, object]", data).get("id")
    return identity if isinstance(identity, int | str) and not isinstance(identity, bool) else None


def _error(identity: int | str | None, code: int, message: str) -> dict[str, Any] | None:
    return None if identity is None else {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}


def _unreadable(line: bytes) -> str:
    if isinstance(line, Head):
        return f"the message has more than {MAX_LINE_BYTES} bytes"
    return "the message is no JSON, or is nested too deeply, or holds a number that is too long"


def _id_in(text: str) -> int | str | None:
    """The id of a request that cannot be read as a whole: the object's own one, of no object within it."""
    depth, is_request, identity = 0, False, ""
    for token in _TOKEN.finditer(text, 0, _MAX_LOOKED_AT):
        if token.lastgroup == "bracket":
            depth += 1 if token[0] in "{[" else -1
        elif depth == 1 and token.lastgroup == "id":
            identity = token["id"]
        elif depth == 1 and token.lastgroup == "method":
            is_request = True
    return _as_id(identity) if is_request and text.lstrip().startswith("{") else None


def _as_id(literal: str) -> int | str | None:
    try:
        found: object = json.loads(literal)
    except ValueError:
        return None
    return found if isinstance(found, int | str) else None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _can_be_encoded(message: dict[str, object]) -> bool:
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    except RecursionError:
        return True  # what is nested so deeply has a fault of its own
    return True
