"""The model as everyone above sees it: one question, asked until it is answered or until asking on makes no sense.

It keeps the budget, asks again after faults that pass, turns to other models where the first has no room, leaves a
provider alone that times out again and again, counts what everything used, and tells of each step.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from regreen.errors import ConfigError
from regreen.events import EventKind
from regreen.providers.breaker import Breaker
from regreen.providers.conversation import CHARS_PER_TOKEN, estimate_tokens
from regreen.providers.errors import ModelTimeout, ModelUnavailable, Overloaded, ProviderError
from regreen.providers.messages import (
    Delta,
    ModelRequest,
    ModelResponse,
    OnDelta,
    Provider,
    Restarted,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
)
from regreen.providers.meter import Meter
from regreen.providers.prices import cost, price_of
from regreen.providers.retrying import delay_s, given_up
from regreen.settings.values import Price
from regreen.wire import shortened

OnEvent: TypeAlias = Callable[[EventKind, Mapping[str, object]], None]

_SHOWN = 200  # characters of an error's message in an event


def ignore(kind: EventKind, data: Mapping[str, object]) -> None:
    """An `OnEvent` for those who want none."""


async def _sleep(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


def _random() -> float:
    import random

    return random.random()


@dataclass(slots=True)
class _Line:
    """A provider, and the state of its circuit breaker."""

    provider: Provider
    breaker: Breaker = field(default_factory=Breaker)


@dataclass(slots=True)
class _Asking:
    """One question on its way: what is asked, whom it can go to, and how often it was."""

    request: ModelRequest
    size: int
    on_delta: OnDelta | None
    lines: list[_Line]
    left_out: list[tuple[str, ProviderError]] = field(default_factory=list[tuple[str, ProviderError]])
    tries: int = 0
    rounds: int = 0
    streamed: bool = False
    heard: int = 0

    def restart(self, why: str) -> None:
        """Say that what was streamed is void, if anything was."""
        if self.streamed and self.on_delta is not None:
            self.on_delta(Restarted(why))
        self.streamed = False

    def hear(self, delta: Delta) -> None:
        """Count what comes, which is all that is known of an answer that is cut off, and hand it on."""
        self.streamed = True
        if isinstance(delta, TextDelta | ThinkingDelta):
            self.heard += len(delta.text)
        if self.on_delta is not None:
            self.on_delta(delta)


class ModelClient:
    """A model, with others to fall back on. Several tasks of one event loop may ask at once.

    A question goes to the first provider; where that has no room (or its breaker is open) to the others in their order,
    each once, at once. What passes by itself is tried again up to three times in all, with pauses. The next question
    begins with the first provider again. Raises ConfigError where money is limited and a model has no price.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        meter: Meter,
        *,
        prices: Mapping[str, Price] | None = None,
        on_event: OnEvent = ignore,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = _sleep,
        jitter: Callable[[], float] = _random,
    ) -> None:
        if not providers:
            raise ValueError("a client needs a provider")
        self._lines = [_Line(p) for p in providers]
        self._meter = meter
        self._prices: Mapping[str, Price] = prices or {}
        self._on_event = on_event
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        if meter.budget.usd:
            for provider in providers:
                self._want_price(provider.model)

    @property
    def name(self) -> str:
        return self._lines[0].provider.name

    @property
    def model(self) -> str:
        return self._lines[0].provider.model

    @property
    def meter(self) -> Meter:
        return self._meter

    async def ask(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelResponse:
        """Ask, and wait for the whole answer. Raises ProviderError (of the first provider where all fail) and
        BudgetSpent. `max_tokens` is lowered to what the budget has left, and changed for no other reason."""
        import asyncio

        self._meter.check()
        asking = _Asking(request, estimate_tokens(request), on_delta, list(self._lines))
        limit = asyncio.timeout(self._meter.left_s())
        try:
            async with limit:
                return await self._answered(asking)
        except TimeoutError:
            if limit.expired():
                raise self._meter.spent(("budget_s",)) from None
            raise

    async def count_tokens(self, request: ModelRequest) -> int:
        """How long the request is for the first provider; by an estimate where it cannot say so now."""
        try:
            return await self._lines[0].provider.count_tokens(request)
        except ProviderError as e:
            if not e.retriable:
                raise
            return estimate_tokens(request)

    async def aclose(self) -> None:
        """Close every provider, also where one of them fails to."""
        async with AsyncExitStack() as stack:
            for line in self._lines:
                stack.push_async_callback(line.provider.aclose)

    async def _answered(self, asking: _Asking) -> ModelResponse:
        """Rounds with pauses between them, until one gives an answer."""
        while True:
            failed = await self._round(asking)
            if isinstance(failed, ModelResponse):
                return failed
            jitter = self._jitter()
            waits = [delay_s(asking.rounds - 1, error, jitter) for _, error in failed]
            wait = next((w for w in waits if w is not None), None)
            if wait is None:
                others = dict(asking.left_out + failed[1:])
                told = [f"`{model}`: {error.message}" for model, error in others.items()]
                raise given_up(failed[0][1], asking.rounds, told)
            self._tell_retry(asking, *failed[-1], wait)
            await self._sleep(wait)

    async def _round(self, asking: _Asking) -> ModelResponse | list[tuple[str, ProviderError]]:
        """Ask the first provider, and where it has no room the others. Gives the answer, or what went wrong with whom.

        Another provider with a fault that waiting does not help against is left out of the rounds that follow: it must
        not end a question that the first one may still answer.
        """
        asking.rounds += 1
        failed: list[tuple[str, ProviderError]] = []
        for line in tuple(asking.lines):
            if failed:
                self._tell_retry(asking, *failed[-1], 0.0)
            try:
                return await self._once(line, asking)
            except ProviderError as e:
                failed.append((line.provider.model, e))
                if line is asking.lines[0]:
                    if not isinstance(e, Overloaded | ModelUnavailable):
                        break
                elif not (e.retriable or isinstance(e, ModelUnavailable)):
                    asking.lines.remove(line)
                    asking.left_out.append(failed[-1])
        return failed

    async def _once(self, line: _Line, asking: _Asking) -> ModelResponse:
        """Ask one provider once, by its breaker and within the budget."""
        began = self._clock()
        if line.breaker.refuses(began):
            raise self._unavailable(line)
        model, wanted = line.provider.model, asking.request.max_tokens
        with self._meter.held(asking.size, wanted, price_of(model, self._prices, asking.size)) as most:
            self._tell_request(model, asking, most)
            trial = line.breaker.is_open
            line.breaker = line.breaker.begun(began)
            asking.heard = 0
            try:
                response = await line.provider.ask(replace(asking.request, max_tokens=most), asking.hear)
            except ModelTimeout as e:
                line.breaker = line.breaker.timed_out(self._clock(), trial=trial)
                self._count_failed(model, e)
                if line.breaker.refuses(self._clock()):
                    raise self._unavailable(line) from e
                raise
            except ProviderError as e:
                line.breaker = line.breaker.failed(trial=trial)
                self._count_failed(model, e)
                raise
            except BaseException:  # cancelled, or out of time: then the breaker must not wait for this trial
                line.breaker = line.breaker.abandoned(trial=trial)
                self._count(model, TokenUsage(asking.size, -(-asking.heard // CHARS_PER_TOKEN)))
                raise
            line.breaker = line.breaker.succeeded(trial=trial)
            return self._received(response, model, self._clock() - began, asking)

    def _received(self, response: ModelResponse, asked: str, took_s: float, asking: _Asking) -> ModelResponse:
        """Count an answer, tell of it, and give it with what it cost."""
        usd = cost(asked, response.usage, self._prices)
        if usd is None:
            usd = cost(response.model, response.usage, self._prices)
        self._meter.add(response.usage, usd)
        data: dict[str, object] = {"model": response.model, "usage": response.usage, "stop_reason": response.stop}
        data |= {"raw_stop": response.raw_stop, "latency_ms": round(took_s * 1000), "retries": asking.tries - 1}
        self._on_event("model_response", data if usd is None else {**data, "usd": usd})
        return replace(response, usd=usd, latency_s=response.latency_s or took_s)

    def _count_failed(self, model: str, error: ProviderError) -> None:
        """A failed try costs what its provider says that it used."""
        if error.usage.total:
            self._count(model, error.usage)

    def _count(self, model: str, usage: TokenUsage) -> None:
        self._meter.add(usage, cost(model, usage, self._prices))

    def _unavailable(self, line: _Line) -> ModelUnavailable:
        rest_s = line.breaker.rest_s(self._clock())
        again = f"in {rest_s:.0f} s" if rest_s else "when the question under way to it is answered"
        return ModelUnavailable(
            f"`{line.provider.model}` timed out {line.breaker.timeouts} times in a row; it is asked again {again}",
            "try later, name another model, or raise `timeout_s` in [provider] of config.toml",
        )

    def _tell_request(self, model: str, asking: _Asking, max_tokens: int) -> None:
        asking.tries += 1
        request = asking.request
        counts = {"messages": len(request.messages), "max_tokens": max_tokens, "tools": len(request.tools)}
        self._on_event("model_request", {"model": model, **counts})

    def _tell_retry(self, asking: _Asking, model: str, error: ProviderError, wait_s: float) -> None:
        """A further try follows: what was streamed of the one that failed is void."""
        message = shortened(error.message, _SHOWN)
        asking.restart(message)
        data = {"model": model, "error": error.word, "message": message, "retry": asking.tries, "wait_s": wait_s}
        self._on_event("model_retry", data)

    def _want_price(self, model: str) -> None:
        if price_of(model, self._prices) is None:
            raise ConfigError(
                "config_refused",
                f"a budget in US dollars is given, and the price of `{model}` is not known",
                f'add [prices."{model}"] to config.toml, with what a million tokens cost in US dollars: `input`,'
                " `output`, `cache_write`, `cache_read`",
            )
