"""The first line of a definition's documentation, found in the text: a comment right above it, or a string right
inside it. Looks at a bounded number of lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

MAX_DOC = 200

DocStyle: TypeAlias = Literal["docstring", "slashes", "hashes", "both", "none"]

_MAX_LINES = 300
_MAX_BLOCK = 20_000
_MAX_DOCSTRING = 4000
_DOCSTRING = re.compile(
    rb":[ \t]*(?:\#[^\n]*)?(?:\s*\n(?:[ \t]*\#[^\n]*\n|[ \t]*\r?\n)*)?[ \t]*[rRuU]{0,2}"
    rb"(?P<quote>\"\"\"|'''|\"|')(?P<text>(?:\\.|(?!(?P=quote)).)*)",
    re.DOTALL,
)
_MARKS = re.compile(r"^(?:/\*\*?<?|///?<?!?|//!|#+|--+\|?|\*(?!/))[ \t]*|\s*\*+/\s*$")
_TAG = re.compile(r"</?(?:summary|remarks|para)>|^@brief\s+|^\\brief\s+")
_WORD = re.compile(r"\w")
_DIRECTIVE = re.compile(
    r"//(?:[a-z0-9]+:[a-z0-9]|export |extern |line )"
    r"|(?://|#|/\*) ?(?:-\*-|\+build\b|@ts-|eslint-|prettier-|biome-|istanbul |c8 |v8 |clang-format |NOLINT|nolint"
    r"|(?:frozen_string_literal|encoding|coding|typed|rubocop|standard|shellcheck|swiftlint|ktlint|phpcs|yamllint)[: ])"
)


class Docs:
    """The documentation in one file."""

    def __init__(self, source: bytes, style: DocStyle) -> None:
        self._source = source
        self._style = style
        self._mark = (b"//", b"#") if style == "both" else b"#" if style == "hashes" else b"//"

    def of(self, start: int, stop: int, decorators: Sequence[tuple[int, int]]) -> str:
        """For a definition that starts (with its decorators) at `start`, whose signature ends at `stop`."""
        match self._style:
            case "docstring":
                return self._inside(stop)
            case "none":
                return ""
            case _:
                first = min([start, *(a for a, _ in decorators)])
                return self._above(first)

    def _inside(self, stop: int) -> str:
        match = _DOCSTRING.match(self._source, stop, stop + _MAX_DOCSTRING)
        if match is None:
            return ""
        lines = match["text"].decode("utf-8", "replace").strip().splitlines()
        return _cut(" ".join(lines[0].split())) if lines else ""

    def _above(self, start: int) -> str:
        """The first line of the comment that ends on the line above."""
        source = self._source
        line_start = source.rfind(b"\n", 0, start) + 1
        if not line_start or source[line_start:start].strip():
            return ""
        end = line_start - 1
        line = source[source.rfind(b"\n", 0, end) + 1 : end].strip()
        if line.endswith(b"*/"):
            return self._block(end)
        if line.startswith(self._mark):
            return self._run(end)
        if line == b"=end":
            begin = source.rfind(b"\n=begin", max(0, end - _MAX_BLOCK), end)
            return _first_line(source[begin + len(b"\n=begin") : end - len(b"=end")]) if begin >= 0 else ""
        return ""

    def _block(self, end: int) -> str:
        begin = self._source.rfind(b"/*", max(0, end - _MAX_BLOCK), end)
        if begin < 0 or self._source[self._source.rfind(b"\n", 0, begin) + 1 : begin].strip():
            return ""  # none, or it belongs to what stands before it
        return _first_line(self._source[begin:end])

    def _run(self, end: int) -> str:
        """The comment lines that end at `end`, each with a mark of its own."""
        first = last = end
        for _ in range(_MAX_LINES):
            begin = self._source.rfind(b"\n", 0, max(end, 0)) + 1
            line = self._source[begin:end].strip()
            if not line.startswith(self._mark) or line.startswith((b"#!", b"#[")):
                break
            first = begin
            if not begin:
                break
            end = begin - 1
        return _first_line(self._source[first : min(last, first + _MAX_BLOCK)])


def _first_line(comment: bytes) -> str:
    for line in comment.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if _DIRECTIVE.match(text):
            continue
        while (shorter := _MARKS.sub("", text)) != text:
            text = shorter
        text = _TAG.sub("", text).strip()
        if _WORD.search(text):
            return _cut(" ".join(text.split()))
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_DOC else text[: MAX_DOC - 1] + "…"
