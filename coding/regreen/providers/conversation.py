"""Conversations as a whole: whether one is valid, and about how long it is."""

from __future__ import annotations

import json
from collections.abc import Sequence

from regreen.providers.messages import Block, Message, ModelRequest, Text, Thinking, ToolCall, ToolOutput
from regreen.wire import shortened

CHARS_PER_TOKEN = 4
_SHOWN_ID = 60


def check(messages: Sequence[Message]) -> str:
    """What breaks the rules of a conversation (see `messages`), the first thing found; "" where nothing does.

    An answer of the model may stand last: a provider that paused wants it so. Its tool calls may not, without outputs.
    """
    if not messages:
        return "the conversation is empty; it begins with a message of the user"
    known: set[str] = set()
    open_calls: tuple[ToolCall, ...] = ()
    for number, message in enumerate(messages, 1):
        expected = "user" if number % 2 else "assistant"
        if message.role != expected:
            return f"message {number} is of role {message.role}, not {expected}: roles alternate, and the user begins"
        fault = _blocks(message) or _calls(message, known) or _outputs(message, open_calls)
        if fault:
            return f"message {number} ({message.role}): {fault}"
        open_calls = message.calls
    return f"message {len(messages)} (assistant): {_unanswered(open_calls[0])}" if open_calls else ""


def estimate_tokens(request: ModelRequest) -> int:
    """About how many tokens the request is: its characters, divided by four. Never says 0."""
    tools = sum(len(t.name) + len(t.description) + len(json.dumps(dict(t.schema))) for t in request.tools)
    chars = len(request.system) + tools + sum(characters(m) for m in request.messages)
    return max(1, -(-chars // CHARS_PER_TOKEN))


def characters(message: Message) -> int:
    """How many characters of a message a model reads, thinking and tool calls with them."""
    return sum(_size(block) for block in message.blocks)


def _size(block: Block) -> int:
    match block:
        case Text():
            return len(block.text)
        case Thinking():
            return len(block.text) + len(block.signature) + len(block.sealed)
        case ToolCall():
            # What was sent is what is sent back; the arguments are written out only where nothing was.
            return len(block.id) + len(block.name) + len(block.raw or json.dumps(dict(block.arguments)))
        case ToolOutput():
            return len(block.call_id) + len(block.text)


def _blocks(message: Message) -> str:
    if not any(not isinstance(b, Text) or b.text for b in message.blocks):
        return "it holds nothing; leave it out, or give it text"
    wrong = (ToolCall, Thinking) if message.role == "user" else (ToolOutput,)
    found = next((b for b in message.blocks if isinstance(b, wrong)), None)
    return f"a {type(found).__name__} does not belong into it" if found is not None else ""


def _calls(message: Message, known: set[str]) -> str:
    """Looks at the ids of its calls, and adds them to the known ones."""
    for call in message.calls:
        if not call.id:
            return f"the call of `{shortened(call.name, _SHOWN_ID)}` has no id"
        if call.id in known:
            return f"the id {_shown(call.id)} is given to two calls"
        known.add(call.id)
    return ""


def _outputs(message: Message, calls: tuple[ToolCall, ...]) -> str:
    ids = [output.call_id for output in message.outputs]
    wanted = {call.id for call in calls}
    for number, one in enumerate(ids):
        if one not in wanted:
            return f"the output for {_shown(one)} answers no call of the message before it"
        if one in ids[:number]:
            return f"there are two outputs for the call {_shown(one)}"
    missing = next((call for call in calls if call.id not in ids), None)
    if missing is not None:
        return _unanswered(missing)
    if not all(isinstance(b, ToolOutput) for b in message.blocks[: len(ids)]):
        return "outputs of tools stand first in a message, before its text"
    return ""


def _unanswered(call: ToolCall) -> str:
    return (
        f"the call {_shown(call.id)} of `{shortened(call.name, _SHOWN_ID)}` has no output in the message that follows"
    )


def _shown(call_id: str) -> str:
    return f"`{shortened(call_id, _SHOWN_ID)}`"
