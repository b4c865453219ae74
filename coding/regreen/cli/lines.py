"""What a person is shown, as plain values: lines with a style word. Turned into colours only on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from regreen import wire

Style: TypeAlias = Literal["", "good", "bad", "warn", "dim", "strong", "added", "removed", "hunk"]

_SHOWN_NAMES = 30
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output, without its line end."""

    text: str
    style: Style = ""


def harmless(text: str) -> str:
    """The text with control characters written out: file contents must not command the terminal."""
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 0x100 else f"\\u{ord(m[0]):04x}", text)


def split(text: str, style: Style = "", indent: str = "") -> Iterator[Line]:
    """The lines of a text, each indented."""
    for line in text.replace("\r\n", "\n").split("\n") if text else ():
        yield Line(indent + line, style)


def head(text: str) -> str:
    """The first line of a text."""
    return text.strip().split("\n", 1)[0]


count = wire.counted


def dollars(usd: float) -> str:
    return f"${usd:.4f}" if 0 < usd < 0.1 else f"${usd:.2f}"


def price(usd: float, *, unpriced: bool) -> str:
    """What something has cost; `unpriced`: a part of it has no known price."""
    if not unpriced:
        return dollars(usd)
    return f"more than {dollars(usd)}: a price is not known" if usd else "cost unknown"


def names(found: Sequence[str]) -> str:
    """A list in one line, cut where it is long."""
    return wire.names(found, _SHOWN_NAMES)


def more(total: int, shown: int) -> Iterator[Line]:
    """How many of a list are not shown, if any."""
    if total > shown:
        yield Line(f"  and {total - shown} more", "dim")


def conflict_line(path: str, reason: str) -> Line:
    """What was not put back, and why."""
    return Line(f"left as it is: {path}: {reason.removesuffix('; left as it is')}", "warn")


def diff(text: str) -> Iterator[Line]:
    """A unified diff, styled by its markers."""
    for line in text.rstrip("\n").split("\n") if text else ():
        match line[:1], line[:3]:
            case (_, "---" | "+++"):
                yield Line(line, "strong")
            case ("+", _):
                yield Line(line, "added")
            case ("-", _):
                yield Line(line, "removed")
            case ("@", _):
                yield Line(line, "hunk")
            case _:
                yield Line(line)
