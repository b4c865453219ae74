"""Answers of chat completions, as OpenAIProvider reads them: the real SDK against a server on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chat_server import KEY, Chat, call, calls, reply, request_fault, says
from support.model_wire import Reply

from regreen.providers import errors
from regreen.providers import openai_wire as wire
from regreen.providers.conversation import check
from regreen.providers.http_faults import Asked
from regreen.providers.messages import (
    CallBegun,
    Delta,
    Message,
    ModelRequest,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    ToolOutput,
    said,
)
from regreen.providers.openai_answer import Answer

READ = ToolDefinition("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
WITH_TOOLS = ModelRequest("", (said("user", "read a.py"),), (READ,))


@pytest.fixture(scope="module")
def chat() -> Iterator[Chat]:
    with Chat() as made:
        yield made


def test_text_comes_in_pieces_and_whole_with_usage_model_and_stop(chat: Chat) -> None:
    seen: list[Delta] = []
    answer = chat.ask(says("Hel", "lo"), on_delta=seen.append)
    assert answer.message == said("assistant", "Hello")
    assert seen == [TextDelta("Hel"), TextDelta("lo")]
    assert (answer.stop, answer.raw_stop, answer.model, answer.provider) == ("end_turn", "stop", "m-1", "openai")
    assert answer.usage == TokenUsage(input=40, output=7, cache_read=60)
    assert answer.latency_s > 0
    assert chat.server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert chat.server.seen[0].body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "hello"}],
        "max_tokens": 4096,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_parallel_calls_are_told_apart_by_their_index(chat: Chat) -> None:
    seen: list[Delta] = []
    one, two = (call("read", {"path": p}, f"call_{p}", i, pieces=3) for i, p in enumerate("ab"))
    mixed = [piece for pair in zip(one, two, strict=True) for piece in pair]
    answer = chat.ask(calls(mixed), request=WITH_TOOLS, on_delta=seen.append)
    assert answer.stop == "tool_use"
    assert answer.message.calls == tuple(
        ToolCall(f"call_{p}", "read", {"path": p}, json.dumps({"path": p})) for p in "ab"
    )
    assert seen == [CallBegun("call_a", "read"), CallBegun("call_b", "read")]


def test_text_before_a_call_and_a_whole_call_in_one_piece_are_kept(chat: Chat) -> None:
    whole = {"index": 0, "id": "x", "function": {"name": "read", "arguments": '{"path":"a"}'}}
    answer = chat.ask(reply({"content": "I read."}, {"tool_calls": [whole]}, finish="stop"), request=WITH_TOOLS)
    assert answer.stop == "tool_use" and answer.raw_stop == "stop"
    assert answer.message.blocks == (Text("I read."), ToolCall("x", "read", {"path": "a"}, '{"path":"a"}'))


@pytest.mark.parametrize("index", [0, None])
def test_calls_without_ids_and_with_one_index_for_all_get_ids_of_their_own(chat: Chat, index: int | None) -> None:
    whole = [
        {"function": {"name": "read", "arguments": {"path": path}}, **({} if index is None else {"index": index})}
        for path in ("a", "b")
    ]
    history = ModelRequest("", (said("user", "go"),), (READ,))
    answer = chat.ask(reply({"tool_calls": whole}), request=history)
    assert [c.arguments for c in answer.message.calls] == [{"path": "a"}, {"path": "b"}]
    ids = {c.id for c in answer.message.calls}
    assert len(ids) == 2 and all(len(i) == 9 and i.isalnum() for i in ids)


def test_an_id_that_the_conversation_has_already_is_replaced(chat: Chat) -> None:
    earlier = (
        said("user", "go"),
        Message("assistant", (ToolCall("call_0", "read", {}, "{}"),)),
        Message("user", (ToolOutput("call_0", "x"),)),
    )
    twice = calls(call("read", {}, "call_0", 0), call("read", {}, "call_0", 1), call("read", {}, "New", 2))
    answer = chat.ask(twice, request=ModelRequest("", earlier, (READ,)))
    ids = [c.id for c in answer.message.calls]
    assert len({*ids, "call_0"}) == 4 and ids[2] == "New"
    outputs = Message("user", tuple(ToolOutput(i, "y") for i in ids))
    assert check((*earlier, answer.message, outputs)) == ""


def test_a_name_that_comes_again_with_each_piece_begins_no_new_call(chat: Chat) -> None:
    pieces = [{"index": 0, "id": "c", "function": {"name": "read", "arguments": a}} for a in ('{"path"', ': "a"}')]
    answer = chat.ask(reply({"tool_calls": pieces[:1]}, {"tool_calls": pieces[1:]}, finish="tool_calls"))
    assert answer.message.calls == (ToolCall("c", "read", {"path": "a"}, '{"path": "a"}'),)


@pytest.mark.parametrize("sent", [None, "", "null", "{}", " \n"])
def test_no_arguments_are_an_empty_object(chat: Chat, sent: str | None) -> None:
    piece = {"index": 0, "id": "c", "function": {"name": "read", "arguments": sent}}
    (made,) = chat.ask(reply({"tool_calls": [piece]}, finish="tool_calls")).message.calls
    assert (made.arguments, made.fault) == ({}, "")


@pytest.mark.parametrize("sent", ['{"path": "a" "b"}', "[1]", '"a"', '{"n": NaN}', "[" * 60_000])
def test_arguments_that_cannot_be_read_are_a_fault_and_go_back_as_json(chat: Chat, sent: str) -> None:
    (made,) = chat.ask(calls(call("read", sent, "c"))).message.calls
    assert made.raw == sent and made.arguments == {} and "was not run" in made.fault
    history = (said("user", "go"), Message("assistant", (made,)), Message("user", (ToolOutput("c", made.fault, True),)))
    assert request_fault(wire.body(ModelRequest("", history), "m", wire.Dialect())) == ""


def test_a_call_that_the_token_limit_cut_off_is_truncated(chat: Chat) -> None:
    answer = chat.ask(calls(call("write", '{"text": "abc', "c"), finish="length"), request=WITH_TOOLS)
    assert answer.stop == "truncated" and answer.message.calls[0].fault


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_told_and_kept_but_not_sent_back(chat: Chat, field: str) -> None:
    seen: list[Delta] = []
    answer = chat.ask(reply({field: "hm"}, {field: "m"}, {"content": "yes"}), on_delta=seen.append)
    assert answer.message.blocks == (Thinking("hmm"), Text("yes"))
    assert seen == [ThinkingDelta("hm"), ThinkingDelta("m"), TextDelta("yes")]
    assert wire.forms(answer.message) == [{"role": "assistant", "content": "yes"}]


def test_content_in_parts_is_read(chat: Chat) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]
    assert chat.ask(reply({"content": parts})).message.blocks == (Thinking("hm"), Text("yes"))


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("length", "truncated"), ("content_filter", "refusal"), ("stop", "end_turn"), ("insufficient_funds", "unknown")],
)
def test_why_a_model_stopped_is_told(chat: Chat, finish: str, stop: str) -> None:
    answer = chat.ask(says("a", finish=finish))
    assert (answer.stop, answer.raw_stop, answer.message.text) == (stop, finish, "a")


def test_a_refusal_is_a_refusal_with_its_text(chat: Chat) -> None:
    answer = chat.ask(reply({"refusal": "I can"}, {"refusal": "not."}))
    assert (answer.stop, answer.message.text) == ("refusal", "I cannot.")


def test_an_answer_that_says_it_calls_tools_but_calls_none_is_bad(chat: Chat) -> None:
    with pytest.raises(errors.BadReply, match="no tool call") as caught:
        chat.ask(says("I will read it.", finish="tool_calls"))
    assert caught.value.usage == TokenUsage(40, 7, 60)


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "many"}])
def test_usage_that_is_not_told_is_estimated(chat: Chat, usage: Any) -> None:
    answer = chat.ask(says("x" * 40, usage=usage), request=ModelRequest("", (said("user", "y" * 400),)))
    assert answer.usage == TokenUsage(input=100, output=10)


def test_usage_in_the_words_of_deepseek_is_read(chat: Chat) -> None:
    told = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 8}
    assert chat.ask(says("a", usage=told)).usage == TokenUsage(2, 2, 8)


def test_a_server_that_does_not_stream_is_understood(chat: Chat) -> None:
    message = {"role": "assistant", "content": "hi", "tool_calls": None}
    whole = {"model": "m-2", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    answer = chat.ask(Reply(body=whole))
    assert (answer.message.text, answer.stop, answer.model) == ("hi", "end_turn", "m-2")


WORDS = st.sampled_from(["", "a", "read", '{"path": "a"}', "{", "null", "stop", "length", "tool_calls"])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)


def maybe(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object of these fields, each of which may be missing, or something else; or something else altogether."""
    return st.fixed_dictionaries({}, optional={name: value | ANY for name, value in fields.items()}) | ANY


PIECE = maybe(index=st.integers(0, 2), id=WORDS, function=maybe(name=WORDS, arguments=WORDS))
DELTA = maybe(content=WORDS, reasoning=WORDS, refusal=WORDS, tool_calls=st.lists(PIECE, max_size=3))
CHUNK = maybe(choices=st.tuples(maybe(delta=DELTA, finish_reason=WORDS)).map(list), usage=maybe(prompt_tokens=ANY))


@settings(max_examples=60)
@given(st.lists(CHUNK.filter(lambda made: isinstance(made, dict)), max_size=4))
def test_whatever_comes_in_an_answer_its_calls_have_ids_of_their_own(chunks: list[dict[str, object]]) -> None:
    ids = iter(range(100))
    answer = Answer(Asked("openai", "m"), {"a"}, lambda: f"made{next(ids)}")
    streamed = "".join(d.text for made in chunks for d in answer.take(made) if isinstance(d, TextDelta))
    message = answer.message()
    assert message.text == streamed or answer.refused
    called = [c.id for c in message.calls]
    assert len({*called, "a"}) == len(called) + 1 and all(c.name for c in message.calls)
    usage = answer.usage(5, message)
    assert usage.input + usage.cache_read > 0 and usage.output >= 0
