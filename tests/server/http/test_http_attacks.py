"""The corpus of attacks over HTTP: each case as it stands there, sent byte by byte to a real server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.http_server import BOTH, HttpServer, Reply, http_server, reply_on
from support.mcp_clients import LEGACY_VERSION, REGREEN, server_environment

from regreen_server.http.errors import status_of

CORPUS = Path(__file__).parents[2] / "corpora" / "cases" / "attacks.json"
CASES: dict[str, dict[str, Any]] = {
    c["id"]: c for c in json.loads(CORPUS.read_text("utf-8"))["cases"] if c["surface"] == "http"
}
A, B = "a" * 40, "b" * 40
OPENING = {"protocolVersion": LEGACY_VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
GROWTH_MIB = 64  # far less than what an attack would need, far more than what the server's own state varies by


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http_server(tmp_path_factory.mktemp("http"), tokens=f"alice {A}\nbob {B}\n") as started:
        started.token = A
        yield started


def posted(server: HttpServer, headers: dict[str, str], body: bytes) -> Reply:
    """A request that is right but for what `headers` say; PORT and the session in them are filled in."""
    filled = {k: v.replace("PORT", str(server.port)) for k, v in headers.items()}
    right = {"Host": server.authority, "Authorization": f"Bearer {A}", "Accept": BOTH,
             "Content-Type": "application/json", "Content-Length": str(len(body))}  # fmt: skip
    lines = "".join(f"{k}: {v}\r\n" for k, v in {**right, **filled}.items())
    return server.raw(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode("latin-1"), body)


def by_headers(server: HttpServer, args: dict[str, Any], _folder: Path) -> Reply:
    return posted(server, args["headers"], json.dumps(INITIALIZE).encode())


def of_another(server: HttpServer, args: dict[str, Any], _folder: Path) -> Reply:
    session = server.session(token=A)
    tokens = {"Bearer B": f"Bearer {B}", "<A>": session.id}
    headers = {k: tokens[v] for k, v in args["headers"].items()}
    reply = posted(server, headers, json.dumps(LIST).encode())
    assert session.result("tools/list")["tools"], "the session goes on for its owner"
    assert A not in reply.body.decode() and session.id not in reply.body.decode()
    return reply


def large(server: HttpServer, args: dict[str, Any], _folder: Path) -> Reply:
    assert args["body"] == "5 MiB"
    body = json.dumps({**LIST, "params": {"x": "x" * 5 * 1024 * 1024}}).encode()
    server.post(INITIALIZE)
    before = resident_mib(server)
    replies = [posted(server, {}, body) for _ in range(12)]
    assert resident_mib(server) - before < GROWTH_MIB
    assert {r.status for r in replies} == {413}
    return replies[0]


def nested(server: HttpServer, args: dict[str, Any], _folder: Path) -> Reply:
    assert "100000" in args["body"]
    opened = posted(server, {}, b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b'{"a":' * 100_000)
    assert opened.status == 400
    return posted(server, {}, b"[" * 100_000 + b"]" * 100_000)


def loopback6(_server: HttpServer, _args: dict[str, Any], folder: Path) -> Reply:
    with http_server(folder, address="[::1]:0") as server:
        assert server.url.startswith("http://[::1]:")
        return server.post(INITIALIZE)


STEPS: dict[str, Callable[[HttpServer, dict[str, Any], Path], Reply]] = {
    "A-http-001": by_headers, "A-http-003": by_headers, "A-http-004": by_headers, "A-http-005": by_headers,
    "A-http-010": of_another, "A-http-012": large, "A-http-013": nested, "B-http-002": loopback6,
}  # fmt: skip


def test_every_case_is_run() -> None:
    assert set(CASES) == {*STEPS, "A-http-011"}


@pytest.mark.parametrize("case_id", sorted(STEPS))
def test_the_case_ends_as_it_must_and_the_server_lives(case_id: str, server: HttpServer, tmp_path: Path) -> None:
    case = CASES[case_id]
    reply = STEPS[case_id](server, case["action"]["args"], tmp_path)
    if case["expect"]["outcome"] == "allow":
        assert reply.status == 200 and "result" in reply.messages[-1]
    else:
        wanted = case["expect"]["error"]
        assert (reply.kind, reply.status) == (wanted, status_of(wanted))
        assert str(reply.status) in case["must"] or f"{reply.status // 100}xx" in case["must"]
        assert not [h for h in reply.headers if h.startswith("access-control-")]
    assert server.request("GET", "/healthz").json["status"] == "ok"


@pytest.mark.parametrize("flags", [(), ("--allow-remote",)], ids=["bare", "allowed"])
def test_a_start_on_all_addresses_without_a_token_is_refused(tmp_path: Path, flags: tuple[str, ...]) -> None:
    case = CASES["A-http-011"]
    command = [*REGREEN, "serve", "--http", f"{case['action']['args']['host']}:0", *flags]
    done = subprocess.run(command, cwd=tmp_path, env=server_environment(tmp_path), capture_output=True, text=True,
                          timeout=60, check=False, stdin=subprocess.DEVNULL)  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert "token" in done.stderr and "--token-file" in done.stderr


def resident_mib(server: HttpServer) -> float:
    pid = str(server.process.pid)
    told = subprocess.run(["ps", "-o", "rss=", "-p", pid], capture_output=True, text=True, check=True).stdout
    return int(told) / 1024


# --- what no case of the corpus says ------------------------------------------------------------------


def test_a_chunked_body_is_counted_as_it_comes(server: HttpServer) -> None:
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {server.authority}\r\nAuthorization: Bearer {A}\r\nAccept: {BOTH}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    reply = server.raw(head, *[chunk] * 80, b"0\r\n\r\n")
    assert (reply.status, reply.kind) == (413, "limit_exceeded")


@pytest.mark.parametrize(
    ("length", "body", "status"),
    [("99999999999999999999", b"{}", 413), ("-1", b"{}", 400), ("2, 3", b"{}", 400), ("two", b"{}", 400)],
    ids=["huge", "negative", "two lengths", "a word"],
)
def test_a_content_length_that_lies_is_refused(server: HttpServer, length: str, body: bytes, status: int) -> None:
    assert posted(server, {"Content-Length": length}, body).status == status


def test_a_body_that_never_ends_as_told_costs_nothing(server: HttpServer) -> None:
    with server.connect() as connection:
        connection.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: {server.authority}\r\nAuthorization: Bearer {A}\r\n"
            "Content-Length: 1000\r\n\r\n{".encode()
        )
    assert server.request("GET", "/healthz").status == 200


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"nul", b"[]", b'"x"', os.urandom(64)],
                         ids=["empty", "open", "latin", "word", "list", "text", "noise"])  # fmt: skip
def test_a_body_that_is_no_message_is_a_bad_request(server: HttpServer, body: bytes) -> None:
    assert posted(server, {}, body).status == 400


@pytest.mark.parametrize(
    "lines",
    ["", "Host: evil.example\r\nHost: {own}\r\n", "Host: {own}\r\nHost: {own}\r\n", "Host: {own}\r\n Host: x\r\n"],
    ids=["none", "two", "twice the same", "folded"],
)
def test_hosts_that_are_not_one_are_refused(server: HttpServer, lines: str) -> None:
    own = lines.format(own=server.authority)
    reply = server.raw(f"GET /healthz HTTP/1.1\r\n{own}Connection: close\r\n\r\n".encode())
    assert reply.status in (400, 421)
    older = server.raw(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert (older.status, older.kind) == (421, "host_forbidden")


@pytest.mark.parametrize("path", ["/mcp", "/nothing", "/healthz/", "/openapi.json"])
def test_every_path_but_health_needs_a_token(server: HttpServer, path: str) -> None:
    reply = server.request("GET", path, {"Authorization": ""})
    assert (reply.status, reply.kind) == (401, "unauthorized")
    assert reply.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "headers",
    [{"Authorization": ""}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {A}"},
     {"Authorization": "", "Cookie": f"token={A}"}, {"Authorization": f"Bearer {A}x"},
     {"Authorization": f"Bearer {A[:-1]}"}],
    ids=["none", "wrong", "basic", "cookie", "longer", "shorter"],
)  # fmt: skip
def test_a_token_counts_in_one_place_alone(server: HttpServer, headers: dict[str, str]) -> None:
    for path in ("/mcp", f"/mcp?access_token={A}", f"/mcp?token={A}"):
        assert server.request("POST", path, headers, "{}").kind == "unauthorized"


def test_many_wrong_tokens_are_slowed_and_the_right_one_is_served(server: HttpServer) -> None:
    told = [server.request("GET", "/mcp", {"Authorization": "Bearer wrong"}).status for _ in range(60)]
    assert set(told) == {401, 429} or set(told) == {429}
    assert told[-1] == 429
    assert server.session().result("tools/list")["tools"]


def test_a_refusal_comes_without_reading_what_follows(server: HttpServer) -> None:
    with server.connect() as connection:
        connection.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: {server.authority}\r\nContent-Length: 4000000\r\n\r\n".encode()
        )
        assert reply_on(connection).status in (401, 429)


def test_no_preflight_is_answered(server: HttpServer) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    reply = server.request("OPTIONS", "/mcp", {**asked, "Authorization": ""})
    assert reply.kind == "origin_forbidden"
    assert not [h for h in reply.headers if h.startswith("access-control")]


def test_a_web_socket_is_refused_like_a_request(server: HttpServer) -> None:
    def shaken(**headers: str) -> int:
        asked = {"Host": server.authority, "Connection": "Upgrade", "Upgrade": "websocket",
                 "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", **headers}  # fmt: skip
        lines = "".join(f"{k}: {v}\r\n" for k, v in asked.items())
        return server.raw(f"GET /runs/x/ws HTTP/1.1\r\n{lines}\r\n".encode()).status

    assert shaken() in (401, 429)
    assert shaken(Host="evil.example", Authorization=f"Bearer {A}") == 421
    assert shaken(Origin="null", Authorization=f"Bearer {A}") == 403


@pytest.mark.parametrize("request_", ["POST /mcp", "POST /healthz", "GET /healthz"])
def test_a_request_that_only_looks_like_the_beginning_of_a_web_socket_is_answered(
    server: HttpServer, request_: str
) -> None:
    head = (
        f"{request_} HTTP/1.1\r\nHost: {server.authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 2\r\n\r\n{}"
    )
    assert server.raw(head.encode()).status in (200, 401, 405, 429)


def test_no_token_is_in_what_the_server_says(server: HttpServer) -> None:
    said = "".join(server.errors)
    assert A not in said and B not in said and len(said.splitlines()) <= 2, said
