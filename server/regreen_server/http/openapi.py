"""What is served, as an OpenAPI 3.1 document: made from the tools' own schemas, so that the two cannot differ."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from regreen.agent.steering import MAX_CHARS
from regreen_server.http.errors import STATUS
from regreen_server.http.events import MAX_SEQ
from regreen_server.http.runs import MAX_PAGE, MAX_WAIT_S, PAGE, STARTING

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from regreen_server.tool_list import Offer

Schema: TypeAlias = dict[str, Any]

PATH = "/openapi.json"
_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_OBJECT: Schema = {"type": "object"}
_OURS = ("job_id", "repo")  # of submit_fix: the address says them


def answerer(offer: Offer) -> Callable[[Request], Awaitable[Response]]:
    """What answers `/openapi.json`."""
    from starlette.responses import JSONResponse

    async def answer(_request: Request) -> Response:
        return JSONResponse(document(offer))

    return answer


def document(offer: Offer) -> Schema:
    """The whole document. It describes what this server offers, and no more."""
    from importlib.metadata import version

    return {
        "openapi": "3.1.0",
        "info": {"title": "regreen", "version": version("regreen"),
                 "description": "Runs that turn failing tests green, and MCP, over HTTP."},
        "security": [{"bearer": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer",
                                           "description": "A token of the file that the server named at its start."}},
            "schemas": _schemas(offer),
            "responses": {"Error": {"description": "Why the request was not served.", "content": _json("Error")}},
        },
    }  # fmt: skip


def _paths() -> Schema:
    after = _query("after", {"type": "integer", "minimum": 0, "maximum": MAX_SEQ}, "The last event that is not wanted.")
    last = {"name": "Last-Event-ID", "in": "header", "schema": _TEXT, "description": "The same, and wins over it."}
    cursor = _query("cursor", _TEXT, "Where the page before ended.")
    one = [_path_run()]
    return {
        "/mcp": _mcp(),
        "/healthz": {"get": {**_operation("health", "Is the server there?", _ok("Health")), "security": []}},
        PATH: {"get": _operation("openapi", "This document.", _ok(""))},
        "/runs": {
            "post": _operation("start", "Start a run.", {
                "202": {"description": "It runs.", "content": _json("Run"),
                        "headers": {"Location": {"schema": _TEXT, "description": "Its address."}}},
                "200": {"description": "It was not begun: a person said no.", "content": _json("Run")},
            }, "Start"),
            "get": {**_operation("list", "The runs, the newest first.", _ok("Runs")), "parameters": [
                _query("limit", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": PAGE}, "How many."),
                cursor]},
        },
        "/runs/{run_id}": {"parameters": one, "get": {
            **_operation("status", "State and result so far.", _ok("Run")), "parameters": [
                _query("wait_s", {"type": "number", "minimum": 0, "maximum": MAX_WAIT_S, "default": 0},
                       "How long to wait until it no longer runs."),
                _query("log_offset", {"type": "integer", "minimum": 0}, "Where its tests' output is to be read from."),
                cursor]}},
        "/runs/{run_id}/messages": {"parameters": one, "post": _operation(
            "send", "A fix, words for the agent, or the end.", _ok("Run"), "Message")},
        "/runs/{run_id}/events": {"parameters": one, "get": {
            **_operation("events", "What happens, as a stream or a page.", {"200": {
                "description": "A page; a stream where the client accepts text/event-stream.",
                "content": {**_json("Events"), "text/event-stream": {"schema": _TEXT}}}}),
            "parameters": [after, last]}},
        "/runs/{run_id}/ws": {"parameters": one, "get": {
            **_operation("live", "The same as a WebSocket: events out, messages in.",
                         {"101": {"description": "The connection is a WebSocket from now on."}}),
            "parameters": [after]}},
    }  # fmt: skip


def _mcp() -> Schema:
    stream = {"text/event-stream": {"schema": _TEXT}}
    about = "The Model Context Protocol, streamable HTTP."
    body = {"required": True, "content": {"application/json": {"schema": _OBJECT}}}
    answers = {"200": {"description": "The answer.", "content": {"application/json": {"schema": _OBJECT}, **stream}},
               "202": {"description": "A notification was taken."}}  # fmt: skip
    return {
        "post": {**_operation("mcp", about, answers), "requestBody": body},
        "get": _operation("mcp_stream", about, {"200": {"description": "What the server tells.", "content": stream}}),
        "delete": _operation("mcp_end", "End a session.", {"200": {"description": "It has ended."}}),
    }


def _operation(name: str, summary: str, answers: Schema, body: str = "") -> Schema:
    asked = {"requestBody": {"required": True, "content": _json(body)}} if body else {}
    return {"operationId": name, "summary": summary, **asked,
            "responses": {**answers, "default": {"$ref": "#/components/responses/Error"}}}  # fmt: skip


def _ok(schema: str) -> Schema:
    content = _json(schema) if schema else {"application/json": {"schema": _OBJECT}}
    return {"200": {"description": "The answer.", "content": content}}


def _json(schema: str) -> Schema:
    return {"application/json": {"schema": _ref(schema)}}


def _ref(schema: str) -> Schema:
    return {"$ref": f"#/components/schemas/{schema}"}


def _query(name: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": "query", "schema": schema, "description": description}


def _path_run() -> Schema:
    return {"name": "run_id", "in": "path", "required": True, "schema": _TEXT, "description": "The `job_id` of a run."}


def _schemas(offer: Offer) -> Schema:
    from regreen.tools import BY_NAME

    offered = {spec.name for spec in offer.tools()}
    starts = [name for name in STARTING if name in offered]
    error = _object({"error": _object({"kind": _TEXT, "message": _TEXT, "hint": _TEXT}, needed=("kind", "message"))},
                    needed=("error",))  # fmt: skip
    error["properties"]["error"]["properties"]["kind"] = {"type": "string", "examples": sorted(STATUS)}
    outputs: Schema = {}
    for name in (*STARTING, "submit_fix", "job_status", "job_cancel"):
        outputs |= BY_NAME[name].outputs
    event: Schema = {"type": "object", "required": ["seq", "time", "run_id", "kind"], "properties": {
        "seq": {"type": "integer"}, "time": _NUMBER, "run_id": _TEXT, "kind": _TEXT}}  # fmt: skip
    state: Schema = {"type": "string", "enum": ["running", "waiting_for_edits", "done", "interrupted"]}
    listed = _object({"job_id": _TEXT, "tool": {"type": "string", "enum": list(STARTING)}, "state": state,
                      "created": _NUMBER, "finished": _NUMBER, "repo": _TEXT, "progress": _TEXT, "reason": _TEXT},
                     needed=("job_id", "tool", "state", "created"))  # fmt: skip
    return {
        "Error": error,
        "Health": _object({"status": _TEXT, "version": _TEXT, "uptime_s": _NUMBER, "sessions": {"type": "integer"},
                           "jobs": {"type": "integer"}}),
        "Start": {"oneOf": [_start(name) for name in starts]} if starts else {"not": {}},
        "Run": {"type": "object", "properties": {**outputs, "state": state, "error": _OBJECT}, "required": ["state"]},
        "Runs": _object({"runs": {"type": "array", "items": listed}, "cursor": _TEXT}, needed=("runs",)),
        "Event": event,
        "Events": _object({"events": {"type": "array", "items": _ref("Event")}, "next": {"type": "integer"},
                           "state": state, "reason": _TEXT}, needed=("events", "next", "state")),
        "Message": {"oneOf": _messages(offered)},
    }  # fmt: skip


def _start(tool: str) -> Schema:
    from regreen.tools import BY_NAME

    spec = BY_NAME[tool]
    arguments = {**spec.checked_schema, "additionalProperties": False, "description": spec.description}
    needed = ("tool", "arguments") if spec.required else ("tool",)
    return _object({"tool": {"const": tool}, "arguments": arguments}, needed=needed)


def _messages(offered: set[str]) -> list[Schema]:
    from regreen.tools import BY_NAME

    found = [_object({"kind": {"const": "cancel"}}, needed=("kind",))]
    if "coding_task" in offered:
        words = {"type": "string", "minLength": 1, "maxLength": MAX_CHARS}
        found.append(_object({"kind": {"const": "message"}, "text": words}, needed=("kind", "text")))
    if "submit_fix" in offered:
        fields = BY_NAME["submit_fix"].parameters
        rest = {name: schema for name, schema in fields.items() if name not in _OURS}
        found.append(_object({"kind": {"const": "fix"}, **rest}, needed=("kind",)))
    return found


def _object(properties: Schema, needed: tuple[str, ...] = ()) -> Schema:
    return {"type": "object", "properties": properties, "required": list(needed or properties),
            "additionalProperties": False}  # fmt: skip
