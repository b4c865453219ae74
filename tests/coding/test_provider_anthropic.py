"""Asking Claude: the real SDK against a server that speaks, and insists on, the Messages API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.asking import HELLO, PATIENCE_S, READ, asking, failure, streamed
from support.messages_server import (
    MODEL,
    answer,
    call,
    error_body,
    marks,
    messages_server,
    sealed,
    signature,
    text,
    thinking,
    usage,
)
from support.model_wire import Fault, ModelServer, Reply, Stall

from regreen.errors import ConfigError
from regreen.providers import anthropic_wire as wire
from regreen.providers.anthropic import AnthropicProvider
from regreen.providers.errors import BadReply, ModelNotFound, RequestRefused
from regreen.providers.messages import (
    CallBegun,
    Message,
    ModelRequest,
    Provider,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenUsage,
    ToolCall,
    ToolOutput,
    said,
)

KEY = "sk-ant-a-key-of-no-use-at-all-0123456789"


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with messages_server() as server:
        yield server


@pytest.fixture(scope="module")
def asked(server: ModelServer) -> Iterator[tuple[asyncio.Runner, Provider]]:
    def make() -> Provider:
        return AnthropicProvider(model=MODEL, api_key=KEY, base_url=server.url, timeout_s=PATIENCE_S)

    with asking(make) as asked:
        yield asked


@pytest.fixture(scope="module")
def thoughtful(server: ModelServer) -> Iterator[tuple[asyncio.Runner, Provider]]:
    def make() -> Provider:
        return AnthropicProvider(model=MODEL, api_key=KEY, base_url=server.url, timeout_s=PATIENCE_S, effort="high")

    with asking(make) as asked:
        yield asked


Asked = tuple[asyncio.Runner, Provider]


def test_an_answer_of_text_comes_whole_and_with_what_it_used(server: ModelServer, asked: Asked) -> None:
    server.script(answer(text("Hel", "lo."), used=usage(10, 7, read=300, write=40)))
    response, deltas = streamed(*asked)
    assert response.message == said("assistant", "Hello.")
    assert deltas == [TextDelta("Hel"), TextDelta("lo.")]
    assert (response.stop, response.raw_stop, response.model, response.provider) == (
        ("end_turn", "end_turn", MODEL, "anthropic")
    )
    assert response.usage == TokenUsage(10, 7, 300, 40)
    assert response.usd is None
    assert response.latency_s > 0


def test_a_character_that_comes_in_two_halves_is_whole(server: ModelServer, asked: Asked) -> None:
    server.script(answer(text("\ud83d", "\ude00 ", "\ud83d")))
    assert streamed(*asked)[0].message.text == "\U0001f600 \ufffd"


def test_the_question_says_what_was_asked(server: ModelServer, asked: Asked) -> None:
    server.script(answer(text("Yes.")))
    streamed(*asked)
    sent = server.seen[0]
    assert sent.path == "/v1/messages"
    assert KEY in sent.headers.get("authorization", "") + sent.headers.get("x-api-key", "")
    assert sent.body["model"] == MODEL
    assert sent.body["max_tokens"] == 100
    assert sent.body["stream"] is True
    assert sent.body["system"][0]["text"] == "Be brief."
    assert [tool["name"] for tool in sent.body["tools"]] == ["read", "write"]
    assert sent.body["tools"][0]["input_schema"] == READ.schema
    assert "thinking" not in sent.body
    assert "tool_choice" not in sent.body


def test_calls_of_several_tools_come_in_order(server: ModelServer, asked: Asked) -> None:
    calls = call("c1", "read", {"path": "a.py"}), call("c2", "read", {"path": "b.py", "lines": [1, 2.5, None, True]})
    server.script(answer(text("Let me see."), *calls, call("c3", "write"), stop="tool_use"))
    response, deltas = streamed(*asked)
    assert response.stop == "tool_use"
    assert [(c.id, c.name, c.arguments, c.fault) for c in response.message.calls] == [
        ("c1", "read", {"path": "a.py"}, ""),
        ("c2", "read", {"path": "b.py", "lines": [1, 2.5, None, True]}, ""),
        ("c3", "write", {}, ""),
    ]
    assert [d for d in deltas if isinstance(d, CallBegun)] == [
        CallBegun("c1", "read"), CallBegun("c2", "read"), CallBegun("c3", "write"),
    ]  # fmt: skip


def test_arguments_that_come_whole_at_the_start_are_taken(server: ModelServer, asked: Asked) -> None:
    begun = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.py"}}
    server.script(answer((begun, ()), stop="tool_use"))
    assert streamed(*asked)[0].message.calls == (ToolCall("c1", "read", {"path": "a.py"}),)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ('{"path": "a.py"', "not valid JSON"),
        ('{"path": "a "quoted" one"}', "not valid JSON"),
        ('["a.py"]', "an array"),
        ("null", "null"),
        ('{"lines": NaN}', "NaN"),
        ("[" * 60_000, "nested too deeply"),
    ],
)
def test_arguments_that_are_no_object_are_a_fault_told_to_the_model(
    server: ModelServer, asked: Asked, raw: str, says: str
) -> None:
    start, _ = call("c1", "read")
    server.script(answer((start, ({"type": "input_json_delta", "partial_json": raw},)), stop="tool_use"))
    response, _ = streamed(*asked)
    (made,) = response.message.calls
    assert response.stop == "tool_use"
    assert (made.arguments, made.raw) == ({}, raw)
    assert says in made.fault
    assert "not run" in made.fault
    assert len(made.fault) < 500


def test_a_call_that_the_limit_cuts_off_is_a_fault_that_says_so(server: ModelServer, asked: Asked) -> None:
    whole = call("c1", "read", {"path": "a.py"})
    server.script(answer(whole, call("c2", "write", '{"path": "b.py", "te'), stop="max_tokens"))
    response, _ = streamed(*asked)
    first, second = response.message.calls
    assert (response.stop, response.raw_stop) == ("truncated", "max_tokens")
    assert first.fault == ""
    assert "limit of tokens" in second.fault
    assert "smaller calls" in second.fault


def test_thinking_goes_back_as_it_came_signed_or_sealed(server: ModelServer, thoughtful: Asked) -> None:
    blocks = thinking("First, ", "read it."), sealed("secret"), text("I read."), call("c1", "read", {"path": "a.py"})
    server.script(answer(*blocks, stop="tool_use"), answer(text("Done.")))
    first, deltas = streamed(*thoughtful)
    assert [d for d in deltas if isinstance(d, ThinkingDelta)] == [ThinkingDelta("First, "), ThinkingDelta("read it.")]
    assert first.message.text == "I read."
    assert first.message.blocks[:2] == (
        Thinking("First, read it.", signature("First, read it.")), Thinking(sealed=signature("secret")),
    )  # fmt: skip
    outputs = Message("user", (ToolOutput("c1", "x = 1"),))
    streamed(*thoughtful, replace(HELLO, messages=(*HELLO.messages, first.message, outputs)))
    assert [block["type"] for block in server.seen[1].body["messages"][1]["content"]] == [
        "thinking", "redacted_thinking", "text", "tool_use",
    ]  # fmt: skip


def test_thinking_whose_text_is_kept_back_is_sent_with_its_signature(server: ModelServer, thoughtful: Asked) -> None:
    server.script(answer(thinking(), text("Yes.")), answer(text("Done.")))
    first, _ = streamed(*thoughtful)
    streamed(*thoughtful, replace(HELLO, messages=(*HELLO.messages, first.message, said("user", "Go on."))))
    sent = server.seen[1].body["messages"][1]["content"][0]
    assert sent == {"type": "thinking", "thinking": "", "signature": signature("")}


def test_effort_is_told_to_a_model_that_thinks_by_itself(server: ModelServer, thoughtful: Asked) -> None:
    server.script(answer(text("Yes.")))
    streamed(*thoughtful)
    assert server.seen[0].body["thinking"] == {"type": "adaptive"}
    assert server.seen[0].body["output_config"] == {"effort": "high"}


def test_a_tool_can_be_demanded_or_forbidden_and_stays_listed(server: ModelServer, asked: Asked) -> None:
    server.script(answer(call("c1", "read", {}), stop="tool_use"), answer(text("Words.")))
    streamed(*asked, replace(HELLO, tool_choice="required"))
    streamed(*asked, replace(HELLO, tool_choice="none"))
    assert [sent.body["tool_choice"] for sent in server.seen] == [{"type": "any"}, {"type": "none"}]
    assert server.seen[0].body["tools"] == server.seen[1].body["tools"]


@pytest.mark.parametrize(
    ("raw", "stop"),
    [
        ("stop_sequence", "end_turn"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("model_context_window_exceeded", "context_overflow"),
        ("some_new_reason", "unknown"),
    ],
)
def test_each_reason_to_stop_is_known_or_kept(server: ModelServer, asked: Asked, raw: str, stop: str) -> None:
    server.script(answer(text("So far."), stop=raw))
    response, _ = streamed(*asked)
    assert (response.stop, response.raw_stop) == (stop, raw)


def test_a_refusal_names_its_category(server: ModelServer, asked: Asked) -> None:
    server.script(answer(stop="refusal", details={"type": "refusal", "category": "cyber", "explanation": None}))
    response, _ = streamed(*asked)
    assert (response.stop, response.raw_stop, response.message.blocks) == ("refusal", "refusal: cyber", ())


def test_a_call_is_a_call_whatever_the_server_says_that_it_stopped_for(server: ModelServer, asked: Asked) -> None:
    server.script(answer(call("c1", "read", {}), stop="end_turn"), answer(text("Done."), stop="tool_use"))
    assert streamed(*asked)[0].stop == "tool_use"
    assert streamed(*asked)[0].stop == "end_turn"


def test_blocks_and_events_of_unknown_kinds_are_passed_over(server: ModelServer, asked: Asked) -> None:
    known = answer(({"type": "something_new", "x": 1}, ({"type": "new_delta"},)), text("Yes."))
    server.script(Reply((*known.events[:2], ("news", {"type": "news"}), *known.events[2:])))
    assert streamed(*asked)[0].message == said("assistant", "Yes.")


def test_a_conversation_is_marked_for_the_cache_where_the_last_two_questions_end(
    server: ModelServer, asked: Asked
) -> None:
    turn = (Message("assistant", (ToolCall("c1", "read"),)), Message("user", (ToolOutput("c1", ""), Text("Go on."))))
    server.script(answer(text("A")), answer(text("B")))
    longer = replace(HELLO, messages=(*HELLO.messages, *turn))
    longest = replace(longer, messages=(*longer.messages, said("assistant", "Hm."), said("user", "And?")))
    streamed(*asked, longer)
    streamed(*asked, longest)
    first, second = (sent.body for sent in server.seen)
    assert len(marks(first)) == len(marks(second)) == 4
    ends = [
        [i for i, m in enumerate(sent["messages"]) if "cache_control" in m["content"][-1]] for sent in (first, second)
    ]
    assert ends == [[0, 2], [2, 4]]
    assert _bare(second["messages"][:3]) == _bare(first["messages"])
    assert (second["tools"], second["system"]) == (first["tools"], first["system"])


def test_questions_in_a_row_share_a_connection(server: ModelServer, asked: Asked) -> None:
    server.script(*[answer(text("Yes."))] * 3)
    for _ in range(3):
        streamed(*asked)
    assert len({sent.port for sent in server.seen}) == 1


def test_tokens_are_counted_by_the_api(server: ModelServer, asked: Asked, thoughtful: Asked) -> None:
    server.script()
    for runner, provider in (asked, thoughtful):
        assert runner.run(provider.count_tokens(HELLO)) > 50
    assert {sent.path for sent in server.seen} == {"/v1/messages/count_tokens"}


@pytest.mark.parametrize(
    "step", [Reply(body={"tokens": 3}), Fault(200, "{", {"content-type": "application/json"}), Fault(200, "<html>")]
)
def test_a_count_that_cannot_be_read_is_a_bad_reply(server: ModelServer, asked: Asked, step: Reply | Fault) -> None:
    runner, provider = asked
    server.script(step)
    with pytest.raises(BadReply):
        runner.run(provider.count_tokens(HELLO))


def test_a_count_of_tokens_that_fails_is_a_typed_error(server: ModelServer, asked: Asked) -> None:
    runner, provider = asked
    server.script(Fault(404, error_body("not_found_error", "model: claude-none")))
    with pytest.raises(ModelNotFound, match="claude-none"):
        runner.run(provider.count_tokens(HELLO))


def test_what_the_api_refuses_is_told_with_its_words(server: ModelServer, asked: Asked) -> None:
    server.script()
    error = failure(*asked, ModelRequest("", (said("assistant", "Me first."),)))
    assert isinstance(error, RequestRefused)
    assert "roles must alternate" in error.message


def test_cancelling_the_question_closes_the_connection(server: ModelServer, asked: Asked) -> None:
    runner, provider = asked
    stall = Stall(answer(text("Hel", "lo")), after=4)
    server.script(stall)

    async def cancel() -> None:
        task = asyncio.create_task(provider.ask(HELLO))
        assert await asyncio.to_thread(stall.reached.wait, PATIENCE_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    runner.run(cancel())
    assert server.seen[0].gone.wait(PATIENCE_S)


def test_an_error_of_who_is_shown_the_answer_is_not_taken_for_the_models(server: ModelServer, asked: Asked) -> None:
    runner, provider = asked

    def broken(_: object) -> None:
        raise TimeoutError("of the front end")

    server.script(answer(text("Hello")), answer(text("Hello")))
    with pytest.raises(TimeoutError, match="of the front end"):
        runner.run(provider.ask(HELLO, broken))
    assert streamed(*asked)[0].message.text == "Hello"


@pytest.mark.parametrize("key", ["sk ant", "sk-ant\n", "„sk-ant“"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        AnthropicProvider(model=MODEL, api_key=key)
    assert key.strip() not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("base_url", ["localhost:8000", "ftp://host", "http://", "http://[", "http://host:x"])
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError, match="no address"):
        AnthropicProvider(model=MODEL, api_key="k", base_url=base_url)


def test_five_hundred_messages_are_put_in_form_once(asked: Asked, server: ModelServer) -> None:
    provider = asked[1]
    turns = (
        message
        for i in range(250)
        for message in (
            Message("assistant", (Text("Reading."), ToolCall(f"c{i}", "read", {"path": f"{i}.py"}))),
            Message("user", (ToolOutput(f"c{i}", "é" * 2_000),)),
        )
    )
    request = replace(HELLO, messages=(*HELLO.messages, *turns))
    server.script(answer(text("A")), answer(text("B")))
    streamed(*asked, request)
    assert isinstance(provider, AnthropicProvider)
    sent: wire.Form = {}
    taken: list[float] = []
    for _ in range(10):
        began = time.perf_counter()
        sent = wire.question(request, MODEL, "", provider._form)  # pyright: ignore[reportPrivateUsage]
        taken.append(time.perf_counter() - began)
    assert min(taken) < 0.002
    streamed(*asked, request)
    assert server.seen[1].body == {**sent, "stream": True} == server.seen[0].body


def _bare(messages: list[dict[str, object]]) -> str:
    return str(messages).replace(", 'cache_control': {'type': 'ephemeral'}", "")
