"""Both wire formats behind the same few words, for tests of what is above the providers: the real SDKs, real HTTP."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

from regreen.providers.messages import Provider
from support import chat_server, messages_server
from support.model_wire import Cut, Fault, ModelServer, Reply, Step

Call = tuple[str, str, Any]
"""Id, name, and arguments: an object, or the text that is sent in its place."""


class Wire(Protocol):
    """One format. Each method gives a step for the server's script."""

    name: str

    def server(self) -> ModelServer: ...
    def provider(self, server: ModelServer, model: str = "m") -> Provider: ...
    def says(self, text: str, stop: str = "end") -> Reply: ...
    def calls(self, *made: Call, stop: str = "calls") -> Reply: ...
    def broken(self, reply: Reply) -> Step:
        """The beginning of an answer, then the connection is cut."""
        ...

    def overloaded(self) -> Step: ...
    def rate_limited(self) -> Step: ...

    def results(self, body: Mapping[str, Any]) -> dict[str, str]:
        """The results of tools in a request, by the ids of their calls, in their order."""
        ...

    def cap(self, body: Mapping[str, Any]) -> int: ...


class Messages:
    name = "anthropic"
    _STOPS: ClassVar = {"end": "end_turn", "calls": "tool_use", "cut": "max_tokens", "refused": "refusal"}

    def server(self) -> ModelServer:
        return messages_server.messages_server()

    def provider(self, server: ModelServer, model: str = messages_server.MODEL) -> Provider:
        from regreen.providers.anthropic import AnthropicProvider

        return AnthropicProvider(model=model, api_key="sk-ant-of-no-use", base_url=server.url, timeout_s=20)

    def says(self, text: str, stop: str = "end") -> Reply:
        return messages_server.answer(messages_server.text(text), stop=self._STOPS[stop])

    def calls(self, *made: Call, stop: str = "calls") -> Reply:
        return messages_server.answer(*(messages_server.call(*one) for one in made), stop=self._STOPS[stop])

    def broken(self, reply: Reply) -> Step:
        return Cut(reply, 3)

    def overloaded(self) -> Step:
        return Fault(529, messages_server.error_body("overloaded_error", "Overloaded"))

    def rate_limited(self) -> Step:
        return Fault(429, messages_server.error_body("rate_limit_error", "slow down"), {"retry-after": "7"})

    def results(self, body: Mapping[str, Any]) -> dict[str, str]:
        blocks = [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]
        return {b["tool_use_id"]: _text(b["content"]) for b in blocks}

    def cap(self, body: Mapping[str, Any]) -> int:
        return body["max_tokens"]


class Chat:
    name = "openai"
    _STOPS: ClassVar = {"end": "stop", "calls": "tool_calls", "cut": "length", "refused": "content_filter"}

    def server(self) -> ModelServer:
        return chat_server.chat_server()

    def provider(self, server: ModelServer, model: str = "m") -> Provider:
        from regreen.providers.openai import OpenAIProvider

        return OpenAIProvider(model=model, api_key=chat_server.KEY, base_url=f"{server.url}/v1", timeout_s=20)

    def says(self, text: str, stop: str = "end") -> Reply:
        return chat_server.says(text, finish=self._STOPS[stop])

    def calls(self, *made: Call, stop: str = "calls") -> Reply:
        deltas = [chat_server.call(name, raw, call_id, index) for index, (call_id, name, raw) in enumerate(made)]
        return chat_server.calls(*deltas, finish=self._STOPS[stop])

    def broken(self, reply: Reply) -> Step:
        return Cut(reply, 2)

    def overloaded(self) -> Step:
        return Fault(503, chat_server.error("busy"))

    def rate_limited(self) -> Step:
        return Fault(429, chat_server.error("slow down", code="rate_limit_exceeded"), {"retry-after": "7"})

    def results(self, body: Mapping[str, Any]) -> dict[str, str]:
        return {m["tool_call_id"]: m["content"] for m in body["messages"] if m["role"] == "tool"}

    def cap(self, body: Mapping[str, Any]) -> int:
        return body["max_tokens"]


WIRES: Sequence[Wire] = (Messages(), Chat())


@contextmanager
def served(wire: Wire) -> Generator[ModelServer]:
    with wire.server() as server:
        yield server


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(b["text"] for b in content)
