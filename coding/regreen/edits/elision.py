"""Placeholders: `# ... existing code ...` and the like, which would delete what they stand for.

Rule: a line is a placeholder only as a whole. Words in code, or in a string that is not the whole line, never count.
A line is reduced to the words of its comment (`Remark`), and every word must be one that placeholders are made of; a
comment that says anything more is an ordinary comment. What is left has a strength:

- `STRONG` (`# rest of the code`) never is a comment on code that is there, so it is refused in new files too;
- `WEAK` (`# unchanged`, `# ...`) may be one, so it is refused only where lines of SEARCH go away.

The work is linear in the text: no line over `MAX_LENGTH` is looked at, and each word is looked up once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from regreen.edits.elision_words import DOTS, LINKS, NOT_ONE, STRONG, WEAK, Remark, bared, said

MAX_LENGTH: Final = 160
_MARKERS = (
    "#", "//", "--", ";", "%", "/*", "<!--", "{/*", "{# ", "{- ", "{{!", "<%#", "<%--", "(* ", "! ", "'",
    '" ', "::", "dnl ",
)  # fmt: skip
_INNER_MARKERS = ("#", "//", "/*", "--")
_EMPTY_BODIES = frozenset(("pass", "...", "{}", "{", "raise NotImplementedError", "raise NotImplementedError()"))
_TRIVIAL = _EMPTY_BODIES.union(("return", "continue", "break", "end", "}", "})", ")", "]", "[", "("))
_OPENERS = ("{", "[", "(", ": pass", ": ...")
_QUOTES = ('"""', "'''", '"', "'", "`")
_BARE_EDGE = frozenset(".…()[]<>{}*-–— \t")
_ENDINGS = (" as they are ", " as it is ", " as it was ", " as they were ")
_PHRASES = (
    ("as is", "as-is"), ("as before", "as-is"), ("as above", "as-is"), ("as original", "as-is"),
    ("as existing", "as-is"), ("no other changes", "no-change"), ("no changes", "no-change"),
    ("no change", "no-change"), ("not changed", "no-change"), ("nothing changed", "no-change"),
    ("nothing changes", "no-change"), ("nothing else changes", "no-change"),
    ("nothing else changed", "no-change"), ("not shown", "omitted"), ("left out", "omitted"), ("omitting", "omitted"),
)  # fmt: skip
_FULL_LINE = 56


def placeholder(search: Sequence[str], replace: Sequence[str]) -> str:
    """The first placeholder line of REPLACE that SEARCH does not hold too; empty if there is none."""
    known = {line.strip() for line in search}
    needed: int | None = None
    before = ""
    for line in replace:
        text = line.strip()
        if text not in known:
            strength = _strength(text, before)
            if strength and needed is None:
                needed = WEAK if _deletes(search, replace) else STRONG
            if strength and needed is not None and strength >= needed:
                return text
        before = text
    return ""


def _deletes(search: Sequence[str], replace: Sequence[str]) -> bool:
    had = Counter(text for line in search if (text := line.strip()))
    return bool(had - Counter(line.strip() for line in replace))


def _strength(text: str, before: str) -> int:
    if not text or len(text) > MAX_LENGTH:
        return NOT_ONE
    remark = _remark(text)
    if remark is None or _continues(remark, before):
        return NOT_ONE
    found = said(remark)
    if remark.kind == "comment":
        return found
    if remark.kind == "beside":
        return found if found == STRONG or remark.head in _EMPTY_BODIES else NOT_ONE
    if remark.kind == "inside":
        return found if found == STRONG and remark.dots else NOT_ONE
    if remark.kind == "quoted":
        return _quoted(remark, found)
    return _bare(remark, found)


def _quoted(remark: Remark, found: int) -> int:
    """A string that is the whole line: a docstring or an expression, so never more than `WEAK`."""
    if not remark.words:
        return said(remark) if remark.head in _QUOTES[:2] else NOT_ONE
    return WEAK if remark.dots and found == STRONG else NOT_ONE


def _bare(remark: Remark, found: int) -> int:
    """No comment at all: `...rest` is a spread argument and `...` a body, so it takes words and dots or brackets."""
    if len(remark.words) < 2 or found != STRONG:
        return NOT_ONE
    if remark.dots > 1:
        return STRONG
    return WEAK if remark.dots or remark.framed else NOT_ONE


def _remark(text: str) -> Remark | None:
    quote = next((q for q in _QUOTES if text.startswith(q)), "")
    if quote and (len(quote) > 1 or quote in text[1:]):
        inner = text.removeprefix(quote).removesuffix(quote)
        known = quote[0] not in inner and not inner.lstrip().startswith(_INNER_MARKERS)
        return _taken_apart("quoted", inner, quote) if known else None
    if text.startswith(_MARKERS):
        formatting = text[0] == "%" and "," in text  # `% (previous, code)` goes on with an expression
        return None if formatting else _taken_apart("comment", text)
    if text[:4].lower() in ("rem ", "@rem"):
        return _taken_apart("comment", text[4:])
    return _behind_code(text) or _uncommented(text)


def _behind_code(text: str) -> Remark | None:
    for marker in _INNER_MARKERS:
        head, found, rest = text.partition(marker)
        head = head.rstrip("; \t")
        if found and head in _TRIVIAL:
            return _taken_apart("beside", rest, head)
        if found and head.endswith(_OPENERS) and not any(quote in head for quote in _QUOTES):
            return _taken_apart("inside", rest, head)
    return None


def _uncommented(text: str) -> Remark | None:
    remark = _taken_apart("bare", text)
    bare = "," not in text and _BARE_EDGE.issuperset(remark.left) and _BARE_EDGE.issuperset(remark.right)
    return remark if bare else None


def _taken_apart(kind: str, text: str, head: str = "") -> Remark:
    start, end = 0, len(text)
    while start < end and not _in_word(text[start]):
        start += 1
    while end > start and not _in_word(text[end - 1]):
        end -= 1
    if text[end : end + 2] == "()":
        end += 2
    inner = text[start:end]
    return Remark(kind, tuple(inner.split()), _read(inner), text[:start], text[end:], head)


def _read(inner: str) -> tuple[str, ...]:
    """The words in lower case, without marks of punctuation but for dots, and one word for each fixed phrase."""
    apart = inner.lower().replace("...", f" {DOTS} ").replace("…", f" {DOTS} ").split()
    plain = f" {' '.join(word for raw in apart if (word := bared(raw)))} "
    for ending in _ENDINGS:
        if plain.endswith(ending):
            plain = plain.removesuffix(ending) + " as-is "
    for phrase, word in _PHRASES:
        plain = plain.replace(f" {phrase} ", f" {word} ")
    return tuple(plain.split())


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _continues(remark: Remark, before: str) -> bool:
    """The end of a sentence of the comment line before: below `# the same as in the`, `existing code` is prose."""
    text = before.strip()
    name = remark.names[0] if remark.names else ""
    if remark.kind != "comment" or remark.dots or not name[:1].islower() or text[:1] != remark.left[:1]:
        return False
    if text.rpartition(" ")[2] in LINKS:
        return True
    return remark.right == "." and len(text) >= _FULL_LINE and text[-1] not in ".:!?…"
