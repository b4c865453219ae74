"""Blanks what the grammar of Python does not know yet: the defaults of type parameters, `class C[T = int]`."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_BYTES = 1000  # of a list of type parameters
_MAX_OPEN = 50  # lists that do not end within that; then this is no Python

_HEAD = re.compile(rb"\b(?:def|class|type)[ \t]+[^\s\d(:,)=\[\]][^\s(:,)=\[\]]*[ \t]*\[")
_TOKEN = re.compile(rb"[\[({]|[\])}]|,|(?<![=<>!:])=(?!=)|\"[^\"\n]*\"|'[^'\n]*'")
_NOT_LINE_END = re.compile(rb"[^\n]")


def defaults(source: bytes) -> bytes:
    """The source with spaces for those defaults; every offset stays."""
    masked: bytearray | None = None
    unclosed = 0
    for head in _HEAD.finditer(source):
        places = list(_defaults(source, head.end()))
        if not places or places[-1] is not None:
            unclosed += 1
            if unclosed > _MAX_OPEN:
                break
        for place in places:
            if place is not None:
                masked = bytearray(source) if masked is None else masked
                masked[slice(*place)] = _NOT_LINE_END.sub(b" ", source[slice(*place)])
    return source if masked is None else bytes(masked)


def _defaults(source: bytes, start: int) -> Iterator[tuple[int, int] | None]:
    """The places of the defaults in the list that begins there; None for its end."""
    depth = 1
    begin = -1
    for token in _TOKEN.finditer(source, start, start + MAX_BYTES):
        text = token[0]
        if text in (b"[", b"(", b"{"):
            depth += 1
        elif text in (b"]", b")", b"}"):
            depth -= 1
        elif text == b"=" and depth == 1 and begin < 0:
            begin = token.start()
        if begin >= 0 and (not depth or (text == b"," and depth == 1)):
            yield begin, token.start()
            begin = -1
        if not depth:
            yield None
            return
