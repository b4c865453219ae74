"""Which tools are offered, and how MCP lists them. Descriptions and schemas are the engine's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import ListToolsResult, PaginatedRequestParams, Tool

    from regreen.tools import ToolSpec

FRESH_MS = 3_600_000


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
    )
