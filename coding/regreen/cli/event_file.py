"""Where `--events` goes: one JSON object a line, masked, appended and flushed as things happen."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from regreen.cli.lines import Line
from regreen.cli.screen import drop
from regreen.wire import Json, encodable

if TYPE_CHECKING:
    from regreen.cli.screen import Screen
    from regreen.events import Event
    from regreen.redact import Redactor


class EventFile:
    """An open stream of events. Where it cannot be written any more that is said, once: the run goes on without it."""

    def __init__(self, stream: TextIO, name: str, redact: Redactor, screen: Screen) -> None:
        self._stream = stream
        self._name = name
        self._redact = redact
        self._screen = screen
        self._broken = False

    def write(self, event: Event, **changed: Json) -> None:
        """One event; `changed` are fields that it has otherwise here."""
        if self._broken:
            return
        told = replace(event, data={**event.data, **changed})
        try:
            self._stream.write(json.dumps(encodable(self._redact.deep(told.as_json()))) + "\n")
            self._stream.flush()
        except OSError as e:
            self._broken = True
            drop(self._stream)  # what is still buffered is not tried again when the stream is closed
            self._screen.tell([Line(f"regreen: no more events go to {self._name}: {e.strerror}", "warn")])
