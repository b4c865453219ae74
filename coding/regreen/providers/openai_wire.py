"""Our requests as bodies of chat completions, which OpenAI and most local servers take. Values in, values out.

Servers differ in the fields that they know: a `Dialect` says what one takes, `adapted` learns it from a refusal. Faulty
arguments of a call are not sent back as they came: servers read the arguments in a history, and refuse all of it when
one of them is no JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias
from urllib.parse import urlsplit

from regreen.providers.messages import Message, ModelRequest, Text, Thinking, ToolCall, ToolDefinition, ToolOutput
from regreen.wire import Json, encodable

Wire: TypeAlias = dict[str, object]

OWN_URL = "https://api.openai.com/v1"
_OWN_HOST = "api.openai.com"

_THOUGHT = "reasoning_content"
_NEW_CAP, _OLD_CAP = "max_completion_tokens", "max_tokens"
_NO_OUTPUT = "(no output)"

_UNKNOWN_FIELD = re.compile(
    r"(?i)\b(?:unsupported|not supported|not support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|not allowed"
    r"|forbidden|invalid (?:parameter|field|argument)|deprecated|instead)\b"
)
_WRONG_VALUE = re.compile(r"(?i)\b(?:unsupported|invalid) value\b|\bsupported values\b|\bone of\b")
_REFUSALS = (400, 422)
_SPARE_FORMS = 256
_MOST_READ = 2_000  # characters of a refusal; some servers send back the whole request behind its reason


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server takes. `cap` is its word for the limit of an answer (`cap_learned`: by a refusal of the other),
    `refused` the fields that it did not take, `thinking`: it wants back what its model thought."""

    cap: str = _OLD_CAP
    cap_learned: bool = False
    refused: frozenset[str] = frozenset()
    thinking: bool = False


def dialect_of(base_url: str) -> Dialect:
    """What is known of a server before it is asked: only OpenAI itself has the new word for the limit."""
    return Dialect(_NEW_CAP if is_own(base_url or OWN_URL) else _OLD_CAP)


def is_own(base_url: str) -> bool:
    """Whether it is an address of OpenAI itself."""
    return urlsplit(base_url).hostname == _OWN_HOST


def adapted(dialect: Dialect, sent: Collection[str], status: int, said: str) -> Dialect | None:
    """The dialect of a server that refused a request with the fields `sent` and these words; None: it says nothing
    about a field that the request can do without. Each step leaves less to learn, so that asking again ends."""
    said = said[:_MOST_READ]
    if status not in _REFUSALS:
        return None
    named = {field for field in (*sent, _THOUGHT) if re.search(rf"(?<!\w){field}(?!\w)", said)}
    unknown = bool(_UNKNOWN_FIELD.search(said))
    if dialect.cap in named and unknown and not dialect.cap_learned:
        return replace(dialect, cap=_OLD_CAP if dialect.cap == _NEW_CAP else _NEW_CAP, cap_learned=True)
    if _THOUGHT in named and _THOUGHT not in dialect.refused:
        refused = dialect.refused | {_THOUGHT} if dialect.thinking else dialect.refused
        return replace(dialect, thinking=not dialect.thinking, refused=refused)
    spare = {"stream_options", "tool_choice"}
    if unknown and not _WRONG_VALUE.search(said):  # a wrong value is the user's to mend
        spare.add("reasoning_effort")
    return replace(dialect, refused=dialect.refused | (named & spare)) if named & spare else None


class Forms:
    """The forms of messages, made once: a conversation is sent again and again, each time a little longer."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, bool], tuple[Message, list[Wire]]] = {}

    def of(self, conversation: Sequence[Message], *, thinking: bool = False) -> list[Wire]:
        """The conversation in the order of the wire. What is not part of it is forgotten, when there is much of it."""
        if len(self._made) > 2 * len(conversation) + _SPARE_FORMS:
            self._made.clear()
        wire: list[Wire] = []
        for message in conversation:
            made = self._made.get((id(message), thinking))
            if made is None:  # the message is kept with its form, so that no other gets its id
                made = self._made[id(message), thinking] = (message, forms(message, thinking=thinking))
            wire += made[1]
        return wire


def body(request: ModelRequest, model: str, dialect: Dialect, effort: str = "", known: Forms | None = None) -> Wire:
    """The body of a streamed request. The choice `auto` is every server's default and is not sent."""
    system: list[Wire] = [{"role": "system", "content": _sendable(request.system)}] if request.system else []
    conversation = (known or Forms()).of(request.messages, thinking=dialect.thinking)
    wire: Wire = {"model": model, "messages": system + conversation}
    wire[dialect.cap] = request.max_tokens
    wire["stream"] = True
    choice = request.tool_choice
    if request.tools and not (choice == "none" and "tool_choice" in dialect.refused):
        wire["tools"] = [_tool(tool) for tool in request.tools]
        if choice != "auto":
            wire["tool_choice"] = choice
    wire["stream_options"] = {"include_usage": True}
    if effort:
        wire["reasoning_effort"] = effort
    return {field: value for field, value in wire.items() if field not in dialect.refused}


def forms(message: Message, *, thinking: bool = False) -> list[Wire]:
    """A message of ours in the order of the wire, where it may be several."""
    return [_assistant(message, thinking)] if message.role == "assistant" else _user(message)


def _assistant(message: Message, thinking: bool) -> Wire:
    text = ""
    calls: list[Wire] = []
    thought = ""
    for block in message.blocks:
        if isinstance(block, Text):
            text += block.text
        elif isinstance(block, ToolCall):
            calls.append(_call(block))
        elif isinstance(block, Thinking):
            thought += block.text
    wire: Wire = {"role": "assistant", "content": _sendable(text)}
    if calls:
        wire["tool_calls"] = calls
        if not text:
            wire["content"] = None
    if thinking:
        wire[_THOUGHT] = _sendable(thought)
    return wire


def _user(message: Message) -> list[Wire]:
    """Outputs of tools are messages of their own; what the user says besides follows them."""
    wire: list[Wire] = [
        {"role": "tool", "tool_call_id": block.call_id, "content": _output(block)} for block in message.outputs
    ]
    texts = [block.text for block in message.blocks if isinstance(block, Text)]
    if texts or not wire:
        wire.append({"role": "user", "content": _sendable("\n\n".join(texts))})
    return wire


def _call(call: ToolCall) -> Wire:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}


def _arguments(call: ToolCall) -> str:
    """To the letter where it can be read, so that a cached beginning stays valid."""
    if call.fault:
        return "{}"
    if call.raw.lstrip().startswith("{"):
        return _sendable(call.raw)
    return json.dumps(dict(call.arguments))


def _output(output: ToolOutput) -> str:
    text = _sendable(output.text) or _NO_OUTPUT
    if output.is_error and text[:5].lower() != "error":
        return f"Error: {text}"
    return text


def _tool(tool: ToolDefinition) -> Wire:
    function: dict[str, Json] = {"name": tool.name, "description": tool.description}
    function["parameters"] = {"type": "object", **tool.schema}
    return {"type": "function", "function": encodable(function)}


def _sendable(text: str) -> str:
    return text if text.isascii() else str(encodable(text))
