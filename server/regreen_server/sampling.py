"""The client's own model, where the client offers it: asked through the SDK, for an engine that works in other threads.

Only in the protocol era in which a server may ask on its own; in the later one a call would have to end for each
question. Text only.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_types import CreateMessageResult

    from regreen.providers.errors import ProviderError
    from regreen.providers.sampling import SamplingAnswer, SamplingAsk, SamplingQuestion
    from regreen_server.line import Line


def offered(line: Line) -> SamplingAsk | None:
    """How the client's model is asked; None where the client offers none. Call it from the server's event loop.

    A question may be awaited in any event loop. A job goes on when the call that began it was answered, and asks on.
    Cancelling the wait takes it back; when the client goes, it fails at once.
    """
    capabilities = line.capabilities
    if capabilities is None or capabilities.sampling is None or not line.can_ask:
        return None
    loop = asyncio.get_running_loop()

    async def ask(question: SamplingQuestion) -> SamplingAnswer:
        asked = _asked(line, question)
        try:
            answer = asyncio.run_coroutine_threadsafe(asked, loop)
        except RuntimeError:  # the server's loop has ended
            asked.close()
            raise _gone() from None
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise _gone() from None  # not we were cancelled, but the question was: the server ends

    return ask


async def _asked(line: Line, question: SamplingQuestion) -> SamplingAnswer:
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        CreateMessageRequest,
        CreateMessageRequestParams,
        CreateMessageResult,
        SamplingMessage,
        TextContent,
    )
    from pydantic import ValidationError

    from regreen.providers.errors import BadReply
    from regreen.wire import encodable

    def text(said: str) -> str:
        return str(encodable(said))

    request = CreateMessageRequest(
        params=CreateMessageRequestParams(
            messages=[
                SamplingMessage(role=m.role, content=TextContent(type="text", text=text(m.text)))
                for m in question.messages
            ],
            system_prompt=text(question.system) or None,
            max_tokens=question.max_tokens,
        )
    )
    try:
        return _answer(await line.request(request, CreateMessageResult))
    except MCPError as e:
        raise _fault(e.error.code, e.error.message) from e
    except ValidationError as e:
        raise BadReply(f"the client's answer is not one of sampling: {e.error_count()} faults in it") from e


def _answer(result: CreateMessageResult) -> SamplingAnswer:
    from regreen.providers.errors import BadReply
    from regreen.providers.sampling import SamplingAnswer

    content: Any = result.content
    if content.type != "text":
        raise BadReply(f"the client's model answered with {content.type}, not with text")
    return SamplingAnswer(content.text, result.stop_reason or "", result.model)


def _fault(code: int, message: str) -> ProviderError:
    """What a client's refusal means to whoever asked."""
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    from regreen.providers.errors import ModelTimeout, RequestRefused

    if code == CONNECTION_CLOSED:
        return _gone()
    if code == REQUEST_TIMEOUT:
        return ModelTimeout("the client did not answer in time")
    return RequestRefused(f"the client refused the question: {message[:200]}",
                          "allow it there, or use another proposer")  # fmt: skip


def _gone() -> ProviderError:
    from regreen.providers.errors import ModelUnavailable

    return ModelUnavailable("the client has gone", "start again from a client that stays connected")
