"""A request's body, within limits: so many bytes, counted as they come, and no JSON deeper than a parser can bear."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Message, Receive

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 128
# A text to its end, or to the end of all where it is not closed: each byte is looked at once.
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_OTHER = bytes(set(range(256)) - set(b"[]{}"))


class TooLarge(Exception):
    """More bytes than the limit."""


@dataclass(frozen=True, slots=True)
class Body:
    data: bytes

    @property
    def too_deep(self) -> bool:
        return is_deep(self.data)


def is_deep(data: bytes, limit: int = MAX_DEPTH) -> bool:
    """Do brackets outside of texts nest deeper than `limit`?"""
    if data.count(b"[") + data.count(b"{") <= limit:
        return False
    depth = 0
    for bracket in _TEXT.sub(b"", data).translate(None, _OTHER):
        depth += 1 if bracket in b"[{" else -1
        if depth > limit:
            return True
    return False


async def read_body(headers: Iterable[tuple[bytes, bytes]], receive: Receive, limit: int) -> Body | None:
    """The whole body; None if the client goes before it is there. Raises TooLarge at once where the length is told,
    else at the first byte too many."""
    told = next((value for key, value in headers if key == b"content-length"), b"")
    if told.isdigit() and int(told) > limit:
        raise TooLarge
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLarge
        parts.append(part)
        if not message.get("more_body", False):
            return Body(b"".join(parts))


def replayed(body: Body, receive: Receive) -> Receive:
    """A `receive` that gives the body that was read, and then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body.data, "more_body": False}

    return again
