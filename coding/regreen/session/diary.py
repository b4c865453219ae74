"""A run's recorded events, read back: from the file that its process appends to, whichever process that is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from regreen.wire import Json

DIARY = "events.jsonl"

PAGE_BYTES = 256 * 1024
"""How much of a file is read at a time."""
MAX_LINE_BYTES = 8 * 1024 * 1024
"""Of an event; one that is longer is passed over."""


class Diary:
    """A run's file of events, read on from where the last page ended. Memory is held for one page, however long the
    file is, and however slowly it is read."""

    def __init__(self, file: Path, after: int = 0) -> None:
        self._file = file
        self._offset = 0
        self._skips = False  # the rest of a line that is too long
        self.after = after
        """The number of the last event that was given, or that was not wanted."""

    @property
    def has_more(self) -> bool:
        """Is there anything behind the last page, be it half a line?"""
        try:
            return self._file.stat().st_size > self._offset
        except FileNotFoundError:
            return False

    def page(self) -> tuple[dict[str, Json], ...]:
        """The next events, in order; none at the end of the file. A line that is not whole yet is left for later."""
        while lines := self._lines():
            events = [e for line in lines if (e := _event(line)) is not None and e["seq"] > self.after]
            if events:
                self.after = events[-1]["seq"]
                return tuple(events)
        return ()

    def _lines(self) -> list[bytes]:
        """Whole lines, at least one, of about a page; none where there is no whole line."""
        size = PAGE_BYTES
        while True:
            data = self._read(size)
            end = data.rfind(b"\n") + 1
            if end:
                self._offset += end
                lines = data[: end - 1].split(b"\n")
                first, self._skips = int(self._skips), False
                return lines[first:] or [b""]
            if len(data) < size:
                return []
            if size >= MAX_LINE_BYTES:
                self._offset, self._skips = self._offset + len(data), True
            else:
                size *= 2

    def _read(self, size: int) -> bytes:
        try:
            with self._file.open("rb") as file:
                file.seek(self._offset)
                return file.read(size)
        except FileNotFoundError:
            return b""


def events_after(file: Path, seq: int, limit: int) -> tuple[dict[str, Json], ...]:
    """The events whose number is greater than `seq`, at most `limit`. A line that is not whole yet is left for later;
    a file that is not there holds none."""
    found: list[dict[str, Json]] = []
    try:
        with file.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                event = _event(line)
                if event is not None and event["seq"] > seq:
                    found.append(event)
                    if len(found) == limit:
                        break
    except FileNotFoundError:
        return ()
    return tuple(found)


def _event(line: bytes) -> dict[str, Any] | None:
    """None for a line that a full disk has cut."""
    try:
        event: object = json.loads(line)
    except ValueError:
        return None
    if not isinstance(event, dict):
        return None
    fields = cast("dict[str, Any]", event)
    return fields if isinstance(fields.get("seq"), int) else None
