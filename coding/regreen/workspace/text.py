"""The byte-faithful text model: bytes to (byte order mark, encoding, lines that keep their own ends) and back.

`Text.decode(data).encode() == data` for every input that decodes. Only LF and CRLF end a line. What is not valid
in its encoding is carried through untouched, and then only ASCII may be added.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

Eol: TypeAlias = Literal["lf", "crlf", "mixed", "none"]

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?\r?$")
_WIDE = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_ASCII = "".join(map(chr, range(1, 128)))


class Line(NamedTuple):
    """One line; `eol` is "\\n", "\\r\\n", or "" for a last line without an end."""

    body: str
    eol: str


@dataclass(frozen=True, slots=True)
class TextProblem:
    """Why bytes are not editable text, or why text cannot be written in its file's encoding."""

    kind: Literal["binary", "encoding"]
    message: str


@dataclass(frozen=True, slots=True)
class Text:
    """A decoded file: `text` with its line ends, without the byte order mark.

    `raw` means: it holds bytes that are not valid in `encoding`, carried as surrogates.
    """

    bom: bytes
    encoding: str
    text: str
    raw: bool = False

    @classmethod
    def decode(cls, data: bytes) -> Text | TextProblem:
        """Decode by byte order mark, else by a PEP 263 cookie, else as UTF-8."""
        for mark, encoding in _WIDE:
            if data.startswith(mark):
                return _wide(data, mark, encoding)
        if b"\0" in data:
            return TextProblem("binary", "holds NUL bytes: it is not a text file")
        if data.startswith(codecs.BOM_UTF8):
            return _narrow(codecs.BOM_UTF8, data[3:])
        named = _cookie(data)
        text = _round_trip(data, named) if named else None
        return _narrow(b"", data) if text is None else cls(b"", named, text)

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines, each with its own end."""
        return tuple(map(Line, *split_lines(self.text)))

    @property
    def eol(self) -> Eol:
        """How the lines end; `none` if no line has an end."""
        ends, crlf = self.text.count("\n"), self.text.count("\r\n")
        if 0 < crlf < ends:
            return "mixed"
        return "none" if not ends else "crlf" if crlf else "lf"

    def with_text(self, text: str) -> Text:
        """The same file with another text. Check what is new in it with `admits` first."""
        return replace(self, text=text)

    def admits(self, new: str) -> TextProblem | None:
        """None if `new` can be added to this file without changing how its other bytes are read."""
        if "\0" in new:
            return TextProblem("encoding", "the new text holds a NUL character")
        if self.raw and not new.isascii():
            return TextProblem("encoding", "the file holds bytes that are not UTF-8, so only ASCII text can be added")
        return _unencodable(new, self.encoding)

    def encode(self) -> bytes | TextProblem:
        """The file's bytes."""
        try:
            return self.bom + self.text.encode(self.encoding, "surrogateescape" if self.raw else "strict")
        except UnicodeError:
            problem = _unencodable(self.text, self.encoding)
            return problem or TextProblem("encoding", f"the text cannot be written as {self.encoding}")


def split_lines(text: str) -> tuple[list[str], list[str]]:
    """The lines of a text as two columns, their bodies and their ends.

    Split at LF and CRLF and nowhere else: a lone CR, form feed or U+2028 stays inside its line. The end of a last
    line may be "".
    """
    bodies = text.split("\n")
    last = bodies.pop()
    eols = ["\n"] * len(bodies)
    if "\r" in text:
        for number, body in enumerate(bodies):
            if body.endswith("\r"):
                bodies[number], eols[number] = body[:-1], "\r\n"
    if last:
        bodies.append(last)
        eols.append("")
    return bodies, eols


def _wide(data: bytes, mark: bytes, encoding: str) -> Text | TextProblem:
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        return TextProblem("encoding", f"starts with a byte order mark of {encoding} but is not valid {encoding}")
    if "\0" in text:
        return TextProblem("binary", "holds NUL characters: it is not a text file")
    return Text(mark, encoding, text)


def _narrow(mark: bytes, body: bytes) -> Text:
    try:
        return Text(mark, "utf-8", body.decode("utf-8"))
    except UnicodeDecodeError:
        return Text(mark, "utf-8", body.decode("utf-8", "surrogateescape"), raw=True)


def _cookie(data: bytes) -> str:
    """The encoding that one of the first two lines names, as Python finds it; "" for none, and for UTF-8."""
    ends = [data.find(b"\n")]
    ends.append(data.find(b"\n", ends[0] + 1))
    first, second = (data[start : end if end >= 0 else None] for start, end in ((0, ends[0]), (ends[0] + 1, ends[1])))
    match = _COOKIE.match(first)
    if match is None and ends[0] >= 0 and _BLANK.match(first):
        match = _COOKIE.match(second)
    if match is None:
        return ""
    try:
        name = codecs.lookup(match[1].decode("ascii")).name
    except (LookupError, UnicodeError):
        return ""
    return "" if name in ("utf-8", "utf-8-sig") else name


def _round_trip(data: bytes, encoding: str) -> str | None:
    """`data` decoded, if the encoding keeps ASCII as it is and gives back the very same bytes."""
    try:
        if _ASCII.encode(encoding) != _ASCII.encode("ascii"):
            return None
        text = data.decode(encoding)
        return text if text.encode(encoding) == data else None
    except (LookupError, ValueError):  # UnicodeError is a ValueError; LookupError: not a text encoding
        return None


def _unencodable(text: str, encoding: str) -> TextProblem | None:
    try:
        text.encode(encoding)
    except UnicodeEncodeError as e:
        bad = text[e.start]
        return TextProblem("encoding", f"{bad!a} (U+{ord(bad):04X}) cannot be written in the file's {encoding}")
    except UnicodeError as e:
        return TextProblem("encoding", f"cannot be written in the file's {encoding}: {e}")
    return None
