"""How long a request may take to arrive: a connection that is opened, or begins a request, and then dawdles is closed.

Without it a peer without any token could hold all connections, byte by byte.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

ARRIVAL_S = 30.0
_ARRIVING = (h11.IDLE, h11.SEND_BODY)


class Arriving(H11Protocol):
    """uvicorn's protocol, with a limit to the time from a request's first byte (or the connection's start) to its
    last."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit = self.loop.call_later(ARRIVAL_S, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in _ARRIVING:
            self._unset_limit()
        elif self._limit is None:
            self._limit = self.loop.call_later(ARRIVAL_S, self.transport.close)

    def _should_upgrade(self) -> bool:
        """A WebSocket begins with a GET that has no body. With any other request the wish is passed over, as HTTP
        allows: what speaks WebSocket would wait for the beginning that never comes."""
        body = [(k, v) for k, v in self.headers if k in (b"content-length", b"transfer-encoding") and v != b"0"]
        return self.scope["method"] == "GET" and not body and super()._should_upgrade()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset_limit()
        super().connection_lost(exc)

    def _unset_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
