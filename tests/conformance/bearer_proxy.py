"""A reverse proxy for a client that can send no header of its own: adds the bearer token to each request.

Rule: nothing else is changed, so that a wrong Host or Origin arrives as it was sent; the server must be told of the
proxy's own address. One request a connection: each is told to be the last.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

_END = b"\r\n\r\n"
_CHUNK_BYTES = 64 * 1024
_CONNECTION = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)


@dataclass
class BearerProxy:
    """Listens on `address`; `server` and `token` must be set before the first request."""

    address: str
    server: tuple[str, int] = ("", 0)
    token: str = ""

    def rewritten(self, head: bytes) -> bytes:
        """The head of a request as the server is to see it."""
        added = f"\r\nAuthorization: Bearer {self.token}\r\nConnection: close".encode()
        return _CONNECTION.sub(b"", head) + added

    def carry(self, client: socket.socket) -> None:
        """One connection: a request, and its answer to the end."""
        with client:
            data = b""
            while _END not in data:
                if not (more := client.recv(_CHUNK_BYTES)):
                    return
                data += more
            head, _, rest = data.partition(_END)
            with socket.create_connection(self.server) as server:
                server.sendall(self.rewritten(head) + _END + rest)
                threading.Thread(target=_pump, args=(client, server), daemon=True).start()
                _pump(server, client)


@contextmanager
def bearer_proxy() -> Generator[BearerProxy]:
    """A proxy for the time of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = BearerProxy(f"127.0.0.1:{listener.getsockname()[1]}")

        def accept() -> None:
            with suppress(OSError):  # the listener was closed: the end
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=proxy.carry, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield proxy
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts


def _pump(source: socket.socket, to: socket.socket) -> None:
    """Everything that comes, and then the end; a side that has gone ends both."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK_BYTES):
            to.sendall(chunk)
    for end in (to, source):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
