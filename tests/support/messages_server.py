"""A scripted server of Anthropic's Messages API: its stream of events to the letter, and its refusals.

    with messages_server() as server:
        server.script(answer(text("Hel", "lo")), answer(call("c1", "read", {"path": "a.py"}), stop="tool_use"))

It refuses, as the real one does, a question that breaks the rules of the API (`fault_of`), before the script is asked.
Tokens are counted by size, unless the script has a step left.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from support.model_wire import Event, Fault, Json, ModelServer, Reply, Seen, Step

Block: TypeAlias = tuple[Json, tuple[Json, ...]]
"""How a block begins, and the deltas that follow."""

MODEL = "claude-sonnet-5-5"
_TOKEN = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_FIELDS = frozenset(
    {"model", "messages", "max_tokens", "stream", "system", "tools", "tool_choice", "thinking", "output_config"}
)
_KEYS = {
    "text": {"type", "text", "cache_control"},
    "tool_use": {"type", "id", "name", "input", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
}
_OF_USER = ("text", "tool_result")
_OF_ASSISTANT = ("text", "tool_use", "thinking", "redacted_thinking")


def messages_server() -> ModelServer:
    server = ModelServer(lambda seen: _answer(seen, server.left))
    return server


def text(*pieces: str) -> Block:
    return {"type": "text", "text": ""}, tuple({"type": "text_delta", "text": piece} for piece in pieces)


def thinking(*pieces: str) -> Block:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    signed = {"type": "signature_delta", "signature": signature("".join(pieces))}
    return {"type": "thinking", "thinking": "", "signature": ""}, (*deltas, signed)


def sealed(what: str) -> Block:
    return {"type": "redacted_thinking", "data": signature(what)}, ()


def call(call_id: str, name: str, arguments: Json = "") -> Block:
    """A tool call. Arguments that are a string are sent as they are, in pieces."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    pieces = ["", *(raw[i : i + 7] for i in range(0, len(raw), 7))]
    deltas = tuple({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}, deltas


def usage(input: int = 10, output: int = 5, read: int = 0, write: int = 0) -> dict[str, int]:  # noqa: A002
    return {
        "input_tokens": input,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "output_tokens": output,
    }


def answer(
    *blocks: Block, stop: str = "end_turn", used: Mapping[str, int] | None = None, details: Json = None
) -> Reply:
    """A whole answer. The tokens of its output are told twice, as the API does: one at first, all at the end."""
    used = used if used is not None else usage()
    begun = {**used, "output_tokens": 1}
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": MODEL}
    ends = {"stop_reason": None, "stop_sequence": None}
    events: list[Event] = [_event("message_start", message={**message, **ends, "usage": begun}), _event("ping")]
    for index, (start, deltas) in enumerate(blocks):
        events.append(_event("content_block_start", index=index, content_block=start))
        events += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
        events.append(_event("content_block_stop", index=index))
    delta = {"stop_reason": stop, "stop_sequence": None, "stop_details": details}
    events.append(_event("message_delta", delta=delta, usage={"output_tokens": used["output_tokens"]}))
    return Reply((*events, _event("message_stop")))


def error_body(kind: str, message: str, **details: str) -> Json:
    error: dict[str, Any] = {"type": kind, "message": message, **({"details": details} if details else {})}
    return {"type": "error", "error": error, "request_id": "req_1"}


def error_event(kind: str, message: str) -> Event:
    return "error", error_body(kind, message)


def signature(what: str) -> str:
    """What the server signs thinking with, and knows it by."""
    return "signed-" + hashlib.sha256(what.encode("utf-8", "backslashreplace")).hexdigest()[:24]


def fault_of(sent: Json, counting: bool = False) -> str:
    """What the API would refuse in a question; "" = nothing."""
    extra = set(sent) - (_FIELDS - {"max_tokens", "stream"} if counting else _FIELDS)
    if extra:
        return f"{sorted(extra)[0]}: Extra inputs are not permitted"
    if not counting and (sent.get("stream") is not True or not _is_count(sent.get("max_tokens"))):
        return "max_tokens: Input should be greater than or equal to 1"
    faults = (_messages_fault(sent["messages"]), _tools_fault(sent), _marks_fault(sent), _thinking_fault(sent))
    return next(filter(None, faults), "")


def _answer(seen: Seen, left: int) -> Step | None:
    counting = seen.path == "/v1/messages/count_tokens"
    if not counting and seen.path != "/v1/messages":
        return Fault(404, error_body("not_found_error", "Not Found"))
    fault = fault_of(seen.body, counting)
    if fault:
        return Fault(400, error_body("invalid_request_error", fault))
    if counting and not left:
        return Reply(body={"input_tokens": len(json.dumps(seen.body)) // 4})
    return None


def _event(name: str, **fields: Json) -> Event:
    return name, {"type": name, **fields}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 1


def _messages_fault(messages: Sequence[Json]) -> str:
    if not messages:
        return "messages: at least one message is required"
    seen_ids: set[str] = set()
    expected: list[str] = []
    for i, message in enumerate(messages):
        if message["role"] != ("assistant" if i % 2 else "user"):
            return f"messages.{i}: roles must alternate between user and assistant, and begin with user"
        fault = _content_fault(message["role"], message["content"]) or _results_fault(message["content"], expected)
        if fault:
            return f"messages.{i}: {fault}"
        expected = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        if len(set(expected)) < len(expected) or seen_ids.intersection(expected):
            return f"messages.{i}: `tool_use` ids must be unique"
        seen_ids.update(expected)
    last = messages[-1]["content"][-1]
    if messages[-1]["role"] == "assistant" and last["type"] == "text" and last["text"] != last["text"].rstrip():
        return "messages: final assistant content cannot end with trailing whitespace"
    return f"`tool_use` ids were found without `tool_result` blocks immediately after: {expected}" if expected else ""


def _content_fault(role: str, content: Sequence[Json]) -> str:
    if not content:
        return "all messages must have non-empty content"
    for i, block in enumerate(content):
        kind = block.get("type")
        if kind not in (_OF_USER if role == "user" else _OF_ASSISTANT):
            return f"content.{i}: a {kind} block cannot be in a message of the {role}"
        if set(block) - _KEYS[kind]:
            return f"content.{i}: Extra inputs are not permitted: {sorted(set(block) - _KEYS[kind])}"
        fault = _block_fault(block)
        if fault:
            return f"content.{i}: {fault}"
    if role == "assistant" and content[-1]["type"] in ("thinking", "redacted_thinking"):
        return "The final block in an assistant message cannot be `thinking`."
    return ""


def _block_fault(block: Json) -> str:
    match block:
        case {"type": "text", "text": str(said)}:
            return "" if said.strip() else "text content blocks must contain non-whitespace text"
        case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": dict()}:
            fits = _TOKEN.fullmatch(call_id) and _TOKEN.fullmatch(name)
            return "" if fits else "String should match pattern '^[a-zA-Z0-9_-]+$'"
        case {"type": "tool_result", "tool_use_id": str(), "content": str(said)}:
            return "" if said else "content cannot be empty if `is_error` is true"
        case {"type": "thinking", "thinking": str(said), "signature": str(signed)}:
            return "" if signed == signature(said) else "Invalid `signature` in `thinking` block"
        case {"type": "redacted_thinking", "data": str(data)}:
            return "" if data.startswith("signed-") else "Invalid `data` in `redacted_thinking` block"
        case _:
            return f"Field required in {block}"


def _results_fault(content: Sequence[Json], expected: Sequence[str]) -> str:
    found = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    first = [block["tool_use_id"] for block in content[: len(expected)] if block["type"] == "tool_result"]
    if sorted(first) != sorted(expected):
        return f"`tool_use` ids were found without `tool_result` blocks immediately after: {expected}"
    if len(found) > len(expected):
        return "unexpected `tool_use_id` found in `tool_result` blocks"
    return ""


def _tools_fault(sent: Json) -> str:
    tools = sent.get("tools", [])
    blocks = [block["type"] for message in sent["messages"] for block in message["content"]]
    if not tools and ("tool_choice" in sent or "tool_use" in blocks):
        return "tools: tool_choice and `tool_use` blocks need tools"
    for tool in tools:
        if not _TOKEN.fullmatch(tool["name"]) or tool["input_schema"].get("type") != "object":
            return f"tools: {tool['name']}: name or input_schema is invalid"
    if len({tool["name"] for tool in tools}) < len(tools):
        return "tools: Tool names must be unique."
    choice = sent.get("tool_choice", {"type": "auto"})["type"]
    return "" if choice in ("auto", "any", "none") else f"tool_choice: {choice}"


def marks(sent: Json) -> list[Json]:
    """All marks for the cache in a question."""
    blocks = [block for message in sent["messages"] for block in message["content"]]
    holders = [*sent.get("tools", []), *sent.get("system", []), *blocks]
    return [holder["cache_control"] for holder in holders if "cache_control" in holder]


def _marks_fault(sent: Json) -> str:
    if any(not block["text"].strip() for block in sent.get("system", [])):
        return "system: text content blocks must be non-empty"
    found = marks(sent)
    if len(found) > 4:
        return f"A maximum of 4 blocks with cache_control may be provided. Found {len(found)}."
    return "" if all(mark == {"type": "ephemeral"} for mark in found) else "cache_control: invalid"


def _thinking_fault(sent: Json) -> str:
    asked = sent.get("thinking", {"type": "disabled"})
    forced = sent.get("tool_choice", {"type": "auto"})["type"] == "any"
    if asked["type"] != "disabled" and forced:
        return "Thinking may not be enabled when tool_choice forces tool use."
    if asked["type"] == "enabled" and not 1024 <= asked["budget_tokens"] < sent.get("max_tokens", 1 << 30):
        return "thinking.budget_tokens: must be at least 1024 and less than `max_tokens`"
    return ""
