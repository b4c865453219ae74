"""SamplingProvider: a client's model, asked through a function that is given."""

from __future__ import annotations

import asyncio

import pytest

from regreen.errors import Refused
from regreen.providers.errors import ModelTimeout, ProviderError, RequestRefused, ServerFault
from regreen.providers.messages import (
    Delta,
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    TextDelta,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolOutput,
    said,
)
from regreen.providers.sampling import SamplingAnswer, SamplingProvider, SamplingQuestion

REQUEST = ModelRequest("Be short.", (said("user", "hello"),), max_tokens=9)


class Client:
    """A client that gives one answer, or fails, and remembers what it was asked."""

    def __init__(self, answer: SamplingAnswer | Exception) -> None:
        self.answer = answer
        self.questions: list[SamplingQuestion] = []

    async def __call__(self, question: SamplingQuestion) -> SamplingAnswer:
        self.questions.append(question)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def ask(client: Client, request: ModelRequest = REQUEST, seen: list[Delta] | None = None) -> ModelResponse:
    return asyncio.run(SamplingProvider(client).ask(request, seen.append if seen is not None else None))


def test_a_question_in_words_is_answered_in_words() -> None:
    client, seen = Client(SamplingAnswer("hi there", "endTurn", "big-1")), list[Delta]()
    answer = ask(client, seen=seen)
    assert client.questions == [SamplingQuestion("Be short.", (said("user", "hello"),), 9)]
    assert (answer.message, answer.stop, answer.raw_stop) == (said("assistant", "hi there"), "end_turn", "endTurn")
    assert (answer.model, answer.provider) == ("big-1", "sampling")
    assert seen == [TextDelta("hi there")]


@pytest.mark.parametrize(
    ("word", "stop"),
    [("endTurn", "end_turn"), ("stopSequence", "end_turn"), ("maxTokens", "truncated"), ("", "end_turn"),
     ("toolUse", "unknown"), ("tired", "unknown")],
)  # fmt: skip
def test_the_clients_words_for_the_end_are_known(word: str, stop: str) -> None:
    answer = ask(Client(SamplingAnswer("a", word, "m")))
    assert (answer.stop, answer.raw_stop) == (stop, word)


def test_usage_is_estimated_and_never_nothing() -> None:
    usage = ask(Client(SamplingAnswer("a" * 40, "endTurn", "m"))).usage
    assert usage.input > 0 and usage.output == 10


def test_thinking_of_another_model_is_not_told_to_the_client() -> None:
    client = Client(SamplingAnswer("a", "endTurn", "m"))
    answered = Message("assistant", (Thinking("hm", "sig"), Text("yes")))
    ask(client, ModelRequest("", (said("user", "a"), answered, said("user", "b"))))
    assert client.questions[0].messages == (said("user", "a"), said("assistant", "yes"), said("user", "b"))


READ = ToolDefinition("read", "Read a file.", {"type": "object"})
WITH_TOOLS = [
    ModelRequest("", (said("user", "a"),), (READ,)),
    ModelRequest("", (said("user", "a"), Message("assistant", (ToolCall("c", "read"),)),
                      Message("user", (ToolOutput("c", "x"),)))),
]  # fmt: skip


@pytest.mark.parametrize("request_", WITH_TOOLS)
def test_a_question_with_tools_is_refused_before_the_client_is_asked(request_: ModelRequest) -> None:
    client = Client(SamplingAnswer("a", "endTurn", "m"))
    with pytest.raises(RequestRefused) as caught:
        ask(client, request_)
    assert caught.value.hint and client.questions == []


@pytest.mark.parametrize("failure", [ServerFault("the client's model failed"), Refused("denied", "the user said no")])
def test_what_the_client_fails_with_comes_through_as_it_is(failure: Exception) -> None:
    with pytest.raises((ProviderError, Refused)) as caught:
        ask(Client(failure))
    assert caught.value is failure


def test_a_client_that_never_answers_is_a_timeout_and_its_question_is_taken_back() -> None:
    taken_back: list[bool] = []

    async def never(question: SamplingQuestion) -> SamplingAnswer:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            taken_back.append(True)
            raise
        raise AssertionError

    with pytest.raises(ModelTimeout):
        asyncio.run(SamplingProvider(never, timeout_s=0.01).ask(REQUEST))
    assert taken_back == [True]
