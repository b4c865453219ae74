"""The server's log: on standard error, quiet, and never in the way of who logs.

Rules: a line is put in a queue, and written by a thread of its own: a client that starts a server and does not read
what it logs must not stop it. Where the queue is full, lines are lost. No line is longer than anybody reads.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from queue import Full, Queue

MOST_WAITING = 1_000
MAX_CHARS = 8_000
_LAST_LINES_S = 0.3
_STDERR = 2


class Log(logging.Handler):
    """Writes to standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("regreen: %(levelname)s: %(message)s"))
        self._waiting: Queue[str] = Queue(MOST_WAITING)
        self._written = threading.Condition()
        self._open = 0
        threading.Thread(target=self._write, name="regreen-log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        from regreen.wire import shortened

        try:
            with self._written:
                self._waiting.put_nowait(shortened(self.format(record), MAX_CHARS))
                self._open += 1
        except Full:
            return
        except Exception:  # noqa: BLE001  (as every handler: a fault in a log line is not one of who logs)
            self.handleError(record)

    def flush(self) -> None:
        """Wait a moment for what was logged."""
        with self._written:
            self._written.wait_for(lambda: not self._open, _LAST_LINES_S)

    def _write(self) -> None:
        while True:
            line = self._waiting.get()
            with suppress(OSError):  # nobody reads it
                _to_stderr(line)
            with self._written:
                self._open -= 1
                self._written.notify_all()


def _to_stderr(line: str) -> None:
    """Write one line to the descriptor itself: a thread that is stuck in `sys.stderr` would not let Python end."""
    rest = memoryview(f"{line}\n".encode("utf-8", "backslashreplace"))
    while rest:
        rest = rest[os.write(_STDERR, rest) :]


def begin() -> None:
    """Log to standard error from now on: warnings, and what is worse."""
    logging.basicConfig(handlers=[Log()], level=logging.WARNING)
