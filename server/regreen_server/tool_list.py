"""Which tools are offered, and how MCP lists them. Descriptions and schemas are the engine's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regreen_server import view

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import ListToolsResult, PaginatedRequestParams, Tool

    from regreen.tools import ToolSpec

FRESH_MS = 3_600_000
# Claude Code puts a longer answer into a file unless the tool says that it may be long. Those below are as long as the
# caller asked for (max_tokens, a range of lines), or hold a diff that is of use only as a whole.
LONG_ANSWER_CHARS = 200_000
LONG_ANSWERS = frozenset({"repo_skeleton", "extract_signatures", "repo_map", "read_file", "show_changes"})


@dataclass(frozen=True, slots=True)
class Offer:
    """Which of the tools are offered; the others are as good as unknown."""

    core_only: bool = False
    read_only: bool = False

    def tools(self) -> tuple[ToolSpec, ...]:
        from regreen.tools import CORE, EDITING, TOOLS

        hidden = EDITING if self.read_only else frozenset[str]()
        return tuple(t for t in TOOLS if t.name not in hidden and (t.name in CORE or not self.core_only))


def lister(
    offer: Offer,
) -> Callable[[ServerRequestContext[Any], PaginatedRequestParams | None], Awaitable[ListToolsResult]]:
    """What answers `tools/list`."""
    from mcp_types import ListToolsResult

    async def list_tools(_ctx: ServerRequestContext[Any], _page: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[as_tool(spec) for spec in offer.tools()])

    return list_tools


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
        _meta=_meta(spec.name) or None,
    )


def _meta(name: str) -> dict[str, Any]:
    """What is for the host alone: it shows none of this to its model."""
    long = {"anthropic/maxResultSizeChars": LONG_ANSWER_CHARS} if name in LONG_ANSWERS else {}
    return {**view.tool_meta(name), **long}
