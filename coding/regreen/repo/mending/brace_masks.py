"""What a grammar cannot read, made readable without moving a byte: offsets in the result are offsets in the source."""

from __future__ import annotations

import re

_KOTLIN = re.compile(
    rb'"""(?s:.*?)"""+|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|`[^`\n]*`|//[^\n]*|/\*(?s:.*?)\*/'
    rb"|(?P<end>[ \t])(?=\})"
)
_EXPORT_TYPE = re.compile(rb"^(?P<export>[ \t]*export[ \t]+)type(?P<star>[ \t]*\*)", re.MULTILINE)
_IMPORT_TYPE = re.compile(rb"""\bimport\((?:"[^"\n]*"|'[^'\n]*')\)\.(?=\w)""")
_SCRIPT = re.compile(rb"<script\b[^>]*>(?P<code>.*?)</script\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_NOT_LINE_END = re.compile(rb"[^\r\n]")


def kotlin(source: bytes) -> bytes:
    """Each closing brace begins a line: the grammar wants the last declaration in a body to end before one."""
    return _KOTLIN.sub(lambda m: b"\n" if m["end"] else m[0], source)


def typescript(source: bytes) -> bytes:
    """Without `type` in `export type * from "x"`, and with `T` for `import("x").T`."""
    source = _EXPORT_TYPE.sub(rb"\g<export>    \g<star>", source)
    return _IMPORT_TYPE.sub(lambda m: b" " * len(m[0]), source)


def component(source: bytes) -> bytes:
    """Only the scripts of a single-file component."""
    kept: list[bytes] = []
    at = 0
    for match in _SCRIPT.finditer(source):
        if match["code"] is not None:
            start, end = match.span("code")
            kept += (_NOT_LINE_END.sub(b" ", source[at:start]), source[start:end])
            at = end
    return b"".join([*kept, _NOT_LINE_END.sub(b" ", source[at:])])
