"""A real `regreen serve` over HTTP on 127.0.0.1 or a UNIX socket, and requests to it byte by byte."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.mcp_clients import (
    ANSWER_LIMIT_S,
    LEGACY_VERSION,
    REGREEN,
    Called,
    as_called,
    server_environment,
    until,
)

START_LIMIT_S = 60.0
END_LIMIT_S = 30.0
READY = "regreen: serving "
BOTH = "application/json, text/event-stream"


@dataclass(frozen=True)
class Reply:
    """An answer; `headers` by their names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """The kind of the error that this answer tells; "" for none."""
        error = self.json.get("error", {})
        return str(error.get("kind", ""))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The JSON-RPC messages in the answer, be it a stream of events or one document."""
        if "event-stream" not in self.headers.get("content-type", ""):
            return [self.json]
        lines = (line.strip() for line in self.body.decode().splitlines())
        return [json.loads(line[5:]) for line in lines if line.startswith("data:") and line[5:].strip()]


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=ANSWER_LIMIT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ANSWER_LIMIT_S)
        self.sock.connect(self._path)


@dataclass
class HttpServer:
    """A running server. `url` is that of the MCP endpoint; `host` and `port` are empty on a UNIX socket."""

    process: subprocess.Popen[bytes]
    ready: str
    token: str
    socket_path: str = ""
    errors: list[str] = field(default_factory=list[str])

    @property
    def url(self) -> str:
        return self.ready.removeprefix(READY).split(" (")[0].strip()

    @property
    def base_url(self) -> str:
        return self.url.removesuffix("/mcp")

    @property
    def authority(self) -> str:
        """`HOST:PORT`, as in the Host header."""
        return self.base_url.removeprefix("http://")

    @property
    def host(self) -> str:
        return self.authority.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.authority.rpartition(":")[2])

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def connect(self) -> socket.socket:
        """A connected socket, for who wants to send every byte himself."""
        if self.socket_path:
            raw = socket.socket(socket.AF_UNIX)
            raw.settimeout(ANSWER_LIMIT_S)
            raw.connect(self.socket_path)
            return raw
        return socket.create_connection((self.host, self.port), timeout=ANSWER_LIMIT_S)

    def raw(self, *parts: bytes) -> Reply:
        """The answer to exactly these bytes."""
        with self.connect() as connection:
            for part in parts:
                connection.sendall(part)
            return reply_on(connection)

    def request(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | str | None = None
    ) -> Reply:
        """One request on a connection of its own. With the right token, unless `headers` say another Authorization."""
        sent = {**self.bearer, **(headers or {})}
        link = (
            _UnixConnection(self.socket_path)
            if self.socket_path
            else http.client.HTTPConnection(self.host, self.port, timeout=ANSWER_LIMIT_S)
        )
        try:
            link.request(method, path, body, {k: v for k, v in sent.items() if v})
            answer = link.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            link.close()

    def post(self, message: object, headers: Mapping[str, str] | None = None) -> Reply:
        """A JSON-RPC message (or any bytes) to the MCP endpoint."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.request("POST", "/mcp", {"Content-Type": "application/json", "Accept": BOTH, **(headers or {})},
                            body)  # fmt: skip

    def session(self, *, token: str = "", **capabilities: Any) -> HttpSession:
        """A new session of the older protocol, by the token given or the server's first."""
        return HttpSession(self, token or self.token, capabilities)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the server by a signal; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(END_LIMIT_S)

    @property
    def output(self) -> bytes:
        """What a server that has ended wrote to its standard output."""
        assert self.process.stdout
        return self.process.stdout.read()


class HttpSession:
    """A client of the older protocol: `initialize`, then calls under its session id."""

    def __init__(self, server: HttpServer, token: str, capabilities: Mapping[str, Any]) -> None:
        self._server = server
        self._next = 0
        self.headers = {"Authorization": f"Bearer {token}"}
        reply = self.send("initialize", {"protocolVersion": LEGACY_VERSION, "capabilities": capabilities,
                                         "clientInfo": {"name": "test", "version": "1"}})  # fmt: skip
        assert reply.status == 200, reply
        self.opening: dict[str, Any] = reply.messages[-1]["result"]
        self.id = reply.headers["mcp-session-id"]
        self.headers |= {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": LEGACY_VERSION}
        assert self.notify("notifications/initialized").status == 202

    def message(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._next += 1
        return {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}

    def send(self, method: str, params: Mapping[str, Any]) -> Reply:
        return self._server.post(self.message(method, params), self.headers)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> Reply:
        return self._server.post({"jsonrpc": "2.0", "method": method, "params": params or {}}, self.headers)

    def result(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        last = self.send(method, params or {}).messages[-1]
        assert "result" in last, last
        return last["result"]

    def call(self, tool: str, **arguments: Any) -> Called:
        return as_called(self.result("tools/call", {"name": tool, "arguments": arguments}))


def reply_on(connection: socket.socket) -> Reply:
    """The next answer on this connection, which may be closed after it."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())


@contextmanager
def http_server(
    folder: Path,
    *arguments: str,
    address: str = "127.0.0.1:0",
    tokens: str = "",
    socket_path: str = "",
    command: Sequence[str] = (*REGREEN, "serve"),
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Generator[HttpServer]:
    """A server with home, state and cache in `folder`; ended at the end. `tokens` is the text of its token file (the
    server makes one where there is none); `arguments` go to the command line as they are."""
    token_file = folder / "tokens"
    if tokens:
        token_file.touch(mode=0o600)
        token_file.write_text(tokens, encoding="utf-8")
    place = ("--socket", socket_path) if socket_path else ("--http", address)
    process = subprocess.Popen(
        [*command, *place, "--token-file", str(token_file), *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env={**server_environment(folder), **(env or {})}, cwd=cwd or folder,
    )  # fmt: skip
    errors: list[str] = []
    reader = threading.Thread(target=_read, args=(process, errors), daemon=True)
    reader.start()
    try:
        until(lambda: process.poll() is not None or any(READY in e for e in errors), "the server is ready",
              START_LIMIT_S)  # fmt: skip
        ready = next((e for e in errors if READY in e), "")
        assert ready, "".join(errors)
        words = token_file.read_text("utf-8").split("#")[0].splitlines()[0].split()
        yield HttpServer(process, ready.strip(), words[-1], socket_path, errors)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(END_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        reader.join(5)
        for pipe in (process.stdout, process.stderr):
            assert pipe
            pipe.close()


def _read(process: subprocess.Popen[bytes], errors: list[str]) -> None:
    assert process.stderr
    for line in process.stderr:  # one by one, for who looks on
        errors.append(line.decode("utf-8", "replace"))  # noqa: PERF401
