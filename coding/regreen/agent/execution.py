"""Running tool calls: which may run at the same time, in which threads, for how long.

Rules: results come in the order of the calls; what may not run beside others runs alone; a call that takes too long is
told to stop and left; while what was left still runs, its tool is not run again, so that nothing is done twice at once.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

from regreen.agent.tool import Tool, ToolReply, failure
from regreen.providers.breaker import TIMEOUTS, Breaker
from regreen.sandbox import Cancel

T = TypeVar("T")
Work: TypeAlias = Callable[[Cancel], ToolReply]

_Inbox = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]

GRACE_S = 2.0
"""How long a call that was told to stop is waited for: what it says then is worth having."""
CLOSE_S = 5.0
KEPT_THREADS = 8


def partition(calls: Sequence[T], safe: Callable[[T], bool], most: int) -> list[list[T]]:
    """The calls in batches, in their order: those in a row that are safe beside others in one, at most `most` of them;
    each other one in a batch of its own."""
    batches: list[list[T]] = []
    open_ = False  # may the last batch take another one?
    for call in calls:
        if safe(call) and open_ and len(batches[-1]) < most:
            batches[-1].append(call)
        else:
            batches.append([call])
        open_ = safe(call)
    return batches


class Workers:
    """Threads that wait for work and are used again. A call never waits for a thread: how many run at a time is the
    callers' to limit. They are daemons, so that what hangs in one does not keep the process from ending."""

    def __init__(self, keep: int = KEPT_THREADS) -> None:
        self._keep = keep
        self._idle: list[_Inbox] = []
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the workers are closed")
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = _Inbox()
            threading.Thread(target=self._serve, args=(inbox,), name="regreen-tool", daemon=True).start()
        inbox.put((future, work))
        return future

    def _serve(self, inbox: _Inbox) -> None:
        while (item := inbox.get()) is not None:
            _fulfil(*item)
            del item  # what it holds may be large, and the next may be long in coming
            with self._lock:
                if self._closed or len(self._idle) >= self._keep:
                    return
                self._idle.append(inbox)

    def close(self) -> None:
        """Idle threads end now, the others when their work does. Nothing is waited for."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)


def _fulfil(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as e:  # whoever waits gets it, whatever it is, as from any executor  # noqa: BLE001
        future.set_exception(e)
    else:
        future.set_result(result)


class Execution:
    """Runs one tool call at a time for each caller, and remembers which tools hang. Safe from several event loops."""

    def __init__(self, clock: Callable[[], float], *, grace_s: float = GRACE_S) -> None:
        self._clock = clock
        self._grace_s = grace_s
        self._workers = Workers()
        self._breakers: dict[str, Breaker] = {}
        self._left: dict[str, list[Future[ToolReply]]] = {}  # told to stop, and still running when last seen
        self._lock = threading.Lock()

    async def run(self, tool: Tool, work: Work, timeout_s: float) -> ToolReply:
        """What `work` replies, or why it did not run or did not end. Where this is cancelled, the work is told to
        stop and CancelledError is raised at once."""
        refused, trial = self._begin(tool)
        if refused is not None:
            return refused
        cancel = Cancel()
        future = self._workers.submit(lambda: work(cancel))
        waiting = asyncio.wrap_future(future)
        try:
            await asyncio.wait([waiting], timeout=timeout_s or None)
            if waiting.done():
                reply = waiting.result()
                self._ended(tool.name, reply, trial)
                return reply
            cancel.set()
            await asyncio.wait([waiting], timeout=self._grace_s)
        except asyncio.CancelledError:
            cancel.set()
            self._abandon(tool.name, future, trial)
            waiting.cancel()  # a running thread does not notice; one that has not begun never will
            raise
        return self._timed_out(tool, waiting, future, trial, timeout_s)

    async def ask(self, question: Work) -> ToolReply:
        """Run what waits for a person: it may take as long as it likes, and counts as no timeout."""
        cancel = Cancel()
        waiting = asyncio.wrap_future(self._workers.submit(lambda: question(cancel)))
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            cancel.set()
            waiting.cancel()
            raise

    def _begin(self, tool: Tool) -> tuple[ToolReply | None, bool]:
        """Why the tool must not be run now (None: it may), and whether this run is its breaker's trial."""
        now = self._clock()
        with self._lock:
            running = [f for f in self._left.pop(tool.name, ()) if not f.done()]
            if running:
                self._left[tool.name] = running
                return _busy(tool), False
            breaker = self._breakers.get(tool.name, Breaker())
            if breaker.refuses(now):
                return _unavailable(tool, breaker.rest_s(now)), False
            self._breakers[tool.name] = breaker.begun(now)
            return None, breaker.is_open

    def _ended(self, name: str, reply: ToolReply, trial: bool) -> None:
        with self._lock:
            breaker = self._breakers[name]
            ended = breaker.failed if reply.is_error else breaker.succeeded
            self._breakers[name] = ended(trial=trial)

    def _abandon(self, name: str, future: Future[ToolReply], trial: bool) -> None:
        with self._lock:
            self._breakers[name] = self._breakers[name].abandoned(trial=trial)
            self._left.setdefault(name, []).append(future)

    def _timed_out(
        self, tool: Tool, waiting: asyncio.Future[ToolReply], future: Future[ToolReply], trial: bool, timeout_s: float
    ) -> ToolReply:
        reply = waiting.result() if waiting.done() else None
        with self._lock:
            if reply is not None and reply.question:  # it waited for a person, which is no fault of its own
                self._breakers[tool.name] = self._breakers[tool.name].failed(trial=trial)
                return reply
            self._breakers[tool.name] = self._breakers[tool.name].timed_out(self._clock(), trial=trial)
            if reply is None:
                self._left.setdefault(tool.name, []).append(future)
                waiting.cancel()
        return _late(tool, timeout_s, reply)

    def close(self, wait_s: float) -> bool:
        """End, and wait so long for the calls that were told to stop. Whether they have all ended."""
        self._workers.close()
        with self._lock:
            left = [f for futures in self._left.values() for f in futures]
        return not wait(left, wait_s).not_done


def _busy(tool: Tool) -> ToolReply:
    return failure(
        "busy",
        f"`{tool.name}` is still busy with an earlier call, which was told to stop and has not ended yet",
        "do something else first, or go another way",
    )


def _unavailable(tool: Tool, rest_s: float) -> ToolReply:
    again = f"in {rest_s:.0f} s" if rest_s else "as soon as the trial that runs now has ended well"
    return failure(
        "unavailable",
        f"`{tool.name}` timed out {TIMEOUTS} times in a row; it is tried again {again}",
        "do without it",
    )


def _late(tool: Tool, timeout_s: float, reply: ToolReply | None) -> ToolReply:
    """The answer for a call that took too long, with what it said when it was told to stop."""
    still = "" if reply else f"; it has not stopped yet, and until then `{tool.name}` is refused"
    effects = "" if tool.read_only else "\nwhat it did until then may stand: look before you call it again"
    said = f"\nit said at its end: {reply.text}" if reply and reply.text else ""
    late = failure(
        "timeout", f"`{tool.name}` did not end within {timeout_s:g} s and was told to stop{still}", tool.on_timeout
    )
    return ToolReply(late.text + effects + said, is_error=True)
