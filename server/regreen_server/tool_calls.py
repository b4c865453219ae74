"""`tools/call`: handed to the engine with what the client offers besides, and its answer handed back.

Rule: an answer is text that is complete by itself, and the same as structured content; a refusal is a result, too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from regreen.agent.offers import Offers
from regreen.wire import nearest
from regreen_server import approvals, elicitation, sampling
from regreen_server.calls import Answer, Caller, ErrorAnswer
from regreen_server.reporting import reporter

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, InputRequiredResult

    from regreen_server.tool_list import Offer


def caller_of(
    caller: Caller, offer: Offer
) -> Callable[[ServerRequestContext[Any], CallToolRequestParams], Awaitable[CallToolResult | InputRequiredResult]]:
    """What answers `tools/call`."""
    approving = approvals.Approvals()

    async def call_tool(
        ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        if params.name not in (names := [spec.name for spec in offer.tools()]):
            return as_call_result(_unknown_tool(params.name, names))
        asked = approving.offered(ctx, params)
        person = elicitation.offered(ctx.session)
        offers = Offers(sampling.offered(ctx.session), person, asked.approve, asked.in_jobs)
        result = await caller.call(params.name, params.arguments or {}, reporter(ctx), offers=offers)
        question = approvals.input_required(asked.round_) if asked.round_ is not None else None
        return question or as_call_result(result)

    return call_tool


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
