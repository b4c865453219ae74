"""Calling the engine and waiting for the end: jobs are polled; an interrupt cancels them and waits for the restore.

The engine works in a thread of its own while the main thread waits: a signal is heard at once and never stops a
write half way.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Protocol

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


class Engine(Protocol):
    """What is needed of the engine here: its tools by name, never raising what a user can act on."""

    def call(self, tool: str, arguments: Mapping[str, object], *,
             on_progress: Callable[[str], None] | None = None, cancel: Cancel | None = None) -> Result: ...  # fmt: skip


class Interrupted(BaseException):
    """A signal asked us to stop. Not an Exception: nothing on the way may swallow it."""


@contextmanager
def _interruptible() -> Generator[None]:
    """The first SIGINT, SIGTERM or SIGHUP raises Interrupted in the main thread; later ones do nothing more."""
    heard = False

    def handler(_number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        if not heard:
            heard = True
            raise Interrupted

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: signal.signal(n, handler) for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


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
    """Start a job and poll it to its end. An interrupt cancels it; the result then says what was put back.

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

    return guarded(screen, follow)


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
    on_interrupt: Callable[[], None] | None = None,
    told: str = "interrupted: putting everything back",
) -> dict[str, Json]:
    """The result of `work`, done in a thread of its own. An interrupt is only told: by `screen.interrupted`, and to
    `on_interrupt`."""
    progress = screen.progress()
    with ThreadPoolExecutor(1, thread_name_prefix="regreen-call") as pool:
        try:
            with _interruptible():
                future = pool.submit(work, progress)
                try:
                    return _wait(future, progress)
                except Interrupted:
                    screen.interrupted.set()
                    if on_interrupt is not None:
                        on_interrupt()
                    progress.update(told)
                    return _wait(future, progress)
        finally:
            progress.stop()


def _wait(future: Future[dict[str, Json]], progress: Progress) -> dict[str, Json]:
    while not future.done():
        wait([future], timeout=_TICK_S)
        progress.tick()
    return future.result()
