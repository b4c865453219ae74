"""The MCP server object: tools as the engine describes them, calls handed to it, results handed back.

Rule: translation only. Schemas, texts and decisions are the engine's; both protocol eras are the SDK's.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from regreen.agent.offers import Offers
from regreen.wire import nearest
from regreen_server import elicitation, resources, sampling
from regreen_server.calls import Answer, Caller, ErrorAnswer, Report

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        ListToolsResult,
        PaginatedRequestParams,
        ReadResourceRequestParams,
        ReadResourceResult,
        Tool,
    )

    from regreen.tools import ToolSpec

INSTRUCTIONS = (
    "regreen turns failing tests green. run_tests shows what is red. fix_tests returns a job_id: proposer "
    '"search" works offline (poll job_status); "caller" gives a brief, and you send fixes with submit_fix until there '
    "is an outcome. A run that does not end fixed puts every file back. repo_map, find_symbol and extract_signatures "
    "tell what code there is, for few tokens. apply_edits: blocks, diffs, patches, all or none; restore undoes. `repo` "
    "picks a repository; leave it out for the default."
)
_TOOL_LIST_FRESH_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Offer:
    """Which of the tools are offered; the others are as good as unknown."""

    core_only: bool = False
    read_only: bool = False

    def tools(self) -> tuple[ToolSpec, ...]:
        from regreen.tools import CORE, EDITING, TOOLS

        hidden = EDITING if self.read_only else frozenset[str]()
        return tuple(t for t in TOOLS if t.name not in hidden and (t.name in CORE or not self.core_only))


def create_server(caller: Caller, offer: Offer) -> Server[Any]:
    """The server, ready to be run on a transport."""
    from mcp.server.caching import CacheHint
    from mcp.server.lowlevel import Server
    from mcp_types import ListToolsResult

    async def list_tools(_ctx: ServerRequestContext[Any], _page: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[as_tool(spec) for spec in offer.tools()])

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        if params.name not in (names := [spec.name for spec in offer.tools()]):
            return as_call_result(_unknown_tool(params.name, names))

        offers = Offers(sampling.offered(ctx.session), elicitation.offered(ctx.session))
        return as_call_result(await caller.call(params.name, params.arguments or {}, _reporter(ctx), offers=offers))

    async def list_resources(_ctx: ServerRequestContext[Any], _p: PaginatedRequestParams | None) -> ListResourcesResult:
        return resources.listed()

    async def list_templates(
        _ctx: ServerRequestContext[Any], _page: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return resources.templates()

    async def read_resource(ctx: ServerRequestContext[Any], params: ReadResourceRequestParams) -> ReadResourceResult:
        return await resources.read(caller, str(params.uri), _reporter(ctx))

    return Server(
        "regreen",
        title="regreen",
        version=version("regreen"),
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": CacheHint(ttl_ms=_TOOL_LIST_FRESH_MS, scope="public")},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _reporter(ctx: ServerRequestContext[Any]) -> Report:
    """What tells the client of progress."""
    from regreen.wire import encodable

    async def report(elapsed_s: float, text: str) -> None:
        await ctx.session.report_progress(elapsed_s, message=str(encodable(text)))

    return report


def as_tool(spec: ToolSpec) -> Tool:
    """A tool as MCP lists it."""
    from mcp_types import Tool, ToolAnnotations

    return Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=spec.input_schema,
        output_schema=spec.output_schema,
        annotations=ToolAnnotations(
            read_only_hint=spec.read_only,
            destructive_hint=spec.destructive,
            idempotent_hint=spec.idempotent,
            open_world_hint=spec.open_world,
        ),
    )


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
