"""Progress of a request, told to the client that asked to hear of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from regreen_server.calls import Report


def reporter(ctx: ServerRequestContext[Any]) -> Report:
    """What tells the client of progress."""
    from regreen.wire import encodable

    async def report(elapsed_s: float, text: str) -> None:
        await ctx.session.report_progress(elapsed_s, message=str(encodable(text)))

    return report
