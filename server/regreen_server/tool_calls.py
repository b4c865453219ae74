"""`tools/call`: handed to the engine with what the client offers besides, and its answer handed back.

Rule: an answer is text that is complete by itself, and the same as structured content; a refusal is a result, too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from regreen.agent.offers import Offers
from regreen.wire import nearest
from regreen_server import approvals, elicitation, job_tasks, sampling
from regreen_server.calls import Answer, Caller, ErrorAnswer
from regreen_server.line import Line
from regreen_server.reporting import reporter

if TYPE_CHECKING:
    from mcp.server.context import HandlerResult, ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult

    from regreen.agent.ask_user import AskUser
    from regreen_server.tool_list import Offer


def caller_of(
    caller: Caller, offer: Offer, tasks: job_tasks.JobTasks
) -> Callable[[ServerRequestContext[Any], CallToolRequestParams], Awaitable[HandlerResult]]:
    """What answers `tools/call`: with a result, with a question, or with a task that goes on."""
    approving = approvals.Approvals(caller)

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> HandlerResult:
        if params.name not in (names := [spec.name for spec in offer.tools()]):
            return as_call_result(_unknown_tool(params.name, names))
        task = job_tasks.wanted(ctx, params)
        arguments = params.arguments or {} if task is None else task.arguments
        with Line(ctx) as line:
            asked = await approving.offered(ctx, params, line, task and task.questions)
            offers = Offers(sampling.offered(line), _person(line, task), asked.approve, asked.in_jobs)
            result = await caller.call(params.name, arguments, reporter(ctx), offers=offers)
        if asked.round_ is not None and (question := approvals.input_required(asked.round_)) is not None:
            return question
        begun = await tasks.begun(task, result) if task is not None else None
        return begun or as_call_result(result)

    return call_tool


def _person(line: Line, task: job_tasks.Wanted | None) -> AskUser | None:
    """How a coding task asks the person whom it works for."""
    if task is not None and elicitation.offers_forms(line.capabilities):
        return elicitation.through(task.questions)
    return elicitation.offered(line)


def as_call_result(result: Answer) -> CallToolResult:
    """A result as MCP sends it: text complete in itself, and the same as structured content."""
    from mcp_types import CallToolResult, TextContent

    from regreen.wire import encodable

    return CallToolResult(
        content=[TextContent(type="text", text=str(encodable(result.text)))],
        structured_content=encodable(dict(result.data)),
        is_error=result.is_error,
    )


def _unknown_tool(name: str, names: list[str]) -> Answer:
    near = nearest(name, names, 3, 0.5)
    hint = f"did you mean: {', '.join(near)}?" if near else f"there are: {', '.join(names)}"
    return ErrorAnswer("not_found", f"there is no tool {name[:80]!r}", hint)
