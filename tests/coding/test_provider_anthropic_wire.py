"""The form of conversations for the Messages API: whatever we may say, the API takes it."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.messages_server import MODEL, fault_of, marks, signature

from regreen.providers import anthropic_wire as wire
from regreen.providers.messages import (
    Block,
    Message,
    ModelRequest,
    Text,
    Thinking,
    ToolCall,
    ToolChoice,
    ToolDefinition,
    ToolOutput,
    said,
)

SAID = st.one_of(st.sampled_from(["", " ", "\n\t", "Hello. ", "\udcff", "…"]), st.text(max_size=8))
IDS = st.one_of(
    st.sampled_from(["call:0", "functions.read:1", "", "é", "a b"]), st.from_regex(r"[a-z_0-9-]{1,12}", fullmatch=True)
)
NAMES = st.sampled_from(["read", "write", "no such tool", "mcp.server/tool", "x" * 200])
THOUGHT = st.one_of(
    SAID.map(lambda text: Thinking(text)),
    SAID.map(lambda text: Thinking(text, signature(text))),
    st.just(Thinking(sealed=signature("sealed"))),
)
TOOLS = tuple(ToolDefinition(name, "Does it.", {"properties": {}}) for name in ("read", "write"))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """Any conversation by the rules of `messages.py`, with all that other providers may have left in it."""
    messages = [said("user", draw(SAID))]
    for _ in range(draw(st.integers(0, 4))):
        thoughts = draw(st.lists(THOUGHT, max_size=2))
        texts = [Text(text) for text in draw(st.lists(SAID, max_size=2))]
        calls = [
            ToolCall(call_id, draw(NAMES), {"path": draw(SAID)}, raw="{", fault="unread")
            for call_id in draw(st.lists(IDS, max_size=3, unique=True))
        ]
        blocks: list[Block] = [*thoughts, *texts, *calls, *draw(st.lists(THOUGHT, max_size=1))]
        outputs = [ToolOutput(call.id, draw(SAID), draw(st.booleans())) for call in calls]
        messages += [Message("assistant", tuple(blocks)), Message("user", (*outputs, Text(draw(SAID))))]
    if draw(st.booleans()):
        messages.append(Message("assistant", (Text(draw(SAID)),)))
    return tuple(messages)


@settings(max_examples=60)
@given(
    conversations(),
    SAID,
    st.sampled_from([(), TOOLS]),
    st.sampled_from(["auto", "none", "required"]),
    st.sampled_from(["", "low", "max"]),
    st.sampled_from([MODEL, "claude-haiku-4-5", "claude-sonnet-4-5-20250929"]),
    st.integers(0, 4096),
)
def test_the_api_takes_every_conversation(
    messages: tuple[Message, ...],
    system: str,
    tools: tuple[ToolDefinition, ...],
    choice: ToolChoice,
    effort: str,
    model: str,
    max_tokens: int,
) -> None:
    request = ModelRequest(system, messages, tools, max_tokens, choice)
    sent = wire.question(request, model, effort)
    assert fault_of({**sent, "stream": True}) == ""
    assert fault_of(wire.counted(request, model, effort), counting=True) == ""
    json.dumps(sent, ensure_ascii=False).encode("utf-8")


@given(conversations())
def test_the_form_of_a_message_is_the_same_however_the_conversation_goes_on(messages: tuple[Message, ...]) -> None:
    forms = {id(message): wire.message_form(message) for message in messages}
    untouched = copy.deepcopy(forms)
    ends = [i + 1 for i, message in enumerate(messages) if message.role == "user"]
    whole = wire.question(ModelRequest("", messages[: ends[-1]], TOOLS), MODEL, "", lambda m: forms[id(m)])
    for end in ends:
        part = wire.question(ModelRequest("", messages[:end], TOOLS), MODEL, "", lambda m: forms[id(m)])
        assert _unmarked(part["messages"]) == _unmarked(whole["messages"])[:end]
        assert len(marks(part)) == min(2, (end + 1) // 2) + 1
    assert forms == untouched


def test_thinking_of_another_provider_is_left_out() -> None:
    form = wire.message_form(Message("assistant", (Thinking("Hm."), Text("Yes."))))
    assert form == {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}


def test_an_answer_that_was_cut_off_while_thinking_leaves_a_placeholder() -> None:
    form = wire.message_form(Message("assistant", (Thinking("Hm.", "signed"), Thinking(sealed="data"))))
    assert form["content"] == [{"type": "text", "text": wire.NO_TEXT}]


def test_an_output_says_that_it_is_empty_and_that_it_is_an_error() -> None:
    outputs = ToolOutput("c1", ""), ToolOutput("c2", "No such file.", is_error=True)
    assert wire.message_form(Message("user", outputs))["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": wire.NO_OUTPUT},
        {"type": "tool_result", "tool_use_id": "c2", "content": "No such file.", "is_error": True},
    ]


def test_ids_that_the_api_refuses_are_changed_alike_in_call_and_output_and_stay_apart() -> None:
    calls = Message("assistant", (ToolCall("a:1", "read"), ToolCall("a.1", "read"), ToolCall("a_1", "read")))
    outputs = Message("user", tuple(ToolOutput(call.id, "x") for call in calls.calls))
    ids = [block["id"] for block in wire.message_form(calls)["content"]]
    assert ids == [block["tool_use_id"] for block in wire.message_form(outputs)["content"]]
    assert len(set(ids)) == 3
    assert ids[2] == "a_1"


def test_calls_without_tools_bring_definitions_and_may_not_be_repeated() -> None:
    messages = (
        said("user", "Go."),
        Message("assistant", (ToolCall("c1", "read"),)),
        Message("user", (ToolOutput("c1", "x"),)),
    )
    sent = wire.question(ModelRequest("", messages), MODEL, "")
    assert [tool["name"] for tool in sent["tools"]] == ["read"]
    assert sent["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(
    ("model", "effort", "max_tokens", "sent"),
    [
        (MODEL, "", 8192, {}),
        (MODEL, "xhigh", 8192, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}}),
        ("claude-haiku-4-5", "medium", 8192, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ("claude-opus-4-5-20251101", "max", 8192, {"thinking": {"type": "enabled", "budget_tokens": 6144}}),
        ("claude-sonnet-4-20250514", "low", 8192, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        ("claude-haiku-4-5", "high", 1000, {}),
        ("claude-opus-4-8", "low", 8192, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
    ],
)
def test_effort_is_told_in_the_words_that_the_model_knows(
    model: str, effort: str, max_tokens: int, sent: dict[str, object]
) -> None:
    question = wire.question(ModelRequest("", (said("user", "Hm?"),), max_tokens=max_tokens), model, effort)
    assert {name: question[name] for name in ("thinking", "output_config") if name in question} == sent


def test_a_model_that_thinks_is_not_forced() -> None:
    request = ModelRequest("", (said("user", "Hm?"),), TOOLS, tool_choice="required")
    assert wire.question(request, MODEL, "")["tool_choice"] == {"type": "any"}
    assert "tool_choice" not in wire.question(request, MODEL, "high")


def _unmarked(messages: list[wire.Form]) -> list[wire.Form]:
    return [
        {
            **message,
            "content": [{k: v for k, v in block.items() if k != "cache_control"} for block in message["content"]],
        }
        for message in messages
    ]
