"""A run over a WebSocket: its events out, messages to it in.

Rules: every frame is one JSON object; messages are taken one after the other, and nothing more is read meanwhile; what
a message began goes on when its sender has gone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, TypeAlias, cast

from starlette.responses import Response
from starlette.websockets import WebSocketDisconnect

from regreen.errors import RegreenError, UsageError
from regreen.wire import Json, encodable, shown
from regreen_server.http import events
from regreen_server.http.body import is_deep
from regreen_server.http.reading import parsed, query, whole

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from regreen.session.diary import Diary
    from regreen_server.http.messages import Desk

ENDED = 1000
GOING_AWAY = 1001
REFUSED = 1008
UNKNOWN_RUN = 4404
_MAX_REASON = 120  # bytes; a close frame holds no more
_LAST_REPLY_S = 20.0  # for a message that came before the run's end

Close: TypeAlias = "tuple[int, str] | None"
"""The code and reason to close with; None where the client has gone."""


class Live:
    """`/runs/{run_id}/ws`."""

    def __init__(self, desk: Desk, streams: events.Streams) -> None:
        self._desk = desk
        self._streams = streams

    async def serve(self, socket: WebSocket) -> None:
        if refusal := self._streams.refusal:
            await socket.send_denial_response(Response(refusal.body, refusal.code, media_type="application/json"))
            return
        run_id = str(socket.path_params["run_id"])
        with self._streams.counted():
            await socket.accept()
            try:
                after = whole(query(socket.query_params, "after").get("after", "0"), "after", 0, events.MAX_SEQ)
                diary = await self._desk.caller.look("run", lambda engine: engine.diary(run_id, after))
            except RegreenError as e:
                code = UNKNOWN_RUN if e.kind == "not_found" else REFUSED
                await socket.close(code, _reason(f"{e.kind}: {e.message}"))
                return
            await _Talk(self._desk, socket, run_id).go_on(diary)


class _Talk:
    """One connection that has been accepted."""

    def __init__(self, desk: Desk, socket: WebSocket, run_id: str) -> None:
        self._desk = desk
        self._socket = socket
        self._run_id = run_id
        self._answered = asyncio.Event()
        self._answered.set()

    async def go_on(self, diary: Diary) -> None:
        """Until the run has ended, or the client has gone; whichever comes first ends the other way, too."""
        out = asyncio.create_task(self._tell(diary))
        in_ = asyncio.create_task(self._hear())
        try:
            await asyncio.wait((out, in_), return_when=asyncio.FIRST_COMPLETED)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._answered.wait(), _LAST_REPLY_S)
        finally:
            out.cancel()
            in_.cancel()
            ends = await asyncio.gather(out, in_, return_exceptions=True)
        close = _close_of(ends)
        if close is not None:
            await self._socket.close(close[0], _reason(close[1]))

    async def _tell(self, diary: Diary) -> Close:
        try:
            async with aclosing(events.follow(self._desk.caller, self._run_id, diary)) as told:
                async for one in told:
                    if one.kind != "beat":  # the protocol has pings of its own
                        await self._send(one.data if one.kind == "event" else {"kind": one.kind, **one.data})
        except RegreenError as e:
            return GOING_AWAY, e.kind
        return ENDED, "the run has ended"

    async def _hear(self) -> Close:
        while True:
            received = await self._socket.receive()
            if received["type"] == "websocket.disconnect":
                return None
            text = received.get("text")
            if not isinstance(text, str):
                return REFUSED, "frames are JSON text"
            self._answered.clear()
            try:
                await self._send(await self._reply(text))
            finally:
                self._answered.set()

    async def _reply(self, text: str) -> dict[str, Json]:
        to: dict[str, Json] = {}
        try:
            if is_deep(text.encode()):
                raise UsageError("bad_request", "the JSON is nested too deeply", "send flat arguments")
            message = parsed(text)
            if "id" in message:
                to["to"] = _identity(message.pop("id"))
            if message.get("wait_s", 0) != 0:
                raise UsageError("invalid_arguments", "`wait_s` is not 0", "leave it out: events tell what comes of it")
            return {"reply": await self._taken(message), **to}
        except RegreenError as e:
            return {"error": dict(e.as_json()["error"]), **to}

    async def _taken(self, message: dict[str, object]) -> dict[str, Json]:
        """Take a message, to its end even if its sender goes meanwhile: cancelling a call would end the run."""
        task = asyncio.create_task(self._desk.take(self._run_id, message))
        _begun.add(task)
        task.add_done_callback(_forget)
        return await asyncio.shield(task)

    async def _send(self, data: dict[str, Json]) -> None:
        await self._socket.send_text(json.dumps(encodable(data), ensure_ascii=False, separators=(",", ":")))


_begun: set[asyncio.Task[dict[str, Json]]] = set()  # the loop alone would not keep them


def _forget(task: asyncio.Task[dict[str, Json]]) -> None:
    _begun.discard(task)
    if not task.cancelled():
        task.exception()  # whoever is still there has been told


def _identity(value: object) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UsageError("invalid_arguments", f"`id` is {shown(value)}", "give a text or a whole number")
    return value


def _close_of(ends: Sequence[Close | BaseException]) -> Close:
    """How to close, by how both ways have ended. Raises what was a fault of ours."""
    gone = (asyncio.CancelledError, WebSocketDisconnect)
    for end in ends:
        if isinstance(end, BaseException) and not isinstance(end, gone):
            raise end
    if any(end is None or isinstance(end, WebSocketDisconnect) for end in ends):
        return None
    return next((cast("Close", end) for end in ends if isinstance(end, tuple)), None)


def _reason(text: str) -> str:
    return text.encode("ascii", "replace")[:_MAX_REASON].decode()
