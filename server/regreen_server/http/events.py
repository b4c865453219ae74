"""The events of a run, as they happen: server-sent events, or a page of JSON.

Read from the run's file, whichever process writes it: bit by bit, the next bit only when the last was sent, so that a
slow reader holds no memory. What is in no file (a test run's progress, a run that waits for edits) is told as `state`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from starlette.responses import JSONResponse, Response, StreamingResponse

from regreen.errors import RegreenError
from regreen.wire import Json, encodable
from regreen_server.http.errors import Refusal
from regreen_server.http.reading import query, wants_stream, whole

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from regreen.session.diary import Diary
    from regreen.session.now import RunState
    from regreen_server.calls import Caller, ToolEngine

log = logging.getLogger(__name__)

MAX_STREAMS = 128
HEARTBEAT_S = 15.0
RETRY_MS = 2000
MAX_SEQ = 10**12
_TICK_S = 0.2  # how often a file is looked at
_STATE_S = 0.5  # how often the state, where the file has not grown
_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",  # a proxy that gathers answers would keep events back
}

TellKind: TypeAlias = Literal["event", "state", "end", "beat"]


@dataclass(frozen=True, slots=True)
class Told:
    """One thing to tell a follower: an event as it was recorded; the state, when it has changed; the end; or, where
    there was nothing for a while, that the stream lives."""

    kind: TellKind
    data: dict[str, Json]


class Streams:
    """How many followers there are; more than so many are refused."""

    def __init__(self) -> None:
        self.open = 0

    @property
    def refusal(self) -> Refusal | None:
        if self.open < MAX_STREAMS:
            return None
        return Refusal("busy", f"{MAX_STREAMS} streams are open, as many as may be", "close one, or try later",
                       status=503)  # fmt: skip

    @contextmanager
    def counted(self) -> Generator[None]:
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1


async def follow(caller: Caller, run_id: str, diary: Diary) -> AsyncGenerator[Told]:
    """All that there is to tell of a run behind `diary.after`, until its end. Raises RegreenError where it cannot be
    told any longer."""
    shown: tuple[str, str] | None = None
    told_at = time.monotonic()
    state = await _state(caller, run_id)
    looked_at = time.monotonic()
    while True:
        while page := await caller.look("events", lambda _: diary.page()):
            for event in page:
                yield Told("event", _clean(event))
            told_at = time.monotonic()
        if state.ended:
            yield Told("end", _clean(end_data(state)))
            return
        if (now := (state.state, state.progress)) != shown:
            shown, told_at = now, time.monotonic()
            yield Told("state", _clean({"state": state.state, "progress": state.progress}))
        while not diary.has_more and time.monotonic() - looked_at < _STATE_S:
            await asyncio.sleep(_TICK_S)
        if time.monotonic() - told_at >= HEARTBEAT_S:
            told_at = time.monotonic()
            yield Told("beat", {})
        state = await _state(caller, run_id)  # before the file is read: what is done by now is in it
        looked_at = time.monotonic()
        if diary.has_more:  # half a line is no reason to look without a pause
            await asyncio.sleep(_TICK_S / 4)


async def _state(caller: Caller, run_id: str) -> RunState:
    """The state of a run. Where its process has died, what it changed is put back first, as by `job_status`."""
    state = await caller.look("state", lambda engine: engine.run_state(run_id))
    if state.state != "interrupted":
        return state
    return await caller.do("state", lambda engine: _recovered(engine, run_id))


def _recovered(engine: ToolEngine, run_id: str) -> RunState:
    repo = engine.repo_of(run_id)
    engine.call("job_status", {"job_id": run_id, "wait_s": 0, **({"repo": repo} if repo else {})})
    return engine.run_state(run_id)


def end_data(state: RunState) -> dict[str, Json]:
    return {"state": state.state, **({"reason": state.reason} if state.reason else {})}


def _clean(data: dict[str, Json]) -> dict[str, Json]:
    told = encodable(data)
    assert isinstance(told, dict)
    return told


def frame(told: Told) -> str:
    """As server-sent events write it. Only events have an id: to go on from."""
    if told.kind == "beat":
        return ": alive\n\n"
    name = str(told.data["kind"]) if told.kind == "event" else told.kind
    head = f"id: {told.data['seq']}\n" if told.kind == "event" else ""
    data = json.dumps(told.data, ensure_ascii=False, separators=(",", ":"))
    return f"{head}event: {name}\ndata: {data}\n\n"


class Following:
    """`/runs/{run_id}/events`."""

    def __init__(self, caller: Caller, streams: Streams) -> None:
        self._caller = caller
        self._streams = streams

    async def answer(self, request: Request) -> Response:
        run_id = str(request.path_params["run_id"])
        after = start(request)
        diary = await self._caller.look("run", lambda engine: engine.diary(run_id, after))
        if request.method == "HEAD" or not wants_stream(request.headers):
            return JSONResponse(await self._page(run_id, diary), headers={"cache-control": "no-store"})
        if refusal := self._streams.refusal:
            return Response(refusal.body, refusal.code, media_type="application/json")
        return _Stream(frames(self._caller, run_id, diary), self._streams)

    async def _page(self, run_id: str, diary: Diary) -> dict[str, Json]:
        state = await _state(self._caller, run_id)
        page = await self._caller.look("events", lambda _: diary.page())
        return {"events": [_clean(event) for event in page], "next": diary.after, **_clean(end_data(state))}


class _Stream(StreamingResponse):
    """Ends at once when its client has gone, and is counted as long as it lasts."""

    def __init__(self, told: AsyncGenerator[str], streams: Streams) -> None:
        super().__init__(told, headers=_HEADERS)
        self._told = told
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.counted():
            try:
                await super().__call__(scope, receive, send)
            finally:
                await self._told.aclose()


async def frames(caller: Caller, run_id: str, diary: Diary) -> AsyncGenerator[str]:
    """The stream of a run."""
    yield f"retry: {RETRY_MS}\n\n"
    try:
        async for told in follow(caller, run_id, diary):
            yield frame(told)
    except RegreenError as e:  # without an `end` the client comes back, and hears then what is wrong
        log.debug("the stream of %s: %s", run_id, e)


def start(request: Request) -> int:
    """Behind which event to begin: `?after=`, or, when a client has lost its stream, `Last-Event-ID`."""
    asked = query(request.query_params, "after")
    last = request.headers.get("last-event-id", "")
    name, text = ("Last-Event-ID", last) if last else ("after", asked.get("after", "0"))
    return whole(text, name, 0, MAX_SEQ)
