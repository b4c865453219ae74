"""Titles that a test file writes down: whether a name is that of a block around tests, or of a test.

Found in the text, without running it. Titles that are put together when the file runs fit everything that they could
become, and what is not written there at all may be either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SEPARATOR = " > "
_MAX_CHARS = 200_000
_CALL = re.compile(
    r"\b(?:(?P<block>[fx]?describe|[fx]?context|suite)|[fx]?it|x?test|x?specify)\b(?:\s*\.\s*(?!each\b)\w+)*"
    r"(?:\s*\.\s*each\b.{0,1500}?[)`])?\s*\(\s*(?P<quote>['\"`])(?P<title>(?:\\.|(?!(?P=quote))[^\\]){0,500})(?P=quote)",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_FILLED = re.compile(r"\$\{[^}]*\}|%[sdifjopc#$]|\$[A-Za-z_#][\w.]*")
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}


@dataclass(frozen=True, slots=True)
class Titles:
    """Titles of blocks or of tests."""

    written: frozenset[str] = frozenset()
    patterns: tuple[re.Pattern[str], ...] = field(default=())

    def fit(self, title: str) -> bool:
        """Whether one of them is, or can become, this title."""
        return title in self.written or any(p.fullmatch(title) for p in self.patterns)


def titles_in(text: str) -> tuple[Titles, Titles]:
    """The titles of the blocks and of the tests in a file's text."""
    blocks: list[str] = []
    tests: list[str] = []
    for call in _CALL.finditer(text[:_MAX_CHARS]):
        (blocks if call["block"] else tests).append(call["title"])
    return _titles(blocks), _titles(tests)


def _titles(raw: list[str]) -> Titles:
    """A title of nothing but a value that is filled in could be any, and so says nothing."""
    filled = [t for t in dict.fromkeys(raw) if _FILLED.search(t) and _FILLED.sub("", t).strip()]
    written = frozenset(_one_line(_plain(t)) for t in raw if not _FILLED.search(t))
    return Titles(written, tuple(_pattern(t) for t in filled))


def _pattern(title: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(_one_line(_plain(part))) for part in _FILLED.split(title)))


def _plain(title: str) -> str:
    return _ESCAPE.sub(_unescaped, title)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if not code:
        return _NAMED.get(match[4], match[4])
    number = int(code, 16)
    return chr(number) if number < 0x110000 else "?"


def _one_line(title: str) -> str:
    return re.sub(r"\s*[\r\n]+\s*", " ", title)


def may_be_block(rest: str, blocks: Titles, tests: Titles) -> bool:
    """Whether an id's part behind its file may name a block. A title may hold the separator as well."""
    parts = rest.split(SEPARATOR)
    ends = [SEPARATOR.join(parts[i:]) for i in range(len(parts))]
    return any(blocks.fit(end) for end in ends) or not any(tests.fit(end) for end in ends)
