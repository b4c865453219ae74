"""Writes server/regreen_server/opening.json: what the real server answers to a client's first messages.

python scripts/opening_data.py            writes the file
python scripts/opening_data.py --check    exits with 1 if the file is not what would be written
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "server" / "regreen_server" / "opening.json"
# Lists that are the same for every client at every time; what names runs or files is not among them.
METHODS = {"tools/list": "tools", "prompts/list": "prompts", "resources/templates/list": "resourceTemplates"}
CLIENT = {"name": "opening", "version": "1"}


def opened(version: str) -> list[dict[str, Any]]:
    """What a client of the handshake era begins with."""
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    return [request("initialize", hello), {"jsonrpc": "2.0", "method": "notifications/initialized"}]


def request(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": method, "method": method, "params": dict(params)}


def envelope(version: str) -> dict[str, Any]:
    """The parameters of a request in the modern era."""
    prefix = "io.modelcontextprotocol"
    meta = {f"{prefix}/protocolVersion": version, f"{prefix}/clientCapabilities": {}, f"{prefix}/clientInfo": CLIENT}
    return {"_meta": meta}


def ask(messages: Sequence[Mapping[str, Any]], *, core_only: bool, read_only: bool) -> dict[str, dict[str, Any]]:
    """The real server's answers to requests that are sent one after the other, by their ids."""
    return asyncio.run(_ask(messages, core_only, read_only))


async def _ask(messages: Sequence[Mapping[str, Any]], core_only: bool, read_only: bool) -> dict[str, dict[str, Any]]:
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    from regreen_server.app import create_server
    from regreen_server.calls import Caller, EngineSlot
    from regreen_server.tool_list import Offer

    def no_engine() -> Any:
        raise AssertionError("the first answers need no engine")

    server = create_server(Caller(EngineSlot(no_engine)), Offer(core_only, read_only))
    to_server, server_in = anyio.create_memory_object_stream[Any](16)
    server_out, from_server = anyio.create_memory_object_stream[Any](16)
    answers: dict[str, dict[str, Any]] = {}
    async with anyio.create_task_group() as group, to_server, from_server:
        group.start_soon(server.run, server_in, server_out, server.create_initialization_options())
        for message in messages:
            await to_server.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
            if "id" in message:
                sent = (await from_server.receive()).message
                answers[message["id"]] = json.loads(sent.model_dump_json(by_alias=True, exclude_unset=True))
        to_server.close()
    return answers


def generated() -> str:
    """The text of the file."""
    from importlib.metadata import version

    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

    from regreen_server.front import offer_name

    params = envelope(MODERN_PROTOCOL_VERSIONS[-1])
    first = {
        "legacy": [*opened(HANDSHAKE_PROTOCOL_VERSIONS[-1]), *(request(m, {}) for m in ("ping", *METHODS))],
        "modern": [request(m, params) for m in ("server/discover", *METHODS)],
    }
    offers: dict[str, dict[str, list[str]]] = {}
    told: list[dict[str, dict[str, Any]]] = []
    lists: dict[str, list[Any]] = {}
    for core_only, read_only in itertools.product((False, True), repeat=2):
        results = {era: _results(ask(sent, core_only=core_only, read_only=read_only)) for era, sent in first.items()}
        offered = offers[offer_name(core_only, read_only)] = {}
        for method, kind in METHODS.items():
            whole = lists.setdefault(method, [kind, results["legacy"][method][kind]])[1]  # the first offer has all
            for result in (results[era][method] for era in first):
                names = offered[method] = [element["name"] for element in result[kind]]
                if result.pop(kind) != [element for element in whole if element["name"] in names]:
                    raise SystemExit(f"{method} differs by more than what is offered: it cannot be answered from data")
        told.append(results)
    if any(results != told[0] for results in told):
        raise SystemExit("an answer depends on what is offered: it cannot be answered from data")
    eras = told[0]
    welcome = eras["legacy"].pop("initialize")
    del welcome["protocolVersion"]
    data = {
        "version": version("regreen"),
        "offers": offers,
        "legacy": {"versions": list(HANDSHAKE_PROTOCOL_VERSIONS), "initialize": welcome, "results": eras["legacy"]},
        "modern": {"versions": list(MODERN_PROTOCOL_VERSIONS), "results": eras["modern"]},
        "lists": lists,
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _results(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {method: answer["result"] for method, answer in answers.items() if "result" in answer}


def main() -> int:
    text = generated()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{FILE} is not what the server answers: run `make opening`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
