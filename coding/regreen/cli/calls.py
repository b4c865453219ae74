"""Calling the engine and waiting for the end: jobs are polled; an interrupt cancels them and waits for the restore.

The engine works in a thread of its own while the main thread waits: a signal is heard at once and never stops a
write half way.
"""

from __future__ import annotations

import select
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from regreen.wire import Json

if TYPE_CHECKING:
    from regreen.cli.screen import Progress, Screen
    from regreen.sandbox import Cancel

_POLL_S = 1.0
_TICK_S = 0.1
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Result(Protocol):
    """What a tool of the engine answers."""

    @property
    def data(self) -> dict[str, Json]: ...


class Jobs(Protocol):
    """The jobs of an engine."""

    def stop_all(self, timeout_s: float) -> None: ...


class Engine(Protocol):
    """What is needed of the engine here: its tools by name, never raising what a user can act on, and its jobs."""

    @property
    def jobs(self) -> Jobs: ...

    def call(self, tool: str, arguments: Mapping[str, object], *,
             on_progress: Callable[[str], None] | None = None, cancel: Cancel | None = None) -> Result: ...  # fmt: skip


class _Signals:
    """SIGINT, SIGTERM and SIGHUP while the block lasts. The first one wakes whoever waits, as `wake` does.

    Nothing is raised: a signal may come between any two steps of the main thread. Nor is anything locked in the
    handler: another one may come there. In another thread than the main one none is heard.
    """

    def __init__(self) -> None:
        self.came = False

    def __enter__(self) -> _Signals:
        self._woken, self._waker = socket.socketpair()
        self._before: dict[int, Any] = {}
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        if threading.current_thread() is threading.main_thread():
            self._old_fd = signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
            heard = (n for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN)
            self._before = {n: signal.signal(n, self._hear) for n in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for number, old in self._before.items():
            signal.signal(number, old)
        if threading.current_thread() is threading.main_thread():
            signal.set_wakeup_fd(self._old_fd)
        self._woken.close()
        self._waker.close()

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self.came = True

    def wake(self) -> None:
        """End the wait that is under way, or the next; from any thread. Does nothing after the block."""
        with suppress(OSError):
            self._waker.send(b".")

    def wait(self, timeout_s: float) -> None:
        if select.select([self._woken], [], [], timeout_s)[0]:
            self._woken.recv(1024)


def call(engine: Engine, screen: Screen, tool: str, arguments: Mapping[str, object]) -> dict[str, Json]:
    """The structured result of one tool. An interrupt cancels the call, which then ends with what it has."""
    from regreen.sandbox import Cancel

    cancel = Cancel()
    return guarded(
        screen,
        lambda progress: engine.call(tool, arguments, on_progress=progress.update, cancel=cancel).data,
        on_interrupt=cancel.set,
        told="interrupted",
    )


def complete(
    engine: Engine,
    screen: Screen,
    start: Callable[[], Result],
    on_news: Callable[[Mapping[str, Json]], float] = lambda _: _POLL_S,
    *,
    say: Callable[[Progress], Callable[[str], None]] = lambda progress: progress.update,
) -> dict[str, Json]:
    """Start a job and poll it to its end. An interrupt cancels it at once, before anybody who is asked something in it
    hears of the interrupt; the result then says what was put back.

    `on_news` hears each answer, and says in how many seconds it wants the next one. `say` gives what the job's own
    word for its progress is handed to.
    """

    def follow(progress: Progress) -> dict[str, Json]:
        on_progress = say(progress)
        data = start().data
        cancelled = False
        while (job_id := _unfinished(data)) is not None:
            wait_s = on_news(data)
            if not cancelled and (screen.interrupted.is_set() or data.get("state") == "waiting_for_edits"):
                engine.call("job_cancel", {"job_id": job_id})
                cancelled = True
            data = engine.call("job_status", {"job_id": job_id, "wait_s": wait_s}, on_progress=on_progress).data
        on_news(data)
        return data

    return guarded(screen, follow, on_interrupt=lambda: engine.jobs.stop_all(0.0))


def _unfinished(data: Mapping[str, Json]) -> str | None:
    """The id of the job that still runs, if the result says so."""
    match data:
        case {"job_id": str(job_id), "state": "running" | "waiting_for_edits"}:
            return job_id
        case {"job_id": str(job_id), "status": "running"}:
            return job_id
        case _:
            return None


def guarded(
    screen: Screen,
    work: Callable[[Progress], dict[str, Json]],
    *,
    on_interrupt: Callable[[], None] = lambda: None,
    told: str = "interrupted: putting everything back",
) -> dict[str, Json]:
    """The result of `work`, done in a thread of its own. The first interrupt is only told: to `on_interrupt`, which
    must not wait, and then by `screen.interrupted`. Later ones do nothing more."""
    progress = screen.progress()
    with ThreadPoolExecutor(1, thread_name_prefix="regreen-call") as pool, _Signals() as signals:
        future = pool.submit(work, progress)
        future.add_done_callback(lambda _: signals.wake())
        try:
            while not future.done():
                if signals.came and not screen.interrupted.is_set():
                    on_interrupt()
                    screen.interrupted.set()
                    progress.update(told)
                signals.wait(_TICK_S)
                progress.tick()
            return future.result()
        finally:
            progress.stop()
