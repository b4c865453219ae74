"""Lines that a reporter of ours writes to the private channel: JSON objects that carry this run's nonce.

The nonce is sent down the channel as its first line; a line without it is not ours, whoever wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_MESSAGES = 500_000


class Messages:
    """What has been heard so far. `foreign` counts lines that were not ours."""

    def __init__(self, nonce: str, on_message: Callable[[dict[str, Any]], None]) -> None:
        self._nonce = nonce
        self._on_message = on_message
        self._rest = b""
        self.heard: list[dict[str, Any]] = []
        self.foreign = 0

    def feed(self, data: bytes) -> None:
        """Take bytes as they come off the channel."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest = b""
            self.foreign += 1
        for line in lines:
            message = parse(line)
            if message is None or message.get("n") != self._nonce or len(self.heard) >= MAX_MESSAGES:
                self.foreign += 1
                continue
            self.heard.append(message)
            self._on_message(message)


def parse(line: bytes) -> dict[str, Any] | None:
    """A line's object; None where it is none."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", data) if isinstance(data, dict) else None
