"""Swift as its grammar can read it. Every offset stays."""

from __future__ import annotations

import re

_SWIFT = re.compile(
    rb'"""(?:\\.|(?!""").)*(?:"""|\Z)'
    rb'|\#+"(?:(?!"\#)[^\n])*"\#+|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?(?:\*/|\Z)|;(?=[ \t]*[^\s])',
    re.DOTALL,
)


def swift(source: bytes) -> bytes:
    """Swift with new lines for semicolons, which the grammar wants between members."""
    if b";" not in source:
        return source
    return _SWIFT.sub(lambda m: b"\n" if m[0] == b";" else m[0], source)


def closed_comments(source: bytes) -> bytes:
    """Swift without a comment that never ends: the grammar's scanner would read it again from every place in it."""
    if source.count(b"/*") <= source.count(b"*/"):
        return source
    opened: list[int] = []
    for match in re.finditer(rb"/\*|\*/", source):
        if match[0] == b"/*":
            opened.append(match.start())
        elif opened:
            opened.pop()
    if not opened:
        return source
    return source[: opened[0]] + re.sub(rb"[^\r\n]", b" ", source[opened[0] :])
