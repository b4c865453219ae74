"""The first messages: who answers them, what the SDK is told, and how a start ends that comes to nothing."""

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.engines import settings_of_user
from support.mcp_clients import LEGACY_VERSION, MODERN_VERSION, REGREEN, RawServer, raw_server, server_environment

from regreen.cli.early import CHOICES, stdio_offer
from regreen.settings import MODES, SANDBOX_WISHES
from regreen_server import front
from regreen_server.opening import Opening, understood
from regreen_server.pipes import Head

STUB_COMMAND = [sys.executable, str(Path(__file__).with_name("stub_server.py"))]
DATA = json.loads(Path(front.__file__).with_name("opening.json").read_text("utf-8"))
HELLO = {"protocolVersion": LEGACY_VERSION, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
PREFIX = "io.modelcontextprotocol"
META = {f"{PREFIX}/protocolVersion": MODERN_VERSION, f"{PREFIX}/clientCapabilities": {}}
CALL = {"name": "repo_skeleton", "arguments": {"path": "src"}}


def line(method: str, params: Any = None, identity: Any = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method}
    message |= {} if identity is None else {"id": identity}
    message |= {} if params is None else {"params": params}
    return json.dumps(message).encode()


def opening() -> Opening:
    return Opening(DATA, "all", "ours-")


def held(one: Opening) -> list[Any]:
    return [json.loads(text) for text in one.held if text]


def test_the_sdk_is_told_the_hello_under_an_id_of_ours_with_the_version_that_was_agreed_on() -> None:
    one = opening()
    answer = one.take(line("initialize", {**HELLO, "protocolVersion": "x"}, 1))
    assert answer and answer["result"]["protocolVersion"] == LEGACY_VERSION
    assert one.take(line("notifications/initialized")) is None
    assert one.take(line("tools/list", {}, 1)), "an id may be used again"
    assert one.take(line("tools/call", CALL, 1)) is None
    told = held(one)
    assert [(m["method"], m.get("id")) for m in told] == [
        ("initialize", "ours-1"), ("notifications/initialized", None), ("tools/call", 1)]  # fmt: skip
    assert told[0]["params"] == {**HELLO, "protocolVersion": LEGACY_VERSION}


def test_the_first_request_settles_the_era_and_the_sdk_is_told_of_it() -> None:
    one = opening()
    answer = one.take(line("tools/list", {"_meta": META}, "a"))
    assert answer and answer["result"]["resultType"] == "complete"
    assert one.take(line("tools/list", {"_meta": META}, "b"))
    for other in (line("initialize", HELLO, 1), line("tools/list", {}, 2), line("ping", {"_meta": META}, 3)):
        assert one.take(other) is None
    assert [m["id"] for m in held(one)] == ["ours-1", 1, 2, 3]
    legacy = opening()
    assert legacy.take(line("ping", None, 1))
    assert legacy.take(line("server/discover", {"_meta": META}, 2)) is None


@pytest.mark.parametrize("first", [
    line("tools/list", {}, 1), line("initialize", {}, 1),
    line("tools/list", {"_meta": {**META, f"{PREFIX}/protocolVersion": "x"}}, 1),
    line("server/discover", {"_meta": {f"{PREFIX}/protocolVersion": MODERN_VERSION}}, 1),
    line("tools/list", {"_meta": META, "cursor": "2"}, 1), b"junk",
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', b"\xff",
    Head(b'{"jsonrpc":"2.0","id":1,"method":"tools/ca'),
], ids=range(13))  # fmt: skip
def test_what_is_not_a_plain_beginning_waits_for_the_sdk(first: bytes) -> None:
    one = opening()
    assert one.take(first) is None
    assert one.held == [first]


def test_after_a_line_that_is_not_understood_nothing_is_answered_but_blank_lines_do_no_harm() -> None:
    one = opening()
    assert one.take(b" ") is None
    assert one.take(line("initialize", HELLO, 1))
    assert one.take(line("ping", None, 2))
    assert one.take(b"[1]") is None
    assert one.take(line("ping", None, 3)) is None
    assert understood(b"[" * 100_000) is None
    assert understood(b'{"jsonrpc":"2.0","method":"x","params":' + b'{"a":' * 200 + b"1" + b"}" * 201) is None


def test_a_call_that_is_cancelled_before_the_sdk_is_there_is_never_run_and_keeps_the_era() -> None:
    one = opening()
    one.take(line("tools/call", {**CALL, "_meta": META}, "7"))
    one.take(line("notifications/cancelled", {"requestId": 7}))
    one.take(line("notifications/cancelled", {"requestId": 8}))
    told = held(one)
    assert [m["method"] for m in told] == ["server/discover", "notifications/cancelled"]
    assert told[0]["id"] == "ours-1"
    assert told[0]["params"] == {"_meta": META}


@pytest.mark.parametrize(("words", "offer"), [
    ("", (False, False)), ("--root . --read-only", (False, True)), ("--toolsets=core --root=.", (True, False)),
    ("--toolsets core --read-only --mode plan", (True, True)), ("--toolsets few", None), ("--root /no/such", None),
    ("--http 1", None), ("--help", None), ("--json", None), ("--root", None), ("--mode --read-only", None),
    ("extra", None), ("--mode any", None), ("--sandbox any", None),
], ids=str)  # fmt: skip
def test_only_a_sure_call_of_a_stdio_server_begins_early(words: str, offer: tuple[bool, bool] | None) -> None:
    assert stdio_offer(["serve", *words.split()]) == offer
    assert stdio_offer(["fix", *words.split()]) is None


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RawServer]:
    env = server_environment(tmp_path, STUB_FOLDER=str(tmp_path))
    with raw_server(STUB_COMMAND, cwd=tmp_path, env=env) as process:
        yield process


def test_a_call_sent_with_the_hello_is_answered_once_and_a_cancelled_one_never(
    server: RawServer, tmp_path: Path
) -> None:
    child = {"name": "repo_skeleton", "arguments": {"path": "child"}}
    sent = [line("initialize", HELLO, 1), line("notifications/initialized"), line("tools/call", child, 2),
            line("notifications/cancelled", {"requestId": 2}), line("tools/call", CALL, 1)]  # fmt: skip
    server.write(b"\n".join(sent) + b"\n")
    assert server.answer(1)["result"]["serverInfo"]["name"] == "regreen"
    assert server.answer(1)["result"]["structuredContent"] == {"tree": "src"}
    assert server.request("tools/list")["tools"]
    assert server.close() == 0
    assert not (tmp_path / "started").exists()
    with pytest.raises(EOFError):
        server.answer(2)
    assert server.noise == []
    assert server.errors == []


def test_a_modern_client_is_served_from_its_first_message_on(server: RawServer) -> None:
    asked = [server.start(method, {"_meta": META}) for method in ("server/discover", "tools/list")]
    call = server.start("tools/call", {**CALL, "_meta": META})
    assert [server.answer(request)["result"]["resultType"] for request in (*asked, call)] == ["complete"] * 3
    assert "error" in server.answer(server.start("initialize", HELLO))


def test_the_end_of_input_right_after_the_hello_loses_no_answer(server: RawServer) -> None:
    server.write(line("initialize", HELLO, 1) + b"\n" + line("tools/call", CALL, 2) + b"\n")
    assert server.close() == 0
    assert "result" in server.answer(1)
    assert "error" in server.answer(2)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_while_the_rest_is_loaded_ends_the_real_server(tmp_path: Path, number: int, code: int) -> None:
    with raw_server([*REGREEN, "serve"], cwd=tmp_path, env=server_environment(tmp_path)) as server:
        server.initialize()
        server.process.send_signal(number)
        assert server.wait() == code


def test_the_choices_that_are_known_early_are_those_of_the_command_line() -> None:
    assert (CHOICES["--mode"], CHOICES["--sandbox"]) == (tuple(MODES), tuple(SANDBOX_WISHES))


@pytest.mark.parametrize("fault", ["word", "settings"])
def test_a_start_that_fails_ends_with_a_message_on_standard_error(tmp_path: Path, fault: str) -> None:
    env = server_environment(tmp_path)
    if fault == "settings":
        settings_of_user(tmp_path / "home", "nonsense = [")
    words = ["--mode", "nonsense"] if fault == "word" else []
    with raw_server([*REGREEN, "serve", *words], cwd=tmp_path, env=env) as server:
        assert server.wait() == 2
        assert "".join(server.errors).startswith("regreen: ")
        assert server.noise == []
