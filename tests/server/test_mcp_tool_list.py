"""What tools/list costs a client, and that any client can read it. Taken from the wire."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.mcp_clients import raw_server, server_environment

from regreen.tools import CORE

STUB_COMMAND = [sys.executable, str(Path(__file__).with_name("stub_server.py"))]
MODEL_VISIBLE_BYTES = 9_000
CORE_VISIBLE_BYTES = 5_000
WHOLE_BYTES = 18_000


def listed(folder: Path, *options: str) -> list[dict[str, Any]]:
    env = server_environment(folder, STUB_FOLDER=str(folder))
    with raw_server([*STUB_COMMAND, *options], cwd=folder, env=env) as server:
        server.initialize()
        return server.request("tools/list")["tools"]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return listed(tmp_path_factory.mktemp("list"))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return listed(tmp_path_factory.mktemp("core"), "--core")


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def visible(tools: list[dict[str, Any]]) -> int:
    """The bytes that a host shows to its model."""
    return size([{k: t[k] for k in ("name", "description", "inputSchema")} for t in tools])


def schemas(value: object) -> list[dict[str, Any]]:
    """Every object inside a schema, itself included."""
    if isinstance(value, list):
        return [s for item in value for s in schemas(item)]
    return [value, *schemas(list(value.values()))] if isinstance(value, dict) else []


def test_the_list_stays_small(tools: list[dict[str, Any]]) -> None:
    assert len(tools) <= 15
    assert visible(tools) <= MODEL_VISIBLE_BYTES
    assert size(tools) <= WHOLE_BYTES


def test_the_core_list_stays_smaller(core: list[dict[str, Any]]) -> None:
    assert visible(core) <= CORE_VISIBLE_BYTES


def test_each_tool_is_fully_described(tools: list[dict[str, Any]]) -> None:
    for tool in tools:
        assert tool["title"]
        assert 20 <= len(tool["description"]) <= 600
        assert len(tool["name"]) <= 64
        assert set(tool["annotations"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        assert all(isinstance(hint, bool) for hint in tool["annotations"].values())
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert "repo" in tool["inputSchema"]["properties"]


def test_no_schema_uses_what_some_client_cannot_read(tools: list[dict[str, Any]]) -> None:
    for tool in tools:
        for schema in schemas([tool["inputSchema"], tool["outputSchema"]]):
            assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "title"} & set(schema)
            assert not isinstance(schema.get("type"), list)
            assert schema.get("type") != "null"


def test_an_error_fits_every_output_schema(tools: list[dict[str, Any]]) -> None:
    """Some clients check the structured content of errors, too."""
    for tool in tools:
        assert "required" not in tool["outputSchema"]
        assert tool["outputSchema"]["properties"]["error"] == {"type": "object"}


def test_the_list_is_the_same_each_time(tools: list[dict[str, Any]], core: list[dict[str, Any]]) -> None:
    assert core == [tool for tool in tools if tool["name"] in CORE], "of another process, word for word"
