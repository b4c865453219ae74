"""A half-typed file made more readable, without moving a byte of what is there: what is open gets its closing
brackets, and the lines where the damage begins are blanked.

The brackets go into white space before a bracket that closes something further out, or to the end. Strings and
comments are known only by what all languages with braces have in common: a wrong guess costs nothing, since the
result is only taken where more can be read of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_TOKEN = re.compile(
    rb'"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`|//[^\n]*|/\*(?s:.*?)\*/'
    rb"|(?P<bracket>[()\[\]{}])"
)
_CLOSING = {b"(": b")", b"[": b"]", b"{": b"}"}
_NO_BRACE = re.compile(rb"[^{}\r\n]")
_MAX_OPEN = 200
_MAX_BLANKED = 4  # code with more errors is not half-typed, but in words that the grammar does not know
_MAX_BYTES = 1_000_000


class Closed(NamedTuple):
    """What to read instead of the source, and the offsets in it where something was wrong."""

    source: bytes
    places: tuple[int, ...]


class _Open(NamedTuple):
    closing: bytes
    place: int


def attempts(source: bytes, places: Sequence[int]) -> Iterator[Closed]:
    """What may be read better than `source`, in which errors begin at `places`."""
    if len(source) > _MAX_BYTES:
        return
    closed = _close(source)
    if closed.places:
        yield closed
    blanked, wrong = _blank(source, places)
    if wrong:
        yield Closed(_close(blanked).source, wrong)


def _close(source: bytes) -> Closed:
    closed = bytearray(source)
    stack: list[_Open] = []
    places: list[int] = []
    for match in _TOKEN.finditer(source):
        bracket = match["bracket"]
        if bracket is None:
            continue
        if bracket in _CLOSING:
            stack.append(_Open(_CLOSING[bracket], match.start()))
        elif stack and stack[-1].closing == bracket:
            stack.pop()
        elif any(known.closing == bracket for known in stack[-_MAX_OPEN:]):
            forgotten: list[_Open] = []
            while (last := stack.pop()).closing != bracket:
                forgotten.append(last)
            places.append(forgotten[0].place)
            _put(closed, match.start(), b"".join(one.closing for one in forgotten))
    if stack:
        places.append(stack[-1].place)
    # some grammars want the last declaration in a body to end before its brace
    end = b"".join(b"\n}" if one.closing == b"}" else one.closing for one in reversed(stack[-_MAX_OPEN:]))
    return Closed(bytes(closed) + end, tuple(places))


def _put(source: bytearray, before: int, brackets: bytes) -> None:
    """Put brackets into the white space that ends at an offset, if there is enough."""
    start = before - len(brackets)
    if start >= 0 and not source[start:before].strip():
        source[start:before] = brackets


def _blank(source: bytes, places: Sequence[int]) -> tuple[bytes, tuple[int, ...]]:
    """Without the lines of errors, but for their braces; of errors in neighbouring lines only the first."""
    blanked = source
    wrong: list[int] = []
    previous = -1  # where the line after the last error begins
    for place in sorted(places):
        start = source.rfind(b"\n", 0, place) + 1
        end = source.find(b"\n", place)
        end = len(source) if end < 0 else end
        if start > previous and source[start:end].strip():
            wrong.append(place)
            blanked = blanked[:start] + _NO_BRACE.sub(b" ", source[start:end]) + blanked[end:]
        previous = max(previous, end + 1)
        if len(wrong) > _MAX_BLANKED:
            return source, ()
    return blanked, tuple(wrong)
