"""Claude models, through the official SDK of Anthropic's Messages API.

The SDK does the HTTP, within `http_bounds`; it never retries here, and never reads its key or address from the
environment. The stream is read by `event_stream`, its events are put together by `anthropic_answer`, the question by
`anthropic_wire`. Whatever a server sends ends as an answer or as a ProviderError.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from regreen.errors import ConfigError
from regreen.providers import anthropic_wire as wire
from regreen.providers.anthropic_answer import Answer
from regreen.providers.conversation import estimate_tokens
from regreen.providers.errors import BadReply, ProviderError, RequestRefused
from regreen.providers.event_stream import events
from regreen.providers.http_faults import Asked, address_fault, connection_lost, shown, timed_out, typed
from regreen.providers.messages import Message, ModelRequest, ModelResponse, OnDelta

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic

DEFAULT_BASE_URL = "https://api.anthropic.com"
_NO_KEY = "none"  # for servers that want none; the SDK insists on one
_PING_PATIENCE = 10  # a server that only says that it lives is waited for so many times as long as a silent one
_DRAIN_S = 0.25  # how long the stream may stay open after the answer's end, so that the connection can be used again
_SPARE_FORMS = 256


class AnthropicProvider:
    """One Claude model at one endpoint. Its connections belong to one event loop: use, and close, one provider from
    one loop. The SDK is loaded when a provider is made, which takes about a second the first time."""

    def __init__(
        self, *, model: str, api_key: str, base_url: str = "", timeout_s: float = 60.0, effort: str = ""
    ) -> None:
        base_url = base_url or DEFAULT_BASE_URL
        _check(api_key, base_url)
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

        from regreen.providers.http_bounds import bounded

        self._model = model
        self._effort = effort
        self._timeout_s = timeout_s
        self._secrets = (api_key,) if api_key else ()
        self._asked = Asked(self.name, model, shown(base_url, self._secrets))
        self._forms: dict[int, tuple[Message, wire.Form]] = {}
        self._client: AsyncAnthropic = AsyncAnthropic(
            api_key=api_key or _NO_KEY,
            base_url=base_url,
            timeout=timeout_s,
            max_retries=0,
            http_client=bounded(DefaultAsyncHttpxClient, self._asked),
        )

    @property
    def name(self) -> str:
        return "anthropic"

    @property
    def model(self) -> str:
        return self._model

    async def ask(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelResponse:
        """Ask once; see `Provider`. An error carries what was used before it, in `usage`, estimated where it was not
        told.

        A model that thinks (`effort`) is never forced to use a tool: `required` is then sent as `auto`.
        """
        began = time.monotonic()
        answer = Answer(self._asked, request.max_tokens)
        sent = wire.question(request, self._model, self._effort, self._form)
        self._forget(request)
        try:
            await self._stream(sent, answer, on_delta)
            response = answer.response(estimate_tokens(request))
        except ProviderError as error:
            error.usage = answer.used(estimate_tokens(request))
            raise
        return replace(response, latency_s=time.monotonic() - began)

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many tokens the request is, by Anthropic's own count."""
        sent = wire.counted(request, self._model, self._effort, self._form)
        self._forget(request)
        watch = asyncio.timeout(self._timeout_s)
        with self._typed(Answer(self._asked), watch):
            async with watch:
                count: object = await self._sent("count_tokens", sent)
        tokens: object = getattr(count, "input_tokens", None)
        if not isinstance(tokens, int) or tokens < 0:
            raise self._bad_reply("no count of tokens")
        return tokens

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _stream(self, sent: wire.Form, answer: Answer, on_delta: OnDelta | None) -> None:
        """Ask, and add to `answer` what comes, until it ends."""
        watch = asyncio.timeout(self._timeout_s)
        with self._typed(answer, watch):
            async with watch:
                stream = await self._sent("create", {**sent, "stream": True})
                try:
                    await self._hear(stream.response, answer, on_delta, watch)
                finally:
                    await stream.close()

    async def _sent(self, method: str, sent: wire.Form) -> Any:
        """Call the SDK. Raises BadReply where it stumbles over what came."""
        from regreen.providers.http_bounds import UNREADABLE

        try:
            return await getattr(cast("Any", self._client.messages), method)(**sent)
        except UNREADABLE as error:
            raise self._bad_reply(f"something that cannot be read ({type(error).__name__})") from error

    async def _hear(self, response: Any, answer: Answer, on_delta: OnDelta | None, watch: asyncio.Timeout) -> None:
        """Add the events of a response to the answer, and wait for each as long as it makes sense."""
        self._must_be_events(response.headers.get("content-type", ""))
        heard = _now()
        async with aclosing(events(response.aiter_bytes(), self._asked)) as stream:
            async for name, data in stream:
                if answer.ended:
                    continue  # the rest is read only so that the connection can be used again
                if data and self._take(name, data, answer, on_delta):
                    heard = _now()
                watch.reschedule(self._patience_until(heard, answer.ended))

    def _take(self, name: str, data: str, answer: Answer, on_delta: OnDelta | None) -> bool:
        """Add an event to the answer. False: it says nothing but that the server lives."""
        try:
            event: object = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._bad_reply("an event that is not JSON") from error
        if not isinstance(event, Mapping):
            raise self._bad_reply("an event that is not a JSON object")
        kind = cast("Mapping[str, object]", event).get("type", name)
        if kind == "error":
            raise typed(wire.refusal(200, cast("object", event), {}, time.time(), self._secrets), self._asked)
        delta = answer.take(cast("Mapping[str, object]", event))
        if delta is not None and on_delta is not None:
            on_delta(delta)
        return kind != "ping"

    def _patience_until(self, heard: float, ended: bool) -> float:
        """When a further silence is too long. `heard` is when something was last said."""
        if ended:
            return _now() + min(_DRAIN_S, self._timeout_s)
        return min(_now() + self._timeout_s, heard + self._timeout_s * _PING_PATIENCE)

    @contextmanager
    def _typed(self, answer: Answer, watch: asyncio.Timeout) -> Generator[None]:
        """Turn what the SDK and its transport raise into our errors. What goes wrong after the answer's end is nobody's
        loss."""
        from anthropic import AnthropicError
        from httpx2 import HTTPError, StreamError

        try:
            yield
        except TimeoutError as error:
            if not watch.expired():
                raise
            if not answer.ended:
                raise timed_out(self._asked, self._timeout_s, answer.begun) from error
        except ProviderError:
            if not answer.ended:
                raise
        except (AnthropicError, HTTPError, StreamError) as error:
            if not answer.ended:
                raise self._error(error, answer.begun) from error

    def _error(self, error: Exception, begun: bool) -> ProviderError:
        """Our error for one of the SDK's, or of its transport's, which reaches us bare in the middle of a stream."""
        import anthropic
        from httpx2 import HTTPError, StreamError, TimeoutException

        match error:
            case _ if isinstance(error.__cause__, ProviderError):  # one of ours, which came through the SDK
                return error.__cause__
            case anthropic.APITimeoutError() | TimeoutException():
                return timed_out(self._asked, self._timeout_s, begun)
            case anthropic.APIConnectionError():
                return connection_lost(self._asked, shown(str(error.__cause__ or error), self._secrets), begun)
            case HTTPError() | StreamError():
                return connection_lost(self._asked, shown(str(error), self._secrets), begun)
            case anthropic.APIStatusError():
                return self._refused(error)
            case anthropic.APIError():
                return self._bad_reply("something that cannot be read")
            case _:
                return RequestRefused(
                    f"The question to {self._asked} could not be sent: {shown(str(error), self._secrets)}",
                    "Check `model`, `base_url` and `effort` in [provider].",
                )

    def _refused(self, error: APIStatusError) -> ProviderError:
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        return typed(wire.refusal(error.status_code, error.body, headers, time.time(), self._secrets), self._asked)

    def _must_be_events(self, content_type: str) -> None:
        if content_type and "event-stream" not in content_type:
            raise self._bad_reply(f"`{shown(content_type)}` in the place of a stream of events")

    def _bad_reply(self, what: str) -> BadReply:
        return BadReply(
            f"{self._asked} at {self._asked.base_url} answered with {what}",
            "Try again; if it stays so, check that `base_url` in [provider] is a server that speaks the Messages API.",
        )

    def _form(self, message: Message) -> wire.Form:
        """A message's form, made once: a conversation is sent again and again, each time a little longer."""
        kept = self._forms.get(id(message))
        if kept is not None and kept[0] is message:
            return kept[1]
        form = wire.message_form(message)
        self._forms[id(message)] = (message, form)
        return form

    def _forget(self, request: ModelRequest) -> None:
        """Drop the forms of messages that are not asked with any more, when there are many of them."""
        if len(self._forms) > 2 * len(request.messages) + _SPARE_FORMS:
            self._forms = {id(m): self._forms[id(m)] for m in request.messages}


def _now() -> float:
    return asyncio.get_running_loop().time()


def _check(api_key: str, base_url: str) -> None:
    """Refuse at once what the transport would refuse with a traceback."""
    if not re.fullmatch(r"[\x21-\x7e]*", api_key):
        raise ConfigError(
            "config_refused",
            "The Anthropic key holds characters that no key has: blanks, line ends, or letters that are not ASCII",
            "Copy the key again, without quotes and without what stands around it.",
        )
    if fault := address_fault(base_url):
        raise ConfigError(
            "config_refused",
            f"`base_url` {fault}",
            f"Write the plain address in full, like {DEFAULT_BASE_URL}, or leave it out.",
        )
