"""Words for a run that is under way, from whoever started it: put by any thread, taken by the run's driver."""

from __future__ import annotations

import threading

from regreen.errors import Busy, UsageError

MAX_CHARS = 16_000
MAX_WAITING = 16


class Steering:
    """What waits to be told to the model. Once it is closed, nothing is taken any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        self._closed = False

    def put(self, words: str) -> None:
        """Let the model hear this at its next turn. Raises UsageError where there will be none, and Busy."""
        if not words.strip():
            raise UsageError("invalid_arguments", "the message is empty", "say what the agent shall do otherwise")
        if len(words) > MAX_CHARS:
            raise UsageError("limit_exceeded", f"the message has {len(words)} characters", f"send at most {MAX_CHARS}")
        with self._lock:
            if self._closed:
                raise UsageError("invalid_arguments", "the task is in its last turn, or has ended",
                                 "start a new task with what is still to be done")  # fmt: skip
            if len(self._waiting) >= MAX_WAITING:
                raise Busy(f"{MAX_WAITING} messages wait for the model's next turn", "wait for the next turn")
            self._waiting.append(words)

    def take(self) -> tuple[str, ...]:
        """What has been put since the last time."""
        with self._lock:
            taken, self._waiting = tuple(self._waiting), []
        return taken

    def close(self) -> tuple[str, ...]:
        """Refuse what comes from now on; what has come and was not taken."""
        with self._lock:
            self._closed = True
        return self.take()
