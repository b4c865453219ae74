from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from regreen.errors import UsageError
from regreen.providers.conversation import check, estimate_tokens
from regreen.providers.errors import ConnectionLost, ContextOverflow, Overloaded, RateLimited, RequestRefused
from regreen.providers.messages import (
    CallBegun,
    Delta,
    Message,
    ModelRequest,
    ModelResponse,
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
from regreen.providers.scripted import ScriptedProvider

HELLO = said("user", "hello")


def _ask(provider: ScriptedProvider, *messages: Message) -> ModelResponse:
    return asyncio.run(provider.ask(ModelRequest("", messages or (HELLO,))))


def test_replies_of_a_file_are_given_line_by_line_and_then_nothing_more(tmp_path: Path) -> None:
    script = tmp_path / "answers.jsonl"
    script.write_text(
        '{"text": "one", "usage": {"input": 5, "output": 2, "cache_read": 7}}\n\n{"text": "two"}\n', "utf-8"
    )
    provider = ScriptedProvider.from_file(script, model="m")
    first = _ask(provider)
    assert (first.message, first.stop, first.raw_stop) == (said("assistant", "one"), "end_turn", "end_turn")
    assert (first.usage, first.model, first.provider) == (TokenUsage(5, 2, 7), "m", "scripted")
    assert _ask(provider).message.text == "two"
    assert provider.left == 0
    with pytest.raises(RequestRefused, match="no further reply"):
        _ask(provider)
    assert [r.messages for r in provider.requests] == [(HELLO,)] * 3


def test_calls_get_ids_that_the_conversation_does_not_have() -> None:
    provider = ScriptedProvider(
        [
            {"calls": [{"name": "a"}, {"name": "b", "id": "call_2", "arguments": {"x": 1}}, {"name": "c"}]},
            {"calls": [{"name": "d"}], "stop": "truncated", "raw_stop": "length"},
        ]
    )
    first = _ask(provider)
    assert first.stop == "tool_use"
    assert [(c.id, c.name) for c in first.message.calls] == [("call_1", "a"), ("call_2", "b"), ("call_3", "c")]
    assert (first.message.calls[1].arguments, first.message.calls[1].raw) == ({"x": 1}, '{"x": 1}')
    outputs = Message("user", tuple(ToolOutput(c.id, "") for c in first.message.calls))
    second = _ask(provider, HELLO, first.message, outputs)
    assert (second.message.calls[0].id, second.stop, second.raw_stop) == ("call_4", "truncated", "length")


def test_arguments_may_be_written_as_a_model_writes_them_readable_or_not() -> None:
    calls = [{"name": "t", "arguments": raw} for raw in ('{"a": "b"}', '{"a": ', "[1]")]
    good, cut, array = _ask(ScriptedProvider([{"calls": calls}])).message.calls
    assert (good.arguments, good.raw, good.fault) == ({"a": "b"}, '{"a": "b"}', "")
    assert (cut.arguments, cut.raw) == ({}, '{"a": ')
    assert "not valid JSON" in cut.fault
    assert "must be one JSON object" in array.fault


def test_an_answer_is_streamed_in_pieces_that_give_it_again() -> None:
    heard: list[Delta] = []
    text, thought = "word " * 30, "hmm " * 20
    provider = ScriptedProvider([{"thinking": thought, "text": text, "calls": [{"name": "t"}]}])
    answer = asyncio.run(provider.ask(ModelRequest("", (HELLO,)), heard.append))
    assert [type(b) for b in answer.message.blocks] == [Thinking, Text, ToolCall]
    assert "".join(d.text for d in heard if isinstance(d, TextDelta)) == text
    assert "".join(d.text for d in heard if isinstance(d, ThinkingDelta)) == thought
    assert heard[-1] == CallBegun("call_1", "t")
    assert len(heard) > 5


def test_an_error_comes_after_what_was_streamed_with_its_wait_and_its_usage() -> None:
    heard: list[Delta] = []
    provider = ScriptedProvider(
        [
            {"error": "connection_lost", "text": "half an ans", "usage": {"output": 3}},
            {"error": "rate_limited", "retry_after_s": 7},
            {"error": "context_overflow"},
        ]
    )
    with pytest.raises(ConnectionLost) as lost:
        asyncio.run(provider.ask(ModelRequest("", (HELLO,)), heard.append))
    assert (heard, lost.value.usage) == ([TextDelta("half an ans")], TokenUsage(output=3))
    with pytest.raises(RateLimited) as limited:
        _ask(provider)
    assert limited.value.retry_after_s == 7
    with pytest.raises(ContextOverflow):
        _ask(provider)


def test_a_reply_that_hangs_is_waited_for_until_it_is_cancelled() -> None:
    async def scene() -> None:
        heard = asyncio.Event()
        provider = ScriptedProvider([{"text": "so", "hang": True}, {"text": "on"}])
        task = asyncio.create_task(provider.ask(ModelRequest("", (HELLO,)), lambda _: heard.set()))
        await asyncio.wait_for(heard.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await provider.ask(ModelRequest("", (HELLO,)))).message.text == "on"

    asyncio.run(scene())


def test_usage_that_the_script_leaves_out_is_estimated() -> None:
    answer = _ask(ScriptedProvider([{"text": "a" * 40}]), said("user", "b" * 100))
    assert answer.usage == TokenUsage(25, 10)
    assert answer.usd is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[1]", "a JSON list, not an object"),
        ("{}", "it says nothing"),
        ('{"thinking": "x"}', "it says nothing"),
        ('{"txt": "x"}', "unknown key 'txt'"),
        ('{"text": 1}', "`text` is not a string"),
        ('{"text": "x", "hang": 1}', "`hang` is not a boolean"),
        ('{"calls": {}}', "`calls` is not a list"),
        ('{"calls": [3]}', "a call needs"),
        ('{"calls": [{"name": ""}]}', "a call needs"),
        ('{"calls": [{"name": "a", "id": 3}]}', "a call needs"),
        ('{"calls": [{"name": "a", "args": {}}]}', "a call needs"),
        ('{"calls": [{"name": "a", "arguments": 3}]}', "`arguments` is neither"),
        ('{"stop": "end"}', "`stop` is 'end', not one of end_turn"),
        ('{"error": "boom"}', "`error` is 'boom', not one of bad_reply"),
        ('{"error": "timeout", "calls": []}', "no `calls`"),
        ('{"error": "timeout", "retry_after_s": -1}', "not below 0"),
        ('{"error": "timeout", "retry_after_s": NaN}', "not below 0"),
        ('{"error": "timeout", "retry_after_s": true}', "`retry_after_s` is not a number"),
        ('{"text": "x", "retry_after_s": 1}', "belongs to an `error`"),
        ('{"text": "x", "usage": 3}', "`usage` is not an object"),
        ('{"text": "x", "usage": {"input": -1}}', "`usage` holds more than"),
        ('{"text": "x", "usage": {"input": true}}', "`usage` holds more than"),
        ('{"text": "x", "usage": {"total": 1}}', "`usage` holds more than"),
    ],
)
def test_a_bad_line_is_refused_with_file_and_line(tmp_path: Path, line: str, says: str) -> None:
    script = tmp_path / "answers.jsonl"
    script.write_text('{"text": "fine"}\n' + line + "\n", "utf-8")
    with pytest.raises(UsageError) as caught:
        ScriptedProvider.from_file(script)
    assert f"{script}:2: " in caught.value.message
    assert says in caught.value.message


def test_a_script_that_cannot_be_read_and_a_bad_reply_in_code_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        ScriptedProvider.from_file(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="reply 2: unknown key"):
        ScriptedProvider([{"text": ""}, {"tekst": ""}])


CALL = ToolCall("c1", "read")
CALLED = Message("assistant", (CALL, ToolCall("c2", "read")))
DONE = Message("user", (ToolOutput("c2", ""), ToolOutput("c1", ""), Text("and then?")))


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ((), "is empty"),
        ((said("assistant", "x"),), "message 1 is of role assistant, not user"),
        ((HELLO, HELLO), "message 2 is of role user, not assistant"),
        ((HELLO, said("assistant", "")), "message 2 (assistant): it holds nothing"),
        ((Message("user", ()),), "it holds nothing"),
        ((HELLO, CALLED), "call `c1` of `read` has no output"),
        ((HELLO, CALLED, HELLO), "message 3 (user): the call `c1` of `read` has no output"),
        ((HELLO, CALLED, Message("user", (ToolOutput("c1", ""),))), "call `c2`"),
        ((HELLO, CALLED, Message("user", (*DONE.blocks[:2], ToolOutput("C1", "")))), "`C1` answers no call"),
        ((HELLO, CALLED, Message("user", (*DONE.blocks[:2], ToolOutput("c1", "")))), "two outputs for the call `c1`"),
        ((HELLO, CALLED, Message("user", (Text("so:"), *DONE.blocks))), "stand first"),
        ((HELLO, Message("assistant", (CALL, CALL))), "`c1` is given to two calls"),
        ((HELLO, CALLED, DONE, CALLED), "`c1` is given to two calls"),
        ((HELLO, Message("assistant", (ToolCall("", "read"),))), "the call of `read` has no id"),
        ((Message("user", (CALL,)),), "a ToolCall does not belong"),
        ((Message("user", (Text("x"), Thinking("x"))),), "a Thinking does not belong"),
        ((HELLO, Message("assistant", (ToolOutput("c1", ""),))), "a ToolOutput does not belong"),
        ((Message("user", (ToolOutput("c1", ""),)),), "answers no call"),
    ],
)
def test_a_conversation_that_breaks_the_rules_is_refused_as_by_a_real_model(
    messages: tuple[Message, ...], says: str
) -> None:
    assert says in check(messages)
    provider = ScriptedProvider([{"text": "never"}])
    with pytest.raises(RequestRefused) as caught:
        asyncio.run(provider.ask(ModelRequest("", messages)))
    assert says in caught.value.message
    assert provider.left == 1


@pytest.mark.parametrize(
    "messages",
    [
        (HELLO,),
        (HELLO, said("assistant", "hi")),  # a provider that paused gets its own words back
        (HELLO, CALLED, DONE),
        (HELLO, CALLED, DONE, Message("assistant", (Thinking("x"), Text("done")))),
    ],
)
def test_a_conversation_that_keeps_the_rules_is_answered(messages: tuple[Message, ...]) -> None:
    assert check(messages) == ""
    assert _ask(ScriptedProvider([{"text": "fine"}]), *messages).message.text == "fine"


def test_a_request_is_estimated_by_all_the_characters_that_a_model_reads() -> None:
    tool = ToolDefinition("t" * 4, "d" * 394, {})
    blocks = (Thinking("t" * 100, "s" * 50, "x" * 50), ToolCall("i" * 10, "n" * 10, {"ignored": "y" * 99}, "r" * 80))
    messages = (
        said("user", "u" * 1000),
        Message("assistant", blocks),
        Message("user", (ToolOutput("i" * 10, "o" * 90),)),
    )
    assert estimate_tokens(ModelRequest("s" * 100, messages, (tool,))) == (100 + 400 + 1000 + 200 + 100 + 100) // 4
    assert estimate_tokens(ModelRequest("", (Message("user", ()),))) == 1
    unsent = Message("assistant", (ToolCall("", "", {"path": "a.py"}),))
    assert estimate_tokens(ModelRequest("", (unsent,))) == 4


def test_an_answer_to_a_request_for_no_token_is_refused() -> None:
    with pytest.raises(RequestRefused, match="max_tokens is below 1"):
        asyncio.run(ScriptedProvider([{"text": "x"}]).ask(ModelRequest("", (HELLO,), max_tokens=0)))


def test_each_word_for_an_error_is_an_error_of_its_own() -> None:
    with pytest.raises(Overloaded) as caught:
        _ask(ScriptedProvider([{"error": "overloaded"}]))
    assert caught.value.as_json()["error"]["kind"] == "model_overloaded"
