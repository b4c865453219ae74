"""The OpenAPI document says what is served: every route, and what real answers look like."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.routing import Route

from regreen_server.app import create_server
from regreen_server.calls import Caller, EngineSlot
from regreen_server.http.app import MCP_PATH, all_routes
from regreen_server.http.openapi import document
from regreen_server.tool_list import Offer

METHODS = frozenset({"get", "post", "delete"})


def no_engine() -> Any:
    raise AssertionError("no call is made")


def served() -> dict[str, set[str]]:
    """The methods of each route; a WebSocket begins as a GET."""
    caller = Caller(EngineSlot(no_engine))
    routes = all_routes(StreamableHTTPSessionManager(create_server(caller, Offer())), caller, Offer())
    found: dict[str, set[str]] = {}
    for route in routes:
        methods = route.methods if isinstance(route, Route) and route.path != MCP_PATH else None
        found[route.path] = {m.lower() for m in methods or ()} - {"head"} or {"get"}  # type: ignore[attr-defined]
    return {**found, MCP_PATH: set(METHODS)}


def test_every_route_is_described_and_nothing_else() -> None:
    described = {path: METHODS & set(item) for path, item in document(Offer())["paths"].items()}
    assert described == served()


def test_every_reference_leads_somewhere_and_every_schema_is_one() -> None:
    whole = document(Offer())
    pointers: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            pointers.extend([value["$ref"]] if "$ref" in value else [])
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            look(inner)

    look(whole)
    for pointer in pointers:
        found = whole
        for name in pointer.removeprefix("#/").split("/"):
            found = found[name]
    for schema in whole["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    ids = [op["operationId"] for item in whole["paths"].values() for name, op in item.items() if name in METHODS]
    assert len(ids) == len(set(ids))


def is_valid(whole: Any, schema: str, value: Any) -> bool:
    return Draft202012Validator({**whole, "$ref": f"#/components/schemas/{schema}"}).is_valid(value)


@pytest.mark.parametrize(
    ("path", "schema"),
    [("/runs?limit=5", "Runs"), ("/runs/{}", "Run"), ("/runs/{}/events", "Events"), ("/healthz", "Health"),
     ("/runs/none", "Error"), ("/none", "Error")],
)  # fmt: skip
def test_real_answers_are_as_described(shop: Any, path: str, schema: str) -> None:
    whole = shop.server.request("GET", "/openapi.json").json
    answer = shop.server.request("GET", path.format(shop.waiting)).json
    Draft202012Validator({**whole, "$ref": f"#/components/schemas/{schema}"}).validate(answer)


def test_the_document_takes_what_the_server_takes_and_offers_no_more() -> None:
    whole = document(Offer())
    assert is_valid(whole, "Start", {"tool": "fix_tests", "arguments": {"proposer": "caller", "wait_s": 0}})
    assert is_valid(whole, "Start", {"tool": "run_tests"})
    for wrong in ({"tool": "read_file"}, {"tool": "run_tests", "arguments": {"env": {}}}, {"tool": "coding_task"}):
        assert not is_valid(whole, "Start", wrong)
    assert is_valid(whole, "Message", {"kind": "fix", "text": "x"})
    assert not is_valid(whole, "Message", {"kind": "fix", "repo": "x"})
    read_only = document(Offer(read_only=True))
    assert not is_valid(read_only, "Start", {"tool": "run_tests"})
    assert is_valid(read_only, "Message", {"kind": "cancel"})
    assert not is_valid(read_only, "Message", {"kind": "fix", "text": "x"})


def test_the_document_is_for_those_who_have_a_token(shop: Any) -> None:
    assert shop.server.request("GET", "/openapi.json", {"Authorization": ""}).kind == "unauthorized"
