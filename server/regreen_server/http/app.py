"""The routes behind the guard: the SDK's transport at `/mcp`, health, and the answers to what is no route.

Rule: a session belongs to the principal that opened it; for any other it does not exist.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from regreen.errors import RegreenError
from regreen_server.http import openapi, runs
from regreen_server.http.errors import Refusal, answer_headers
from regreen_server.http.guard import Allowed, Guard
from regreen_server.line import STREAM, Stream

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from regreen_server.calls import Caller, LiveJob
    from regreen_server.http.tokens import Tokens
    from regreen_server.tool_list import Offer

log = logging.getLogger(__name__)

MCP_PATH = "/mcp"
MAX_SESSIONS = 256
SESSION_IDLE_S = 30 * 60.0
_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"
_UNKNOWN = Refusal("session_unknown", "there is no such session for this token", "send `initialize` for a new one")
_FULL = Refusal("busy", f"{MAX_SESSIONS} sessions are open, as many as may be", "end one, or try later", status=503)


def create_app(server: Server[Any], caller: Caller, allowed: Allowed, tokens: Tokens, offer: Offer) -> ASGIApp:
    """The whole application. Its lifespan runs the sessions."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException

    sessions = StreamableHTTPSessionManager(
        server,
        session_idle_timeout=SESSION_IDLE_S,
        max_sessions=MAX_SESSIONS,
        # The guard has checked Host and Origin already, to the letter; the SDK would allow patterns.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app = Starlette(
        routes=all_routes(sessions, caller, offer),
        lifespan=lambda _: sessions.run(),
        exception_handlers={HTTPException: _told, RegreenError: _told, Exception: _told},
    )
    app.router.redirect_slashes = False
    return Guard(Known(app), allowed, tokens)


def all_routes(sessions: StreamableHTTPSessionManager, caller: Caller, offer: Offer) -> list[BaseRoute]:
    """All that is served."""
    from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
    from starlette.routing import Route

    return [
        Route(MCP_PATH, AuthContextMiddleware(Sessions(sessions))),
        Route("/healthz", Health(sessions, caller).answer, methods=["GET"]),
        Route(openapi.PATH, openapi.answerer(offer), methods=["GET"]),
        *runs.routes(caller, offer),
    ]


class Known:
    """Tells the SDK who the guard let in, in its own terms: sessions and sealed states are bound to that principal."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        name = scope.get("state", {}).get("principal")
        if name is not None:
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))
        await self._app(scope, receive, send)


class Sessions:
    """The SDK's sessions. What it says of a session that is not there is said as every error here; and a call is told
    what it needs to know of its streams."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions
        self._listening: Counter[bytes | None] = Counter()  # streams on which a session's client listens, by session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = _names_session(scope)
        instead: Refusal | None = None
        session = dict(scope["headers"]).get(_SESSION)
        gone = asyncio.Event()
        scope.setdefault("state", {})[STREAM] = Stream(gone, lambda: self._listening[session] > 0)

        async def heard() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        async def told(message: Message) -> None:
            nonlocal instead
            if message["type"] == "http.response.start":
                instead = (
                    _FULL if message["status"] == 503 else _UNKNOWN if message["status"] == 404 and named else None
                )
                if instead is not None:
                    headers = answer_headers(instead.body)
                    await send({"type": "http.response.start", "status": instead.code, "headers": headers})
                    await send({"type": "http.response.body", "body": instead.body})
            if instead is None:
                await send(message)

        listens = scope["method"] == "GET"
        self._listening[session] += listens
        try:
            await self._sessions.handle_request(scope, heard, told)
        finally:
            self._listening[session] -= listens
            if not self._listening[session]:
                del self._listening[session]


def _names_session(scope: Scope) -> bool:
    """Is this a request in a session? Those of the newer protocol versions are in none."""
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

    headers: dict[bytes, bytes] = dict(scope["headers"])
    version = headers.get(_VERSION)
    return _SESSION in headers and (version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS)


class Health:
    """`/healthz`: is the server there, and how busy. Nothing of repositories, runs or people."""

    def __init__(self, sessions: StreamableHTTPSessionManager, caller: Caller) -> None:
        self._sessions = sessions
        self._started = time.monotonic()
        self._jobs: set[str] = set()
        caller.watch_jobs(self._changed)

    def _changed(self, job: LiveJob, job_id: str) -> None:
        if job.state == "done":
            self._jobs.discard(job_id)
        else:
            self._jobs.add(job_id)

    async def answer(self, _request: Request) -> Response:
        from importlib.metadata import version

        from starlette.responses import JSONResponse

        return JSONResponse(
            {
                "status": "ok",
                "version": version("regreen"),
                "uptime_s": round(time.monotonic() - self._started, 1),
                "sessions": len(self._sessions._server_instances),  # pyright: ignore[reportPrivateUsage]
                "jobs": len(self._jobs),
            }
        )


async def _told(request: Request, error: Exception) -> Response:
    from starlette.responses import Response

    refusal = as_refusal(error, f"{request.method} {request.scope['path']}")
    headers = {k.decode(): v.decode() for k, v in refusal.headers}
    return Response(refusal.body, refusal.code, headers, "application/json")


def as_refusal(error: Exception, request: str) -> Refusal:
    """What a client is told of an error of a route. A fault of our own goes to the log, under the id that is told."""
    from starlette.exceptions import HTTPException

    if isinstance(error, RegreenError):
        return Refusal(error.kind, error.message, error.hint)
    if isinstance(error, HTTPException):
        kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "bad_request")
        headers = tuple((k.lower().encode(), v.encode()) for k, v in (error.headers or {}).items())
        return Refusal(kind, f"{request} is not served", f"{openapi.PATH} has what is",
                       error.status_code, headers)  # fmt: skip
    identity = secrets.token_hex(4)
    log.error("fault %s in %s", identity, request, exc_info=error)
    return Refusal("internal", f"unexpected fault ({identity})", f"the server's log has the details under {identity}")
