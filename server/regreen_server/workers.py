"""Threads for blocking work beside the event loop.

Rules: they are daemons (a pool's blocked thread would keep the process from ending), there is always another one, and
some that are done wait for the next work: making one anew takes as long as a small call.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

MOST_WAITING = 8


class Workers:
    """Runs functions, each in a thread of its own while it runs. Use it on the event loop."""

    def __init__(self) -> None:
        self._waiting: list[SimpleQueue[tuple[str, Callable[[], None]]]] = []
        self._lock = threading.Lock()

    def run(self, name: str, work: Callable[[], T]) -> asyncio.Future[T]:
        """What `work` gives, or raises; the thread bears this name meanwhile. Cancelling the future stops nothing."""
        outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        outcome.set_running_or_notify_cancel()

        def carry_out() -> None:
            try:
                outcome.set_result(contextvars.Context().run(work))
            except BaseException as e:  # noqa: BLE001  (raised again by whoever waits)
                outcome.set_exception(e)

        with self._lock:
            inbox = self._waiting.pop() if self._waiting else None
        if inbox is not None:
            inbox.put((name, carry_out))
        else:
            threading.Thread(target=self._work, args=(carry_out,), name=name, daemon=True).start()
        return asyncio.wrap_future(outcome)

    def _work(self, carry_out: Callable[[], None]) -> None:
        inbox: SimpleQueue[tuple[str, Callable[[], None]]] = SimpleQueue()
        while True:
            carry_out()
            del carry_out  # and with it what it holds
            with self._lock:
                if len(self._waiting) >= MOST_WAITING:
                    return
                self._waiting.append(inbox)
            threading.current_thread().name, carry_out = inbox.get()
