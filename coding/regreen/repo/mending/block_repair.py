"""Makes half-typed source of languages with closed blocks (`{` ... `}`, `def` ... `end`) parsable again, so that one
bad line does not hide the definitions after it.

Trusts the indentation: a function ends at the first line that is indented no more than its own, which should close it.
Each function is judged alone. In one that does not parse, the one line that is to blame is blanked, else its whole
body; a closing line that is not there is added to the line before. The number of lines never changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from regreen.repo.mending.python_repair import Repaired

MAX_LINES = 20_000
MAX_TRIES = 600  # times that something is parsed besides each function once
_MAX_TEXT, _MAX_ENDS = 200, 3  # where a function may end after all: within so many lines, among so many ends
_MAX_BODY = 60  # lines of a function in which the one to blame is looked for
_MAX_BYTES = 20_000

_GOES_ON = re.compile(rb"[)\]{]|\w+:\s*$")  # a line like these, though not indented, does not end a function
_CLOSER = {b"(": b")", b"[": b"]", b"{": b"}"}
_BRACKETS = re.compile(rb"""[()\[\]{}]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
_RUBY_CLASS = re.compile(rb"[ \t]*(?:class|module)[ \t]+[\w:]+(?:[ \t]*<[ \t]*[\w:]+)?")
_COMMENT = re.compile(rb"[ \t]*(?:#|//|/?\*)")
_BODY = re.compile(rb"\{|[ \t]=[ \t]|;")
_LEAVES_OPEN = re.compile(rb"[\[({]\s*$")

Parses = Callable[[bytes], bool]


class Blocks(NamedTuple):
    """How a language writes blocks. `around`: what makes a piece parsable alone, one of several."""

    header: re.Pattern[bytes]  # of a line with which a function begins
    holder: re.Pattern[bytes]  # of a line with which a class or namespace begins, or which stands between
    close: bytes
    opens: re.Pattern[bytes]  # the end of the line with which a header ends
    empty: bytes  # the body of a function that has no lines
    outer: re.Pattern[bytes] | None = None  # of a line with which a class begins
    around: tuple[tuple[bytes, bytes], ...] = ((b"", b""),)


RUBY = Blocks(
    re.compile(rb"[ \t]*(?:\w+[ \t]+)?def[ \t]+\S"),
    re.compile(rb"[ \t]*(?:class|module|end|private|protected|public|else|\w.*\bdo\b|__END__|=)"),
    b"end",
    re.compile(rb"(?:[^,(\\\s])[ \t]*$"),
    b"; end",
    re.compile(rb"[ \t]*(?:(?:class|module)[ \t]+(?!.*;[ \t]*end\b)|\w.*\bdo\b(?:[ \t]*\|[^|]*\|)?[ \t\r]*$)"),
)
PHP = Blocks(
    re.compile(rb"[ \t]*(?:(?:public|private|protected|static|final|abstract)[ \t]+)*function\b(?!.*;[ \t\r]*$)"),
    re.compile(
        rb"[ \t]*(?:<|\?>|[{}]|/?\*|//|#|use\b|namespace\b|case\b"
        rb"|(?:(?:abstract|final|readonly)[ \t]+)*(?:class|interface|trait|enum)\b)"
    ),
    b"}",
    re.compile(rb"\{[ \t]*$"),
    b" {}",
    re.compile(rb"[ \t]*(?:(?:abstract|final|readonly)[ \t]+)*(?:class|interface|trait|enum)[ \t]+\w(?!.*\})"),
    ((b"<?php class A {\n", b"\n}"), (b"<?php\n", b"")),
)
GO = Blocks(
    re.compile(rb"func\b"),
    re.compile(rb"(?:package|import|type|[)}]|/?\*|//|(?:var|const)\b.*[({`,][ \t\r]*$)|[ \t]"),
    b"}",
    re.compile(rb"\{[ \t]*$"),
    b" {}",
    re.compile(rb"(?:type|var|const|import)\b.*\{[ \t\r]*$"),
)
BASH = Blocks(
    re.compile(rb"[ \t]*(?:function[ \t]+[\w:.-]+|[\w:.-]+[ \t]*\([ \t]*\))[ \t]*(?:\([ \t]*\)[ \t]*)?\{?[ \t]*$"),
    re.compile(rb"."),
    b"}",
    re.compile(rb"\{[ \t]*$"),
    b" { :; }",
)


def ruby(source: bytes, parses: Parses) -> Repaired | None:
    return _repair(source, parses, RUBY)


def php(source: bytes, parses: Parses) -> Repaired | None:
    return _repair(source, parses, PHP)


def go(source: bytes, parses: Parses) -> Repaired | None:
    return _repair(source, parses, GO)


def bash(source: bytes, parses: Parses) -> Repaired | None:
    return _repair(source, parses, BASH)


@dataclass(slots=True)
class _Repairer:
    lines: list[bytes]
    blocks: Blocks
    parses: Parses
    tries: int = 0
    changed: set[int] = field(default_factory=set[int])

    def source(self) -> bytes:
        return b"\n".join(self.lines)

    def functions(self) -> Iterator[tuple[int, int]]:
        """Judge each function, outermost first; gives their first lines and the lines after them."""
        at = 0
        while at < len(self.lines):
            if self.blocks.header.match(self.lines[at]) is None:
                at += 1
                continue
            end, closed = self._end(at)
            if not self._fine(self.lines[at:end]):
                longer = self._longer(at, end)
                if longer == end:
                    self._mend(at, end, closed)
                end = longer
            yield at, end
            at = end

    def statements(self, functions: Sequence[tuple[int, int]]) -> None:
        """Blank what stands between the functions and does not parse."""
        ends = dict(functions)
        at = 0
        while at < len(self.lines):
            if at in ends:
                at = ends[at]
                continue
            line = self.lines[at]
            end = at + 1
            if line.strip() and self.blocks.holder.match(line) is None:
                if _LEAVES_OPEN.search(line):
                    end = self._end(at)[0]
                if not self._fine(self.lines[at:end]):
                    self._blank(range(at, end))
            at = end

    def classes(self) -> None:
        """Close those that are not, and cut what cannot be the head of one."""
        for at in reversed(range(len(self.lines))):
            line = self.lines[at]
            if self.blocks.outer is not None and self.blocks.outer.match(line):
                head = _RUBY_CLASS.match(line) if self.blocks.close == b"end" else None
                if head is not None and not self._fine([line.rstrip() + b"; end"]):
                    self.lines[at] = head[0]
                    self.changed.add(at)
                end, closed = self._end(at)
                if not closed:
                    self.lines[end - 1] = self._shut(self.lines[end - 1])
                    self.changed.add(end - 1)

    def _shut(self, line: bytes) -> bytes:
        if _COMMENT.match(line):
            return self.blocks.close
        return line.rstrip() + (b" " if self.blocks.close == b"}" else b"; ") + self.blocks.close

    def _end(self, start: int) -> tuple[int, bool]:
        """The line after a block, and whether its last line closes it."""
        indent = _indent(self.lines[start])
        last = start
        for at in range(start + 1, len(self.lines)):
            line = self.lines[at]
            text = line.strip()
            if not text:
                continue
            if _indent(line) <= indent:
                closes = text.startswith((self.blocks.close, b"]", b")")) and _indent(line) == indent
                if closes and _LEAVES_OPEN.search(text) is None:
                    return at + 1, True
                if not closes and not _GOES_ON.match(text):
                    break
            last = at
        one_line = last == start and self.blocks.close in self.lines[start]
        return last + 1, one_line

    def _longer(self, start: int, end: int) -> int:
        """The line after the block if it ends later, and only seemed to end: with a string that is not indented."""
        indent = _indent(self.lines[start])
        tries = 0
        for at in range(end, min(len(self.lines), end + _MAX_TEXT)):
            line = self.lines[at]
            if line.lstrip().startswith(self.blocks.close) and _indent(line) == indent:
                if self._fine(self.lines[start : at + 1]):
                    return at + 1
                tries += 1
                if tries == _MAX_ENDS:
                    break
        return end

    def _fine(self, lines: Sequence[bytes]) -> bool:
        text = b"\n".join(lines)
        return any(self.parses(before + text + b"\n" + after) for before, after in self.blocks.around)

    def _tried(self, start: int, end: int, lines: Sequence[bytes]) -> bool:
        self.tries += 1
        if self.tries > MAX_TRIES or not self._fine(lines):
            return False
        for at, line in zip(range(start, end), lines, strict=True):
            if line != self.lines[at]:
                self.lines[at] = line
                self.changed.add(at)
        return True

    def _mend(self, start: int, end: int, closed: bool) -> None:
        if self.tries >= MAX_TRIES:
            return
        lines = self.lines[start:end]
        tail = b""
        if not closed:
            tail = self.blocks.close
            lines[-1] = self._shut(lines[-1])
            if self._tried(start, end, lines):
                return
        head = self._head(lines)
        body = range(head + 1, len(lines) - closed)
        small = len(body) <= _MAX_BODY and sum(map(len, lines)) <= _MAX_BYTES
        for at in body if small else ():
            blank = tail if at == len(lines) - 1 else b""
            if self._tried(start, end, [*lines[:at], blank, *lines[at + 1 :]]):
                return
        if body:
            emptied = [b""] * len(body)
            shut = [*emptied, lines[-1]] if closed else [*emptied[1:], tail]
            if self._tried(start, end, [*lines[: head + 1], *shut]):
                return
        kept = self.lines[start : start + head + 1]
        for text in (
            self._closed(kept),
            self._closed(kept[:1]),
            [_BODY.split(kept[0], maxsplit=1)[0].rstrip() + self.blocks.empty],
        ):
            if self._tried(start, end, [*text, *[b""] * (end - start - len(text))]):
                return
        self._blank(range(start, end))

    def _head(self, lines: Sequence[bytes]) -> int:
        """The last line of the header."""
        return next((at for at, line in enumerate(lines) if self.blocks.opens.search(line.rstrip(b"\r"))), 0)

    def _closed(self, lines: Sequence[bytes]) -> list[bytes]:
        """A header with its brackets closed, and an empty body."""
        waiting: list[bytes] = []
        for match in _BRACKETS.finditer(b"\n".join(lines)):
            if match[0] in _CLOSER:
                waiting.append(_CLOSER[match[0]])
            elif waiting and match[0] == waiting[-1]:
                waiting.pop()
        last = lines[-1].rstrip()
        if waiting and waiting[-1] == b"}":
            last += b" }"
        else:
            last = last.rstrip(b",") + b"".join(reversed(waiting)) + self.blocks.empty
        return [*lines[:-1], last]

    def _blank(self, places: range) -> None:
        for at in places:
            if self.lines[at].strip():
                self.lines[at] = b""
                self.changed.add(at)


def _repair(source: bytes, parses: Parses, blocks: Blocks) -> Repaired | None:
    """None if nothing could be made better, or the file is too long to try."""
    repairer = _Repairer(source.split(b"\n"), blocks, parses)
    if len(repairer.lines) > MAX_LINES:
        return None
    functions = list(repairer.functions())
    if not parses(repairer.source()):
        before = repairer.lines[:], set(repairer.changed)
        repairer.statements(functions)
        if not parses(repairer.source()):
            repairer.classes()
            if not parses(repairer.source()):
                repairer.lines, repairer.changed = before
    if not repairer.changed:
        return None
    return Repaired(repairer.source(), tuple(sorted(at + 1 for at in repairer.changed)))


def _indent(line: bytes) -> int:
    line = line.rstrip().expandtabs(8)
    return len(line) - len(line.lstrip())
