from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_clients import ASKED, FINE, Scene, scripted

from regreen.providers.breaker import REST_S
from regreen.providers.client import ModelClient
from regreen.providers.conversation import estimate_tokens
from regreen.providers.errors import (
    BadReply,
    ContextOverflow,
    EndlessReply,
    ModelUnavailable,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerFault,
    Unauthorized,
)
from regreen.providers.messages import Delta, ModelRequest, ModelResponse, Restarted, TextDelta, TokenUsage
from regreen.providers.meter import Meter
from regreen.providers.retrying import BASE_S, CAP_S, FACTOR, MAX_RETRIES, delay_s
from regreen.providers.scripted import ScriptedProvider

SIZE = estimate_tokens(ASKED)
TIMEOUT: Mapping[str, object] = {"error": "timeout"}
OVERLOADED: Mapping[str, object] = {"error": "overloaded"}


def _ask(scene: Scene) -> str:
    return asyncio.run(scene.client.ask(ASKED)).message.text


def test_an_answer_is_given_counted_and_told_of() -> None:
    scene = scripted([{"text": "fine", "usage": {"input": 10, "output": 2}}])
    answer = asyncio.run(scene.client.ask(ASKED))
    assert (answer.message.text, answer.model, answer.usd) == ("fine", "model-1", None)
    assert (scene.meter.usage, scene.meter.calls, scene.meter.unpriced) == (TokenUsage(10, 2), 1, True)
    assert (scene.client.name, scene.client.model, scene.client.meter) == ("scripted", "model-1", scene.meter)
    assert scene.events == [
        ("model_request", {"model": "model-1", "messages": 1, "max_tokens": 1000, "tools": 0}),
        (
            "model_response",
            {
                "model": "model-1",
                "usage": TokenUsage(10, 2),
                "stop_reason": "end_turn",
                "raw_stop": "end_turn",
                "latency_ms": 0,
                "retries": 0,
            },
        ),
    ]


@pytest.mark.parametrize(
    "word", ["overloaded", "rate_limited", "timeout", "connection_lost", "server_fault", "bad_reply"]
)
def test_a_fault_that_passes_is_asked_over_with_the_same_request(word: str) -> None:
    scene = scripted([{"error": word}, {"error": word}, FINE])
    assert _ask(scene) == "fine"
    assert scene.providers[0].requests == [ASKED] * 3  # max_tokens too is what it was
    assert scene.clock.slept == [1.0, 2.0]


@pytest.mark.parametrize(
    "word", ["unauthorized", "quota_spent", "model_not_found", "context_overflow", "request_refused"]
)
def test_a_fault_that_stays_is_raised_at_once(word: str) -> None:
    scene = scripted([{"error": word}, FINE], [FINE])
    with pytest.raises(ProviderError, match=word):
        _ask(scene)
    assert scene.clock.slept == []
    assert scene.told("model_retry") == []
    assert scene.providers[1].requests == []


def test_at_most_three_retries_then_the_error_says_how_often_it_was_asked() -> None:
    scene = scripted([{"error": "server_fault"}] * 9)
    with pytest.raises(ServerFault, match=r"asked 4 times"):
        _ask(scene)
    assert len(scene.providers[0].requests) == 1 + MAX_RETRIES == 4
    assert scene.clock.slept == [1.0, 2.0, 4.0]


def test_without_a_clock_of_a_test_it_waits_as_drawn() -> None:
    client = ModelClient([ScriptedProvider([OVERLOADED, FINE])], Meter(), jitter=lambda: 0.0)
    assert asyncio.run(client.ask(ASKED)).message.text == "fine"


def test_a_retry_is_told_with_its_reason_and_its_wait() -> None:
    scene = scripted([{"error": "rate_limited", "retry_after_s": 9}, FINE])
    _ask(scene)
    wanted = {"model": "model-1", "error": "model_rate_limited", "message": "the script says rate_limited"}
    assert scene.told("model_retry") == [{**wanted, "retry": 1, "wait_s": 9.0}]
    assert scene.told("model_response")[0]["retries"] == 1
    assert scene.clock.slept == [9.0]


def test_a_wait_that_is_too_long_is_not_waited_and_the_error_says_so() -> None:
    scene = scripted([{"error": "rate_limited", "retry_after_s": 61}, FINE])
    with pytest.raises(RateLimited, match=r"wants a wait of 61 s, and at most 60 s are waited") as caught:
        _ask(scene)
    assert caught.value.retry_after_s == 61
    assert scene.clock.slept == []


@given(retry=st.integers(0, 6), jitter=st.floats(0, 1), after=st.none() | st.floats(0, 200, allow_nan=False))
def test_the_wait_is_a_random_part_of_a_span_that_doubles_up_to_a_cap(
    retry: int, jitter: float, after: float | None
) -> None:
    wait = delay_s(retry, Overloaded("x", retry_after_s=after), jitter)
    if retry >= MAX_RETRIES or (after or 0) > 60:
        assert wait is None
    else:
        assert wait == max(jitter * min(CAP_S, BASE_S * FACTOR**retry), after or 0)
    assert delay_s(retry, ContextOverflow("x", retry_after_s=after), jitter) is None


def test_an_overloaded_model_is_replaced_at_once_and_asked_first_the_next_time() -> None:
    scene = scripted([OVERLOADED, {"text": "main again"}], [{"text": "second"}])
    assert _ask(scene) == "second"
    assert _ask(scene) == "main again"
    assert scene.clock.slept == []
    assert [d["model"] for d in scene.told("model_response")] == ["model-2", "model-1"]
    assert [(d["model"], d["wait_s"]) for d in scene.told("model_retry")] == [("model-1", 0.0)]


def test_only_overload_and_an_open_breaker_turn_to_another_model() -> None:
    scene = scripted([{"error": "rate_limited"}, {"error": "server_fault"}, FINE], [{"text": "never"}])
    assert _ask(scene) == "fine"
    assert scene.providers[1].requests == []


def test_all_models_are_asked_once_before_there_is_a_pause() -> None:
    scene = scripted([OVERLOADED, FINE], [OVERLOADED], [{"error": "rate_limited"}])
    assert _ask(scene) == "fine"
    assert scene.clock.slept == [1.0]
    assert [(d["model"], d["retry"], d["wait_s"]) for d in scene.told("model_retry")] == [
        ("model-1", 1, 0.0),
        ("model-2", 2, 0.0),
        ("model-3", 3, 1.0),
    ]


def test_a_fallback_with_a_fault_that_stays_is_left_out_and_named_in_the_end() -> None:
    scene = scripted([OVERLOADED] * 4, [{"error": "unauthorized"}, {"text": "never"}])
    with pytest.raises(Overloaded, match=r"\(asked 4 times; `model-2`: the script says unauthorized\)"):
        _ask(scene)
    assert len(scene.providers[0].requests) == 4
    assert len(scene.providers[1].requests) == 1
    assert scene.told("model_retry")[1]["error"] == Unauthorized.word


def test_the_error_in_the_end_is_the_first_models_and_tells_of_the_others() -> None:
    scene = scripted([OVERLOADED] * 4, [{"error": "server_fault"}] * 4)
    with pytest.raises(Overloaded, match=r"\(asked 4 times; `model-2`: the script says server_fault\)"):
        _ask(scene)


def test_three_timeouts_in_a_row_make_a_model_unavailable_at_once_for_a_minute() -> None:
    scene = scripted([*[TIMEOUT] * 3, TIMEOUT, FINE])
    with pytest.raises(ModelUnavailable, match=r"`model-1` timed out 3 times in a row; it is asked again in 60 s"):
        _ask(scene)
    scene.clock.now += 18
    with pytest.raises(ModelUnavailable, match="in 42 s"):
        _ask(scene)
    assert len(scene.providers[0].requests) == 3
    scene.clock.now += 42
    with pytest.raises(ModelUnavailable, match=r"4 times in a row; it is asked again in 60 s"):
        _ask(scene)  # the trial timed out too
    scene.clock.now += REST_S
    assert _ask(scene) == "fine"


def test_timeouts_of_several_questions_count_together_and_an_answer_ends_the_row() -> None:
    scene = scripted([TIMEOUT, TIMEOUT, FINE, TIMEOUT, TIMEOUT, FINE])
    assert [_ask(scene), _ask(scene)] == ["fine", "fine"]


def test_the_fallback_is_asked_while_the_first_model_is_unavailable() -> None:
    scene = scripted([*[TIMEOUT] * 3, FINE], [{"text": "second"}, OVERLOADED, {"text": "second"}])
    assert _ask(scene) == "second"
    scene.clock.slept.clear()
    assert _ask(scene) == "second"  # its overload passes: the pause is worth it
    assert scene.clock.slept == [1.0]
    scene.clock.now += REST_S
    assert _ask(scene) == "fine"


def test_what_was_streamed_of_a_failed_try_is_said_to_be_void_and_only_then() -> None:
    heard: list[Delta] = []
    script = [{"error": "connection_lost", "text": "half"}, {"error": "server_fault"}, {"text": "whole"}]
    scene = scripted(script)
    asyncio.run(scene.client.ask(ASKED, heard.append))
    assert heard == [TextDelta("half"), Restarted("the script says connection_lost"), TextDelta("whole")]


def test_a_long_message_of_a_provider_is_short_in_events() -> None:
    class Wordy(ScriptedProvider):
        async def ask(self, request: ModelRequest, on_delta: object = None) -> object:  # type: ignore[override]
            raise BadReply("blah " * 1000)

    events: list[Mapping[str, object]] = []
    client = ModelClient(
        [Wordy([])], Meter(), on_event=lambda _, data: events.append(data), sleep=lambda _: asyncio.sleep(0)
    )
    with pytest.raises(BadReply):
        asyncio.run(client.ask(ASKED))
    assert all(len(str(data.get("message", ""))) < 300 for data in events)


def test_an_answer_without_an_end_is_not_asked_for_again() -> None:
    class Endless(ScriptedProvider):
        async def ask(self, request: ModelRequest, on_delta: object = None) -> ModelResponse:
            self.requests.append(request)
            raise EndlessReply("it does not end", usage=TokenUsage(7, 9))

    provider = Endless([])
    client = ModelClient([provider], Meter())
    with pytest.raises(EndlessReply):
        asyncio.run(client.ask(ASKED))
    assert len(provider.requests) == 1 and client.meter.usage == TokenUsage(7, 9)


def test_cancelling_ends_a_question_and_a_pause_at_once() -> None:
    async def scene() -> None:
        pausing = asyncio.Event()

        async def sleep(seconds: float) -> None:
            pausing.set()
            await asyncio.Event().wait()

        provider = ScriptedProvider([{"text": "so", "hang": True}, {"error": "server_fault"}, FINE])
        client = ModelClient([provider], Meter(), sleep=sleep)
        heard = asyncio.Event()
        question = asyncio.create_task(client.ask(ASKED, lambda _: heard.set()))
        await asyncio.wait_for(heard.wait(), 10)
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        question = asyncio.create_task(client.ask(ASKED))
        await asyncio.wait_for(pausing.wait(), 10)
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        assert len(provider.requests) == 2
        assert (await client.ask(ASKED)).message.text == "fine"

    asyncio.run(scene())


def test_half_open_lets_one_of_several_tasks_through_and_a_cancelled_trial_the_next() -> None:
    scene = scripted([*[TIMEOUT] * 3, {"text": "so", "hang": True}, FINE])

    async def run() -> None:
        with pytest.raises(ModelUnavailable):
            await scene.client.ask(ASKED)
        scene.clock.now += REST_S
        heard = asyncio.Event()
        trial = asyncio.create_task(scene.client.ask(ASKED, lambda _: heard.set()))
        await asyncio.wait_for(heard.wait(), 10)
        with pytest.raises(ModelUnavailable, match="when the question under way to it is answered"):
            await scene.client.ask(ASKED)
        trial.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trial
        assert (await scene.client.ask(ASKED)).message.text == "fine"

    asyncio.run(run())


def test_usage_that_a_failed_try_tells_is_counted() -> None:
    scene = scripted(
        [{"error": "connection_lost", "usage": {"input": 100, "output": 7}}, FINE | {"usage": {"input": 1}}]
    )
    _ask(scene)
    assert (scene.meter.usage, scene.meter.calls) == (TokenUsage(101, 7), 2)


def test_tokens_are_counted_by_the_first_model_and_all_are_closed() -> None:
    scene = scripted([FINE], [FINE])

    async def run() -> int:
        count = await scene.client.count_tokens(ASKED)
        await scene.client.aclose()
        return count

    assert asyncio.run(run()) == SIZE
    assert all(p.closed for p in scene.providers)


def test_a_count_that_fails_for_now_is_estimated_and_another_fault_is_raised() -> None:
    class Counting(ScriptedProvider):
        fault: ProviderError = ServerFault("down")

        async def count_tokens(self, request: ModelRequest) -> int:
            raise self.fault

    provider = Counting([])
    client = ModelClient([provider], Meter())
    assert asyncio.run(client.count_tokens(ASKED)) == SIZE
    provider.fault = Unauthorized("no key")
    with pytest.raises(Unauthorized):
        asyncio.run(client.count_tokens(ASKED))


_REPLIES = st.sampled_from(
    [
        FINE,
        OVERLOADED,
        TIMEOUT,
        {"error": "server_fault"},
        {"error": "rate_limited", "retry_after_s": 5},
        {"error": "unauthorized"},
        {"error": "overloaded", "retry_after_s": 99},
    ]
)


@settings(max_examples=80)
@given(scripts=st.lists(st.lists(_REPLIES, max_size=12), min_size=1, max_size=3), questions=st.integers(1, 3))
def test_whatever_comes_back_the_number_of_tries_and_the_waits_are_bounded(
    scripts: list[list[Mapping[str, object]]], questions: int
) -> None:
    scene = scripted(*scripts)
    with asyncio.Runner() as runner:
        for _ in range(questions):
            before = [len(p.requests) for p in scene.providers]
            scene.clock.slept.clear()
            try:
                assert runner.run(scene.client.ask(ASKED)).message.text == "fine"
            except ProviderError as e:
                assert e.message
            tries = [len(p.requests) - b for p, b in zip(scene.providers, before, strict=True)]
            assert max(tries) <= 1 + MAX_RETRIES
            assert len(scene.clock.slept) <= MAX_RETRIES
            assert max(scene.clock.slept, default=0) <= 60
    assert all(r == ASKED for p in scene.providers for r in p.requests)
    assert len(scene.told("model_request")) == sum(len(p.requests) for p in scene.providers)
