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
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Inbox: TypeAlias = SimpleQueue[tuple[str, Callable[[], None]]]

MOST_WAITING = 8


class Workers:
    """Runs functions, each in a thread of its own while it runs. Use it on the event loop."""

    def __init__(self) -> None:
        self._waiting: list[Inbox] = []
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

        self._free().put((name, carry_out))
        return asyncio.wrap_future(outcome)

    def _free(self) -> Inbox:
        """Where a thread that has nothing to do waits for something."""
        with self._lock:
            if self._waiting:
                return self._waiting.pop()
        inbox: Inbox = SimpleQueue()
        threading.Thread(target=self._work, args=(inbox,), name="regreen-call", daemon=True).start()
        return inbox

    def _work(self, inbox: Inbox) -> None:
        while True:
            threading.current_thread().name, carry_out = inbox.get()
            carry_out()
            del carry_out  # and with it what it holds: a thread that waits keeps nothing of what it did
            with self._lock:
                if len(self._waiting) >= MOST_WAITING:
                    return
                self._waiting.append(inbox)
