"""How a server ends: signals, a dead parent, the end of input.

Rule: whatever the cause, the engine is closed once (children killed, runs restored) within a limit, and then the
process ends, also when a thread is stuck. A parent that died is noticed even while a sibling holds the pipe open.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import FrameType

log = logging.getLogger(__name__)

EXIT_DONE = 0
EXIT_INTERRUPTED = 130
CLOSE_LIMIT_S = 5.0
_PARENT_CHECK_S = 1.0


class Guard:
    """Watches for the causes from a thread of its own; `close` is what must be done before the process may end.

    Without `watch_parent` the process outlives the one that started it."""

    def __init__(self, close: Callable[[], None], *, limit_s: float = CLOSE_LIMIT_S, watch_parent: bool = True) -> None:
        self._close = close
        self._limit_s = limit_s
        self._parent = os.getppid() if watch_parent else 0
        self.code = EXIT_DONE
        """What the process ends with, as far as is known."""
        self._asked: SimpleQueue[int] = SimpleQueue()  # its `put` may be called inside a signal handler
        self._closing = threading.Lock()
        self._closed = False

    def watch(self) -> None:
        """Take over the signals (call it from the main thread) and start watching the parent."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup means it
                signal.signal(number, self._on_signal)
        threading.Thread(target=self._watch, name="regreen-guard", daemon=True).start()

    def shut_down(self, code: int) -> None:
        """Close the engine; once. Afterwards the process has what is left of the limit to end by itself."""
        with self._closing:
            if self._closed:
                return
            timer = threading.Timer(self._limit_s, os._exit, (code,))
            timer.daemon = True
            timer.start()
            try:
                self._close()
            except Exception:
                log.exception("closing the engine failed")
            self._closed = True

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._asked.put(EXIT_INTERRUPTED if number == signal.SIGINT else EXIT_DONE)

    def _watch(self) -> None:
        self.code = self._wait()
        self.shut_down(self.code)
        logging.shutdown()
        os._exit(self.code)  # not sys.exit: the main thread may sit in a read that never returns

    def _wait(self) -> int:
        while True:
            try:
                return self._asked.get(timeout=_PARENT_CHECK_S)
            except Empty:
                if self._parent and os.getppid() != self._parent:
                    log.warning("the parent process is gone")
                    return EXIT_DONE
