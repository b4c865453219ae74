"""The run's diary: one JSON object a line, appended as things happen, redacted, never rewritten.

Anything that wants to follow a run (terminal, MCP progress, statistics) subscribes; the engine knows none of them.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from regreen.redact import Redactor
from regreen.wire import Json, to_json

EventKind: TypeAlias = Literal[
    "run_started", "snapshot_taken", "baseline_taken", "attempt_started", "edit_applied", "tests_started",
    "tests_progress", "tests_finished", "gate_finished", "verification_failed", "attempt_finished", "restored",
    "budget", "search_progress", "recovered", "error", "run_finished", "turn_started", "model_request",
    "model_response", "model_retry", "text_delta", "tool_call", "tool_result", "permission", "stuck", "step",
    "verified", "steered", "webhook",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    seq: int
    time: float
    run_id: str
    kind: EventKind
    data: Mapping[str, Json]

    def as_json(self) -> dict[str, Json]:
        return {"seq": self.seq, "time": self.time, "run_id": self.run_id, "kind": self.kind, **self.data}


Subscriber: TypeAlias = Callable[[Event], None]

_log = logging.getLogger(__name__)
_NOT_LOGGED: frozenset[str] = frozenset({"tests_progress", "search_progress", "text_delta"})


class EventLog:
    """Numbers events, appends them to a JSONL file and hands them to subscribers. Safe from several threads."""

    def __init__(self, run_id: str, path: Path | None, redact: Redactor, clock: Callable[[], float]) -> None:
        self.run_id = run_id
        self._path = path
        self._redact = redact
        self._clock = clock
        self._seq = 0
        self._subscribers: tuple[Subscriber, ...] = ()
        self._lock = threading.Lock()

    def subscribe(self, subscriber: Subscriber) -> None:
        self._subscribers = (*self._subscribers, subscriber)

    def emit(self, kind: EventKind, **data: object) -> Event:
        """Record one event. Frequent progress events go to subscribers only, not to the file."""
        fields = {k: to_json(v) for k, v in data.items() if v is not None}
        with self._lock:
            self._seq += 1
            event = Event(self._seq, self._clock(), self.run_id, kind, fields)
            if self._path is not None and kind not in _NOT_LOGGED:
                self._append(self._path, event)
        for subscriber in self._subscribers:
            subscriber(event)
        return event

    def _append(self, path: Path, event: Event) -> None:
        """Append one line. A diary that cannot be written must not change how a run ends: it is said, and goes on."""
        line = json.dumps(self._redact.deep(event.as_json()), ensure_ascii=False, separators=(",", ":"))
        try:
            # A file name that is not UTF-8 is carried as lone surrogates; as JSON escapes they can be written.
            with path.open("a", encoding="utf-8", errors="backslashreplace") as f:
                f.write(line + "\n")
        except OSError as e:
            _log.warning("%s: %s", path, e)
