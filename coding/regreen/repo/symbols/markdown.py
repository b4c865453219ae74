"""The headings of Markdown, nested by their levels: ATX (`## x`) and setext (underlined) ones.

A line scanner that knows what can hide something that looks like a heading: front matter, fenced code, HTML comments,
`<pre>` and the like, quotes and lists. A dot in a heading is a middle dot in the paths of what is below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from regreen.model import Symbol
from regreen.repo.symbols.extraction import Extraction, ReadAs

MAX_NAME = 200
MAX_PATH = 500

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
_RAW_HTML = re.compile(r" {0,3}<(pre|script|style|textarea)\b", re.IGNORECASE)
_CONTAINER = re.compile(r" {0,3}(?:>|[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$))")
_NO_PARAGRAPH = re.compile(r"(?: {4}|\t)| {0,3}(?:\||<[/!?a-zA-Z]|(?:[-*_][ \t]*){3,}$)")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_ATTRIBUTES = re.compile(r" ?\{[#.:][^{}]*\}$")
_CLOSING = re.compile(r"(?:^| )#+$")
_MAX_PARAGRAPH = 5  # lines of a setext heading


class Heading(NamedTuple):
    """Lines count from 0."""

    line: int
    level: int
    name: str
    text: str


@dataclass(slots=True)
class _Scanner:
    """What is open at the end of the lines read so far."""

    paragraph: list[str] = field(default_factory=list[str])
    contained: bool = False  # in a quote or a list item, up to the next blank line
    until: str = ""  # what ends a comment or raw HTML
    fence: str = ""

    def read(self, number: int, line: str) -> Heading | None:
        if self.fence or self.until:
            self._inside(line)
            return None
        if not line.strip():
            self.paragraph.clear()
            self.contained = False
            return None
        atx = None if self.contained and line[0] in " \t" else _ATX.match(line)
        if atx is not None:
            self.paragraph.clear()
            self.contained = False
            return _heading(number, len(atx[1]), line[atx.end() :], line)
        if (underline := _UNDERLINE.match(line)) is not None and 0 < len(self.paragraph) <= _MAX_PARAGRAPH:
            text = " ".join(self.paragraph)
            number -= len(self.paragraph)
            self.paragraph.clear()
            return _heading(number, 1 if underline[1][0] == "=" else 2, text, text)
        self._text(line)
        return None

    def _inside(self, line: str) -> None:
        if self.fence:
            mark = line.strip()
            if len(mark) >= len(self.fence) and not mark.strip(self.fence[0]):
                self.fence = ""
        elif self.until in line.lower():
            self.until = ""

    def _text(self, line: str) -> None:
        if (fence := _FENCE.match(line)) is not None:
            self.fence = fence[1] or fence[2]
            self.paragraph.clear()
        elif (raw := _RAW_HTML.match(line)) is not None:
            end = f"</{raw[1].lower()}>"
            self.until = "" if end in line.lower() else end
            self.paragraph.clear()
        elif _opens_comment(line):
            self.until = "-->"
            self.paragraph.clear()
        elif _CONTAINER.match(line):
            self.contained = True
            self.paragraph.clear()
        elif self.paragraph or not (self.contained or _NO_PARAGRAPH.match(line)):
            self.paragraph.append(line.strip())


def scan(source: bytes, _read: ReadAs) -> Extraction:
    """The headings of a file; a heading ends where the next one of its level or above begins."""
    lines = source.decode("utf-8", "replace").split("\n")
    last = len(lines) - (not lines[-1])
    return Extraction(tuple(nested(list(headings(lines)), max(last, 1))))


def headings(lines: Sequence[str]) -> Iterator[Heading]:
    """The headings in some lines, in order."""
    scanner = _Scanner()
    start = _after_front_matter(lines)
    for number in range(start, len(lines)):
        found = scanner.read(number, lines[number].rstrip("\r"))
        if found is not None:
            yield found


def nested(found: Sequence[Heading], last: int) -> Iterator[Symbol]:
    """Symbols of headings; `last` is the number of lines."""
    ends = _ends(found, last)
    above: list[tuple[int, str]] = []  # levels and paths
    for heading, end in zip(found, ends, strict=True):
        while above and above[-1][0] >= heading.level:
            above.pop()
        parent = above[-1][1] if above else ""
        path = f"{parent}.{heading.name}" if parent else heading.name
        inner = heading.name.replace(".", "·")
        above.append((heading.level, (f"{parent}.{inner}" if parent else inner)[:MAX_PATH]))
        yield Symbol("heading", heading.name, path, heading.text, heading.line + 1, end, parent)


def _ends(found: Sequence[Heading], last: int) -> list[int]:
    ends = [last] * len(found)
    waiting: list[int] = []
    for at, heading in enumerate(found):
        while waiting and found[waiting[-1]].level >= heading.level:
            opened = waiting.pop()
            ends[opened] = max(heading.line, found[opened].line + 1)
        waiting.append(at)
    return ends


def _heading(number: int, level: int, text: str, line: str) -> Heading | None:
    name = _CLOSING.sub("", _ATTRIBUTES.sub("", " ".join(text.split())))
    name = _LINK.sub(r"\1", name).replace("`", "").replace("*", "")
    name = name.strip()
    return Heading(number, level, name[:MAX_NAME], " ".join(line.split())[: 2 * MAX_NAME]) if name else None


def _opens_comment(line: str) -> bool:
    """Whether a comment begins that does not end in the line; not one in a code span."""
    begin = line.rfind("<!--")
    return begin >= 0 and line.find("-->", begin) < 0 and line.count("`", 0, begin) % 2 == 0


def _after_front_matter(lines: Sequence[str]) -> int:
    mark = lines[0].rstrip() if lines else ""
    if mark not in ("---", "+++"):
        return 0
    for number in range(1, len(lines)):
        if lines[number].rstrip() in ((mark, "...") if mark == "---" else (mark,)):
            return number + 1
    return 0
