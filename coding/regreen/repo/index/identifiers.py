"""The identifiers in source text: one pass over the bytes that knows no language.

Comments and strings count: what they name matters for ranking and for finding uses. One form for each name, without
the marks that languages put around it: `$user`, `@user`, `user!` and `user` are the same. Left out are numbers, single
small letters, reserved words of nearly every language, and what is too long to be a name.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from string import ascii_letters, digits

MAX_CHARS = 80

_PART_OF_NAME = frozenset((ascii_letters + digits + "_").encode())
_OTHERS_TO_SPACE = bytes(byte if byte in _PART_OF_NAME or byte >= 0x80 else 0x20 for byte in range(256))
_RESERVED = ("if", "else", "for", "while", "return", "break", "continue")
_ODD = re.compile(
    rb"^(?:[0-9].*|[a-z_]|.*[\x80-\xff].*|%s|.{%d,})$" % ("|".join(_RESERVED).encode(), MAX_CHARS + 1), re.MULTILINE
)
_NAME = re.compile(r"[^\W\d]\w*")
_UNCOUNTED = re.compile(rf"[a-z_]|{'|'.join(_RESERVED)}|.{{{MAX_CHARS + 1},}}")
_MARKS_BEFORE, _MARKS_BEHIND = "$@:#~`", "?!=`"


def count_identifiers(source: bytes) -> tuple[list[str], array[int]]:
    """The identifiers in `source` (UTF-8), each once, and how often each occurs."""
    counts = Counter(source.translate(_OTHERS_TO_SPACE).split())
    odd = {token: counts.pop(token) for token in set(_ODD.findall(b"\n".join(counts)))}
    for token, count in odd.items():
        for name in _names_in(token):
            counts[name] += count
    names = b"\n".join(counts).decode().split("\n") if counts else []
    return names, array("I", counts.values())


def identifier_form(name: str) -> str:
    """The form under which a name is counted; "" if it is no identifier, or one that is not counted."""
    bare = name.lstrip(_MARKS_BEFORE).rstrip(_MARKS_BEHIND)
    return bare if _NAME.fullmatch(bare) and not _UNCOUNTED.fullmatch(bare) else ""


def _names_in(token: bytes) -> list[bytes]:
    """What an unusual run of name characters holds: nothing that is counted, if it is ASCII."""
    text = "" if token.isascii() else token.decode("utf-8", "replace")
    if not text or text[0].isdigit() or len(text) > MAX_CHARS:
        return []
    return [piece.encode() for piece in _NAME.findall(text) if identifier_form(piece)]
