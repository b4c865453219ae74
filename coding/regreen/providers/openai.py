"""Models behind the chat completions of OpenAI, and of the many servers that speak like it: Ollama, vLLM, LM Studio,
llama.cpp, OpenRouter, DeepSeek.

The official SDK carries the request, within `http_bounds`; the stream is read by `event_stream`; what its pieces mean
is decided in `openai_answer`, what goes wrong in `openai_faults`, what a server takes in `openai_wire`. Thinking is
shown, and sent back only to a server that asks for it. Whatever a server sends ends as an answer or a ProviderError.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar, cast

from regreen.errors import ConfigError
from regreen.providers import openai_faults as faults
from regreen.providers import openai_wire as wire
from regreen.providers.conversation import estimate_tokens
from regreen.providers.errors import BadReply, ConnectionLost, ModelTimeout, ProviderError
from regreen.providers.event_stream import events
from regreen.providers.http_faults import Asked, address_fault, connection_lost, retry_after_s, shown, timed_out
from regreen.providers.messages import Delta, ModelRequest, ModelResponse, OnDelta
from regreen.providers.openai_answer import Answer

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")

_NO_KEY = "none"  # the SDK insists on one
_ID_LENGTH = 9  # of an id that we make: some templates (Mistral) take exactly nine letters and digits
_TAIL_S = 3.0  # how long the usage is waited for when the answer itself is whole
_DRAIN_S = 0.25  # how long the stream may stay open after its last word, so that the connection can be used again
_LAST_WORD = "[DONE]"
_SHOWN = 200  # characters of what the SDK says when it stumbles


class OpenAIProvider:
    """One model of a server of chat completions. Asks once at a time; `aclose` ends its connections.

    `base_url` "" is OpenAI itself; `api_key` "" does for a server that wants none. `timeout_s` limits the wait for the
    first piece of an answer, and each silence after it. `effort` goes out as `reasoning_effort`. What a server is found
    not to take is not sent to it again.
    """

    name = "openai"

    def __init__(
        self, *, model: str, api_key: str, base_url: str = "", timeout_s: float = 60.0, effort: str = ""
    ) -> None:
        self._model = model
        key = _checked_key(api_key)
        url = _checked_url(base_url or wire.OWN_URL)
        self._secrets = (key,) if key else ()
        self._asked = Asked(self.name, model, shown(url, self._secrets))
        self._timeout_s = timeout_s
        self._effort = effort
        self._dialect = wire.dialect_of(base_url)
        self._forms = wire.Forms()
        self._client = _client(key or _NO_KEY, url, timeout_s, self._asked)

    @property
    def model(self) -> str:
        return self._model

    async def ask(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelResponse:
        import asyncio

        from openai import APIStatusError

        began = asyncio.get_running_loop().time()
        taken = {call.id for message in request.messages for call in message.calls}
        dialect = self._dialect
        while True:
            answer = Answer(self._asked, taken, _new_id, request.max_tokens)
            body = wire.body(request, self._model, dialect, self._effort, self._forms)
            try:
                await self._stream(body, answer, on_delta, estimate_tokens(request))
                break
            except APIStatusError as refused:  # nothing was streamed yet
                learned = wire.adapted(dialect, body, refused.status_code, faults.whole_text(refused.body))
                if learned is None:
                    raise self._refusal(refused.status_code, refused.body, refused.response.headers) from refused
                dialect = self._dialect = learned
        stop, message = answer.stop(), answer.message()
        return ModelResponse(
            message,
            stop,
            answer.finish,
            answer.usage(estimate_tokens(request), message),
            answer.model or self._model,
            self.name,
            latency_s=asyncio.get_running_loop().time() - began,
        )

    async def count_tokens(self, request: ModelRequest) -> int:
        """Estimated, a token for four characters: chat completions have no call that counts."""
        return estimate_tokens(request)

    async def aclose(self) -> None:
        await self._client.close()

    async def _stream(self, body: wire.Wire, answer: Answer, on_delta: OnDelta | None, asked_tokens: int) -> None:
        """Feed the answer until its end. A connection that breaks behind the model's last word (only its usage, or the
        end of the stream, was to follow) takes nothing from it. Raises ProviderError, and APIStatusError."""
        try:
            await self._feed(body, answer, on_delta)
            if not answer.finish:
                raise connection_lost(self._asked, "the stream ended without the answer's end", begun=True)
        except (ConnectionLost, ModelTimeout) as e:
            if not answer.finish:
                e.usage = answer.used(asked_tokens)
                raise
        except ProviderError as e:
            e.usage = answer.used(asked_tokens)
            raise

    async def _feed(self, body: wire.Wire, answer: Answer, on_delta: OnDelta | None) -> None:
        def take(chunk: Mapping[str, object]) -> None:
            fault = chunk.get("error") or faults.in_chunk(chunk)
            if fault:
                raise self._refusal(0, fault)
            for delta in self._new_in(answer, chunk):
                if on_delta is not None:
                    on_delta(delta)

        wait = _Patience(self._asked, self._timeout_s, self._refusal, self._secrets)
        completions = self._client.chat.completions.with_raw_response
        # The SDK walks what it is given by its types. In a long conversation that takes longer than all else, and what
        # servers really take and send fits no type: both pass as plain JSON.
        sent = completions.create(model=self._model, messages=[], stream=True, extra_body=body)
        response = (await wait.of(sent)).http_response
        try:
            kind = response.headers.get("content-type", "")
            if "json" in kind or "html" in kind:
                text = (await wait.of(response.aread())).decode("utf-8", "replace")
                take(faults.whole_answer(self._asked, kind, text, self._secrets))
                return
            await self._pieces(response, wait, answer, take)
        finally:
            await response.aclose()

    async def _pieces(
        self, response: Any, wait: _Patience, answer: Answer, take: Callable[[Mapping[str, object]], None]
    ) -> None:
        """Take the pieces of a stream up to its last word, and what follows only so far that it is read to its end."""
        over = False
        async with aclosing(events(response.aiter_bytes(), self._asked)) as stream:
            while (piece := await wait.of(anext(stream, None))) is not None:
                if over or not piece[1]:
                    continue
                if piece[1].startswith(_LAST_WORD):
                    over = bool(answer.finish)
                    if not over:
                        return
                    wait.no_longer_than(_DRAIN_S)
                    continue
                take(_object(piece[1], self._asked))
                wait.heard(ended=bool(answer.finish))

    def _new_in(self, answer: Answer, chunk: Mapping[str, object]) -> list[Delta]:
        try:
            return answer.take(chunk)
        except RecursionError as e:
            raise _bad_reply(self._asked, "it is nested too deeply") from e

    def _refusal(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> ProviderError:
        wait_s = retry_after_s(headers, time.time()) if headers is not None else None
        location = (headers or {}).get("location", "")
        return faults.typed_error(faults.read(status, body, self._secrets, wait_s, location), self._asked)


class _Patience:
    """Waits for a server's next piece, no longer than `timeout_s` since the last, and says in our terms what fails.
    An answer 4xx or 5xx passes as the SDK's error: what it says about fields is yet to be looked at."""

    def __init__(
        self,
        asked: Asked,
        timeout_s: float,
        refusal: Callable[[int, object], ProviderError],
        secrets: tuple[str, ...],
    ) -> None:
        self._asked = asked
        self._secrets = secrets
        self._timeout_s = timeout_s
        self._refusal = refusal
        self._ended = False
        self.heard(begun=False)

    def heard(self, *, begun: bool = True, ended: bool = False) -> None:
        """Something came: the time begins again. Behind the model's last word (`ended`) little is worth waiting for,
        and the time begins no more."""
        import asyncio

        self._begun = begun
        if self._ended:
            return
        self._ended = ended
        wait_s = min(_TAIL_S, self._timeout_s) if ended else self._timeout_s
        self._until = asyncio.get_running_loop().time() + wait_s

    def no_longer_than(self, seconds: float) -> None:
        import asyncio

        self._until = min(self._until, asyncio.get_running_loop().time() + seconds)

    async def of(self, awaited: Awaitable[T]) -> T:
        import asyncio

        import httpx2
        import openai

        from regreen.providers.http_bounds import UNREADABLE

        try:
            async with asyncio.timeout_at(self._until):
                return await awaited
        except openai.APIStatusError:
            raise
        except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException) as e:
            raise timed_out(self._asked, self._timeout_s, self._begun) from e
        except (openai.APIConnectionError, httpx2.HTTPError, httpx2.StreamError) as e:
            if isinstance(e.__cause__, ProviderError):  # one of ours, which came through the SDK
                raise e.__cause__ from None
            raise faults.unreachable(self._asked, shown(str(e.__cause__ or e), self._secrets), self._begun) from e
        except openai.APIError as e:
            raise self._refusal(0, e.body or e.message) from e
        except openai.OpenAIError as e:
            raise _bad_reply(self._asked, str(e)) from e
        except UNREADABLE as e:
            raise _bad_reply(self._asked, f"{type(e).__name__}: {e}"[:_SHOWN]) from e


def _object(data: str, asked: Asked) -> Mapping[str, object]:
    try:
        chunk: object = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise _bad_reply(asked, str(e)) from e
    if isinstance(chunk, dict):
        return cast("dict[str, object]", chunk)
    raise _bad_reply(asked, f"a JSON {type(chunk).__name__} in the place of an object")


def _bad_reply(asked: Asked, what: str) -> BadReply:
    return BadReply(
        f"{asked} sent a piece of its answer that cannot be read: {shown(what)}",
        "Try again; check that `base_url` in [provider] is an OpenAI-compatible API.",
    )


def _client(key: str, base_url: str, timeout_s: float, asked: Asked) -> AsyncOpenAI:
    try:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    except ImportError as e:
        raise ConfigError(
            "config_refused",
            "the provider `openai` needs the package `openai`, which is not installed",
            "pip install 'regreen[openai]' (or: uv tool install 'regreen[openai]')",
        ) from e
    from regreen.providers.http_bounds import bounded

    # A server on this machine is not asked through a proxy.
    http = bounded(DefaultAsyncHttpxClient, asked, trust_env=not faults.is_local(base_url))
    client = AsyncOpenAI(api_key=key, base_url=base_url, timeout=timeout_s, max_retries=0, http_client=http)
    if not wire.is_own(base_url):  # the environment's names of an OpenAI account are nobody else's business
        client.organization = client.project = None
    return client


def _checked_url(base_url: str) -> str:
    if fault := address_fault(base_url):
        raise ConfigError(
            "config_refused",
            f"`base_url` {fault}",
            "write the plain address in full, such as http://localhost:11434/v1",
        )
    return base_url


def _checked_key(key: str) -> str:
    """A key as a header can carry it; blanks around it came with copying."""
    key = key.strip()
    if key.isascii() and key.isprintable():
        return key
    raise ConfigError(
        "config_refused",
        "the key for the provider `openai` holds characters that no key has",
        "set it again, without line breaks and other than plain letters, digits and signs",
    )


def _new_id() -> str:
    return uuid.uuid4().hex[:_ID_LENGTH]
