"""Placeholder comments: `# ... existing code ...` and the like, which would delete what they stand for.

Rule: only a line that is a comment and nothing else can be a placeholder; words inside code or strings never are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_COMMENT = re.compile(r"(?:#|//|--|;|%|/\*|<!--|\{/\*)\s*")
_CLOSERS = ("*/}", "*/", "-->")
_MAX_LENGTH = 160
_WORD = (
    r"existing|rest|remaining|remainder|unchanged|same|previous|other|others|code|omitted|keep|kept|snip|snipped"
    r"|more|methods|functions|implementation|imports|logic|stuff|here|before|above"
)
_THING = (
    r"(?:code|file|function|method|methods|functions|class|implementation|imports|module|body|script|content|logic)"
)
_STATE = r"(?:is |are |stays? |remains? )?(?:here|unchanged|the same|same|as before|as is|omitted|goes here|unmodified)"
_DOTTED = re.compile(rf"(?:(?:\.\.\.|…).*\b(?:{_WORD})\b.*|.*\b(?:{_WORD})\b.*(?:\.\.\.|…))", re.IGNORECASE)
_PHRASE = re.compile(
    rf"(?:the )?(?:rest|remainder) of (?:the |your |this )?(?:\w+ )?{_THING}(?: {_STATE})?"
    rf"|(?:the )?(?:existing|remaining|previous|original|unchanged) code(?: {_STATE})?"
    rf"|(?:the )?(?:existing|remaining|previous|original|other|code|{_THING}) (?:{_THING} )?{_STATE}"
    r"|unchanged|snip|omitted|same as before|no changes?(?: here| needed)?",
    re.IGNORECASE,
)
_DOTS = re.compile(r"(?:\.\.\.|…)+")


def placeholder(search: Sequence[str], replace: Sequence[str]) -> str:
    """The first placeholder comment of REPLACE that SEARCH does not hold too; empty if there is none."""
    known = {line.strip() for line in search}
    for line in replace:
        text = line.strip()
        if text not in known and len(text) <= _MAX_LENGTH and _stands_for_code(text, deletes=bool(search)):
            return text
    return ""


def _stands_for_code(text: str, *, deletes: bool) -> bool:
    marker = _COMMENT.match(text)
    if marker is None:
        return False
    inner = text[marker.end() :]
    for closer in _CLOSERS:
        inner = inner.removesuffix(closer)
    inner = inner.strip()
    if _DOTS.fullmatch(inner):
        return deletes
    return bool(_DOTTED.fullmatch(inner) or _PHRASE.fullmatch(inner.rstrip(".:;")))
