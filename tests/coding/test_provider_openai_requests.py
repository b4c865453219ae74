"""What OpenAIProvider sends, and what it learns of servers that do not know a field."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chat_server import HELLO, Chat, error, request_fault, says
from support.model_wire import Fault

from regreen.errors import ConfigError
from regreen.providers import errors
from regreen.providers import openai_wire as wire
from regreen.providers.conversation import check
from regreen.providers.messages import Message, ModelRequest, Text, Thinking, ToolCall, ToolDefinition, ToolOutput, said
from regreen.providers.openai import OpenAIProvider

READ = ToolDefinition("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


@pytest.fixture(scope="module")
def chat() -> Iterator[Chat]:
    with Chat() as made:
        yield made


def test_a_turn_with_tools_goes_out_in_the_order_of_the_wire(chat: Chat) -> None:
    conversation = (
        said("user", "go"),
        Message("assistant", (Thinking("hm", "sig"), ToolCall("a", "read", {"path": "é"}), ToolCall("B", "read"))),
        Message("user", (ToolOutput("a", "one"), ToolOutput("B", "no such file", True), Text("Go on."))),
    )
    chat.ask(says("ok"), request=ModelRequest("", conversation, (READ,), 10, "required"))
    body = chat.server.seen[0].body
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "tool", "tool", "user"]
    assert body["messages"][1]["content"] is None
    assert [c["function"]["arguments"] for c in body["messages"][1]["tool_calls"]] == ['{"path": "\\u00e9"}', "{}"]
    assert body["messages"][3] == {"role": "tool", "tool_call_id": "B", "content": "Error: no such file"}
    assert (body["tool_choice"], body["max_tokens"]) == ("required", 10)
    assert body["tools"][0]["function"] == {"name": "read", "description": "Read a file.", "parameters": READ.schema}


def test_the_choice_none_keeps_the_tools_listed(chat: Chat) -> None:
    chat.ask(says("ok"), request=ModelRequest("", HELLO.messages, (READ,), tool_choice="none"))
    assert chat.server.seen[0].body["tool_choice"] == "none" and chat.server.seen[0].body["tools"]


def test_text_that_is_no_unicode_is_sent_as_text(chat: Chat) -> None:
    chat.ask(says("ok"), request=ModelRequest("", (said("user", "a\udcff.py"),)))
    assert chat.server.seen[0].body["messages"][0]["content"] == "a\\udcff.py"


def test_only_openai_itself_is_sent_the_new_word_for_the_limit() -> None:
    assert "max_completion_tokens" in wire.body(HELLO, "m", wire.dialect_of(""))
    assert "max_completion_tokens" in wire.body(HELLO, "m", wire.dialect_of("https://api.openai.com/v1/"))
    assert "max_tokens" in wire.body(HELLO, "m", wire.dialect_of("http://localhost:11434/v1"))


def test_an_account_in_the_environment_is_told_to_no_other_server(monkeypatch: pytest.MonkeyPatch, chat: Chat) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "mine")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    chat.ask(says("ok"), provider=chat.make(api_key="", effort="low"))
    headers = chat.server.seen[0].headers
    assert headers["authorization"] == "Bearer none" and "mine" not in headers.values()
    assert chat.server.seen[0].body["reasoning_effort"] == "low"


def test_a_long_conversation_is_estimated_never_as_nothing(chat: Chat) -> None:
    assert chat.runner.run(chat.provider.count_tokens(ModelRequest("", (said("user", "x" * 4000),)))) == 1000


REFUSED_FIELDS: list[tuple[str, Any, dict[str, Any]]] = [
    ("stream_options", "Unrecognized request argument supplied: stream_options", {}),
    ("stream_options", [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs"}], {}),
    ("reasoning_effort", "Unsupported parameter: 'reasoning_effort' is not supported with this model.", {}),
    ("tool_choice", "tool_choice is not supported by this model", {"tool_choice": "required"}),
]


@pytest.mark.parametrize(("field", "words", "wish"), REFUSED_FIELDS)
def test_a_field_that_is_refused_is_left_out_and_not_sent_again(field: str, words: Any, wish: Any, chat: Chat) -> None:
    refusal = Fault(422, {"detail": words}) if isinstance(words, list) else Fault(400, error(words, param=field))
    chat.server.script(refusal, says("a"), says("b"))
    provider = chat.make(effort="high")
    request = ModelRequest("", HELLO.messages, (READ,), **wish)
    assert [chat.runner.run(provider.ask(request)).message.text for _ in range(2)] == ["a", "b"]
    assert [field in seen.body for seen in chat.server.seen] == [True, False, False]


def test_the_other_word_for_the_limit_is_learned(chat: Chat) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    chat.ask(Fault(400, error(words)), says("a"), provider=chat.make())
    assert chat.server.seen[1].body["max_completion_tokens"] == 4096 and "max_tokens" not in chat.server.seen[1].body


def test_thinking_goes_back_to_a_server_that_misses_it(chat: Chat) -> None:
    chat.server.script(Fault(400, error("Missing `reasoning_content` field in the assistant message")), says("a"))
    conversation = (said("user", "a"), Message("assistant", (Thinking("hm"), Text("b"))), said("user", "c"))
    chat.runner.run(chat.make().ask(ModelRequest("", conversation)))
    assert chat.server.seen[1].body["messages"][1] == {"role": "assistant", "content": "b", "reasoning_content": "hm"}


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 90000. This model supports at most 16384 completion tokens",
        "Unsupported value: 'reasoning_effort' does not support 'huge' with this model.",
        "Invalid 'messages'",
    ],
)
def test_a_wrong_value_is_the_users_to_mend(words: str, chat: Chat) -> None:
    with pytest.raises(errors.RequestRefused, match=words[:12]):
        chat.ask(Fault(400, error(words)), says("a"), provider=chat.make(effort="huge"))
    assert len(chat.server.seen) == 1


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["max_tokens", "max_completion_tokens", "stream_options", "tool_choice",
                                 "reasoning_effort", "reasoning_content"]), min_size=30, max_size=30))  # fmt: skip
def test_learning_ends_whatever_a_server_refuses(fields: list[str]) -> None:
    dialect: wire.Dialect | None = wire.Dialect()
    learned = 0
    for field in fields:
        sent = wire.body(ModelRequest("", HELLO.messages, (READ,), tool_choice="none"), "m", dialect, "low")
        following = wire.adapted(dialect, sent, 400, f"unknown field {field}")
        learned += following is not None
        dialect = following or dialect
    assert learned <= 6


@pytest.mark.parametrize("url", ["localhost:11434/v1", "ftp://a/v1", "http://", "http://a:99999/v1", "http://a b/v1"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        OpenAIProvider(model="m", api_key="", base_url=url)


def test_a_key_that_no_header_can_carry_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIProvider(model="m", api_key="sk-geheim\nß")
    assert "geheim" not in f"{caught.value.message}{caught.value.hint}"


def test_without_the_sdk_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ConfigError) as caught:
        OpenAIProvider(model="m", api_key="k")
    assert caught.value.kind == "config_refused" and "pip install 'regreen[openai]'" in caught.value.hint


TEXT = st.sampled_from(["", " ", "a", "é\n", "\udcff", '"\\', "\x00"])
JSON_OBJECTS = st.dictionaries(TEXT, st.integers() | TEXT | st.lists(TEXT, max_size=2), max_size=2)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """A valid conversation that ends with the user."""
    made = [said("user", draw(TEXT) + "x")]
    for turn in range(draw(st.integers(0, 4))):
        calls: list[ToolCall] = []
        for i in range(draw(st.integers(0, 3))):
            arguments, raw = draw(JSON_OBJECTS), draw(st.sampled_from(["", "json", "[1", '{"a"']))
            readable = raw in ("", "json")
            written = json.dumps(arguments) if raw == "json" else raw
            fault = "" if readable else "not JSON"
            calls.append(ToolCall(f"c{turn}_{i}", "read", arguments if readable else {}, written, fault))
        blocks = [Thinking(draw(TEXT)), *([Text(draw(TEXT))] if draw(st.booleans()) else []), *calls]
        made.append(Message("assistant", tuple(blocks)))
        outputs = [ToolOutput(c.id, draw(TEXT), draw(st.booleans())) for c in calls]
        more = [Text(draw(TEXT) + "x")] if not calls or draw(st.booleans()) else []
        made.append(Message("user", (*outputs, *more)))
    return tuple(made)


def test_forms_are_made_once_and_old_ones_forgotten() -> None:
    forms = wire.Forms()
    for turn in range(400):
        talk = (said("user", f"a{turn}"), said("assistant", "b"))
        assert [m["content"] for m in forms.of(talk)] == [f"a{turn}", "b"]
        assert all(x is y for x, y in zip(forms.of(talk), forms.of(talk), strict=True))
    assert len(forms._made) < 300


@settings(max_examples=60)
@given(conversations(), st.sampled_from(["auto", "none", "required"]), st.booleans(), st.booleans())
def test_any_valid_conversation_is_one_that_a_strict_server_takes(
    messages: tuple[Message, ...], choice: Any, tools: bool, thinking: bool
) -> None:
    assert check(messages) == ""
    request = ModelRequest("sys", messages, (READ,) if tools else (), 10, choice)
    body = wire.body(request, "m", wire.Dialect(thinking=thinking), "low")
    assert request_fault(json.loads(json.dumps(body, ensure_ascii=False).encode())) == ""
    told = [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]  # type: ignore[attr-defined]
    assert told == [o.call_id for m in messages for o in m.outputs]
