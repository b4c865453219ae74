"""Scripted model servers: real HTTP and server-sent events on 127.0.0.1, with faults put in where a test wants them.

    with ModelServer(check) as server:
        server.script(Reply(events), Fault(529, {...}), Cut(Reply(events), after=3), Stall(Reply(events), after=1))
        ... a real SDK asks server.url ...
        server.seen[0].body, server.seen[0].headers, server.seen[0].gone

`check` is told each request first: a step that it returns is the answer (a refusal of what a real API refuses, or a
route of its own), None means the next step of the script.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Json: TypeAlias = Any
Event: TypeAlias = tuple[str, Json]
"""The event's name ("" = none is sent) and its data: a string goes out as it is, anything else as JSON."""

_PATIENCE_S = 10.0  # how long a stalled answer waits to be released


@dataclass(frozen=True)
class Reply:
    """An answer 200: a stream of events, or with `body` one JSON object."""

    events: Sequence[Event] = ()
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Fault:
    """An answer by status alone. A `body` that is a string goes out as it is."""

    status: int
    body: Json = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Cut:
    """The first `after` events of a reply, then the connection is cut; or, `clean`, the stream ends as if all was said.
    With `after` -1 it is cut before anything was answered."""

    reply: Reply
    after: int
    clean: bool = False


@dataclass(frozen=True)
class Stall:
    """The first `after` events of a reply, then silence until `released` (then the rest), or the client goes, or the
    server closes. With `after` -1 not even the headers are sent. `reached` is set when the silence begins."""

    reply: Reply
    after: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Raw:
    """Bytes as they are, to the end of the connection; `endless`: again and again, until the client goes."""

    data: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    endless: bool = False


Step: TypeAlias = Reply | Fault | Cut | Stall | Raw


@dataclass(frozen=True)
class Seen:
    """A request as it came. Names of headers are in lower case; `port` tells its connection from others. `gone` is set
    when the client went before the end of its answer, `answered` when the answer was sent to its end."""

    path: str
    body: Json
    headers: Mapping[str, str]
    port: int = 0
    gone: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)


Check: TypeAlias = Callable[[Seen], Step | None]


class ModelServer:
    """A server that answers POST requests by a script, and remembers them."""

    def __init__(self, check: Check = lambda seen: None) -> None:
        self.seen: list[Seen] = []
        self._check = check
        self._steps: deque[Step] = deque()
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._http = _Http(("127.0.0.1", 0), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="model server")
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def script(self, *steps: Step) -> None:
        """Forget the requests so far and answer the next ones by these steps."""
        with self._lock:
            self.seen.clear()
            self._steps = deque(steps)

    @property
    def left(self) -> int:
        """How many steps of the script nobody asked for yet."""
        return len(self._steps)

    def close(self) -> None:
        """End all connections, and wait until nothing of the server runs."""
        self._closing.set()
        self._http.shutdown()
        with self._lock:
            for open_socket in self._sockets:
                _shut(open_socket)
        self._http.server_close()
        self._thread.join(_PATIENCE_S)

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def next_step(self, seen: Seen) -> Step:
        with self._lock:
            self.seen.append(seen)
        checked = self._check(seen)
        if checked is not None:
            return checked
        with self._lock:
            if self._steps:
                return self._steps.popleft()
        return Fault(500, {"error": {"type": "api_error", "message": "the script has no further reply"}})

    def connected(self, client: socket.socket) -> None:
        with self._lock:
            self._sockets.add(client)

    def disconnected(self, client: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(client)

    def released(self, stall: Stall, client: socket.socket) -> bool:
        """Wait in silence. False: the client went, or the server closes."""
        stall.reached.set()
        for _ in range(int(_PATIENCE_S / 0.01)):
            if stall.released.is_set():
                return True
            if self._closing.is_set():
                return False
            if select.select([client], [], [], 0.01)[0] and not client.recv(1, socket.MSG_PEEK):
                return False
        raise TimeoutError("nobody released a stalled answer, and its client stays")


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, address: tuple[str, int], model: ModelServer) -> None:
        self.model = model
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http  # pyright: ignore[reportIncompatibleVariableOverride]

    def setup(self) -> None:
        super().setup()
        self.server.model.connected(self.connection)

    def finish(self) -> None:
        self.server.model.disconnected(self.connection)
        with contextlib.suppress(OSError):  # the client went; what was still to be sent has nobody to go to
            super().finish()

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: a test's output is its own."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.path, json.loads(raw) if raw else None, headers, self.client_address[1])
        step = self.server.model.next_step(seen)
        try:
            whole = self._answer(step)
        except OSError:
            whole = False
        if whole:
            seen.answered.set()
            return
        self.close_connection = True
        if not isinstance(step, Cut):
            seen.gone.set()

    def _answer(self, step: Step) -> bool:
        """Send a step. False: the connection is of no more use."""
        match step:
            case Reply(body=None):
                self._begin(step)
                return self._events(step.events) and self._end()
            case Reply():
                return self._whole(200, step.body, step.headers)
            case Fault():
                return self._whole(step.status, step.body, step.headers)
            case Cut():
                return self._cut(step)
            case Stall():
                return self._stall(step)
            case Raw():
                return self._raw(step)

    def _cut(self, step: Cut) -> bool:
        if step.after >= 0:
            self._begin(step.reply)
            self._events(step.reply.events[: step.after])
            if step.clean:
                return self._end()
        _shut(self.connection)
        return False

    def _stall(self, step: Stall) -> bool:
        said = max(step.after, 0)
        if step.after >= 0:
            self._begin(step.reply)
            self._events(step.reply.events[:said])
        if not self.server.model.released(step, self.connection):
            return False
        if step.after < 0:
            self._begin(step.reply)
        return self._events(step.reply.events[said:]) and self._end()

    def _raw(self, step: Raw) -> bool:
        self.send_response(step.status)
        for name, value in step.headers.items():
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(step.data)
        while step.endless:
            self.wfile.write(step.data)
        return True

    def _begin(self, reply: Reply) -> None:
        self.send_response(200)
        given = {name.lower() for name in reply.headers}
        if "content-type" not in given:
            self.send_header("content-type", "text/event-stream; charset=utf-8")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _events(self, events: Sequence[Event]) -> bool:
        for event in events:
            data = frame(event)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        return True

    def _end(self) -> bool:
        self.wfile.write(b"0\r\n\r\n")
        return True

    def _whole(self, status: int, body: Json, headers: Mapping[str, str]) -> bool:
        text = body if isinstance(body, str) else json.dumps(body)
        data = text.encode("utf-8")
        self.send_response(status)
        if "content-type" not in {name.lower() for name in headers}:
            self.send_header("content-type", "text/plain" if isinstance(body, str) else "application/json")
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        return True


def frame(event: Event) -> bytes:
    """An event as it goes over the wire."""
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def _shut(client: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is closed already
        client.shutdown(socket.SHUT_RDWR)
