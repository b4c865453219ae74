"""The tasks extension (`io.modelcontextprotocol/tasks`): a long call is answered with a handle, and asked for by it.

Rules: only for a client that declares the extension on the request at hand, and only in the later protocol era; what
a handle stands for comes from a `TaskSource`. Nothing but the form on the wire is decided here.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from regreen_server.refusals import refusal, refusal_of

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError
    from mcp_types import ClientCapabilities, GetTaskRequestParams

EXTENSION = "io.modelcontextprotocol/tasks"
EXTENSIONS: dict[str, dict[str, Any]] = {EXTENSION: {}}
TTL_MS = 24 * 3600 * 1000
"""How long a client can count on asking for a task, from its beginning. Its record is kept for longer than that."""
POLL_MS = 1000

Status: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]
_ID = re.compile(r"[A-Za-z0-9][\w-]{0,79}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Task:
    """What is known of a task now. Times are seconds since 1970; `result`, `error` and `requests` are as on the wire,
    and there only in the status that they belong to."""

    id: str
    status: Status
    created: float
    changed: float
    message: str = ""
    result: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    requests: Mapping[str, Any] = field(default_factory=dict[str, Any])


class TaskSource(Protocol):
    """Whatever does the work. All of it raises RegreenError (`not_found`) for what is no task here."""

    async def task(self, task_id: str, who: Hashable) -> Task:
        """A task; its questions only for `who` began it."""
        ...

    async def answer(self, task_id: str, responses: Mapping[str, Any], who: Hashable) -> None:
        """Take answers to questions, by their keys; what is no answer to an open question is passed over."""
        ...

    async def cancel(self, task_id: str) -> None:
        """Let the task be ended; returns before it has ended. Nothing happens to one that has."""
        ...


def created(task: Task) -> dict[str, Any]:
    """The answer to a call that goes on as this task."""
    return {"resultType": "task", **_base(task)}


def detailed(task: Task) -> dict[str, Any]:
    """The answer to `tasks/get`."""
    more: Mapping[str, Mapping[str, Any] | None] = {
        "result": task.result, "error": task.error, "inputRequests": task.requests or None,
    }  # fmt: skip
    return {"resultType": "complete", **_base(task), **{k: v for k, v in more.items() if v is not None}}


def _base(task: Task) -> dict[str, Any]:
    from regreen.wire import encodable

    told = {"statusMessage": encodable(task.message)} if task.message else {}
    times = {"createdAt": _time(task.created), "lastUpdatedAt": _time(max(task.created, task.changed))}
    return {"taskId": task.id, "status": task.status, **told, **times, "ttlMs": TTL_MS, "pollIntervalMs": POLL_MS}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def declares(capabilities: ClientCapabilities | None) -> bool:
    """Does the client say that it knows tasks?"""
    return EXTENSION in ((capabilities.extensions if capabilities is not None else None) or {})


def negotiated(ctx: ServerRequestContext[Any]) -> bool:
    """May this request be answered with a task?"""
    return _is_modern(ctx) and declares(ctx.session.client_capabilities)


def missing(capabilities: Mapping[str, Any], why: str) -> MCPError:
    """The error for a client that lacks what a request needs."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY

    return MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, why, {"requiredCapabilities": dict(capabilities)})


def undeclared() -> MCPError:
    """The error for a client that asks for tasks without having said that it knows them."""
    return missing({"extensions": EXTENSIONS}, f"the client must declare {EXTENSION} on each request about tasks")


def register(server: Server[Any], source: TaskSource) -> None:
    """Let the server answer for the tasks of this source."""
    from mcp_types import GetTaskRequestParams

    methods = Methods(source)
    server.extensions |= EXTENSIONS
    for name, handler in (("get", methods.get), ("update", methods.update), ("cancel", methods.cancel)):
        server.add_request_handler(f"tasks/{name}", GetTaskRequestParams, handler)


async def gate(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Middleware: who listens for tasks must know them. (None are told of: a stream's acknowledgement names none.)"""
    if ctx.method == "subscriptions/listen" and _listens(ctx.params) and not negotiated(ctx):
        raise undeclared()
    return await call_next(ctx)


def _listens(params: Mapping[str, Any] | None) -> bool:
    asked: Any = (params or {}).get("notifications")
    return isinstance(asked, dict) and "taskIds" in asked


class Methods:
    """What answers `tasks/*`: an acknowledgement is an empty result, as every client of this era takes it."""

    def __init__(self, source: TaskSource) -> None:
        self.source = source

    async def get(self, ctx: ServerRequestContext[Any], params: GetTaskRequestParams) -> dict[str, Any]:
        from regreen.errors import RegreenError
        from regreen_server.elicitation import offers_forms

        task_id = _checked(ctx, params)
        try:
            task = await self.source.task(task_id, principal(ctx))
        except RegreenError as e:
            raise refusal_of(e, taskId=task_id) from e
        if task.requests and not offers_forms(ctx.session.client_capabilities):
            raise missing({"elicitation": {}}, f"{task_id} waits for an answer, which a form must be shown for")
        return detailed(task)

    async def update(self, ctx: ServerRequestContext[Any], params: GetTaskRequestParams) -> dict[str, Any]:
        from regreen.errors import RegreenError

        task_id = _checked(ctx, params)
        responses: object = (ctx.params or {}).get("inputResponses")
        if not isinstance(responses, dict):
            raise refusal("invalid_arguments", "`inputResponses` is no object", "give the answers by their keys",
                          taskId=task_id)  # fmt: skip
        answers: dict[str, Any] = responses  # pyright: ignore[reportUnknownVariableType]
        try:
            await self.source.answer(task_id, answers, principal(ctx))
        except RegreenError as e:
            raise refusal_of(e, taskId=task_id) from e
        return {}

    async def cancel(self, ctx: ServerRequestContext[Any], params: GetTaskRequestParams) -> dict[str, Any]:
        from regreen.errors import RegreenError

        task_id = _checked(ctx, params)
        try:
            await self.source.cancel(task_id)
        except RegreenError as e:
            raise refusal_of(e, taskId=task_id) from e
        return {}


def principal(ctx: ServerRequestContext[Any]) -> Hashable:
    """Who asks: whoever is authenticated over HTTP; None where there is only one who can ask."""
    if ctx.request is None:
        return None
    from mcp.server.request_state import authenticated_principal

    return authenticated_principal(ctx)


def _checked(ctx: ServerRequestContext[Any], params: GetTaskRequestParams) -> str:
    """The task that a request names. Raises MCPError where the request may not be made, or names none."""
    from mcp.shared.exceptions import MCPError
    from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
    from mcp_types import HEADER_MISMATCH, METHOD_NOT_FOUND

    if not _is_modern(ctx):
        raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
    # The SDK compares this header for its own methods alone; proxies send a request where the header says.
    if ctx.request is not None and decode_header_value(ctx.request.headers.get(MCP_NAME_HEADER)) != params.task_id:
        raise MCPError(HEADER_MISMATCH, f"{MCP_NAME_HEADER} header does not match the request body's 'taskId'")
    if not negotiated(ctx):
        raise undeclared()
    if not _ID.fullmatch(params.task_id):
        raise refusal("not_found", "this taskId is none of ours", "give a taskId as the answer to a call told it")
    return params.task_id


def _is_modern(ctx: ServerRequestContext[Any]) -> bool:
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
