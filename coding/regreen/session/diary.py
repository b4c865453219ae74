"""A run's recorded events, read back: from the file that its process appends to, whichever process that is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from regreen.wire import Json

DIARY = "events.jsonl"


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
