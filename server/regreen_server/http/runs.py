"""Runs for programs that speak plain HTTP: start, list, look at, follow, and speak to.

Rules: what a route does is what the tool of the same purpose does; a run of a repository that this server does not
serve is not found; what a person wrote, and every secret, is in a body or header, never in an address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from regreen.errors import UsageError
from regreen.wire import encodable, shown
from regreen_server.http import events, live
from regreen_server.http.messages import Desk
from regreen_server.http.reading import json_object, only, query, seconds, text_of, whole

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from regreen.session.recording import RunRecord
    from regreen.wire import Json
    from regreen_server.calls import Caller, ToolEngine
    from regreen_server.tool_list import Offer

STARTING = ("fix_tests", "coding_task", "run_tests")
"""The tools whose runs can be started."""
KNOWN = 500  # the newest runs that the list is made of
PAGE = 20
MAX_PAGE = 100
MAX_WAIT_S = 30.0
_TOOLS = {"fix": "fix_tests", "task": "coding_task", "test": "run_tests"}
_Listed: TypeAlias = "tuple[list[dict[str, Json]], str]"


def routes(caller: Caller, offer: Offer) -> list[BaseRoute]:
    """All routes that concern runs."""
    from starlette.routing import Route, WebSocketRoute

    desk = Desk(caller, offer)
    runs, streams = Runs(desk), events.Streams()
    following = events.Following(caller, streams)
    return [
        Route("/runs", runs.all, methods=["GET", "POST"]),
        Route("/runs/{run_id}", runs.one, methods=["GET"]),
        Route("/runs/{run_id}/messages", runs.message, methods=["POST"]),
        Route("/runs/{run_id}/events", following.answer, methods=["GET"]),
        WebSocketRoute("/runs/{run_id}/ws", live.Live(desk, streams).serve),
    ]


class Runs:
    """The routes that answer with one document."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def all(self, request: Request) -> Response:
        return await (self._begin(request) if request.method == "POST" else self._list(request))

    async def _begin(self, request: Request) -> Response:
        query(request.query_params)
        asked = await json_object(request)
        only("the request", asked, ("tool", "arguments"))
        tool = text_of(asked, "tool", f"one of {', '.join(STARTING)}")
        if tool not in STARTING:
            raise UsageError("invalid_arguments", f"`tool` is {shown(tool)}", f"one of: {', '.join(STARTING)}")
        arguments = asked.get("arguments", {})
        if not isinstance(arguments, dict):
            raise UsageError("invalid_arguments", f"`arguments` is {shown(arguments)}", "give an object")
        self._desk.check_offered(tool)
        data = await self._desk.call(tool, {"wait_s": 0, **cast("dict[str, object]", arguments)})
        if "job_id" not in data:  # a person who was asked said no to it
            return _json(data)
        return _json(data, 202, {"location": f"/runs/{data['job_id']}"})

    async def _list(self, request: Request) -> Response:
        asked = query(request.query_params, "limit", "cursor")
        limit = whole(asked.get("limit", str(PAGE)), "limit", 1, MAX_PAGE)
        runs, cursor = await self._desk.caller.look("runs", lambda e: listed(e, limit, asked.get("cursor", "")))
        return _json({"runs": list(runs), **({"cursor": cursor} if cursor else {})})

    async def one(self, request: Request) -> Response:
        asked = query(request.query_params, "wait_s", "cursor", "log_offset")
        arguments: dict[str, object] = {"wait_s": seconds(asked.get("wait_s", "0"), "wait_s", MAX_WAIT_S)}
        if "cursor" in asked:
            arguments["cursor"] = asked["cursor"]
        if "log_offset" in asked:
            arguments["log_offset"] = whole(asked["log_offset"], "log_offset", 0, 1 << 40)
        return _json(await self._desk.on_run("job_status", run_id(request), arguments))

    async def message(self, request: Request) -> Response:
        query(request.query_params)
        return _json(await self._desk.take(run_id(request), await json_object(request)))


def run_id(request: Request) -> str:
    """The run that the address names."""
    return str(request.path_params["run_id"])


def listed(engine: ToolEngine, limit: int, cursor: str) -> _Listed:
    """A page of the runs, the newest first, and the cursor of the next, "" at the end. A cursor names the last run of a
    page, so that pages stay what they are while new runs begin. Raises UsageError for one that no list has told."""
    known = engine.known_runs(limit=KNOWN, with_tests=True)
    rest = known if not cursor else _behind(known, cursor)
    shown_runs = [_summary(engine, run) for run in rest[:limit]]
    last = rest[limit - 1] if len(rest) > limit else None
    return shown_runs, f"{last.created!r}:{last.id}" if last is not None else ""


def _behind(known: tuple[RunRecord, ...], cursor: str) -> tuple[RunRecord, ...]:
    created, _, name = cursor.partition(":")
    at = next((i for i, run in enumerate(known) if run.id == name), None)
    if at is not None:
        return known[at + 1 :]
    try:
        time = float(created)
    except ValueError:
        raise UsageError("invalid_arguments", f"no list has told the cursor {shown(cursor)}",
                         "leave it out to begin again") from None  # fmt: skip
    return tuple(run for run in known if run.created < time)  # that run has been forgotten since


def _summary(engine: ToolEngine, run: RunRecord) -> dict[str, Json]:
    state = engine.run_state(run.id) if run.finished is None else None
    told: dict[str, Json] = {
        "job_id": run.id,
        "tool": _TOOLS[run.kind],
        "state": state.state if state is not None else "done",
        "created": run.created,
    }
    more: dict[str, Json | None] = {
        "repo": run.root or None,
        "progress": (state.progress if state is not None else "") or None,
        "reason": (state.reason if state is not None else run.reason) or None,
        "finished": run.finished,
    }
    return told | {name: value for name, value in more.items() if value is not None}


def _json(data: dict[str, Json], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse(encodable(data), status, {"cache-control": "no-store", **(headers or {})})
