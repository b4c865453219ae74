"""What changes, told to those who asked: runs and files as `resources/updated`, the list of runs as `list_changed`.

Jobs change in threads of the engine; here, on the event loop, the changes become events on one bus. Clients of the
later era hear it through their `subscriptions/listen` streams (the SDK's), those of the handshake era each through a
`Listener`. Rules: a run's change of state is told at once and its progress at most once a second, the last always;
a client that does not read holds up nobody, and what waits for it is bounded; a connection's end takes all of it away.

Heard are the jobs of this process; a run of another process is not told of, and is read whenever asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from regreen_server import resources, run_resources
from regreen_server.refusals import refusal, refusal_of

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import ListenHandler, ServerEvent
    from mcp_types import EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams

    from regreen_server.calls import Answer, Caller, LiveJob

log = logging.getLogger(__name__)

PROGRESS_EVERY_S = 1.0
MAX_SUBSCRIPTIONS = 200  # of one connection
MAX_STREAMS = 256
_MAX_FILES = 200  # of one change; whoever watches more of them looks again anyway
_LISTED = ("fix", "task")
_STATE = "regreen.listener"  # in a connection's own state
_LIST = ""  # stands among URIs for the list itself


def rest_s(told_at: float | None, now: float, *, is_news: bool) -> float:
    """How long telling of a job must wait: not at all for a new state, else until its second is over."""
    return 0.0 if is_news or told_at is None else max(0.0, told_at + PROGRESS_EVERY_S - now)


def changed_files(tool: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that a tool's answer says it has changed."""
    if tool == "apply_edits":
        return tuple(f["path"] for f in data.get("files", ())) if data.get("transaction") else ()
    if tool == "restore" and not data.get("dry_run"):
        return (*data.get("restored", ()), *data.get("deleted", ()))
    return ()


def kept_files(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that a run which has ended left changed."""
    outcome: Mapping[str, Any] = data.get("outcome") or {}
    return tuple(outcome.get("kept_files", ())) if outcome.get("kept") else ()


@dataclass(slots=True)
class _Pace:
    """When a job was told of last, in which state, and what will tell of it next."""

    state: str = ""
    told_at: float | None = None
    timer: asyncio.TimerHandle | None = None

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


@dataclass(slots=True, eq=False)
class Listener:
    """A connection of the handshake era: what it subscribed to, and what waits to be sent."""

    session: ServerSession
    uris: set[str] = field(default_factory=set[str])
    waiting: dict[str, None] = field(default_factory=dict[str, None])
    sending: asyncio.Task[None] | None = None

    def hear(self, event: ServerEvent) -> None:
        from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated

        match event:
            case ResourceUpdated() if event.uri in self.uris:
                self.waiting[event.uri] = None
            case ResourcesListChanged():
                self.waiting[_LIST] = None
            case _:
                return
        if self.sending is None or self.sending.done():
            self.sending = asyncio.get_running_loop().create_task(self._send())

    async def _send(self) -> None:
        import anyio
        from mcp_types import ResourceListChangedNotification

        try:
            while self.waiting:
                uri = next(iter(self.waiting))
                del self.waiting[uri]
                if uri == _LIST:
                    await self.session.send_notification(ResourceListChangedNotification())
                else:
                    await self.session.send_resource_updated(uri)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            log.debug("a client left before it was told of a change")

    def stop(self) -> None:
        if self.sending is not None:
            self.sending.cancel()


class Changes:
    """The hub between the engine's jobs and the clients of one server."""

    def __init__(self, caller: Caller) -> None:
        from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

        self._caller = caller
        self._bus = InMemorySubscriptionBus()
        self.listen: ListenHandler = ListenHandler(self._bus, max_subscriptions=MAX_STREAMS)
        self._listeners: set[Listener] = set()
        self._paces: dict[str, _Pace] = {}
        self._publishing: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        caller.watch_jobs(self._job_changed)
        caller.watch_answers(self._answered)

    @property
    def listeners(self) -> int:
        """How many connections of the handshake era are told of changes now."""
        return len(self._listeners)

    # --- connections ---------------------------------------------------------------------------------

    async def notice(self, ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        """Middleware: notes the loop, and each connection of the handshake era once it is initialized."""
        self._loop = asyncio.get_running_loop()
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized":
            self._listener(ctx)
        return result

    async def subscribe(self, ctx: ServerRequestContext[Any], params: SubscribeRequestParams) -> EmptyResult:
        """What answers `resources/subscribe`; refused for what is no resource of ours, and past the limit."""
        from mcp_types import EmptyResult

        uri = str(params.uri)
        await self._check(uri)
        listener = self._listener(ctx)
        if listener is not None:
            if len(listener.uris) >= MAX_SUBSCRIPTIONS and uri not in listener.uris:
                raise refusal("limit_exceeded", f"this connection has {MAX_SUBSCRIPTIONS} subscriptions already",
                              "unsubscribe from what is not needed any more", uri=uri)  # fmt: skip
            listener.uris.add(uri)
        return EmptyResult()

    async def unsubscribe(self, ctx: ServerRequestContext[Any], params: UnsubscribeRequestParams) -> EmptyResult:
        """What answers `resources/unsubscribe`; what was not subscribed to is as good as unsubscribed from."""
        from mcp_types import EmptyResult

        listener = self._listener(ctx)
        if listener is not None:
            listener.uris.discard(str(params.uri))
            listener.waiting.pop(str(params.uri), None)
        return EmptyResult()

    async def _check(self, uri: str) -> None:
        from regreen.errors import RegreenError

        where = run_resources.address(uri)
        if not resources.is_known(uri):
            raise refusal("not_found", f"there is no resource {uri[:200]!r}",
                          "resources/list and resources/templates/list show what there is", uri=uri)  # fmt: skip
        if where is not None:
            try:
                await self._caller.do("run", lambda engine: engine.known_run(where.run_id), recovered=False)
            except RegreenError as e:
                raise refusal_of(e, uri=uri) from e

    def _listener(self, ctx: ServerRequestContext[Any]) -> Listener | None:
        """The listener of a request's connection, made at first need; None for one that can be told nothing."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        connection = _connection(ctx.session)
        if connection.protocol_version in MODERN_PROTOCOL_VERSIONS or not connection.has_standalone_channel:
            return None
        known = cast("Listener | None", connection.state.get(_STATE))
        if known is None:
            connection.state[_STATE] = known = Listener(ctx.session)
            self._listeners.add(known)
            connection.exit_stack.callback(self._forget, known, self._bus.subscribe(known.hear))
        return known

    def _forget(self, listener: Listener, unsubscribe: Callable[[], None]) -> None:
        unsubscribe()
        listener.stop()
        self._listeners.discard(listener)

    # --- what changed --------------------------------------------------------------------------------

    def _job_changed(self, job: LiveJob, job_id: str) -> None:
        """Hears the engine's threads."""
        loop = self._loop
        if loop is None:  # nobody has connected yet
            return
        state, kind = job.state, job.kind
        files = kept_files(job.data()) if state == "done" and kind in _LISTED else ()
        try:
            loop.call_soon_threadsafe(self._heard, job_id, kind, state, files)
        except RuntimeError:
            log.debug("the event loop has ended")

    def _heard(self, job_id: str, kind: str, state: str, files: tuple[str, ...]) -> None:
        from mcp.server.subscriptions import ResourcesListChanged

        pace = self._paces.setdefault(job_id, _Pace())
        before, pace.state = pace.state, state
        if kind in _LISTED and (not before or state == "done"):
            self._publish(ResourcesListChanged())
        self._tell_files(files)
        now = asyncio.get_running_loop().time()
        wait = rest_s(pace.told_at, now, is_news=state != before)
        if wait == 0.0:
            self._tell_job(job_id)
        elif pace.timer is None:
            pace.timer = asyncio.get_running_loop().call_later(wait, self._tell_job, job_id)
        if state == "done":
            self._paces.pop(job_id).stop()

    def _tell_job(self, job_id: str) -> None:
        from mcp.server.subscriptions import ResourceUpdated

        pace = self._paces[job_id]
        pace.stop()
        pace.told_at = asyncio.get_running_loop().time()
        for uri in run_resources.uris(job_id):
            self._publish(ResourceUpdated(uri=uri))

    def _answered(self, tool: str, answer: Answer) -> None:
        if not answer.is_error:
            self._tell_files(changed_files(tool, answer.data))

    def _tell_files(self, paths: tuple[str, ...]) -> None:
        from mcp.server.subscriptions import ResourceUpdated

        for path in paths[:_MAX_FILES]:
            for uri in resources.uris_of_file(path):
                self._publish(ResourceUpdated(uri=uri))

    def _publish(self, event: ServerEvent) -> None:
        task = asyncio.get_running_loop().create_task(self._bus.publish(event))
        self._publishing.add(task)
        task.add_done_callback(self._publishing.discard)


def _connection(session: ServerSession) -> Connection:
    """The connection behind a request. The SDK names it nowhere in public, and nothing else lives as long as a client
    does, or says when it ends."""
    return session._connection  # pyright: ignore[reportPrivateUsage]
