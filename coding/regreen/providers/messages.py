"""A conversation with a model, the same for every provider: frozen values that know no wire format.

Rules of a valid conversation: it begins with a user message; roles alternate; each `ToolCall` of an assistant message
has exactly one `ToolOutput` with its id in the user message that follows, and these stand first there. Ids are copied
to the letter. What a provider needs back unchanged (thinking) is carried along and shown to nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from regreen.wire import Json

Role: TypeAlias = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a model thought, as its provider wants it back: signed text, or `sealed` data that nobody can read."""

    text: str = ""
    signature: str = ""
    sealed: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to run a tool. `fault` says why its arguments cannot be read ("" = they can); such a call, and one
    of a truncated answer, is never run. `raw` is the arguments' JSON as it was sent."""

    id: str
    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    raw: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What came of a tool call, as the model is told it."""

    call_id: str
    text: str
    is_error: bool = False


Block: TypeAlias = Text | Thinking | ToolCall | ToolOutput


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All its text, without thinking and tools."""
        return "".join(b.text for b in self.blocks if isinstance(b, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(b for b in self.blocks if isinstance(b, ToolCall))

    @property
    def outputs(self) -> tuple[ToolOutput, ...]:
        return tuple(b for b in self.blocks if isinstance(b, ToolOutput))


def said(role: Role, text: str) -> Message:
    """A message of text alone."""
    return Message(role, (Text(text),))


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model is offered it. `schema` is a flat JSON Schema of its arguments, an object."""

    name: str
    description: str
    schema: Mapping[str, Json]


ToolChoice: TypeAlias = Literal["auto", "none", "required"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model. `max_tokens` limits the answer. With `tool_choice` none the tools stay listed, so that
    cached beginnings stay valid, but the model must answer in words."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    max_tokens: int = 4096
    tool_choice: ToolChoice = "auto"


ModelStop: TypeAlias = Literal["end_turn", "tool_use", "truncated", "refusal", "pause", "context_overflow", "unknown"]
"""Why a model stopped. `pause`: the provider wants the same conversation again to go on. `unknown`: see `raw_stop`."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one answer. `input` are those that were neither read from nor written to a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A whole answer. `raw_stop` is the provider's own word for why it stopped; `model` is who answered; `usd` is what
    it cost by the price table, None where no price is known."""

    message: Message
    stop: ModelStop
    raw_stop: str
    usage: TokenUsage
    model: str
    provider: str = ""
    usd: float | None = None
    latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class CallBegun:
    """The model begins to write a tool call."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """What was streamed of this answer is void: it is asked for again."""

    why: str


Delta: TypeAlias = TextDelta | ThinkingDelta | CallBegun | Restarted
OnDelta: TypeAlias = Callable[[Delta], None]


class Provider(Protocol):
    """One model at one endpoint. Safe to use for several questions in a row from one event loop."""

    @property
    def name(self) -> str:
        """`anthropic`, `openai`, `sampling`, `scripted`."""
        ...

    @property
    def model(self) -> str: ...

    async def ask(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelResponse:
        """Ask once, without retries, streaming to `on_delta`. Raises ProviderError. Cancelling the task that awaits
        it ends the connection."""
        ...

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many tokens the request is: by the provider's own count where it has one, else estimated (a token is
        about four characters)."""
        ...

    async def aclose(self) -> None: ...
