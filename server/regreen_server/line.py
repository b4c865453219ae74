"""The way back to the client of one call, in the era in which a server may ask by itself.

Rules: while its call lasts, a question goes with the call; after that with the session. Over HTTP either stream may not
be there, and what is put on none is heard by nobody: such a question fails at once, instead of being waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.shared.exceptions import MCPError
    from mcp_types import ClientCapabilities, ServerRequest
    from pydantic import BaseModel

    ResultT = TypeVar("ResultT", bound=BaseModel)

STREAM = "stream"
"""The key of a request's state, over HTTP, under which its `Stream` is."""


@dataclass(frozen=True, slots=True)
class Stream:
    """What is known of a request's stream to its client. `gone`: the client has dropped it. `listens`: is another one
    open, on which the client hears what concerns no request?"""

    gone: asyncio.Event
    listens: Callable[[], bool]


class Line:
    """Asks the client that made a call. To be used from the event loop; a context manager around the call."""

    def __init__(self, ctx: ServerRequestContext[Any]) -> None:
        self._session = ctx.session
        self._call = ctx.request_id
        self._stream: Stream | None = ctx.request.scope.get("state", {}).get(STREAM) if ctx.request else None
        self._answered = False

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._answered = True

    @property
    def capabilities(self) -> ClientCapabilities | None:
        return self._session.client_capabilities

    @property
    def can_ask(self) -> bool:
        """Does the protocol let a server ask by itself here?"""
        return self._session.can_send_request

    async def request(self, request: ServerRequest, result_type: type[ResultT]) -> ResultT:
        """The client's answer, which may take long: set a limit. Cancelling it takes the question back.

        Raises MCPError (`CONNECTION_CLOSED` where the client cannot be reached), and pydantic.ValidationError.
        """
        from mcp.shared.message import ServerMessageMetadata

        if self._answered:
            if self._stream is not None and not self._stream.listens():
                raise _unreachable()
            return await self._session.send_request(request, result_type)
        sent = self._session.send_request(
            request, result_type, metadata=ServerMessageMetadata(related_request_id=self._call)
        )
        return await (sent if self._stream is None else self._while_there(asyncio.ensure_future(sent), self._stream))

    async def _while_there(self, sent: asyncio.Future[ResultT], stream: Stream) -> ResultT:
        """The answer; or an error as soon as the call's stream is gone, with which it would have come. (A call that is
        answered ends its stream, too: what it has asked before the client can answer all the same.)"""
        gone = asyncio.ensure_future(stream.gone.wait())
        try:
            await asyncio.wait((sent, gone), return_when=asyncio.FIRST_COMPLETED)
            if sent.done() or self._answered:
                return await sent
            raise _unreachable()
        finally:
            gone.cancel()
            sent.cancel()


def _unreachable() -> MCPError:
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED

    return MCPError(CONNECTION_CLOSED, "the client has no stream open on which it could be asked")
