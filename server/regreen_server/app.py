"""The MCP server object: tools as the engine describes them, calls handed to it, results handed back.

Rule: translation only. Schemas, texts and decisions are the engine's; both protocol eras are the SDK's.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from regreen_server import resources, tool_calls, tool_list
from regreen_server.calls import Caller
from regreen_server.reporting import reporter
from regreen_server.tool_list import Offer

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp_types import (
        ListResourcesResult,
        ListResourceTemplatesResult,
        PaginatedRequestParams,
        ReadResourceRequestParams,
        ReadResourceResult,
    )

INSTRUCTIONS = (
    "regreen turns failing tests green. run_tests shows what is red. fix_tests returns a job_id: proposer "
    '"search" works offline (poll job_status); "caller" gives a brief, and you send fixes with submit_fix until there '
    "is an outcome. A run that does not end fixed puts every file back. repo_map, find_symbol and extract_signatures "
    "tell what code there is, for few tokens. apply_edits: blocks, diffs, patches, all or none; restore undoes. `repo` "
    "picks a repository; leave it out for the default."
)


def create_server(caller: Caller, offer: Offer) -> Server[Any]:
    """The server, ready to be run on a transport."""
    from mcp.server.caching import CacheHint
    from mcp.server.lowlevel import Server

    async def list_resources(_ctx: ServerRequestContext[Any], _p: PaginatedRequestParams | None) -> ListResourcesResult:
        return resources.listed()

    async def list_templates(
        _ctx: ServerRequestContext[Any], _page: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return resources.templates()

    async def read_resource(ctx: ServerRequestContext[Any], params: ReadResourceRequestParams) -> ReadResourceResult:
        return await resources.read(caller, str(params.uri), reporter(ctx))

    return Server(
        "regreen",
        title="regreen",
        version=version("regreen"),
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": CacheHint(ttl_ms=tool_list.FRESH_MS, scope="public")},
        on_list_tools=tool_list.lister(offer),
        on_call_tool=tool_calls.caller_of(caller, offer),
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )
