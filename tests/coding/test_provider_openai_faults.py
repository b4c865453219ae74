"""What goes wrong with a server of chat completions, as a typed error that says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from support.chat_server import DONE, HELLO, KEY, Chat, chunk, error, says
from support.model_wire import Cut, Fault, Reply, Stall, Step

from regreen.providers import errors
from regreen.providers.messages import Delta, TokenUsage


@pytest.fixture(scope="module")
def chat() -> Iterator[Chat]:
    with Chat() as made:
        yield made


REFUSALS: list[tuple[Fault, type[errors.ProviderError], str]] = [
    (Fault(429, error("Rate limit reached", code="rate_limit_exceeded"), {"retry-after": "7"}), errors.RateLimited, ""),
    (Fault(429, error("You exceeded your current quota", code="insufficient_quota")), errors.QuotaSpent, "credit"),
    (Fault(402, error("Insufficient Balance")), errors.QuotaSpent, "credit"),
    (Fault(401, error(f"Incorrect API key provided: {KEY}")), errors.Unauthorized, "key"),
    (Fault(403, error("Country not supported")), errors.Unauthorized, ""),
    (Fault(503, error("server busy, please try again")), errors.Overloaded, "fallback_models"),
    (Fault(529, "overloaded"), errors.Overloaded, ""),
    (Fault(500, error("boom")), errors.ServerFault, ""),
    (Fault(502, "<html><title>Bad gateway</title></html>"), errors.ServerFault, ""),
    (Fault(404, error('model "m" not found, try pulling it first')), errors.ModelNotFound, "ollama pull m"),
    (Fault(400, error("The model `m` does not exist", code="model_not_found")), errors.ModelNotFound, "ollama pull m"),
    (Fault(400, error("m is not a valid model ID", code=400)), errors.ModelNotFound, ""),
    (Fault(404, "404 page not found"), errors.ModelNotFound, "/v1"),
    (Fault(400, error("registry/gemma does not support tools")), errors.RequestRefused, "call tools"),
    (Fault(400, error('"auto" tool choice requires --enable-auto-tool-choice')), errors.RequestRefused, "call tools"),
    (Fault(400, {"object": "error", "message": "no"}), errors.RequestRefused, ""),
    (Fault(418, ""), errors.RequestRefused, ""),
]


@pytest.mark.parametrize(("fault", "kind", "hint"), REFUSALS, ids=[f"{f.status}-{k.word}" for f, k, _ in REFUSALS])
def test_a_refusal_is_a_typed_error_that_says_what_to_do(
    chat: Chat, fault: Fault, kind: type[errors.ProviderError], hint: str
) -> None:
    with pytest.raises(errors.ProviderError) as caught:
        chat.ask(fault)
    assert type(caught.value) is kind
    assert hint in caught.value.hint and caught.value.hint
    assert "openai (m)" in caught.value.message
    assert KEY not in caught.value.message
    assert caught.value.retry_after_s == (7.0 if "retry-after" in fault.headers else None)


TOO_LONG = [
    Fault(400, error("too long", code="context_length_exceeded")),
    Fault(400, error("This model's maximum context length is 4096 tokens. However, you requested 9000 tokens.")),
    Fault(400, {"object": "error", "message": "The decoder prompt (length 40000) is longer than the maximum model "
                "length of 32768."}),
    Fault(400, error("request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
                     type="exceed_context_size_error")),
    Fault(500, error("Context size has been exceeded.", type="server_error")),
    Fault(400, {"error": "Trying to keep the first 5000 tokens when context the overflows."}),
    Fault(400, error("prompt too long; exceeded max context length by 12 tokens")),
    Fault(400, error("input length exceeds the context length")),
    Fault(400, error("Prompt contains 40000 tokens, too large for model with 32768 maximum context length")),
    Fault(422, error("Input length 131393 exceeds the maximum allowed input length of 131040 tokens.")),
    Fault(400, error("This model's maximum prompt length is 131072 but the request contains 537812 tokens.")),
    Fault(400, error("The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).")),
    Fault(413, error("Prompt is too long")),
]  # fmt: skip


@pytest.mark.parametrize("fault", TOO_LONG, ids=range(len(TOO_LONG)))
def test_a_prompt_that_is_too_long_is_known_in_the_words_of_many_servers(chat: Chat, fault: Fault) -> None:
    with pytest.raises(errors.ContextOverflow):
        chat.ask(fault)


def test_a_limit_of_tokens_in_a_minute_is_no_overflow(chat: Chat) -> None:
    with pytest.raises(errors.RateLimited):
        chat.ask(Fault(429, error("Request too large on tokens per min (TPM): reduce the length of the messages")))


def test_a_long_body_is_shown_short(chat: Chat) -> None:
    with pytest.raises(errors.ServerFault) as caught:
        chat.ask(Fault(500, error("x" * 5000)))
    assert len(caught.value.message) < 450


@pytest.mark.parametrize(
    ("said_in_stream", "kind"),
    [
        ({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, errors.RateLimited),
        ({"error": {"message": "busy", "type": "overloaded_error"}}, errors.Overloaded),
        ({"error": {"message": "provider failed", "code": 502}}, errors.ServerFault),
        ({"error": "boom"}, errors.ServerFault),
        ({"error": {"message": "Context size has been exceeded.", "code": 500}}, errors.ContextOverflow),
        ({"object": "error", "message": "bad", "code": 400}, errors.RequestRefused),
        ({"choices": [{"delta": {}, "finish_reason": "error", "error": {"code": 429}}]}, errors.RateLimited),
    ],
)
def test_an_error_in_the_middle_of_a_stream_is_typed(chat: Chat, said_in_stream: Any, kind: type[Exception]) -> None:
    used = chunk(usage={"prompt_tokens": 5, "completion_tokens": 1})
    with pytest.raises(errors.ProviderError) as caught:
        chat.ask(Reply([chunk({"content": "a"}), used, ("", said_in_stream), DONE]))
    assert type(caught.value) is kind and caught.value.usage == TokenUsage(5, 1)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("after", [0, 2])
def test_a_stream_without_an_end_is_a_lost_connection(chat: Chat, after: int, clean: bool) -> None:
    with pytest.raises(errors.ConnectionLost):
        chat.ask(Cut(says("Hel", "lo"), after, clean))


def test_a_connection_that_is_cut_before_the_answer_is_lost(chat: Chat) -> None:
    with pytest.raises(errors.ConnectionLost):
        chat.ask(Cut(says("a"), -1))


def test_an_end_of_the_stream_without_a_reason_is_a_lost_connection(chat: Chat) -> None:
    with pytest.raises(errors.ConnectionLost):
        chat.ask(Reply([chunk({"content": "a"}), DONE]))


def test_a_cut_behind_the_models_last_word_takes_nothing_from_the_answer(chat: Chat) -> None:
    answer = chat.ask(Cut(says("whole"), 3))
    assert (answer.message.text, answer.stop) == ("whole", "end_turn") and answer.usage.input > 0


@pytest.mark.parametrize("data", ["{not json", "[1, 2]", '"text"', "null", "[" * 99_999])
def test_pieces_that_break_the_format_are_no_crash(chat: Chat, data: str) -> None:
    with pytest.raises((errors.BadReply, errors.ConnectionLost)):
        chat.ask(Reply([chunk({"content": "a"}), ("", data), DONE]))


@pytest.mark.parametrize("step", [
    Reply([], headers={"content-type": "text/html"}),
    Reply(body={"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
])  # fmt: skip
def test_an_answer_that_is_none_points_to_the_address(chat: Chat, step: Step) -> None:
    with pytest.raises(errors.ModelNotFound) as caught:
        chat.ask(step)
    assert "/v1" in caught.value.hint


@pytest.mark.parametrize(
    ("after", "timeout_s", "told"), [(-1, 0.1, "did not begin"), (0, 0.1, "did not begin"), (2, 0.5, "fell silent")]
)
def test_silence_is_a_timeout_and_ends_the_connection(chat: Chat, after: int, timeout_s: float, told: str) -> None:
    with pytest.raises(errors.ModelTimeout, match=told):
        chat.ask(Stall(says("a", "b"), after), provider=chat.make(timeout_s=timeout_s))
    assert chat.server.seen[0].gone.wait(5)


def test_silence_behind_the_models_last_word_takes_nothing_from_the_answer(chat: Chat) -> None:
    assert chat.ask(Stall(says("whole"), 3), provider=chat.make(timeout_s=0.5)).message.text == "whole"


@pytest.mark.parametrize("after", [-1, 2])
def test_cancelling_the_task_ends_the_connection(chat: Chat, after: int) -> None:
    stall = Stall(says("a", "b"), after)
    chat.server.script(stall)

    async def cancelled() -> None:
        task = asyncio.create_task(chat.provider.ask(HELLO))
        await asyncio.to_thread(stall.reached.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    chat.runner.run(cancelled())
    assert chat.server.seen[0].gone.wait(5)


def test_what_listens_may_fail_and_its_failure_is_not_ours(chat: Chat) -> None:
    def fails(delta: Delta) -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        chat.ask(says("a"), on_delta=fails)


def test_a_server_of_this_machine_that_does_not_run_is_to_be_started(chat: Chat) -> None:
    with pytest.raises(errors.ConnectionLost) as caught:
        chat.runner.run(chat.make(base_url="http://127.0.0.1:1/v1").ask(HELLO))
    assert "ollama serve" in caught.value.hint and "127.0.0.1:1" in caught.value.message


def test_no_key_masks_no_word(chat: Chat) -> None:
    with pytest.raises(errors.ServerFault, match="none of the slots"):
        chat.ask(Fault(500, error("none of the slots is free")), provider=chat.make(api_key=""))


def test_a_wrong_key_and_a_wrong_path_are_told(chat: Chat) -> None:
    with pytest.raises(errors.Unauthorized):
        chat.runner.run(chat.make(api_key="wrong").ask(HELLO))
    with pytest.raises(errors.ModelNotFound) as caught:
        chat.runner.run(chat.make(base_url=chat.server.url).ask(HELLO))
    assert "/v1" in caught.value.hint
