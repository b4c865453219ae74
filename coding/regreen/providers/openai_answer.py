"""An answer of chat completions, put together from its pieces as they come.

Servers differ here too: indexes and ids of calls may be missing, or the same for all; arguments may come as text in
pieces, as one object, or not at all; what the model thinks has two names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import cast

from regreen.providers.answer_text import joined, text_of, word_of
from regreen.providers.arguments import object_text, read_arguments, short_id, short_name
from regreen.providers.conversation import characters
from regreen.providers.counting import Room, completed, count
from regreen.providers.errors import BadReply
from regreen.providers.http_faults import Asked
from regreen.providers.messages import (
    Block,
    CallBegun,
    Delta,
    Message,
    ModelStop,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenUsage,
    ToolCall,
)

_STOPS: Mapping[str, ModelStop] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "truncated",
    "content_filter": "refusal",
}
_CALLS = ("tool_calls", "function_call")
_THINKING = ("reasoning_content", "reasoning")  # DeepSeek, vLLM, llama.cpp; OpenRouter, Ollama


@dataclass(slots=True)
class _Call:
    index: int | str | None
    id: str
    given: bool  # the id is the server's
    name: str = ""
    fault: str = ""
    pieces: list[str] = field(default_factory=list[str])

    @property
    def raw(self) -> str:
        return "".join(self.pieces)


class Answer:
    """Takes the chunks of one answer, of at most `max_tokens`, in order; `finish` is the server's word for its end, ""
    until it came.

    An id that is missing, or that the conversation has already (`taken`), is replaced by one of `make_id`: an output
    could not be told apart from another's.
    """

    def __init__(self, asked: Asked, taken: Collection[str], make_id: Callable[[], str], max_tokens: int = 0) -> None:
        self._asked = asked
        self._room = Room(asked, max_tokens)
        self._begun = False
        self._taken = set(taken)
        self._make_id = make_id
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[_Call] = []
        self._told: TokenUsage | None = None
        self.finish = ""
        self.model = ""

    def take(self, chunk: Mapping[str, object]) -> list[Delta]:
        """Take a chunk, and say what is new in it. Raises EndlessReply where there is no end of them."""
        self._begun = True
        self._room.take()
        self.model = word_of(chunk.get("model")) or self.model
        self._told = _usage(chunk.get("usage")) or self._told
        choices = chunk.get("choices")
        first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, dict):
            return []
        choice = cast("dict[str, object]", first)
        self.finish = word_of(choice.get("finish_reason")) or self.finish
        delta = choice.get("delta") or choice.get("message")  # a server that does not stream sends a whole message
        return self._delta(cast("dict[str, object]", delta)) if isinstance(delta, dict) else []

    def _delta(self, delta: Mapping[str, object]) -> list[Delta]:
        thought, text = _parts(delta.get("content"))
        thought += next((text_of(delta[name]) for name in _THINKING if delta.get(name)), "")
        refusal = text_of(delta.get("refusal"))
        self._room.take(thought, text, refusal)
        new: list[Delta] = []
        if thought:
            self._thoughts.append(thought)
            new.append(ThinkingDelta(joined([thought])))
        if text:
            self._text.append(text)
            new.append(TextDelta(joined([text])))
        if refusal:
            self._refusal.append(refusal)
            new.append(TextDelta(joined([refusal])))
        calls = delta.get("tool_calls")
        for piece in cast("list[object]", calls) if isinstance(calls, list) else []:
            if isinstance(piece, dict):
                new += self._call(cast("dict[str, object]", piece))
        return new

    def _call(self, piece: Mapping[str, object]) -> list[Delta]:
        held = piece.get("function")
        function = cast("dict[str, object]", held) if isinstance(held, dict) else {}
        name, arguments = text_of(function.get("name")), _arguments(function.get("arguments"))
        self._room.take(name, arguments)
        call = self._call_of(_index(piece.get("index")), short_id(text_of(piece.get("id"))), name, arguments)
        call.pieces.append(arguments)
        if not name or call.name:  # several servers send the name again with each piece
            return []
        call.name, call.fault = short_name(name)
        return [CallBegun(call.id, call.name)]

    def _call_of(self, index: int | str | None, given: str, name: str, arguments: str) -> _Call:
        """The call that a piece belongs to: a new one where the index or the id is new, or where a whole call with no
        id of its own follows a whole call."""
        known = [c for c in self._calls if c.index == index] if index is not None else self._calls
        last = known[-1] if known else None
        if last is not None and not _starts_new(last, given, name, arguments):
            return last
        self._room.begin()
        call = _Call(index, self._free(given), bool(given))
        self._calls.append(call)
        return call

    def _free(self, given: str) -> str:
        call_id = given
        while not call_id or call_id in self._taken:
            call_id = self._make_id()
        self._taken.add(call_id)
        return call_id

    def message(self) -> Message:
        """All of it that came so far. A call without a name is none."""
        blocks: list[Block] = []
        if self._thoughts:
            blocks.append(Thinking(joined(self._thoughts)))
        if said := joined([*self._text, *self._refusal]):
            blocks.append(Text(said))
        blocks += [_read(call, self.finish == "length") for call in self._calls if call.name]
        return Message("assistant", tuple(blocks))

    def stop(self) -> ModelStop:
        """Why the model stopped. Raises BadReply where the server says that it calls a tool, and no call came: the
        words before it are no answer."""
        if self.refused:
            return "refusal"
        stop = _STOPS.get(self.finish, "unknown")
        has_calls = any(call.name for call in self._calls)
        if stop == "end_turn" and has_calls:  # several servers say `stop` after calls too
            return "tool_use"
        if self.finish in _CALLS and not has_calls:
            raise BadReply(
                f"{self._asked} ended its answer with `{self.finish}`, but the answer holds no tool call",
                "Try again; if it stays so, choose another model: this one, or its server, writes calls that are lost.",
                usage=self.told,
            )
        return stop

    @property
    def refused(self) -> bool:
        """Whether the model said why it does not answer."""
        return bool(self._refusal)

    @property
    def told(self) -> TokenUsage:
        """What the server told of its usage: nothing, where it did not."""
        return self._told or TokenUsage()

    def usage(self, asked_tokens: int, message: Message) -> TokenUsage:
        """What was used: as the server told; what it did not tell is estimated, the question as `asked_tokens`, the
        answer by its length."""
        return completed(self.told, asked_tokens, characters(message))

    def used(self, asked_tokens: int) -> TokenUsage:
        """What an answer that broke off used, by the same rules; nothing where it had not begun."""
        return completed(self.told, asked_tokens, self._room.characters) if self._begun else TokenUsage()


def _read(call: _Call, cut_off: bool) -> ToolCall:
    raw = "" if call.raw.strip() == "null" else call.raw  # which several servers write for no arguments
    arguments, fault = read_arguments(raw, cut_off)
    return ToolCall(call.id, call.name, arguments, raw, call.fault or fault)


def _starts_new(last: _Call, given: str, name: str, arguments: str) -> bool:
    if given and last.given:
        return given != last.id
    return bool(name and last.name and arguments.lstrip().startswith("{") and _is_whole(last.raw))


def _is_whole(raw: str) -> bool:
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def _index(value: object) -> int | str | None:
    return value if isinstance(value, int | str) else None


def _arguments(value: object) -> str:
    """The text of a piece of arguments; some servers send them whole, as an object."""
    if value is None or isinstance(value, str):
        return value or ""
    return object_text(value)


def _parts(content: object) -> tuple[str, str]:
    """What is thought and what is said in a piece of content: text, or (Mistral) a list of parts."""
    if not isinstance(content, list):
        return "", text_of(content)
    thought = text = ""
    for part in cast("list[object]", content):
        held = cast("dict[str, object]", part) if isinstance(part, dict) else {}
        text += text_of(held.get("text"))
        thought += _parts(held.get("thinking"))[1]
    return thought, text


def _usage(value: object) -> TokenUsage | None:
    if not isinstance(value, dict):
        return None
    told = cast("dict[str, object]", value)
    details = told.get("prompt_tokens_details")
    held = cast("dict[str, object]", details) if isinstance(details, dict) else {}
    prompt = count(told.get("prompt_tokens"))
    cached = min(prompt, count(held.get("cached_tokens")) or count(told.get("prompt_cache_hit_tokens")))
    return TokenUsage(prompt - cached, count(told.get("completion_tokens")), cached)
