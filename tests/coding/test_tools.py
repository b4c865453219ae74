"""What other programs are told of the tools, and how their arguments are checked."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regreen.errors import RegreenError
from regreen.tools import BY_NAME, CORE, TOOLS, check
from regreen.wire import encodable, nearest, shown, to_json


def compact(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def visible(tools: Any) -> int:
    return compact([{"name": t.name, "description": t.description, "inputSchema": t.input_schema} for t in tools])


def test_tools_fit_into_a_hosts_context() -> None:
    assert len(TOOLS) <= 15
    assert visible(TOOLS) <= 9_000
    assert visible([t for t in TOOLS if t.name in CORE]) <= 5_000
    assert all(len(t.description) <= 600 for t in TOOLS)


def test_schemas_are_flat_and_portable() -> None:
    for tool in TOOLS:
        text = json.dumps([tool.input_schema, tool.output_schema])
        assert "$ref" not in text
        assert "anyOf" not in text
        assert "null" not in text
        assert "repo" in tool.input_schema["properties"]


def refusal(tool: str, arguments: dict[str, object]) -> tuple[str, str]:
    with pytest.raises(RegreenError) as caught:
        check(BY_NAME[tool], arguments)
    return caught.value.kind, caught.value.hint


def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    kind, hint = refusal("repo_skeleton", {"dept": 2})
    assert kind == "unknown_argument"
    assert "`depth`" in hint


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("read_file", {}, "invalid_arguments"),
        ("read_file", {"path": 3}, "invalid_arguments"),
        ("read_file", {"path": "a", "start_line": 0}, "limit_exceeded"),
        ("read_file", {"path": "a", "start_line": True}, "invalid_arguments"),
        ("read_file", {"path": "a", "start_line": 1.5}, "invalid_arguments"),
        ("run_tests", {"wait_s": 60}, "limit_exceeded"),
        ("run_tests", {"wait_s": float("nan")}, "invalid_arguments"),
        ("run_tests", {"selection": "not json"}, "invalid_arguments"),
        ("run_tests", {"selection": [1]}, "invalid_arguments"),
        ("fix_tests", {"proposer": "serch"}, "invalid_arguments"),
        ("apply_edits", {"replacements": [{"path": "a", "search": "b"}]}, "invalid_arguments"),
        ("apply_edits", {"replacements": [{"path": "a", "search": "b", "replace": "c", "x": "d"}]}, "unknown_argument"),
    ],
)
def test_bad_arguments_are_refused_by_kind(tool: str, arguments: dict[str, object], kind: str) -> None:
    assert refusal(tool, arguments)[0] == kind


def test_lists_sent_as_json_text_are_read() -> None:
    assert check(BY_NAME["run_tests"], {"selection": '["a", "b"]'}) == {"selection": ["a", "b"]}
    assert check(BY_NAME["read_file"], {"path": "a", "start_line": 2.0}) == {"path": "a", "start_line": 2}


def test_absent_and_null_are_the_same() -> None:
    assert check(BY_NAME["read_file"], {"path": "a", "end_line": None}) == {"path": "a"}


# --- what no tool expects ----------------------------------------------------------------------------


def nested(depth: int, leaf: object = 1) -> Any:
    value: Any = leaf
    for _ in range(depth):
        value = [value]
    return value


def keyed(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"k": value}
    return value


ODD: list[Any] = [
    nested(3_000), nested(900), keyed(3_000), 10**4_000, 10**5_000, -(10**5_000), float("nan"), float("inf"), "\ud800",
    "x" * 100_000, {"k" * 100_000: 1}, {1: 2}, {10**5_000: 1}, b"x", None, True, [], {}, "[" * 5_000, "{}", "",
]  # fmt: skip


@st.composite
def odd(draw: st.DrawFn) -> Any:
    return ODD[draw(st.integers(0, len(ODD) - 1))]  # by number: some cannot be shown as values of a strategy


VALUES: Any = st.recursive(
    odd() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, object]:
    """A tool, and arguments of which some are called as it calls them."""
    tool = draw(st.sampled_from(sorted(BY_NAME)))
    names = [*BY_NAME[tool].parameters, "x" * 100_000, "\ud800", "", "a b"]
    pairs = draw(st.lists(st.tuples(st.integers(0, len(names) - 1), VALUES), max_size=3))
    return tool, {names[number]: value for number, value in pairs} if draw(st.booleans()) else draw(VALUES)


@given(calls())
@settings(max_examples=25, deadline=None)
def test_whatever_is_sent_is_checked_or_refused(call: tuple[str, object]) -> None:
    tool, arguments = call
    try:
        checked = check(BY_NAME[tool], arguments)
    except RegreenError as e:
        assert len(e.message) < 1_000
    else:
        json.dumps(checked)


@given(VALUES)
@settings(max_examples=50, deadline=None)
def test_every_value_can_be_shown_and_written(value: Any) -> None:
    assert len(shown(value)) <= 80
    try:
        plain = to_json(value)
    except TypeError as e:
        assert value is None or "bytes" in str(e)
    else:
        json.dumps(encodable(plain), ensure_ascii=False, allow_nan=False).encode()


def test_what_is_too_long_for_a_name_is_near_to_none() -> None:
    started = time.process_time()
    assert nearest("read_file" * 100_000, BY_NAME) == []
    assert nearest("raed_file", [*BY_NAME, "x" * 1_000_000]) == ["read_file"]
    assert nearest(["read_file"], BY_NAME) == []
    assert time.process_time() - started < 15
