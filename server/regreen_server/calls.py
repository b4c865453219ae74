"""One tool call: the blocking engine in a thread of its own, beside the event loop.

Rules: the client hears of a call at least every few seconds where it asked to; a cancelled call sets the engine's
`Cancel` at once; a fault of our own becomes an error result with an id, under which the log has the traceback.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from regreen.agent.offers import NOTHING, Offers
from regreen.errors import Refused, RegreenError
from regreen_server.workers import Workers

if TYPE_CHECKING:
    from regreen.sandbox import Cancel
    from regreen.session.diary import Diary
    from regreen.session.now import RunState
    from regreen.session.recording import RunRecord
    from regreen.session.run_log import LogPage
    from regreen.wire import Json

log = logging.getLogger(__name__)

MAX_CALLS = 64  # at a time; more wait for their turn
MAX_ASKING = 256  # of those that ask for a job or end it: long calls must not keep anyone from that
HEARTBEAT_S = 3.0
_TICK_S = 0.5
_ASKING = frozenset({"job_status", "job_cancel"})
_RECOVERY_WAIT_S = 20.0

T = TypeVar("T")
Report: TypeAlias = Callable[[float, str], Awaitable[None]]


class Answer(Protocol):
    """The result of a call: text complete in itself, and the same as data."""

    @property
    def text(self) -> str: ...

    @property
    def data(self) -> Mapping[str, Json]: ...

    @property
    def is_error(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """A call that is refused, or failed in a way that is our fault; in the form that every front end uses."""

    kind: str
    message: str
    hint: str = ""
    is_error: bool = True

    @property
    def text(self) -> str:
        return f"{self.kind}: {self.message}" + (f"\n{self.hint}" if self.hint else "")

    @property
    def data(self) -> Mapping[str, Json]:
        return {"error": {"kind": self.kind, "message": self.message, "hint": self.hint}}


class LiveJob(Protocol):
    """A job of this process."""

    @property
    def kind(self) -> str: ...

    @property
    def state(self) -> str: ...

    def data(self) -> Mapping[str, Json]: ...


class ToolEngine(Protocol):
    """What the server needs of `regreen.session.Engine`."""

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        on_progress: Callable[[str], None] | None = None,
        cancel: Cancel | None = None,
        offers: Offers = NOTHING,
    ) -> Answer: ...

    def run_events(self, run_id: str, *, after: int = 0, limit: int = 1000) -> tuple[dict[str, Json], ...]: ...

    def known_runs(self, *, limit: int = 20, with_tests: bool = False) -> tuple[RunRecord, ...]: ...

    def known_run(self, run_id: str) -> RunRecord: ...

    def run_state(self, run_id: str) -> RunState: ...

    def repo_of(self, run_id: str) -> str: ...

    def diary(self, run_id: str, after: int = 0) -> Diary: ...

    def steer(self, job_id: str, words: str) -> dict[str, Json]: ...

    def run_report(self, run_id: str) -> Answer: ...

    def run_log(self, run_id: str, *, offset: int = 0, size: int = 16_000) -> LogPage: ...

    def job(self, job_id: str) -> LiveJob | None: ...

    def seal_key(self) -> bytes: ...

    def take_seal(self, nonce: str, good_s: float) -> bool: ...

    def watch_jobs(self, watcher: Callable[[str], None]) -> None: ...

    def file_names(self, repo: str = "") -> tuple[str, ...]: ...

    def last_failed(self, repo: str = "") -> tuple[str, ...]: ...

    def recover(self) -> object: ...

    def close(self) -> None: ...


class EngineSlot:
    """The engine, made at the first need, and its recovery of what a killed server left behind."""

    def __init__(self, make: Callable[[], ToolEngine]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._engine: ToolEngine | None = None
        self._closed = False
        self._started = False
        self._recovered = threading.Event()
        self._watchers: list[Callable[[LiveJob, str], None]] = []

    def watch_jobs(self, watcher: Callable[[LiveJob, str], None]) -> None:
        """Let `watcher` hear each job (and its id) of the engine whose state or progress changed, from any thread."""
        self._watchers.append(watcher)

    def start(self) -> None:
        """Make the engine and recover, in the background; once. Call it from the event loop."""
        if not self._started:
            self._started = True
            threading.Thread(target=self._recover, name="regreen-recover", daemon=True).start()

    def ready(self, *, recovered: bool = True) -> ToolEngine:
        """The engine, after recovery: no call sees a tree that is half put back. `recovered=False` for what looks at
        no tree."""
        engine = self._get()
        if recovered:
            self._recovered.wait(_RECOVERY_WAIT_S)
        return engine

    def use(self, work: Callable[[ToolEngine], T], *, recovered: bool = True) -> T:
        """What `work` gives. Raises what it raises, and Refused (`cancelled`) where the engine was closed under it."""
        engine = self.ready(recovered=recovered)
        try:
            return work(engine)
        except Exception as e:
            if self._closed:
                raise _ending() from e
            raise

    def close(self) -> None:
        with self._lock:
            self._closed = True
            engine = self._engine
        if engine is not None:
            engine.close()

    def _get(self) -> ToolEngine:
        with self._lock:
            if self._closed:
                raise _ending()
            if self._engine is None:
                self._engine = engine = self._make()
                if self._watchers:
                    engine.watch_jobs(lambda job_id: self._tell(engine, job_id))
            return self._engine

    def _tell(self, engine: ToolEngine, job_id: str) -> None:
        job = engine.job(job_id)
        if job is not None:
            for watcher in self._watchers:
                watcher(job, job_id)

    def _recover(self) -> None:
        try:
            self._get().recover()
        except RegreenError as e:  # the call that needs the engine says so to the client
            log.warning("recovery: %s", e)
        except Exception:
            log.exception("recovery failed")
        finally:
            self._recovered.set()


class Caller:
    """Runs tool calls on the engine in `slot`."""

    def __init__(self, slot: EngineSlot) -> None:
        self._slot = slot
        self._turn = asyncio.Semaphore(MAX_CALLS)
        self._turn_to_ask = asyncio.Semaphore(MAX_ASKING)
        self._workers = Workers()
        self._watchers: list[Callable[[str, Answer], None]] = []

    async def call(
        self, tool: str, arguments: Mapping[str, object], report: Report, *, offers: Offers = NOTHING
    ) -> Answer:
        """The result of one call. Cancelling this coroutine cancels the call."""
        from regreen.sandbox import Cancel

        self._slot.start()
        cancel = Cancel()
        said = _Said()
        async with self._turn_to_ask if tool in _ASKING else self._turn:
            done = self._workers.run(f"regreen-{tool}", lambda: self._answer(tool, arguments, said.put, cancel, offers))
            try:
                await _accompany(done, said, report)
            except asyncio.CancelledError:  # never set it later: a job that the call began may go on
                cancel.set()
                raise
            for watcher in self._watchers:
                watcher(tool, done.result())
            return done.result()

    async def do(self, name: str, work: Callable[[ToolEngine], T], *, recovered: bool = True) -> T:
        """What `work` gives, done on the engine in a thread of its own. Raises what it raises (RegreenError).
        `recovered=False`: it looks at no tree, and need not wait until one is whole again."""
        self._slot.start()
        async with self._turn:
            return await self._workers.run(f"regreen-{name}", lambda: self._slot.use(work, recovered=recovered))

    async def look(self, name: str, work: Callable[[ToolEngine], T]) -> T:
        """As `do`, for what looks at no tree and answers at once: it waits neither for recovery nor for its turn."""
        self._slot.start()
        return await self._workers.run(f"regreen-{name}", lambda: self._slot.use(work, recovered=False))

    def watch_jobs(self, watcher: Callable[[LiveJob, str], None]) -> None:
        """Let `watcher` hear each job (and its id) whose state or progress changed, from any thread."""
        self._slot.watch_jobs(watcher)

    def watch_answers(self, watcher: Callable[[str, Answer], None]) -> None:
        """Let `watcher` hear each tool's answers, on the event loop."""
        self._watchers.append(watcher)

    def _answer(
        self,
        tool: str,
        arguments: Mapping[str, object],
        on_progress: Callable[[str], None],
        cancel: Cancel,
        offers: Offers,
    ) -> Answer:
        try:
            engine = self._slot.ready()
            return engine.call(tool, arguments, on_progress=on_progress, cancel=cancel, offers=offers)
        except RegreenError as e:
            return ErrorAnswer(e.kind, e.message, e.hint)
        except Exception:
            identity = secrets.token_hex(4)
            log.exception("fault %s in %s", identity, tool)
            return ErrorAnswer("internal", f"unexpected fault in `{tool}` ({identity})",
                                f"the server's log has the details under {identity}")  # fmt: skip


def _ending() -> Refused:
    return Refused("cancelled", "the server is ending", "start it again")


class _Said:
    """The engine's latest progress text: put by its thread, taken by the loop."""

    def __init__(self) -> None:
        self.text = ""
        self.fresh = False

    def put(self, text: str) -> None:
        self.text = text
        self.fresh = True

    def take(self) -> str:
        self.fresh = False
        return self.text


async def _accompany(done: asyncio.Future[Answer], said: _Said, report: Report) -> None:
    started = reported = time.monotonic()
    while not (await asyncio.wait([done], timeout=_TICK_S))[0]:
        now = time.monotonic()
        if said.fresh or now - reported >= HEARTBEAT_S:
            reported = now
            news = said.fresh
            text = said.take() or "working"
            await report(round(now - started, 2), text if news else f"{text} ({now - started:.0f} s)")
