"""What stands before every route, HTTP and WebSocket alike: exact Host, exact Origin, bearer token, size, depth.

Rules: nothing is matched by prefix or pattern; no CORS header is ever sent, so that no page of another origin can read
an answer; a token counts in the `Authorization` header alone; a refused request reaches no other code.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regreen_server.http.body import MAX_BODY_BYTES, Body, TooLarge, read_body, replayed
from regreen_server.http.errors import Refusal, answer_headers

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from regreen_server.http.tokens import Tokens

log = logging.getLogger(__name__)

OPEN_PATHS = frozenset({"/healthz"})
"""Served without a token; Host and Origin are checked all the same."""
WRONG_TOKENS = 20
WINDOW_S = 60.0
_MOST_PEERS = 1024
_HTTP_PORT = 80  # left out of the Host header by clients
_CHALLENGE = ((b"www-authenticate", b'Bearer realm="regreen"'),)

Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Allowed:
    """The exact values of Host and Origin that are served. `hosts` None: any one Host (a UNIX socket, which no web
    page reaches)."""

    hosts: frozenset[str] | None
    origins: frozenset[str] = frozenset()


def allowed_on(host: str, port: int, hosts: Iterable[str], origins: Iterable[str]) -> Allowed:
    """What is served on this address, which may be all addresses: the names of the own machine, and the user's."""
    served = () if ipaddress.ip_address(host).is_unspecified else (f"[{host}]" if ":" in host else host,)
    names = ("127.0.0.1", "localhost", "[::1]", *served)
    own = (*(f"{name}:{port}" for name in names), *(names if port == _HTTP_PORT else ()))
    return Allowed(frozenset(h.lower() for h in (*own, *hosts)), frozenset(origins))


def check(headers: Iterable[Header], allowed: Allowed) -> Refusal | None:
    """Is this request meant for this server, and from no web page that was not allowed? By its headers alone."""
    headers = tuple(headers)
    hosts = _values(headers, b"host")
    if len(hosts) != 1 or not hosts[0]:
        return Refusal("host_forbidden", f"the request has {len(hosts) if len(hosts) != 1 else 'an empty'} Host header",
                       "send exactly one")  # fmt: skip
    if allowed.hosts is not None and hosts[0].lower() not in allowed.hosts:
        return Refusal("host_forbidden", "this Host is not served here",
                       "use the address that the server told, or list the host in the user's config.toml: "
                       '[http] hosts = ["name:port"]')  # fmt: skip
    origins = _values(headers, b"origin")
    if len(origins) > 1 or any(o not in allowed.origins for o in origins):
        return Refusal("origin_forbidden", "web pages of this Origin may not use this server",
                       'list it to the letter in the user\'s config.toml: [http] origins = ["..."]')  # fmt: skip
    return None


def bearer(headers: Iterable[Header]) -> str | None:
    """The token that a request presents; None where it presents none, or several."""
    found = _values(tuple(headers), b"authorization")
    if len(found) != 1:
        return None
    scheme, _, token = found[0].partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _values(headers: tuple[Header, ...], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


class Failures:
    """Wrong tokens by peer, within a window. A right token is never counted, nor refused for what others tried."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._peers: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._peers)

    def wrong(self, peer: str) -> Refusal:
        """Count a wrong or missing token; what the peer is told."""
        now = self._clock()
        since, count = self._peers.pop(peer, (now, 0))
        if now - since > WINDOW_S:
            since, count = now, 0
        self._peers[peer] = (since, count + 1)
        if len(self._peers) > _MOST_PEERS:
            self._peers.popitem(last=False)
        if count < WRONG_TOKENS:
            return Refusal("unauthorized", "a bearer token is needed, and this one is missing or wrong",
                           "send `Authorization: Bearer TOKEN`; the server told at its start where the token is",
                           headers=_CHALLENGE)  # fmt: skip
        if count == WRONG_TOKENS:
            log.warning("many requests with a wrong token or none, from %s", peer)
        wait_s = str(int(since + WINDOW_S - now) + 1)
        return Refusal("unauthorized", "too many requests with a wrong token or none",
                       f"send the right one, which is served at once; or wait {wait_s} s", status=429,
                       headers=((b"retry-after", wait_s.encode()), *_CHALLENGE))  # fmt: skip


class Guard:
    """The ASGI application that all requests meet first."""

    def __init__(self, app: ASGIApp, allowed: Allowed, tokens: Tokens, *, max_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._allowed = allowed
        self._tokens = tokens
        self._max_bytes = max_bytes
        self._failures = Failures()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if refusal := self._refusal(scope):
            await _refuse(refusal, scope, receive, send)
            return
        if scope["type"] == "websocket" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        try:
            body: Body | None = await read_body(scope["headers"], receive, self._max_bytes)
        except TooLarge:
            await _refuse(Refusal("limit_exceeded", f"the body has more than {self._max_bytes} bytes",
                                  "send less at a time"), scope, receive, send)  # fmt: skip
            return
        if body is None:  # the client is gone
            return
        if body.too_deep:
            await _refuse(Refusal("bad_request", "the JSON is nested too deeply", "send flat arguments"),
                          scope, receive, send)  # fmt: skip
            return
        await self._app(scope, replayed(body, receive), send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers = scope["headers"]
        if refusal := check(headers, self._allowed):
            return refusal
        if scope["path"] in OPEN_PATHS:
            return None
        token = bearer(headers)
        name = self._tokens.principal(token) if token is not None else None
        if name is None:
            client = scope.get("client")
            return self._failures.wrong(str(client[0]) if client else "the socket")
        scope.setdefault("state", {})["principal"] = name
        return None


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    body = refusal.body
    kind = "http.response"
    if scope["type"] == "websocket":
        await receive()  # the wish to connect
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008, "reason": refusal.kind})
            return
        kind = "websocket.http.response"
    await send({"type": f"{kind}.start", "status": refusal.code, "headers": answer_headers(body, refusal.headers)})
    await send({"type": f"{kind}.body", "body": body})
