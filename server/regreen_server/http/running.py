"""`regreen serve` over HTTP: the composition of sockets, guard, engine, SDK and uvicorn, and its end.

Rules: the sockets listen before the ready line is written; standard output stays empty, standard error quiet; a signal
ends the process within the lifecycle's limit, whatever streams are open, with every run restored.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn

from regreen_server import logs, pipes
from regreen_server.http import tokens
from regreen_server.http.arriving import Arriving
from regreen_server.http.guard import Allowed, allowed_on
from regreen_server.http.options import LOOPBACK, TOKEN_VARIABLE, HttpOptions
from regreen_server.http.sockets import UnixListener, listen_tcp
from regreen_server.lifecycle import CLOSE_LIMIT_S, EXIT_DONE, Guard

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Generator

    from starlette.types import ASGIApp

    from regreen.settings import Settings
    from regreen_server.calls import EngineSlot, ToolEngine
    from regreen_server.tool_list import Offer

log = logging.getLogger(__name__)

_LAST_ANSWERS_S = 1  # what open requests get when the server ends, after their jobs were ended
MAX_CONNECTIONS = 512
_WS_MAX_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that listens, how it is told, and what is served on it."""

    socket: socket.socket
    told: str
    allowed: Allowed
    close: Callable[[], None]


def listener(options: HttpOptions) -> Listener:
    """Bind. Raises ConfigError where that cannot be."""
    if options.socket is not None:
        unix = UnixListener(options.socket)
        allowed = Allowed(None, frozenset(options.origins))
        return Listener(unix.socket, f"/mcp on unix:{unix.path}", allowed, unix.remove)
    tcp = listen_tcp(options.host, options.port)
    port = tcp.getsockname()[1]
    told = LOOPBACK if options.host == "0.0.0.0" else "::1" if options.host == "::" else options.host
    shown = f"[{told}]" if ":" in told else told
    allowed = allowed_on(options.host, port, options.hosts, options.origins)
    return Listener(tcp, f"http://{shown}:{port}/mcp", allowed, lambda: None)


def read_tokens(settings: Settings, options: HttpOptions) -> tokens.Tokens:
    """The tokens that these options name. Raises ConfigError."""
    if options.token_file is None:
        return tokens.of_environment(settings.environ.get(TOKEN_VARIABLE, ""), TOKEN_VARIABLE)
    return tokens.of_file(options.token_file)


def remarks(settings: Settings, options: HttpOptions) -> list[str]:
    """What may be right, and is told at the start."""
    told: list[str] = []
    if options.on_all_addresses and not options.hosts:
        told.append("no [http] hosts in config.toml: requests by this machine's own names alone are served")
    file = options.token_file.resolve() if options.token_file else None
    if file is not None and (root := next((r for r in settings.roots if file.is_relative_to(r)), None)):
        told.append(f"the token file lies in {root}, which is served: who may read files there reads the tokens")
    return told


def _engine(settings: Settings) -> ToolEngine:
    from regreen.session import Engine

    return Engine(settings)


def serve(
    settings: Settings,
    options: HttpOptions,
    offer: Offer,
    *,
    make_engine: Callable[[Settings], ToolEngine] = _engine,
    close_limit_s: float = CLOSE_LIMIT_S,
) -> int:
    """Serve until a signal ends it; returns the exit code. Raises ConfigError, before anything is served, for tokens
    or an address that cannot be used. Runs in the main thread, once per process."""
    from regreen_server.app import create_server
    from regreen_server.calls import Caller, EngineSlot
    from regreen_server.http.app import create_app

    known = read_tokens(settings, options)
    place = listener(options)
    for fd in pipes.claim():  # no print reaches standard output, and no child our input
        os.close(fd)
    logs.begin()
    for remark in remarks(settings, options):
        log.warning("%s", remark)
    slot = EngineSlot(lambda: make_engine(settings))
    caller = Caller(slot)
    app = create_app(create_server(caller, offer), caller, place.allowed, known, offer)

    def ready() -> None:
        slot.start()  # what a killed server left is put back before the first call
        _tell(f"regreen: serving {place.told} (token: {known.source})")

    server = _Server(app, ready)
    guard = Guard(lambda: _close(place, server, slot), limit_s=close_limit_s, watch_parent=False)
    guard.watch()
    try:
        server.run([place.socket])
    finally:
        server.ended.set()
        guard.shut_down(EXIT_DONE)
    return guard.code


def _close(place: Listener, server: _Server, slot: EngineSlot) -> None:
    """In the guard's thread: no new connection, then the jobs, then what open requests still have to say."""
    place.close()
    server.end()
    slot.close()
    server.ended.wait(_LAST_ANSWERS_S + 0.5)


class _Server(uvicorn.Server):
    """uvicorn, whose signals are the lifecycle guard's. `ready` is called when connections are accepted."""

    def __init__(self, app: ASGIApp, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http=Arriving,
                ws="websockets-sansio",
                ws_max_size=_WS_MAX_BYTES,
                log_config=None,
                access_log=False,
                proxy_headers=False,  # nobody's word for who the client is
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=_LAST_ANSWERS_S,
            )
        )
        # Their warnings are of what peers send, who could fill a disk with them.
        for name in ("uvicorn.error", "mcp", "asyncio"):
            logging.getLogger(name).setLevel(logging.ERROR)
        logging.getLogger("uvicorn.error").addFilter(_is_of_interest)
        self._ready = ready
        self.ended = threading.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    def end(self) -> None:
        """Stop accepting, and end; from any thread. What is cut off then is no fault to be logged."""
        for name in ("uvicorn.error", "mcp", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self.should_exit = True


def _is_of_interest(record: logging.LogRecord) -> bool:
    """uvicorn takes each WebSocket that is refused with a proper answer for a fault of ours, and bytes of a client that
    are no text for one, too."""
    said = record.getMessage()
    return "without completing handshake" not in said and "Invalid UTF-8 sequence" not in said


def _tell(line: str) -> None:
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:  # nobody reads it
        log.debug("no standard error")
