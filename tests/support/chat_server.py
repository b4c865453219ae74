"""A server of chat completions for tests, as strict about requests as OpenAI's, and as loose in its answers as others.

with chat_server() as server:
    server.script(says("hello"), calls(call("read", {"path": "a"})), Fault(429, error("slow down")))
    ... OpenAIProvider(base_url=server.url + "/v1") ...
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from regreen.providers.messages import ModelRequest, ModelResponse, OnDelta, said
from regreen.providers.openai import OpenAIProvider
from support.model_wire import Event, Fault, ModelServer, Reply, Seen, Step

KEY = "sk-test-0123456789abcdefghij"
HELLO = ModelRequest("Be short.", (said("user", "hello"),))
PATH = "/v1/chat/completions"
DONE: Event = ("", "[DONE]")
USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}

_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "model": str,
    "messages": list,
    "stream": bool,
    "stream_options": dict,
    "tools": list,
    "tool_choice": str,
    "max_tokens": int,
    "max_completion_tokens": int,
    "reasoning_effort": str,
}
_ROLES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {  # role: (needed, allowed besides)
    "system": (frozenset({"content"}), frozenset()),
    "user": (frozenset({"content"}), frozenset()),
    "assistant": (frozenset({"content"}), frozenset({"tool_calls", "reasoning_content"})),
    "tool": (frozenset({"content", "tool_call_id"}), frozenset()),
}


def chat_server(check: Callable[[Seen], Step | None] = lambda seen: None) -> ModelServer:
    """A server that refuses what OpenAI refuses; `check` may refuse more."""

    def checked(seen: Seen) -> Step | None:
        if seen.path != PATH:
            return Fault(404, "404 page not found")
        if seen.headers.get("authorization", "") in ("", "Bearer wrong"):
            return Fault(401, error("Incorrect API key provided: wrong", code="invalid_api_key"))
        fault = request_fault(seen.body)
        return Fault(400, error(fault, type="invalid_request_error")) if fault else check(seen)

    return ModelServer(checked)


class Chat:
    """The server, an event loop, and providers that ask the one in the other."""

    def __init__(self) -> None:
        self.server = chat_server()
        self.runner = asyncio.Runner()
        self._made: list[OpenAIProvider] = []
        self.provider = self.make()

    def make(self, **options: Any) -> OpenAIProvider:
        """A provider for the server, with other options if wanted."""
        defaults: dict[str, Any] = {"model": "m", "api_key": KEY, "base_url": f"{self.server.url}/v1"}
        self._made.append(OpenAIProvider(**{**defaults, **options}))
        return self._made[-1]

    def ask(
        self,
        *steps: Step,
        request: ModelRequest = HELLO,
        on_delta: OnDelta | None = None,
        provider: OpenAIProvider | None = None,
    ) -> ModelResponse:
        """Script the server's next answers, and ask once."""
        self.server.script(*steps)
        return self.runner.run((provider or self.provider).ask(request, on_delta))

    def __enter__(self) -> Chat:
        return self

    def __exit__(self, *_: object) -> None:
        for provider in self._made:
            self.runner.run(provider.aclose())
        self.runner.close()
        self.server.close()


def error(message: str, **words: object) -> dict[str, Any]:
    return {"error": {"message": message, **words}}


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, **more: Any) -> Event:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return ("", {"id": "c1", "object": "chat.completion.chunk", "model": "m-1", "choices": choices, **more})


def reply(*deltas: Mapping[str, Any], finish: str | None = "stop", usage: Any = USAGE) -> Reply:
    """A stream: the deltas, the finish, the usage (None = none), the end."""
    end = [] if usage is None else [chunk(usage=usage)]
    first = chunk({"role": "assistant", "content": None})
    return Reply([first, *map(chunk, deltas), chunk({}, finish), *end, DONE])


def says(*pieces: str, finish: str = "stop", usage: Any = USAGE) -> Reply:
    return reply(*({"content": piece} for piece in pieces), finish=finish, usage=usage)


def call(name: str, arguments: Any, call_id: str = "", index: int | None = 0, pieces: int = 1) -> list[dict[str, Any]]:
    """The pieces of one call, as OpenAI sends them: the name first, then the arguments."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    size = max(1, -(-len(text) // pieces))
    head: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": ""}}
    tail = [{"function": {"arguments": text[at : at + size]}} for at in range(0, len(text), size)]
    if call_id:
        head["id"] = call_id
    return [piece if index is None else {"index": index, **piece} for piece in (head, *tail)]


def calls(*made: Sequence[Mapping[str, Any]], finish: str = "tool_calls", usage: Any = USAGE) -> Reply:
    deltas = [{"tool_calls": [piece]} for pieces in made for piece in pieces]
    return reply(*deltas, finish=finish, usage=usage)


def request_fault(body: Any) -> str:
    """What a strict server refuses a request for; "" where it is right."""
    for name, value in body.items():
        if name not in _FIELDS:
            return f"Unrecognized request argument supplied: {name}"
        if not isinstance(value, _FIELDS[name]):
            return f"Invalid type for '{name}'"
    if not body.get("model") or not body.get("messages"):
        return "you must provide a model and messages"
    if "tool_choice" in body and not body.get("tools"):
        return "'tool_choice' is only allowed when 'tools' are specified"
    if body.get("tool_choice", "auto") not in ("auto", "none", "required"):
        return f"Invalid value for 'tool_choice': {body['tool_choice']}"
    if "stream_options" in body and not body.get("stream"):
        return "The 'stream_options' parameter is only allowed when 'stream' is enabled"
    if body.get("max_tokens", body.get("max_completion_tokens", 1)) < 1:
        return "Invalid 'max_tokens': below minimum value"
    return _tools_fault(body.get("tools", [])) or _messages_fault(body["messages"])


def _tools_fault(tools: Iterable[Any]) -> str:
    for tool in tools:
        function = tool.get("function", {})
        if set(tool) != {"type", "function"} or not set(function) <= {"name", "description", "parameters"}:
            return f"Unknown parameter in 'tools': {tool}"
        if tool["type"] != "function" or not function.get("name") or function["parameters"].get("type") != "object":
            return f"Invalid schema for function '{function.get('name')}'"
    return ""


def _messages_fault(messages: Sequence[Any]) -> str:
    open_ids: list[str] = []
    for at, message in enumerate(messages):
        fault = _shape_fault(message, at)
        if fault:
            return fault
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                return f"messages.[{at}]: 'tool' does not answer a preceding message with this 'tool_call_id'"
            open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            return f"messages.[{at}]: these tool_call_ids did not have response messages: {', '.join(open_ids)}"
        open_ids = [made["id"] for made in message.get("tool_calls", [])]
        if len(set(open_ids)) != len(open_ids):
            return f"messages.[{at}]: duplicate tool_call_id"
    return f"these tool_call_ids did not have response messages: {', '.join(open_ids)}" if open_ids else ""


def _shape_fault(message: Any, at: int) -> str:
    if message.get("role") not in _ROLES:
        return f"messages.[{at}]: invalid role"
    needed, besides = _ROLES[message["role"]]
    if not needed <= set(message) or set(message) - needed - besides - {"role"}:
        return f"messages.[{at}]: missing or unknown fields: {sorted(message)}"
    if message["role"] == "system" and at:
        return f"messages.[{at}]: the system message stands first"
    if not isinstance(message["content"], str) and not (message["content"] is None and message.get("tool_calls")):
        return f"messages.[{at}]: invalid type for 'content'"
    return next((fault for made in message.get("tool_calls", []) if (fault := _call_fault(made, at))), "")


def _call_fault(made: Any, at: int) -> str:
    if set(made) != {"id", "type", "function"} or made["type"] != "function":
        return f"messages.[{at}]: invalid tool call"
    if not isinstance(made["id"], str) or not 0 < len(made["id"]) <= 40:
        return f"messages.[{at}]: invalid tool call id"
    if set(made["function"]) != {"name", "arguments"} or not made["function"]["name"]:
        return f"messages.[{at}]: invalid function"
    try:
        arguments = json.loads(made["function"]["arguments"])
    except ValueError:
        return f"messages.[{at}]: the arguments are not JSON"
    return "" if isinstance(arguments, dict) else f"messages.[{at}]: the arguments are no object"
