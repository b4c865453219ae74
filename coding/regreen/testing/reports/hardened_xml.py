"""XML reports, read defensively: a document is data from a program that ran any code.

No document type, so no entities; bounded in size, depth and text. What follows a fault is lost, what stood before it is
kept. Characters that XML forbids, written out or as references, are read as text.
"""

from __future__ import annotations

import re
from typing import Protocol
from xml.parsers import expat

MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 64
MAX_TEXT = 60_000

_ENCODINGS = re.compile(r"(?:us-)?ascii|iso-8859-\d{1,2}|windows-125\d|utf-16|utf-8", re.IGNORECASE)
_DECLARED = re.compile(rb"""\A<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.-]{1,40})["']""")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x0*([0-9a-fA-F]{1,8})|0*([0-9]{1,10}));")


class Refused(Exception):
    """The document holds what no report needs."""


class Cursor:
    """Where the reading stands: the open elements, as local names in small letters, and the text that is wanted, never
    past its limit."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self._text: list[str] | None = None
        self._length = 0

    def want_text(self) -> None:
        """Keep the text that follows."""
        self._text, self._length = [], 0

    def take_text(self) -> str | None:
        """What was kept; nothing is from here on. None where nothing wanted it."""
        text, self._text = self._text, None
        return None if text is None else "".join(text)

    def add(self, data: str) -> None:
        """Text that stands here."""
        if self._text is not None and self._length < MAX_TEXT:
            self._text.append(data[: MAX_TEXT - self._length])
            self._length += len(data)


class Handler(Protocol):
    """What a format makes of its elements. It may refuse to read on."""

    at: Cursor

    def opened(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins; it is the last one of the path."""
        ...

    def closed(self, tag: str) -> None:
        """An element ends; it is no longer in the path."""
        ...


def feed(data: bytes, handler: Handler) -> str:
    """Read a document to its end, or to what is wrong with it, which is returned. Never raises for what it holds."""
    if len(data) > MAX_BYTES:
        return f"it is larger than {MAX_BYTES} bytes"
    at = handler.at

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(at.path) >= MAX_DEPTH:
            raise Refused(f"its elements are nested over {MAX_DEPTH} deep")
        tag = name.rpartition(":")[2].lower()
        at.path.append(tag)
        handler.opened(tag, attributes)

    def end(_name: str) -> None:
        handler.closed(at.path.pop())

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = at.add
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(_clean(data), True)
    except (expat.ExpatError, Refused) as e:
        parser.buffer_text = False  # hands out what it holds
        return str(e)
    return ""


def _refuse_doctype(*_: object) -> None:
    raise Refused("it declares a document type, which a report has no need of")


def _clean(data: bytes) -> bytes:
    """The document as UTF-8 that a strict parser accepts: forbidden characters are written out as text."""
    text = _DECLARATION.sub("", _decoded(data), count=1)
    text = _INVALID.sub(lambda m: f"\\x{ord(m[0]):02x}", text)
    return _REFERENCE.sub(_reference, text).encode("utf-8", "replace")


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    data = data.removeprefix(b"\xef\xbb\xbf")
    declared = _DECLARED.match(data.lstrip()[:200])
    name = declared[1].decode("ascii") if declared else "utf-8"
    known = _ENCODINGS.fullmatch(name) and not name.lower().startswith("utf-16")
    try:
        return data.decode(name if known else "utf-8", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def _reference(match: re.Match[str]) -> str:
    number = int(match[1], 16) if match[1] else int(match[2])
    valid = number in (9, 10, 13) or 0x20 <= number < 0xD800 or 0xDFFF < number < 0xFFFE or 0xFFFF < number < 0x110000
    return match[0] if valid else f"\\x{min(number, 0x110000):02x}"
