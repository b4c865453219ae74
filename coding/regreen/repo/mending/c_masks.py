"""Hides from a grammar what it cannot read and what a compiler would have replaced: macros in declarations, mostly.

Every offset stays, and so does every line: text is replaced by as much text. Inside of strings and comments that
does no harm, since what is shown is cut from the bytes as they were. Nothing is replaced that could hold a quote, a
comment, or only one bracket of a pair. Each look around is bounded.
"""

from __future__ import annotations

import re

from regreen.repo.mending.c_branches import closed_branches

_TO_BLANKS = bytes(b if b in b"\r\n" else 0x20 for b in range(256))
_LOOK_BACK = 2000  # bytes, for the bracket that a closing one belongs to
_MACRO = rb"\b(?!__(?:attribute|declspec|asm))(?:_{0,2}[A-Z][A-Z0-9_]+|__[a-z]\w*)\b"
_ARGUMENTS = rb"(?:[ \t]*\((?:[^()\"'\n;{}]|\((?:[^()\"'\n;{}]|\([^()\"'\n;{}]*\))*\))*\))?"
_MACROS = _MACRO + _ARGUMENTS + rb"(?:\s+" + _MACRO + _ARGUMENTS + rb"){0,5}"
_NAME = rb"[A-Za-z_]\w*(?:::\w+)*"

# #ifdef __cplusplus, extern "C" {, #endif
_LINKAGE = re.compile(
    rb"^[ \t]*\#[ \t]*if[^\n]*__cplusplus[^\n]*\n(?:[ \t]*\n)*[ \t]*"
    rb"(extern[ \t]+\"C\"\s*\{|\})[^\n]*\n\s*\#[ \t]*endif",
    re.MULTILINE,
)
_ATTRIBUTES = rb"(?:\[\[[^\[\]]*\]\]\s*)?"
_IN_HEADS = re.compile(
    rb"\b(?:class|struct|union|enum)\s+(?:class\s+)?" + _ATTRIBUTES + rb"(" + _MACROS + rb")\s+"
    rb"(?=" + _ATTRIBUTES + _NAME + rb"\s*(?:<[^{};()]{0,300}>\s*)?(?:final\s*)?[:{])"
)  # fmt: skip
_NAMESPACE = re.compile(rb"\bnamespace\s+" + _NAME + rb"\s+(" + _MACROS + rb")\s*(?=\{)")
_INCLUDE_ASKED = re.compile(rb"^[ \t]*\#[ \t]*(?:el)?if[^\n]*?\((<[\w./+-]+>)", re.MULTILINE)
_ENUM_BASE = re.compile(rb"\benum\s*(:[\w\s:]{1,100})(?=\{)")
_BRACES_AS_DEFAULT = re.compile(rb"=\s*(\{[^{}\n\"';]{0,300}\})(?=\s*[,)])")
_NAMELESS_DEFAULT = re.compile(rb"[*&]\s+(=\s*[\w:]+)(?=\s*[,)])")
_INSTANTIATION = re.compile(
    rb"^[ \t]*((?:extern[ \t]+)?template[ \t]+(?:class|struct)\s[^;{}()\"'<]{1,200}<[^;{}()\"']{1,300}>\s*;)",
    re.MULTILINE,
)
_SLOTS = re.compile(
    rb"^[ \t]*(?:(?:public|protected|private)\s+(slots|Q_SLOTS)|(signals[ \t]*:|Q_SIGNALS[ \t]*:))", re.MULTILINE
)
_DECLARES = (
    rb"(?:(?:void|bool|char|int|long|short|float|double|signed|unsigned|auto|static|inline|extern|virtual|constexpr"
    rb"|explicit|struct|class|enum|typename|typedef|template|friend|using|operator)\b"
    rb"|(?!const\b|volatile\b)" + _NAME + rb"(?:[ \t]*<[^;{}()]{0,300}>|\([\w* ]*\))?(?:::\w+)*(?:\s*[*&]+\s*|\s+)"
    rb"(?:const\s+)?[A-Za-z_~][\w:]*\s*[^\w\s])"
)
_CONSTRUCTS = _NAME + rb"\s*\([^;{}]{0,400}\)\s*(?:noexcept\s*|" + _MACRO + rb"\s*)?:(?!:)"
_ALONE = re.compile(
    rb"^[ \t]*(" + _MACRO + _ARGUMENTS + rb"|_?Py\w*_HEAD(?:_EXTRA)?|[A-Z]\w*\([\d., ]+\))[ \t\r]*$"
    rb"(?=\s*(?:[\w#/}~\[]|\Z))",
    re.MULTILINE,
)
_BEFORE = re.compile(
    rb"^[ \t]*(?:(?:static|inline|extern(?:[ \t]+\"C\")?|virtual|constexpr|explicit)[ \t]+)*"
    rb"((?:(?:"
    + _MACRO
    + _ARGUMENTS
    + rb"|[A-Z]\w*\([\d., ]+\))\s{1,60}){1,4})(?="
    + _DECLARES
    + rb"|"
    + _CONSTRUCTS
    + rb")",
    re.MULTILINE,
)
_BETWEEN = re.compile(
    rb"^[ \t]*(?:(?:static|inline|extern|virtual|constexpr|const|struct|unsigned)[ \t]+)*"
    rb"(?!(?:static|inline|extern|virtual|constexpr|const|struct|unsigned|enum|union|class|return|else|case|goto|new"
    rb"|delete|throw|using|typedef|namespace|friend|operator|template)\b)"
    + _NAME
    + rb"(?:<[^;{}()\n]{0,300}>)?[ \t*&]*[ \t*&]("
    + _MACRO
    + rb")[ \t]+(?=~?"
    + _NAME
    + rb"[ \t]*\()",
    re.MULTILINE,
)
_FUNCTION = re.compile(rb"\s*(?!" + _MACRO + rb")\w+\s*\(")
_DECLARATION = re.compile(rb"[ \t\r]*\n[ \t]*(?:" + _DECLARES + rb"|" + _CONSTRUCTS + rb")")
_ENCLOSES = re.compile(rb"BEGIN|END|OBJECT|DECLARE|DEFINE|IMPLEMENT|DECLS|_HEAD")
_AFTER = re.compile(
    rb"\)\s*(?:(?:const|noexcept|override|final)\s+)*(" + _MACROS + rb")\s*(?=[;{]|:\s)"
)  # fmt: skip
_HAS_NAME = re.compile(rb"\w\s*\Z")
_PARAMETERS = re.compile(rb"(?!(?:typedef|extern|static|const|return|else|in)\b)\b\w+[\s*&>]+[\w:~]+\s*\Z")
_NO_SPECIFIER = re.compile(
    rb"\s*(?:(?:template|friend|using|typedef)\b|(?:class|struct|enum|union)\b(?!\s+\w+[\s*&]+\w+\s*[(;=\[]))"
)
_PRECEDES = re.compile(rb"(?:\#|//).*[^\\]|" + _MACRO + _ARGUMENTS)
_MAY_PRECEDE = (b"{", b"}", b";", b":", b"*/")


def c(source: bytes) -> bytes:
    """C and C++ without the macros that stand where the grammars want something else."""
    if b"__cplusplus" in source:
        source = _LINKAGE.sub(_blank, source)
    source = closed_branches(source)
    source = _IN_HEADS.sub(_blank, source)
    source = _INCLUDE_ASKED.sub(_digits, source)
    source = _ENUM_BASE.sub(_blank, source)
    source = _BRACES_AS_DEFAULT.sub(_digits, source)
    source = _ALONE.sub(_blank_alone, source)
    source = _BEFORE.sub(_specifier, source)
    source = _BETWEEN.sub(_blank, source)
    return _AFTER.sub(_blank_after, source)


def cpp(source: bytes) -> bytes:
    """`c`, and what only the grammar of C++ stumbles over."""
    source = _NAMELESS_DEFAULT.sub(_blank, source)
    source = _INSTANTIATION.sub(_blank, source)
    source = _SLOTS.sub(_blank, source)
    source = _NAMESPACE.sub(_blank, source)
    return c(source)


def _blank(match: re.Match[bytes]) -> bytes:
    """The match with its last group blank."""
    return _with(match, match[match.lastindex or 0].translate(_TO_BLANKS))


def _digits(match: re.Match[bytes]) -> bytes:
    return _with(match, b"0" * len(match[1]))


def _specifier(match: re.Match[bytes]) -> bytes:
    """A macro before a declaration becomes `const`, so that the declaration still begins there."""
    width = len(match[1])
    if width < 6 or _NO_SPECIFIER.match(match.string, match.end()):
        return _blank(match)
    return _with(match, b"const".ljust(width))


def _blank_alone(match: re.Match[bytes]) -> bytes:
    """A macro that is a line of its own: part of the declaration that follows, or a statement, unless the line before
    goes on."""
    before = match.string[max(0, match.start() - 400) : match.start()].rstrip()
    line = before[before.rfind(b"\n") + 1 :].lstrip()
    if before and not before.endswith(_MAY_PRECEDE) and not _PRECEDES.fullmatch(line):
        return match[0]
    declares = _DECLARATION.match(match.string, match.end(1))
    if not declares and not match[1].endswith(b")") and _FUNCTION.match(match.string, match.end()):
        return match[0]  # it may be what the function returns
    if (
        before.endswith(b"{")
        or len(match[1]) < 6
        or _ENCLOSES.search(match[1])
        or _NO_SPECIFIER.match(match.string, match.end())
        or not declares
    ):
        return _blank(match)
    return _with(match, b"const".ljust(len(match[1])))


def _blank_after(match: re.Match[bytes]) -> bytes:
    """Macros after a list of parameters; not what follows a cast."""
    source = match.string
    depth = 0
    for at in range(match.start(), max(-1, match.start() - _LOOK_BACK), -1):
        if source[at] in b";{}":
            break
        depth += (source[at] == 0x29) - (source[at] == 0x28)
        if not depth:
            declares = _PARAMETERS if source[match.end() : match.end() + 1] == b";" else _HAS_NAME
            return _blank(match) if declares.search(source, max(0, at - 200), at) else match[0]
    return match[0]


def _with(match: re.Match[bytes], text: bytes) -> bytes:
    """The match with other text in place of its last group."""
    start, end = match.span(match.lastindex or 0)
    whole = match[0]
    begin = match.start()
    return whole[: start - begin] + text + whole[end - begin :]
