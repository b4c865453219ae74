"""The data of the first answers is what the real server answers."""

import itertools
import json
import runpy
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from regreen_server.front import offer_name
from regreen_server.opening import Opening

ROOT = Path(__file__).resolve().parents[2]
MAKER = runpy.run_path(str(ROOT / "scripts" / "opening_data.py"), run_name="maker")
DATA = json.loads(MAKER["FILE"].read_text("utf-8"))
OFFERS = list(itertools.product((False, True), repeat=2))
UNKNOWN = "1999-01-01"
LISTS = tuple(MAKER["METHODS"])


def told(messages: list[dict[str, Any]], offer: tuple[bool, bool]) -> dict[str, Any]:
    """What the front answers, by ids."""
    opening = Opening(DATA, offer_name(*offer), "ours-")
    answers = [opening.take(json.dumps(message).encode()) for message in messages]
    return {answer["id"]: answer for answer in answers if answer}


def test_the_committed_file_is_what_would_be_written_now() -> None:
    assert MAKER["FILE"].read_text("utf-8") == MAKER["generated"](), "run scripts/opening_data.py"
    assert DATA["version"] == version("regreen")


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer_name(*offer))
def test_the_front_answers_as_the_real_server_does(offer: tuple[bool, bool]) -> None:
    core_only, read_only = offer
    asked = [MAKER["request"](method, {}) for method in ("ping", *LISTS)]
    for wanted in (*DATA["legacy"]["versions"], *DATA["modern"]["versions"], UNKNOWN):
        messages = [*MAKER["opened"](wanted), *asked]
        real = MAKER["ask"](messages, core_only=core_only, read_only=read_only)
        assert told(messages, offer) == {k: v for k, v in real.items() if "result" in v}
    for wanted in DATA["modern"]["versions"]:
        params = MAKER["envelope"](wanted)
        messages = [MAKER["request"](method, params) for method in ("server/discover", *LISTS)]
        real = MAKER["ask"](messages, core_only=core_only, read_only=read_only)
        assert told(messages, offer) == {k: v for k, v in real.items() if "result" in v}


INFO = {"name": "c", "version": "1"}
HELLOS: list[Any] = [
    {"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": info}
    for capabilities, info in [
        ({"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}, INFO),
        ({"roots": {"listChanged": 1}}, INFO), ({"roots": {"listChanged": "maybe"}}, INFO), ({"roots": []}, INFO),
        ({"sampling": {"tools": 1}}, INFO), ({"experimental": {"x": {}}}, INFO), ({"experimental": {"x": 1}}, INFO),
        ({"tasks": {"requests": {"sampling": {"createMessage": {}}}}}, INFO), ({"tasks": {"list": True}}, INFO),
        ({"own": 5}, INFO), ([], INFO), (None, INFO), ({}, None), ({}, {"name": "c"}),
        ({}, {"name": 1, "version": "1"}),
        ({}, {**INFO, "icons": [{"src": "data:,", "sizes": ["any"]}]}), ({}, {**INFO, "icons": [{"src": 1}]}),
        ({}, {**INFO, "icons": [{"src": "data:,", "theme": "blue"}]}), ({}, {**INFO, "title": 5}),
    ]
]  # fmt: skip
HELLOS += [None, {}, {"protocolVersion": 5, "capabilities": {}, "clientInfo": INFO}]
ACCEPTED = {0, 5, 7, 9, 15}


def test_a_hello_is_answered_only_where_the_real_server_accepts_it() -> None:
    for at, params in enumerate(HELLOS):
        hello = {"jsonrpc": "2.0", "id": "h", "method": "initialize", **({} if params is None else {"params": params})}
        answer = told([hello], (False, False)).get("h")
        assert (answer is not None) == (at in ACCEPTED), params
        if answer:
            assert answer == MAKER["ask"]([hello], core_only=False, read_only=False)["h"]
