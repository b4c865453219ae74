"""A conversation in the form of Anthropic's Messages API: pure functions from our values to its JSON.

The API is strict where our values are not, so what it refuses is never sent: blank text (left out, or a placeholder
where nothing else is left), an assistant message that ends with thinking, ids and names with characters that it does
not know (they come from another provider), one id twice, tool calls in a conversation that lists no tools. Thinking
goes back unchanged and in its place; that of another provider, neither signed nor sealed, is left out.

The same message has the same form in each request, so that cached beginnings stay valid. Marks for the cache are put
on copies: a message's own form may be kept and used again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from regreen.providers.http_faults import Refusal, retry_after_s, shown
from regreen.providers.messages import (
    Block,
    Message,
    ModelRequest,
    Text,
    Thinking,
    ToolCall,
    ToolChoice,
    ToolDefinition,
    ToolOutput,
)
from regreen.wire import Json, encodable

Form: TypeAlias = dict[str, Any]
"""A JSON object as it is sent."""

NO_OUTPUT = "(no output)"
NO_TEXT = "(no text)"
_MARK: Form = {"type": "ephemeral"}
_MARKED_MESSAGES = 2
_TOKEN = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CHOICES: Mapping[ToolChoice, str] = {"auto": "auto", "none": "none", "required": "any"}

# Models from before adaptive thinking are told how many tokens they may think with.
_BUDGETED = re.compile(r"claude-(?:[23]|(?:opus|sonnet|haiku)-4-(?:0|1|5|2025)|4-)")
_SHARES = {"low": 0.125, "medium": 0.25, "high": 0.5}
_MIN_BUDGET = 1024

_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def message_form(message: Message) -> Form:
    """One message, without marks."""
    blocks = [form for block in message.blocks if (form := _block_form(message.role, block)) is not None]
    while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        blocks.pop()  # the API refuses a message that ends with it; it belongs to an answer that was never given
    return {"role": message.role, "content": blocks or [{"type": "text", "text": NO_TEXT}]}


def question(request: ModelRequest, model: str, effort: str, form: Callable[[Message], Form] = message_form) -> Form:
    """What `messages.create` is sent, all but `stream`. `form` gives a message's form (and may keep it)."""
    return {"max_tokens": max(1, request.max_tokens), **counted(request, model, effort, form)}


def counted(request: ModelRequest, model: str, effort: str, form: Callable[[Message], Form] = message_form) -> Form:
    """What `messages.count_tokens` is sent."""
    thinking = _thinking(model, effort, request.max_tokens)
    messages = _marked(_unfinished(_distinct([form(message) for message in request.messages])))
    sent: Form = {"model": model, "messages": messages, **thinking}
    if request.system.strip():
        sent["system"] = [{"type": "text", "text": _plain(request.system), "cache_control": _MARK}]
    tools = _tools(request)
    if tools:
        sent["tools"] = [*tools[:-1], {**tools[-1], "cache_control": _MARK}]
        choice = _CHOICES[request.tool_choice] if request.tools else "none"
        if choice == "any" and thinking:
            choice = "auto"  # the API lets nobody force a model that thinks
        if choice != "auto":
            sent["tool_choice"] = {"type": choice}
    return sent


def refusal(status: int, body: object, headers: Mapping[str, str], now: float, secrets: tuple[str, ...]) -> Refusal:
    """What an answer that is an error says. `status` below 300: it came in the middle of a stream, and the error's own
    kind gives the status."""
    error = _object(_object(body).get("error"))
    kind, code, text = error.get("type"), _object(error.get("details")).get("error_code"), error.get("message")
    if not isinstance(text, str):
        text = body if isinstance(body, str) else ""
    kind = kind if isinstance(kind, str) else ""
    request_id = headers.get("request-id", "")
    text = shown(text, secrets) + (f" (request {shown(request_id, secrets)})" if request_id else "")
    return Refusal(
        status=status if status >= 300 else _STATUSES.get(kind, 500),
        kind=kind,
        code=code if isinstance(code, str) else "",
        text=text.strip(),
        retry_after_s=retry_after_s(headers, now),
        location=headers.get("location", ""),
    )


def _block_form(role: str, block: Block) -> Form | None:
    match block:
        case Text(text=text):
            return {"type": "text", "text": _plain(text)} if text.strip() else None
        case ToolOutput():
            form: Form = {"type": "tool_result", "tool_use_id": _token(block.call_id)}
            form["content"] = _plain(block.text) if block.text.strip() else NO_OUTPUT
            return {**form, "is_error": True} if block.is_error else form
        case ToolCall():
            arguments = encodable(cast("Json", dict(block.arguments)))
            return {"type": "tool_use", "id": _token(block.id), "name": _token(block.name), "input": arguments}
        case Thinking() if role != "assistant":
            return None
        case Thinking(sealed=sealed) if sealed:
            return {"type": "redacted_thinking", "data": sealed}
        case Thinking(signature=signature) if signature and _plain(block.text) == block.text:
            return {"type": "thinking", "thinking": block.text, "signature": signature}
        case Thinking():
            return None


def _distinct(messages: list[Form]) -> list[Form]:
    """The same messages, no two calls with one id: some servers number each answer's calls from the start, and a
    conversation that began with them may go on here."""
    seen: set[str] = set()
    renamed: dict[str, str] = {}
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            ids = {block["id"] for block in message["content"] if block["type"] == "tool_use"}
            renamed = {taken: f"{taken}_{i}" for taken in ids & seen}
            seen |= ids
        if renamed:
            messages[i] = {**message, "content": [_renamed(block, renamed) for block in message["content"]]}
    return messages


def _renamed(block: Form, names: Mapping[str, str]) -> Form:
    key = {"tool_use": "id", "tool_result": "tool_use_id"}.get(block["type"], "")
    return {**block, key: names[block[key]]} if key and block[key] in names else block


def _unfinished(messages: list[Form]) -> list[Form]:
    """A last message of the assistant, to go on with, may not end in blanks."""
    if not messages or messages[-1]["role"] != "assistant" or messages[-1]["content"][-1]["type"] != "text":
        return messages
    *before, last = messages[-1]["content"]
    return [*messages[:-1], {"role": "assistant", "content": [*before, {**last, "text": last["text"].rstrip()}]}]


def _marked(messages: list[Form]) -> list[Form]:
    """The same messages, the ends of the last two of the user's marked as ends of what is worth caching: the one that
    the last request ended with is read from the cache, the other is written to it."""
    users = [i for i, message in enumerate(messages) if message["role"] == "user"]
    for i in users[-_MARKED_MESSAGES:]:
        *before, last = messages[i]["content"]
        messages[i] = {"role": "user", "content": [*before, {**last, "cache_control": _MARK}]}
    return messages


def _tools(request: ModelRequest) -> list[Form]:
    if request.tools:
        return [_tool_form(tool) for tool in request.tools]
    names = {_token(call.name) for message in request.messages for call in message.calls}
    return [
        {"name": name, "description": "Not at hand any more.", "input_schema": {"type": "object"}}
        for name in sorted(names)
    ]


def _tool_form(tool: ToolDefinition) -> Form:
    schema = {"type": "object", **tool.schema}
    return {"name": tool.name, "description": _plain(tool.description), "input_schema": schema}


def _thinking(model: str, effort: str, max_tokens: int) -> Form:
    """How much the model shall think, in the words that it knows. "" leaves it to the model."""
    if not effort:
        return {}
    if not _BUDGETED.search(model):
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    budget = max(_MIN_BUDGET, int(max_tokens * _SHARES.get(effort, 0.75)))
    if budget >= max_tokens:
        return {}  # no room for both thinking and an answer
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _plain(text: str) -> str:
    return cast("str", encodable(text))


def _token(text: str) -> str:
    """An id or a name as the API takes it: the same text, unless it holds what the API refuses; always the same for the
    same text, and different for different ones."""
    if _TOKEN.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return re.sub(r"[^a-zA-Z0-9_-]", "_", text)[:100] + f"_{digest}"


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
