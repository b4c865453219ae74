"""What a person is asked about, shown honestly: how much of each file is not shown yet is said, and it can be seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regreen.cli.lines import Line, count, diff

_FIRST_LINES = 400  # shown before anybody asks for more
_NAMED_FILES = 20
_FILE = "diff --git "


@dataclass(frozen=True, slots=True)
class Part:
    """The lines from `begin` to `end` are of the file `name`; "" for what is no diff."""

    name: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Unseen:
    """Lines, of which those from `begin` on are not shown yet, with the files that they are of."""

    lines: tuple[Line, ...]
    parts: tuple[Part, ...]
    begin: int = 0

    def __len__(self) -> int:
        return len(self.lines) - self.begin

    def page(self, size: int = _FIRST_LINES) -> tuple[tuple[Line, ...], Unseen]:
        """The next lines, and what is unseen after them."""
        end = min(len(self.lines), self.begin + size)
        return self.lines[self.begin : end], Unseen(self.lines, self.parts, end)

    def said(self) -> Iterator[Line]:
        """What is not shown, by file."""
        hidden = [p for p in self.parts if p.end > self.begin]
        for part in hidden[:_NAMED_FILES]:
            whole, left = part.end - part.begin, part.end - max(part.begin, self.begin)
            of = f" of {part.name}" if part.name else ""
            yield Line(f"NOT SHOWN: {left} of {count(whole, 'line')}{of}", "bad")
        if more := hidden[_NAMED_FILES:]:
            left = sum(p.end - p.begin for p in more)
            yield Line(f"NOT SHOWN: {count(left, 'line')} of {count(len(more), 'more file')}", "bad")


def unseen(about: str) -> Unseen:
    """A diff (of one file or many), or some words, of which nothing is shown yet."""
    lines = tuple(diff(about))
    begins = [n for n, line in enumerate(lines) if line.text.startswith(_FILE)]
    if not begins or begins[0]:
        begins.insert(0, 0)
    ends = [*begins[1:], len(lines)]
    return Unseen(lines, tuple(Part(_named(lines[b]), b, e) for b, e in zip(begins, ends, strict=True) if e > b))


def _named(line: Line) -> str:
    """The file of a part by its first line: `diff --git a/NAME b/NAME`."""
    return line.text.rpartition(" b/")[2] if line.text.startswith(_FILE) else ""
