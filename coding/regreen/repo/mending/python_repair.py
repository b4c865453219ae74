"""Makes half-typed or damaged Python parsable again, so that one bad line does not hide the definitions after it.

Every logical line is judged alone. One that does not parse is closed (brackets, colon) if that makes it parse, else
replaced by `pass` (or `if 1:` above an indented block). The number of lines never changes, and lines that parse keep
their bytes. A line that begins with a keyword like `def` ends whatever bracket is still open before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

MAX_LINES = 20_000
_REWIND_SHARE = 2  # an unclosed bracket makes us read the lines after it again: this many times all lines at most

_TOKEN = re.compile(
    rb"""(?P<comment>\#.*)|(?P<triple>"{3}|'{3})|(?P<string>"(?:\\.|[^"\\])*(?:"|\\?$)|'(?:\\.|[^'\\])*(?:'|\\?$))"""
    rb"""|(?P<open>[(\[{])|(?P<close>[)\]}])""",
    re.VERBOSE,
)
_STARTS_STATEMENT = re.compile(
    rb"\s*(?:(?:async\s+def|def|class)\s+[^\s\d(:,)=]|@[^\W\d][\w.]*\s*(?:\(|$)"
    rb"|(?:return|raise|import|while|with|try|pass|break|continue|global|nonlocal|assert|del)\b(?!\s*=))"
)
_HEADER = re.compile(rb"\s*(?P<keyword>async\s+def|def|class)\s+(?P<name>[^\s\d(:,)=\[][^\s(:,)=\[]*)")
_CONTEXTS = {
    b"else": b"if 1:\n pass\n", b"elif": b"if 1:\n pass\n", b"except": b"try:\n pass\n", b"finally": b"try:\n pass\n",
    b"case": b"match x:\n ",
}  # fmt: skip
_SUFFIXES = (b"\n", b"\n  pass\n")
_MORE_SUFFIXES = {b"match": b"\n case _:\n  pass\n", b"@": b"\ndef f(): pass\n"}
_CLOSER = {b"(": b")", b"[": b"]", b"{": b"}"}


class Repaired(NamedTuple):
    """Source with as many lines as before; `lines` are the 1-based numbers of those that had to be changed."""

    source: bytes
    lines: tuple[int, ...]


@dataclass(slots=True)
class _Lexer:
    """What is open at the end of the lines read so far."""

    brackets: list[bytes]
    quote: bytes = b""
    code_end: int = 0  # in the last line: where its code ends, before a comment
    continued: bool = False

    @property
    def open(self) -> bool:
        return bool(self.brackets or self.quote or self.continued)

    def read(self, line: bytes) -> None:
        at = self._skip_quoted(line)
        end = at
        while match := _TOKEN.search(line, at):
            end = at = match.end()
            match match.lastgroup:
                case "comment":
                    end = match.start()
                    break
                case "triple":
                    self.quote = match[0]
                    end = at = self._skip_quoted(line, at)
                case "open":
                    self.brackets.append(match[0])
                case "close" if self.brackets:
                    self.brackets.pop()
                case _:
                    pass
        else:
            end = len(line)
        self.code_end = len(line[:end].rstrip())
        self.continued = not self.quote and line.endswith(b"\\") and self.code_end == len(line)

    def _skip_quoted(self, line: bytes, at: int = 0) -> int:
        """The offset after the end of the open triple-quoted string, or the line's length."""
        if not self.quote:
            return at
        while (found := line.find(self.quote, at)) >= 0:
            before = line[:found]
            if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
                self.quote = b""
                return found + 3
            at = found + 1
        return len(line)


class _Logical(NamedTuple):
    """One statement, or the header of one: `height` physical lines from `start` (0-based)."""

    start: int
    height: int
    closers: bytes
    code_end: int


class _Verdict(NamedTuple):
    """`text` replaces the statement, None keeps it; `block` means that it needs an indented block after it."""

    text: bytes | None
    block: bool = False
    masked: bool = False


def repair(source: bytes, parses: Callable[[bytes], bool]) -> Repaired | None:
    """Repair what does not parse. None if the source has too many lines for this."""
    lines = [line.removesuffix(b"\r") for line in source.split(b"\n")]
    if len(lines) > MAX_LINES:
        return None
    judged = list(_judge_all(lines, parses))
    out = list(lines)
    changed: list[int] = []
    for i, (logical, verdict) in enumerate(judged):
        indent = _indent(lines[logical.start])
        following = judged[i + 1][0].start if i + 1 < len(judged) else -1
        deeper = following >= 0 and _width(lines[following]) > _width(lines[logical.start])
        text = verdict.text
        if verdict.masked:
            text = b"if 1:" if deeper else b"pass"
        elif verdict.block and not deeper:
            text = _code(lines, logical) if text is None else text
            text += b" pass"
        if text is None:
            continue
        new = (indent + text).split(b"\n")
        out[logical.start : logical.start + logical.height] = new + [b""] * (logical.height - len(new))
        changed.extend(range(logical.start + 1, logical.start + logical.height + 1))
    return Repaired(b"\n".join(out), tuple(changed))


def _judge_all(lines: list[bytes], parses: Callable[[bytes], bool]) -> Iterator[tuple[_Logical, _Verdict]]:
    at = 0
    rewinds = _REWIND_SHARE * len(lines)
    while at < len(lines):
        if not lines[at].strip() or lines[at].lstrip().startswith(b"#"):
            at += 1
            continue
        logical = _logical(lines, at)
        verdict = _judge(lines, logical, parses)
        if verdict.masked and 1 < logical.height <= rewinds:
            rewinds -= logical.height
            logical = _logical(lines[: at + 1], at)
            verdict = _judge(lines, logical, parses)
        yield logical, verdict
        at += logical.height


def _logical(lines: list[bytes], start: int) -> _Logical:
    lexer = _Lexer([])
    at = start
    while at < len(lines):
        lexer.read(lines[at])
        at += 1
        if not lexer.open or (at < len(lines) and not lexer.quote and _STARTS_STATEMENT.match(lines[at])):
            break
    closers = lexer.quote + b"".join(_CLOSER[b] for b in reversed(lexer.brackets))
    return _Logical(start, at - start, closers, lexer.code_end)


def _judge(lines: list[bytes], logical: _Logical, parses: Callable[[bytes], bool]) -> _Verdict:
    code = _code(lines, logical)
    head = _HEADER.match(code)
    if not logical.closers:
        verdict = _fits(code, parses)
        if verdict is not None:
            return verdict
    if head is None:
        closed = code + logical.closers
        if logical.closers and logical.height == 1 and _fits(closed, parses) is not None:
            return _Verdict(closed)
        return _Verdict(None, masked=True)
    several = logical.height > 1 and lines[logical.start].rstrip().endswith(b":")  # the body is swallowed
    for closed in () if several else _closed_headers(code, logical.closers):
        if parses(closed + b"\n  pass\n"):
            return _Verdict(closed, block=True)
    if logical.height > 1:
        return _Verdict(None, masked=True)  # tried again with the first line alone
    bare = head["keyword"] + b" " + head["name"] + (b":" if head["keyword"] == b"class" else b"():")
    return _Verdict(bare, block=True) if parses(bare + b"\n  pass\n") else _Verdict(None, masked=True)


def _fits(code: bytes, parses: Callable[[bytes], bool]) -> _Verdict | None:
    """The verdict that keeps `code`, if it parses where statements like it stand."""
    if code.endswith(b"\\"):  # goes on in a comment, or nowhere
        return None
    word = re.match(rb"@|\w+", code)
    keyword = word[0] if word else b""
    prefix = _CONTEXTS.get(keyword, b"")
    suffixes = (*_SUFFIXES, _MORE_SUFFIXES[keyword]) if keyword in _MORE_SUFFIXES else _SUFFIXES
    for suffix in suffixes:
        if parses(prefix + code + suffix):
            opens = code.endswith(b":") and suffix is not _MORE_SUFFIXES[b"@"]
            return _Verdict(None, block=opens)
    return None


def _closed_headers(code: bytes, closers: bytes) -> Iterator[bytes]:
    yield code.rstrip(b": \t,") + closers + b":"
    yield code + closers + b":"


def _code(lines: list[bytes], logical: _Logical) -> bytes:
    """The statement without its indentation and without a comment at its end."""
    chosen = lines[logical.start : logical.start + logical.height]
    return b"\n".join([*chosen[:-1], chosen[-1][: logical.code_end]]).lstrip()


def _indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip())]


def _width(line: bytes) -> int:
    return len(_indent(line).expandtabs(8))
