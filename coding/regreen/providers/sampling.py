"""The model of whoever calls: an MCP client that offers sampling is asked, and asks its own model.

Text only, and not streamed. The client may show each question to a person first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias

from regreen.providers.conversation import estimate_tokens
from regreen.providers.errors import ModelTimeout, RequestRefused
from regreen.providers.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    ModelStop,
    OnDelta,
    TextDelta,
    TokenUsage,
    said,
)

_CHARS_PER_TOKEN = 4
_STOPS: dict[str, ModelStop] = {"endTurn": "end_turn", "stopSequence": "end_turn", "maxTokens": "truncated",
                                "": "end_turn"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SamplingQuestion:
    """What the client is asked."""

    system: str
    messages: tuple[Message, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class SamplingAnswer:
    """What it answered; `stop_reason` in its own words, "" where it said none."""

    text: str
    stop_reason: str
    model: str


SamplingAsk: TypeAlias = Callable[[SamplingQuestion], Awaitable[SamplingAnswer]]
"""Asks the client. May be awaited in any event loop; raises ProviderError. Cancelling it takes the question back."""


class SamplingProvider:
    """A client's model as a provider. `timeout_s` is for the whole answer, a person's look at the question included."""

    name = "sampling"
    model = "client"

    def __init__(self, ask: SamplingAsk, *, timeout_s: float = 300.0) -> None:
        self._ask = ask
        self._timeout_s = timeout_s

    async def ask(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelResponse:
        if request.tools or any(m.calls or m.outputs for m in request.messages):
            raise RequestRefused("a client's model is asked for text only, without tools",
                                 "use proposer anthropic or openai")  # fmt: skip
        begin = monotonic()
        messages = tuple(said(m.role, m.text) for m in request.messages)
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._ask(SamplingQuestion(request.system, messages, request.max_tokens))
        except TimeoutError:
            hint = "allow it there, or raise timeout_s below [provider] in config.toml"
            raise ModelTimeout(f"the client did not answer within {self._timeout_s:g} s", hint) from None
        if on_delta is not None:
            on_delta(TextDelta(answer.text))
        usage = TokenUsage(input=estimate_tokens(request), output=-(-len(answer.text) // _CHARS_PER_TOKEN))
        stop = _STOPS.get(answer.stop_reason, "unknown")
        return ModelResponse(
            said("assistant", answer.text), stop, answer.stop_reason, usage, answer.model or self.model, self.name,
            latency_s=monotonic() - begin,
        )  # fmt: skip

    async def count_tokens(self, request: ModelRequest) -> int:
        """Estimated: a client tells no number."""
        return estimate_tokens(request)

    async def aclose(self) -> None:
        """Nothing is held open."""
