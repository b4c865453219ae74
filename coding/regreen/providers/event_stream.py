"""Server-sent events, read within bounds: whatever bytes a server sends end as events or as an error of ours.

By the rules of the HTML standard ("Server-sent events"): lines end with CR, LF or both; an event ends with an empty
line; one that the stream breaks off in is none.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator
from contextlib import aclosing

from regreen.providers.errors import BadReply, EndlessReply
from regreen.providers.http_faults import Asked

MAX_EVENT = 2 * 1024 * 1024
"""Bytes of one event. The longest whole answer fits, each of its characters written as an escape."""


class EventReader:
    """Takes the bytes as they come. Raises BadReply for what is no UTF-8, and EndlessReply for an event without end."""

    def __init__(self, asked: Asked, max_event: int = MAX_EVENT) -> None:
        self._asked = asked
        self._max_event = max_event
        self._begun: list[bytes] = []  # a line whose end has not come
        self._after_cr = False
        self._first = True
        self._size = 0
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[tuple[str, str]]:
        """The events that end in this chunk, as names ("" = none is given) and data."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        elif not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        events: list[tuple[str, str]] = []
        for line in chunk.splitlines(keepends=True):
            self._grow(len(line))
            if not line.endswith((b"\n", b"\r")):
                self._begun.append(line)
                continue
            event = self._line(b"".join([*self._begun, line]).rstrip(b"\r\n"))
            self._begun.clear()
            if event is not None:
                events.append(event)
        return events

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._max_event:
            raise EndlessReply(
                f"{self._asked} at {self._asked.base_url} sent an event of more than {self._max_event} bytes",
                "Check that `base_url` in [provider] is the API of a model, or choose another model.",
            )

    def _line(self, raw: bytes) -> tuple[str, str] | None:
        if self._first:
            self._first = False
            raw = raw.removeprefix(codecs.BOM_UTF8)
        if not raw:
            return self._end()
        try:
            field, _, value = raw.decode("utf-8").partition(":")
        except UnicodeDecodeError as error:
            raise BadReply(
                f"{self._asked} at {self._asked.base_url} sent bytes that are no UTF-8",
                "Try again; if it stays so, check that `base_url` in [provider] is the API of a model.",
            ) from error
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        return None

    def _end(self) -> tuple[str, str] | None:
        name, data = self._name, "\n".join(self._data)
        self._name, self._size = "", 0
        self._data.clear()
        return (name, data) if name or data else None


async def events(chunks: AsyncGenerator[bytes], asked: Asked) -> AsyncGenerator[tuple[str, str]]:
    """The events of a stream of bytes, which is closed with it."""
    reader = EventReader(asked)
    async with aclosing(chunks):
        async for chunk in chunks:
            for event in reader.feed(chunk):
                yield event
