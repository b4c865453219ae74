"""A run over a WebSocket: its events out, messages to it in, and every way in which the connection ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.http_server import HttpServer, http_server
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

LIMIT_S = 60.0


@contextmanager
def opened(server: HttpServer, run: str, query: str = "", **headers: str) -> Iterator[ClientConnection]:
    address = f"ws://{server.authority}/runs/{run}/ws{query}"
    sent = {**server.bearer, **headers}
    with connect(address, additional_headers={k: v for k, v in sent.items() if v}, open_timeout=LIMIT_S) as socket:
        yield socket


def said(socket: ClientConnection) -> dict[str, Any]:
    return json.loads(socket.recv(LIMIT_S))


def until_said(socket: ClientConnection, key: str, value: object = None) -> list[dict[str, Any]]:
    """All frames up to the first that has `key` (with this value)."""
    frames = [said(socket)]
    while key not in frames[-1] or (value is not None and frames[-1][key] != value):
        frames.append(said(socket))
    return frames


def close_code(socket: ClientConnection) -> int:
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            socket.recv(LIMIT_S)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code


def test_a_fix_is_handed_in_judged_and_told_to_the_end_on_one_connection(shop: Any) -> None:
    with opened(shop.server, shop.to_fix) as socket:
        before = until_said(socket, "state", "waiting_for_edits")
        assert before[0]["kind"] == "run_started"
        edit = {"path": "value.py", "search": "VALUE = 1", "replace": "VALUE = 2"}
        socket.send(json.dumps({"kind": "fix", "replacements": [edit], "id": 7}))
        after = until_said(socket, "kind", "end")
        assert after[-1] == {"kind": "end", "state": "done", "reason": "fixed"}
        reply = next(frame for frame in after if "reply" in frame)
        assert (reply["to"], reply["reply"]["job_id"]) == (7, shop.to_fix)
        assert "run_finished" in [frame.get("kind") for frame in after]
        numbers = [frame["seq"] for frame in (*before, *after) if "seq" in frame]
        assert numbers == sorted(set(numbers))
        assert close_code(socket) == 1000
    assert (shop.src / "desk" / "value.py").read_text("utf-8") == "VALUE = 2\n"
    with opened(shop.server, shop.to_fix, f"?after={numbers[-2]}") as socket:
        assert [frame["kind"] for frame in until_said(socket, "kind", "end")] == ["run_finished", "end"]


@pytest.mark.parametrize("place", ["server", "second"])
def test_a_message_that_is_refused_is_answered_and_the_connection_goes_on(shop: Any, place: str) -> None:
    with opened(getattr(shop, place), shop.waiting, "?after=1000000") as socket:
        sent = [
            ('{"kind": "message", "text": "hello", "id": "a"}', "a"),
            ("{", None), ("[]", None), ("[" * 1000, None), ('{"kind": "dance", "id": 2}', 2),
            ('{"kind": "fix", "text": "x", "wait_s": 9, "id": 3}', 3), ('{"kind": "cancel", "id": []}', None),
        ]  # fmt: skip
        for text, to in sent:
            socket.send(text)
            answer = until_said(socket, "error")[-1]
            assert answer.get("to") == to and answer["error"]["kind"] and answer["error"]["hint"]
    assert shop.server.request("GET", f"/runs/{shop.waiting}").json["state"] == "waiting_for_edits"


def test_what_cannot_be_served_is_closed_with_a_code_that_says_why(shop: Any) -> None:
    with opened(shop.server, "job-none") as socket:
        assert close_code(socket) == 4404
    with opened(shop.second, shop.to_fix) as socket:
        assert close_code(socket) == 4404
    with opened(shop.server, shop.waiting, "?after=x") as socket:
        assert close_code(socket) == 1008
    with opened(shop.server, shop.waiting, f"?token={shop.server.token}") as socket:
        assert close_code(socket) == 1008
    with opened(shop.server, shop.waiting) as socket:
        socket.send(b"{}")
        assert close_code(socket) == 1008
    with opened(shop.server, shop.waiting) as socket:
        socket.send('{"kind": "fix", "text": "' + "x" * 70_000 + '"}')
        assert close_code(socket) == 1009


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Authorization": ""}, 401), ({"Authorization": "Bearer wrong"}, 401), ({"Origin": "http://evil.example"}, 403)],
    ids=["none", "wrong", "origin"],
)
def test_a_connection_that_the_guard_refuses_is_never_opened(shop: Any, headers: dict[str, str], status: int) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(shop.server, shop.waiting, "", **headers):
        pass
    assert refused.value.response.status_code == status


def test_a_server_ends_in_time_whatever_streams_are_open(shop: Any) -> None:
    folder = shop.src.parent
    with http_server(folder, "--root", str(shop.src)) as server:
        with opened(server, shop.waiting) as socket, server.connect() as raw:
            until_said(socket, "state", "waiting_for_edits")
            lines = "".join(f"{k}: {v}\r\n" for k, v in {"Host": server.authority, **server.bearer}.items())
            raw.sendall(
                f"GET /runs/{shop.waiting}/events HTTP/1.1\r\n{lines}Accept: text/event-stream\r\n\r\n".encode()
            )
            assert raw.recv(12) == b"HTTP/1.1 200"
            assert server.stop() == 0
            assert close_code(socket) in (1001, 1012)
        assert "".join(line for line in server.errors if "serving" not in line) == ""
