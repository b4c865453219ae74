"""What other programs are told of the tools, and how their arguments are checked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from regreen.errors import RegreenError
from regreen.tools import BY_NAME, CORE, TOOLS, check


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
