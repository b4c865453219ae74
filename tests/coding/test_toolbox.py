"""The agent's tools: registering them, what a model is offered, and that nothing a call does ends the loop."""

from __future__ import annotations

import ast
import asyncio
import json
import logging
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from support.agent_tools import a_call, a_tool, executed, said

import regreen
from regreen.agent.functions import tool
from regreen.agent.pairing import sound_blocks
from regreen.agent.results import READ_RESULT
from regreen.agent.schemas import Recursive, flat
from regreen.agent.tool import Tool, ToolContext, ToolReply
from regreen.agent.toolbox import Toolbox
from regreen.errors import ConfigError, Refused, RegreenError, UsageError
from regreen.providers.messages import Message, ToolCall
from regreen.redact import Redactor
from regreen.sandbox import Cancel
from regreen.settings import AgentSettings
from regreen.wire import Json

# --- the registry ------------------------------------------------------------------------------------


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two tools are called `a`"):
        Toolbox([a_tool("a"), a_tool("b"), a_tool("a")])


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "a.b", "ä"])
def test_a_name_that_models_do_not_take_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is no name for a tool"):
        Toolbox([a_tool(name)])


def test_only_enabled_tools_are_offered_and_cut_results_can_always_be_read() -> None:
    tools = [a_tool(n) for n in ("read", "write", "web__get", "web__put")]
    box = Toolbox(tools, settings=AgentSettings(enabled=("read", "web__*")))
    assert [d.name for d in box.definitions()] == ["read", "web__get", "web__put", READ_RESULT]
    refused = said(box, "write").output
    assert refused.is_error
    assert refused.text == "not_found: there is no tool `write`\ntools: read, web__get, web__put, read_result"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (AgentSettings(enabled=("raed",)), "enabled names `raed`, which the agent does not have"),
        (AgentSettings(concurrency_safe=("raed",)), "concurrency_safe names `raed`"),
        (AgentSettings(concurrency_safe=("write",)), "concurrency_safe names `write`, which changes things"),
    ],
)
def test_settings_that_name_what_there_is_not_or_what_writes_are_refused(settings: AgentSettings, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Toolbox([a_tool("read"), a_tool("write", read_only=False)], settings=settings)


def test_tools_of_a_server_that_did_not_start_may_be_named() -> None:
    Toolbox([a_tool("read")], settings=AgentSettings(enabled=("read", "web__get"), concurrency_safe=("web__get",)))


def test_what_a_model_sends_at_any_length_and_depth_is_bounded_in_events_and_answers() -> None:
    value: Any = 1
    for _ in range(3_000):
        value = [value]
    big = "x" * 1_000_000
    arguments = {"a": value, big: 1, "n": 10**5_000, "t": big, "f": float("inf"), **{f"k{i}": 1 for i in range(1_000)}}
    events: list[tuple[str, Any]] = []
    box = Toolbox([a_tool("read_file")], on_event=lambda kind, data: events.append((kind, dict(data))))
    started = time.process_time()
    done = executed(box, [ToolCall(big, "read_file", arguments), ToolCall("c2", "read_file" * 100_000, {})])
    assert time.process_time() - started < 15
    assert [len(e.output.text) < 500 for e in done] == [True, True]
    assert done[0].output.call_id == big
    assert len(events) == 4
    assert len(json.dumps(events, allow_nan=False)) < 10_000


def test_calls_that_cannot_be_sent_back_are_bounded_before_they_are_kept() -> None:
    value: Any = 1
    for _ in range(900):
        value = [value]
    calls = (ToolCall("i" * 10_000, "n" * 10_000), ToolCall("2", "a", {"x": value}), ToolCall("3", "a", {"x": 1e400}),
             ToolCall("4", "a", {"x": [1]}))  # fmt: skip
    first, deep, large, right = sound_blocks(Message("assistant", calls), ())
    assert isinstance(first, ToolCall)
    assert (first.id, len(first.name)) == ("call_0_0", 128)
    assert isinstance(deep, ToolCall)
    assert (deep.arguments, deep.fault.split(".")[0]) == ({}, "The arguments are nested too deeply")
    assert isinstance(large, ToolCall)
    assert large.fault.startswith("The arguments hold a number that is too large")
    assert right == calls[3]


# --- calls that go wrong -----------------------------------------------------------------------------


def test_an_unknown_tool_is_an_error_with_the_nearest_name_and_the_list() -> None:
    result = said(Toolbox([a_tool("read_file"), a_tool("search")]), "raed_file").output
    assert (result.is_error, result.call_id) == (True, "Call-1")
    assert result.text == (
        "not_found: there is no tool `raed_file`\ndid you mean `read_file`? tools: read_file, search, read_result"
    )


def test_unreadable_arguments_are_never_run() -> None:
    ran: list[object] = []
    box = Toolbox([a_tool("t", lambda a, c: ran.append(a) or ToolReply("ran"))])
    result = executed(box, [ToolCall("Id", "t", {}, raw='{"a"', fault="unexpected end of JSON")])[0].output
    assert result.is_error
    assert result.text.startswith("invalid_arguments: the arguments of `t` cannot be read: unexpected end of JSON\n")
    assert not ran


class SomeError(BaseException):
    pass


@pytest.mark.parametrize(
    "fault",
    [ZeroDivisionError("inner cause"), SystemExit(3), asyncio.CancelledError(), SomeError(), KeyboardInterrupt()],
)
def test_a_crash_is_an_error_with_an_id_that_the_log_has_too(
    fault: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def run(arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
        raise fault

    with caplog.at_level(logging.ERROR):
        crashed, fine = executed(Toolbox([a_tool("bad", run), a_tool("good")]), [a_call("bad"), a_call("good", 2)])
    identity = re.fullmatch(r"internal: unexpected fault in `bad` \((\w{8})\)\n.*", crashed.output.text)
    assert identity
    assert "Traceback" not in crashed.output.text
    assert "inner cause" not in crashed.output.text
    assert identity[1] in caplog.text
    assert "Traceback" in caplog.text
    assert fine.output.text == "ok"


@pytest.mark.parametrize(
    ("error", "denied"),
    [
        (UsageError("not_found", "no such file", "look for it"), False),
        (Refused("path_protected", "`x` is never edited", "leave it"), True),
    ],
)
def test_an_error_of_ours_is_told_in_words(error: RegreenError, denied: bool) -> None:
    def run(arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
        raise error

    result = said(Toolbox([a_tool("t", run)]), "t")
    assert result.output.text == f"{error.kind}: {error.message}\n{error.hint}"
    assert (result.output.is_error, result.denied) == (True, denied)


# --- approval ----------------------------------------------------------------------------------------


def approvals(*answers: bool) -> tuple[Any, list[tuple[str, dict[str, Json]]]]:
    asked: list[tuple[str, dict[str, Json]]] = []
    left = list(answers)

    def approve(tool: Tool, arguments: Mapping[str, Json], cancel: Cancel) -> bool:
        asked.append((tool.name, dict(arguments)))
        return left.pop(0)

    return approve, asked


def test_what_needs_approval_runs_only_when_somebody_says_yes_each_time() -> None:
    approve, asked = approvals(True, False)
    events: list[tuple[str, Mapping[str, object]]] = []
    box = Toolbox([a_tool("w", requires_approval=True)], approve=approve, on_event=lambda k, d: events.append((k, d)))
    allowed, refused = executed(box, [a_call("w", 1, a="x"), a_call("w", 2, a="y")])
    assert (allowed.output.text, allowed.denied) == ("ok", False)
    assert (refused.output.is_error, refused.denied) == (True, True)
    assert refused.output.text.startswith("needs_approval: the user did not allow this call of `w`\ndo not send it")
    assert asked == [("w", {"a": "x"}), ("w", {"a": "y"})]
    assert [d["allowed"] for k, d in events if k == "permission"] == [True, False]


def test_with_nobody_to_ask_what_needs_approval_is_refused() -> None:
    result = said(Toolbox([a_tool("w", requires_approval=True)]), "w")
    assert result.denied
    assert "nobody can be asked" in result.output.text


def test_an_approval_that_fails_is_no_approval(caplog: pytest.LogCaptureFixture) -> None:
    ran: list[object] = []
    approve, _ = approvals()  # it has no answer and raises
    box = Toolbox([a_tool("w", lambda a, c: ran.append(a) or ToolReply(""), requires_approval=True)], approve=approve)
    assert said(box, "w").output.text.startswith("internal: unexpected fault in `w`")
    assert not ran
    assert "IndexError" in caplog.text


# --- events ------------------------------------------------------------------------------------------


def test_each_call_is_told_before_and_after_with_its_arguments_shortened_and_masked() -> None:
    events: list[tuple[str, Mapping[str, object]]] = []
    now = [0.0]

    def run(arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
        now[0] += 1.5
        return ToolReply("done")

    box = Toolbox([a_tool("t", run)], on_event=lambda k, d: events.append((k, d)), clock=lambda: now[0],
                  redact=Redactor(["hunter2hunter2"]))  # fmt: skip
    result = said(box, "t", text="x" * 600, key="my hunter2hunter2", n=3, rows=[{"a": "y" * 600}])
    (first, call), (last, outcome) = events
    assert (first, call["id"], call["tool"]) == ("tool_call", "Call-1", "t")
    shown: Any = call["arguments"]
    assert (shown["key"], shown["n"]) == ("my [redacted:known]", 3)
    assert shown["text"] == "x" * 500 + "… 100 characters more"
    assert shown["rows"].startswith('[{"a": "yyy') and len(shown["rows"]) < 540
    assert (last, outcome) == ("tool_result", {
        "id": "Call-1", "tool": "t", "is_error": False, "denied": False, "chars": 4, "duration_s": 1.5,
    })  # fmt: skip
    assert result.duration_s == 1.5


def test_progress_of_a_tool_reaches_whoever_listens() -> None:
    heard: list[str] = []
    box = Toolbox([a_tool("t", lambda a, c: c.on_progress("half") or ToolReply("x"))], on_progress=heard.append)
    said(box, "t")
    assert heard == ["half"]


# --- functions as tools ------------------------------------------------------------------------------


class Place(BaseModel):
    path: str = Field(min_length=1, description="relative")
    line: int = Field(ge=1, default=1)


@tool(read_only=True, timeout_s=5)
def look_up(
    query: Annotated[str, Field(min_length=2, max_length=500, description="what to look for")],
    context: ToolContext,
    kind: Literal["file", "name"] = "file",
    limit: int = Field(10, ge=1, le=50),
    places: list[Place] | None = None,
    json: bool = False,
) -> str:
    """Look something up
    in the index.

    What stands here is for people.
    """
    assert isinstance(context, ToolContext)
    return f"{query} {kind} {limit} {[p.path for p in places or []]} {json}"


def test_a_typed_function_is_a_tool_with_a_flat_schema() -> None:
    assert (look_up.name, look_up.description) == ("look_up", "Look something up in the index.")
    assert (look_up.read_only, look_up.timeout_s) == (True, 5)
    assert look_up.schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 2, "maxLength": 500, "description": "what to look for"},
            "kind": {"type": "string", "enum": ["file", "name"], "default": "file"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
            "places": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "minLength": 1, "description": "relative"},
                        "line": {"type": "integer", "minimum": 1, "default": 1},
                    },
                    "required": ["path"],
                },
            },
            "json": {"type": "boolean", "default": False},
        },
        "required": ["query"],
    }


def test_arguments_arrive_as_the_functions_types() -> None:
    box = Toolbox([look_up])
    assert said(box, "look_up", query="ab").output.text == "ab file 10 [] False"
    full = said(box, "look_up", query="ab", kind="name", limit=3, places=[{"path": "p"}], json=True).output.text
    assert full == "ab name 3 ['p'] True"
    assert said(box, "look_up", query="ab", kind=None, limit=None).output.text == "ab file 10 [] False"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({}, "invalid_arguments: look_up: `query` is missing"),
        ({"query": "a"}, "invalid_arguments: look_up: `query`: String should have at least 2 characters (sent 'a')"),
        ({"query": "ab", "limit": 51}, "invalid_arguments: look_up: `limit`: Input should be less than or equal to 50"
                                       " (sent 51)"),
        ({"query": "ab", "kind": "x"}, "invalid_arguments: look_up: `kind`: Input should be 'file' or 'name'"
                                       " (sent 'x')"),
        ({"query": "ab", "places": [{"line": 0}]}, "invalid_arguments: look_up: `places.0.path` is missing; "
         "`places.0.line`: Input should be greater than or equal to 1 (sent 0)"),
        ({"query": "ab", "limt": 5}, "unknown_argument: look_up: there is no `limt`"),
        ({"query": "ab", "context": {}}, "unknown_argument: look_up: there is no `context`"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_in_one_line_that_names_field_and_reason(
    arguments: dict[str, Json], line: str
) -> None:
    result = said(Toolbox([look_up]), "look_up", **arguments).output
    first, hint = result.text.split("\n")
    assert (result.is_error, first) == (True, line)
    assert "look_up takes `query` (required) " in hint
    assert ("did you mean `limit`?" in hint) == ("limt" in arguments)


@dataclass
class Row:
    name: str
    size: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, "done"),
        ([Row("a", 1)], '[{"name": "a", "size": 1}]'),
        ({"n": 1.5}, '{"n": 1.5}'),
    ],
)
def test_what_a_function_returns_is_told_as_text_or_json(value: object, text: str) -> None:
    @tool(name="give")
    def give() -> object:
        """Give something."""
        return value

    assert said(Toolbox([give]), "give").output.text == text


def test_what_has_no_json_form_is_an_error() -> None:
    @tool
    def give() -> object:
        """Give something."""
        return object()

    assert said(Toolbox([give]), "give").output.text.startswith("bad_reply: `give` replied with object")


async def later() -> str:
    """Say something later."""
    return ""


def rest(*args: str) -> str:
    """Take all."""
    return ""


def untyped(a) -> str:  # type: ignore[no-untyped-def]
    """Take something."""
    return ""


def silent() -> str:
    return ""


class Node(BaseModel):
    next: Node | None = None


def nested(node: Node) -> str:
    """Take a chain."""
    return ""


def unknown(a: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821
    """Take what nobody knows."""
    return ""


@pytest.mark.parametrize("function", [later, rest, untyped, silent, unknown])
def test_a_function_that_cannot_be_a_tool_says_so_at_once(function: Any) -> None:
    with pytest.raises(TypeError, match=function.__name__):
        tool(function)


def test_a_type_that_refers_to_itself_cannot_be_written_out() -> None:
    with pytest.raises(Recursive, match="refers to itself"):
        tool(nested)


def test_schemas_of_others_lose_what_models_do_not_take() -> None:
    schema = {
        "$schema": "x", "title": "T", "type": "object", "oneOf": [{"required": ["a"]}],
        "properties": {
            "a": {"type": ["string", "null"], "format": "uri", "description": "d" * 400},
            "b": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "c": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "g": {"enum": ["x", None]},
            "d": {"$ref": "#/definitions/D"}, "e": {"$ref": "http://example.com/x"}, "f": True,
        },
        "definitions": {"D": {"type": "array", "items": {"$ref": "#/definitions/D"}}},
        "required": ["a", "zz"],
    }  # fmt: skip
    assert flat(schema, recursion=True) == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "d" * 300 + "… 100 characters more"}, "b": {"type": "integer"},
            "c": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "g": {"enum": ["x"]}, "d": {"type": "array", "items": {}}, "e": {}, "f": {},
        },
        "required": ["a"],
    }  # fmt: skip
    with pytest.raises(ValueError, match="not object"):
        flat({"type": "string"})


def test_nothing_that_a_model_writes_is_evaluated_here() -> None:
    parts = [Path(regreen.__file__).parent / part for part in ("agent", "providers", "session", "tools")]
    for file in (f for part in parts for f in part.rglob("*.py")):
        calls = [n.func for n in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(n, ast.Call)]
        assert not [c.id for c in calls if isinstance(c, ast.Name) and c.id in ("eval", "exec", "compile")], file


def test_pydantic_is_loaded_only_for_functions() -> None:
    program = (
        "import sys, regreen.agent.toolbox, regreen.agent.functions, regreen.agent.mcp_tools\n"
        "print([m for m in ('pydantic', 'mcp', 'anthropic', 'openai') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "[]\n"
