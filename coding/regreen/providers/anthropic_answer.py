"""An answer of Anthropic's Messages API, put together from the events of its stream. It does no input or output.

Arguments of tool calls are kept as they were written and read at the end, when it is known whether the answer was cut
off. Blocks and events of kinds that we did not ask for are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from regreen.providers.answer_text import joined, text_of, word_of
from regreen.providers.arguments import checked_arguments, read_arguments, short_id, short_name
from regreen.providers.conversation import CHARS_PER_TOKEN
from regreen.providers.counting import Room, completed, count
from regreen.providers.errors import BadReply, ConnectionLost
from regreen.providers.http_faults import Asked, connection_lost
from regreen.providers.messages import (
    Block,
    CallBegun,
    Delta,
    Message,
    ModelResponse,
    ModelStop,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenUsage,
    ToolCall,
)

_STOPS: Mapping[str, ModelStop] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "truncated",
    "refusal": "refusal",
    "pause_turn": "pause",
    "model_context_window_exceeded": "context_overflow",
}
_BEGUN = ("message_start", "content_block_start", "message_delta")  # not every server sends the first
_EMPTY: Mapping[str, object] = {}


@dataclass(slots=True)
class _Part:
    """A block that is being written."""

    kind: str
    id: str = ""
    name: str = ""
    fault: str = ""
    sealed: str = ""
    given: Mapping[str, object] = field(default_factory=dict[str, object])  # arguments that came whole, at the start
    pieces: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])


class Answer:
    """What came of an answer so far, which may have `max_tokens`. `ended`: it came to its end."""

    def __init__(self, asked: Asked, max_tokens: int = 0) -> None:
        self._told = TokenUsage()
        self._told_end = 0  # the output as it is told at the end; at the beginning it is only that it began
        self.begun = False
        self.ended = False
        self._asked = asked
        self._model = asked.model
        self._raw_stop = ""
        self._detail = ""
        self._parts: dict[int, _Part] = {}
        self._room = Room(asked, max_tokens)

    def take(self, event: Mapping[str, object]) -> Delta | None:
        """Add one event; what of it can be shown at once. Raises BadReply where it does not fit what came before,
        or where there is no end of it."""
        kind = event.get("type")
        self.begun |= kind in _BEGUN
        match kind:
            case "message_start":
                message = self._object(event, "message")
                self._model = word_of(message.get("model")) or self._model
                self._count(message)
            case "content_block_start":
                return self._start(self._index(event), self._object(event, "content_block"))
            case "content_block_delta":
                return self._add(self._index(event), self._object(event, "delta"))
            case "message_delta":
                self._stop(self._object(event, "delta"))
                self._count(event)
                self._told_end = max(self._told_end, count(_mapping(event.get("usage")).get("output_tokens")))
            case "message_stop":
                self.ended = True
            case _:
                pass
        return None

    def used(self, asked_tokens: int) -> TokenUsage:
        """What was used so far: as the provider told, estimated where it told nothing (`asked_tokens` for what was
        asked); nothing for an answer that has not begun."""
        if not self.begun:
            return TokenUsage()
        known = completed(self._told, asked_tokens, self._room.characters)
        if self._told_end:
            return known
        return replace(known, output=max(known.output, -(-self._room.characters // CHARS_PER_TOKEN)))

    def response(self, asked_tokens: int) -> ModelResponse:
        """The whole answer, to a question of about so many tokens. Raises ConnectionLost where its end did not come."""
        if not self.ended or not self._raw_stop:
            raise self._unended()
        stop = _STOPS.get(self._raw_stop, "unknown")
        blocks = tuple(block for part in self._parts.values() if (block := self._block(part, stop)) is not None)
        message = Message("assistant", blocks)
        if stop in (
            "end_turn",
            "tool_use",
        ):  # not every server that speaks this API keeps the word and the calls in step
            stop = "tool_use" if message.calls else "end_turn"
        raw_stop = self._raw_stop + (f": {self._detail}" if self._detail else "")
        return ModelResponse(message, stop, raw_stop, self.used(asked_tokens), self._model, self._asked.provider)

    def _start(self, index: int, block: Mapping[str, object]) -> Delta | None:
        name, fault = short_name(text_of(block.get("name")))
        sealed = joined([text_of(block.get("data"))])
        part = _Part(word_of(block.get("type")), short_id(text_of(block.get("id"))), name, fault, sealed)
        self._room.begin()
        self._room.take(part.id, name, sealed, *(text_of(block.get(key)) for key in ("text", "thinking", "signature")))
        self._parts[index] = part
        match part.kind:
            case "text":
                part.pieces.append(text_of(block.get("text")))
                return TextDelta(part.pieces[0]) if part.pieces[0] else None
            case "thinking":
                part.pieces.append(text_of(block.get("thinking")))
                part.signature.append(text_of(block.get("signature")))
                return None
            case "tool_use":
                if not part.id or not part.name:
                    raise self._bad("a tool call without an id or a name")
                part.given = _mapping(block.get("input"))
                return CallBegun(part.id, part.name)
            case _:
                return None

    def _add(self, index: int, delta: Mapping[str, object]) -> Delta | None:
        part = self._parts.get(index)
        if part is None:
            raise self._bad(f"a piece of block {index}, which was never begun")
        self._room.take(*(text_of(delta.get(key)) for key in ("text", "thinking", "partial_json", "signature")))
        match delta.get("type"):
            case "text_delta":
                part.pieces.append(text_of(delta.get("text")))
                return TextDelta(joined(part.pieces[-1:]))
            case "thinking_delta":
                part.pieces.append(text_of(delta.get("thinking")))
                return ThinkingDelta(joined(part.pieces[-1:]))
            case "input_json_delta":
                part.pieces.append(text_of(delta.get("partial_json")))
            case "signature_delta":
                part.signature.append(text_of(delta.get("signature")))
            case _:
                pass
        return None

    def _block(self, part: _Part, stop: ModelStop) -> Block | None:
        written = joined(part.pieces)
        match part.kind:
            case "text":
                return Text(written) if written else None
            case "thinking":
                return Thinking(written, "".join(part.signature))
            case "redacted_thinking":
                return Thinking(sealed=part.sealed)
            case "tool_use" if part.given and not written:
                arguments, fault = checked_arguments(part.given)
                return ToolCall(part.id, part.name, arguments, fault=part.fault or fault)
            case "tool_use":
                arguments, fault = read_arguments(written, cut_off=stop in ("truncated", "context_overflow"))
                return ToolCall(part.id, part.name, arguments, written, part.fault or fault)
            case _:
                return None

    def _stop(self, delta: Mapping[str, object]) -> None:
        self._raw_stop = word_of(delta.get("stop_reason")) or self._raw_stop
        self._detail = word_of(_mapping(delta.get("stop_details")).get("category")) or self._detail

    def _count(self, holder: Mapping[str, object]) -> None:
        """Counts are cumulative, and not every event has each: the most that was told of each holds."""
        told, known = _mapping(holder.get("usage")), self._told
        self._told = TokenUsage(
            max(known.input, count(told.get("input_tokens"))),
            max(known.output, count(told.get("output_tokens"))),
            max(known.cache_read, count(told.get("cache_read_input_tokens"))),
            max(known.cache_write, count(told.get("cache_creation_input_tokens"))),
        )

    def _index(self, event: Mapping[str, object]) -> int:
        index = event.get("index")
        if not isinstance(index, int):
            raise self._bad(f"an event without the number of its block ({event.get('type')})")
        return index

    def _object(self, event: Mapping[str, object], name: str) -> Mapping[str, object]:
        if not isinstance(event.get(name), Mapping):
            raise self._bad(f"an event `{event.get('type')}` without `{name}`")
        return _mapping(event[name])

    def _bad(self, what: str) -> BadReply:
        return BadReply(
            f"{self._asked} answered with {what}; that is not the Messages API",
            "Try again; if it stays so, check `base_url` in [provider]: it must be a server that speaks this API.",
        )

    def _unended(self) -> ConnectionLost:
        return connection_lost(self._asked, "the stream ended before the answer did", self.begun)


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else _EMPTY
