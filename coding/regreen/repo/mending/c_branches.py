"""Preprocessor branches that open a brace which is closed after them: each but the last is closed.

    #ifdef A                                          (blank)
    int f(int a) {                                    int f(int a) {
    #else                                             }
    int f(long a) {                                   int f(long a) {
    #endif                                            (blank)

Every offset stays, and so does every line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_DIRECTIVE = re.compile(
    rb"^[ \t]*\#[ \t]*(?P<word>if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(?:[^\n\\]|\\.|\\\r?\n)*",
    re.MULTILINE,
)
_NOT_CODE = re.compile(
    rb"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:[^\n\\]|\\.|\\\r?\n)*",
    re.DOTALL | re.MULTILINE,
)
_NOT_LINE_END = re.compile(rb"[^\r\n]")


@dataclass(slots=True)
class _Group:
    """One #if to its #endif: where its directives stand, and by how much each branch opens more than it closes."""

    directives: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    nets: list[int] = field(default_factory=list[int])


def closed_branches(source: bytes) -> bytes:
    """`source` with the directives of such groups replaced."""
    code = bytearray(source)
    open_: list[_Group] = []
    at = 0
    for match in _DIRECTIVE.finditer(source):
        if open_:
            open_[-1].nets[-1] += _net(source[at : match.start()])
        at = match.end()
        word = match["word"]
        if word.startswith(b"if"):
            open_.append(_Group([match.span()], [0]))
        elif open_:
            open_[-1].directives.append(match.span())
            if word != b"endif":
                open_[-1].nets.append(0)
                continue
            group = open_.pop()
            if any(group.nets):
                _replace(code, group)
            if open_:
                open_[-1].nets[-1] += group.nets[-1]
    return bytes(code)


def _net(text: bytes) -> int:
    if b"{" not in text and b"}" not in text:
        return 0
    text = _NOT_CODE.sub(b" ", text)
    return text.count(b"{") - text.count(b"}")


def _replace(code: bytearray, group: _Group) -> None:
    """Blank the directives, but for the braces that even out the branch before."""
    for number, (start, end) in enumerate(group.directives):
        blank = _NOT_LINE_END.sub(b" ", bytes(code[start:end]))
        net = group.nets[number - 1] if 0 < number < len(group.nets) else 0
        braces = (b"}" if net > 0 else b"{") * min(abs(net), 4)
        code[start:end] = braces + blank[len(braces) :]
