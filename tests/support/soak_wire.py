"""How the clients of a soak talk to servers: HTTP of both eras, and stdio; and how they go away without a word.

What comes back is an `Answered`: what kind of error, if any, and the data. A client is used by one thread.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from support.http_server import BOTH, HttpServer, HttpSession
from support.mcp_clients import IN_BETWEEN, MODERN_VERSION, RawServer, until
from support.processes import is_alive

LIMIT_S = 120.0
_PREFIX = "io.modelcontextprotocol"
_META = {f"{_PREFIX}/protocolVersion": MODERN_VERSION, f"{_PREFIX}/clientCapabilities": {}}
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
Leaving: TypeAlias = Literal["politely", "suddenly", "orphaned"]
LEAVINGS: tuple[Leaving, ...] = ("politely", "suddenly", "orphaned")


@dataclass(frozen=True)
class Answered:
    """`kind`: of the error, "" for none. `text`: what the answer says, for a report."""

    kind: str
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    text: str = ""


class Link(Protocol):
    """A client's way to its server."""

    @property
    def name(self) -> str: ...

    def ask(self, method: str, params: Mapping[str, Any]) -> Answered: ...

    def give_up(self, method: str, params: Mapping[str, Any], after_s: float, *, told: bool) -> None:
        """Ask, and go away before the answer: by a word (`told`), or without one where that can be done."""
        ...

    def listen(self, uris: Sequence[str]) -> None:
        """Want to hear of changes; what comes is not read."""
        ...

    def deafen(self) -> None:
        """Drop the event streams."""
        ...

    def again(self, leaving: Leaving) -> None:
        """Leave, and come back as a new client."""
        ...

    def close(self) -> None: ...


def answered(message: Mapping[str, Any]) -> Answered:
    """What a JSON-RPC answer comes to."""
    error = message.get("error")
    if error is not None:
        told = error.get("data")
        kind = told.get("kind", "") if isinstance(told, dict) else ""
        return Answered(kind or f"code {error.get('code')}", {}, str(error.get("message")))
    result = message["result"]
    data = result.get("structuredContent") or result
    if result.get("isError"):
        return Answered(data.get("error", {}).get("kind", "no kind"), data, json.dumps(data)[:600])
    return Answered("", data)


class HttpLink:
    """A client over HTTP; `modern` without a session, else with one.

    `left`: token and id of each session that was left behind, by the address of its server."""

    left: ClassVar[dict[str, list[tuple[str, str]]]] = {}

    def __init__(self, name: str, server: HttpServer, token: str, *, modern: bool) -> None:
        self.name = name
        self._server = server
        self._token = token
        self._modern = modern
        self._session: HttpSession | None = None
        self._streams: list[socket.socket] = []
        self._next = 0

    def ask(self, method: str, params: Mapping[str, Any]) -> Answered:
        headers, message = self._message(method, params)
        reply = self._server.post(message, headers)
        if reply.status != 200:
            return _refused(reply.body, reply.status)
        answers = [m for m in reply.messages if m.get("id") == message["id"]]
        return answered(answers[-1]) if answers else Answered("no answer", {}, reply.body.decode()[:300])

    def give_up(self, method: str, params: Mapping[str, Any], after_s: float, *, told: bool) -> None:
        headers, message = self._message(method, params)
        with self._sent(headers, message) as connection:
            select.select([connection], [], [], after_s)
            if told and self._session is not None:
                self._session.notify("notifications/cancelled", {"requestId": message["id"], "reason": "changed"})

    def listen(self, uris: Sequence[str]) -> None:
        if self._modern:
            wanted = {"notifications": {"resourcesListChanged": True, "resourceSubscriptions": list(uris)}}
            self._streams.append(self._sent(*self._message("subscriptions/listen", wanted)))
            return
        for uri in uris:
            self.ask("resources/subscribe", {"uri": uri})
        if not self._streams:
            self._streams.append(self._request("GET", self._headers("", ""), b""))

    def deafen(self) -> None:
        for stream in self._streams:
            stream.close()
        self._streams.clear()

    def again(self, leaving: Leaving) -> None:
        self.deafen()
        if leaving != "politely" and self._session is not None:
            self.left.setdefault(self._server.url, []).append((self._token, self._session.id))
            self._session = None
        self.close()

    def close(self) -> None:
        self.deafen()
        if self._session is not None:
            self._server.request("DELETE", "/mcp", self._session.headers)
            self._session = None

    def _message(self, method: str, params: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
        if not self._modern:
            self._session = self._session or self._server.session(token=self._token)
            return self._headers(method, ""), self._session.message(method, params)
        self._next += 1
        named = str(params.get(_NAMES[method], "")) if method in _NAMES else ""
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": {**params, "_meta": _META}}
        return self._headers(method, named), message

    def _headers(self, method: str, named: str) -> dict[str, str]:
        if self._session is not None:
            return dict(self._session.headers)
        more = {"Mcp-Name": named} if named else {}
        return {"Authorization": f"Bearer {self._token}", "MCP-Protocol-Version": MODERN_VERSION,
                "Mcp-Method": method, **more}  # fmt: skip

    def _sent(self, headers: Mapping[str, str], message: Mapping[str, Any]) -> socket.socket:
        return self._request("POST", headers, json.dumps(message).encode())

    def _request(self, method: str, headers: Mapping[str, str], body: bytes) -> socket.socket:
        lines = {"Host": self._server.authority, "Accept": BOTH if body else "text/event-stream",
                 "Content-Type": "application/json", "Content-Length": str(len(body)), **headers}  # fmt: skip
        connection = self._server.connect()
        head = "".join(f"{k}: {v}\r\n" for k, v in lines.items())
        connection.sendall(f"{method} /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        return connection


def _refused(body: bytes, status: int) -> Answered:
    try:
        told = json.loads(body)
    except ValueError:
        return Answered(f"status {status}", {}, body.decode("utf-8", "replace")[:300])
    error = told.get("error", {}) if isinstance(told, dict) else {}
    data = error.get("data")
    kind = error.get("kind") or (data.get("kind") if isinstance(data, dict) else "") or f"code {error.get('code')}"
    return Answered(kind, {}, f"{status} {json.dumps(told)[:300]}")


class StdioLink:
    """A client with a server process of its own, and a parent in between that can die."""

    def __init__(self, name: str, argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self.name = name
        self.ends: list[int] = []
        self._argv = [*IN_BETWEEN, *argv]
        self._folder = folder
        self._env = env
        self._server: RawServer | None = None

    def ask(self, method: str, params: Mapping[str, Any]) -> Answered:
        server = self._open()
        return answered(server.answer(server.start(method, params), LIMIT_S))

    def give_up(self, method: str, params: Mapping[str, Any], after_s: float, *, told: bool) -> None:
        server = self._open()
        request = server.start(method, params)
        with suppress(queue.Empty):
            server.answer(request, after_s)
            return
        if told:
            server.send({"method": "notifications/cancelled", "params": {"requestId": request, "reason": "changed"}})

    def listen(self, uris: Sequence[str]) -> None:
        for uri in uris:
            self.ask("resources/subscribe", {"uri": uri})

    def deafen(self) -> None:
        """Nothing: there are no streams of their own on stdio."""

    def again(self, leaving: Leaving) -> None:
        if self._server is None:
            return
        server, self._server = self._server, None
        pid = _served_by(server)
        if leaving == "politely":
            server.close(LIMIT_S)
        elif leaving == "suddenly":
            os.kill(pid, signal.SIGKILL)
        else:
            os.kill(server.process.pid, signal.SIGKILL)
        until(lambda: not is_alive(pid), f"the server of {self.name} is gone after its client left {leaving}", LIMIT_S)
        server.kill()

    def close(self) -> None:
        self.again("politely")

    def _open(self) -> RawServer:
        if self._server is None:
            self._server = RawServer(self._argv, cwd=self._folder, env=self._env)
            self._server.initialize()
        return self._server


def _served_by(server: RawServer) -> int:
    until(lambda: any(line.strip().isdigit() for line in server.errors), "the parent has told the server's id", LIMIT_S)
    return int(next(line for line in server.errors if line.strip().isdigit()))
