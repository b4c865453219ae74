"""Why a SEARCH line is not the file's line: what differs, in words, so that the next try can be right.

Rule: a clue explains, it never changes what is written. One row in CLUES per kind of mistake; the first that holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from regreen.edits.ladder import indent_of
from regreen.edits.operations import BLANKS
from regreen.redact import MASK

_PUNCTUATION = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u2032": "'",
    "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u201f": '"', "\u2033": '"', "\u00ab": '"', "\u00bb": '"',
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2015": "-", "\u2212": "-",
    "\u00a0": " ", "\u2002": " ", "\u2003": " ", "\u2009": " ", "\u202f": " ", "\u3000": " ", "\u2026": "...",
})  # fmt: skip
_NUMBERED = re.compile(r"\s*\d+\s?[|:\t]")
_ESCAPES = re.compile(r"\\[nt\"]")
_SHORT = 90
_LONG = 2_000  # characters of a line; of longer ones the part around the first difference is compared


def clue(sent: str, found: str) -> str:
    """What tells the two lines apart, as a sentence; empty if they are equal, or simply other text."""
    if sent == found:
        return ""
    start = 0
    if max(len(sent), len(found)) > _LONG:
        start = max(0, first_difference(sent, found) - _SHORT)
        sent, found = sent[start : start + _LONG], found[start : start + _LONG]
    text = next((text for holds, text in CLUES if holds(sent, found)), "")
    return text.format_map(_fields(sent, found, start)) if text else ""


def clue_of_search(search: Sequence[str]) -> str:
    """A mistake that SEARCH shows by itself."""
    if search and all(_NUMBERED.match(line) for line in search):
        return "SEARCH seems to hold line numbers that a reader printed; leave them out"
    if any(MASK.search(line) for line in search):
        return "SEARCH holds the mask of a secret, which is not what stands in the file; leave that line out"
    if any(line.strip() in ("...", "…", "# ...", "// ...") for line in search):
        return "`...` in SEARCH stands for itself: it does not match lines that were left out; write all lines"
    return ""


def shown(text: str, around: int = 0) -> str:
    """`text` as a repr of bounded length, so that blanks, tabs and unseen characters can be told apart."""
    start = max(0, around - _SHORT // 2)
    piece = text[start : start + _SHORT]
    before, after = "…" if start else "", "…" if start + _SHORT < len(text) else ""
    return before + "".join(map(_visible, repr(piece))) + after


def first_difference(sent: str, found: str) -> int:
    """The column (0-based) from which two lines differ."""
    return next((n for n, (a, b) in enumerate(zip(sent, found, strict=False)) if a != b), min(len(sent), len(found)))


def _visible(c: str) -> str:
    unseen = c != " " and unicodedata.category(c) in ("Cf", "Cs", "Zs")
    return f"\\u{ord(c):04x}" if unseen else c


def _name(text: str, column: int) -> str:
    if column >= len(text):
        return "the end of the line"
    c = text[column]
    return f"U+{ord(c):04X} {unicodedata.name(c, '')}".rstrip()


def _without_unseen(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) != "Cf")


def _plain(text: str) -> str:
    return _without_unseen(text).translate(_PUNCTUATION).rstrip(BLANKS)


def _only_indent(sent: str, found: str) -> bool:
    return sent.strip(BLANKS) == found.strip(BLANKS) and indent_of(sent) != indent_of(found)


def _tabs_differ(sent: str, found: str) -> bool:
    return _only_indent(sent, found) and ("\t" in indent_of(sent)) != ("\t" in indent_of(found))


def _continues(sent: str, found: str) -> bool:
    text = sent.strip(BLANKS)
    return bool(text) and text != found.strip(BLANKS) and text in found


def _unescaped_equal(sent: str, found: str) -> bool:
    return "".join(_ESCAPES.sub(" ", sent).split()) == "".join(_ESCAPES.sub(" ", found).split())


def _fields(sent: str, found: str, start: int) -> dict[str, object]:
    column = first_difference(sent, found)
    return {
        "sent_indent": shown(indent_of(sent)),
        "found_indent": shown(indent_of(found)),
        "column": start + column + 1,
        "sent": _name(sent, column),
        "found": _name(found, column),
    }


CLUES: tuple[tuple[Callable[[str, str], bool], str], ...] = (
    (
        _tabs_differ,
        "tabs and spaces differ: SEARCH is indented by {sent_indent}, the file by {found_indent}; "
        "copy the file's indentation into SEARCH and REPLACE",
    ),
    (
        _only_indent,
        "the indentation differs: SEARCH has {sent_indent}, the file has {found_indent}; copy it from the file, also "
        "into REPLACE",
    ),
    (
        lambda s, f: s.rstrip(BLANKS) == f.rstrip(BLANKS),
        "blanks at the end of the line differ; copy the line from the file, to its end",
    ),
    (
        lambda s, f: _without_unseen(s) == _without_unseen(f),
        "invisible characters differ: at column {column} SEARCH has {sent}, the file has {found}; "
        "copy the line from the file",
    ),
    (
        lambda s, f: _plain(s) == _plain(f),
        "typographic punctuation or unusual spaces differ: at column {column} SEARCH has {sent}, "
        "the file has {found}; copy the line from the file",
    ),
    (lambda s, f: s.casefold() == f.casefold(), "upper and lower case differ; case counts"),
    (lambda s, f: "".join(s.split()) == "".join(f.split()), "the blanks inside of the line differ"),
    (_unescaped_equal, "backslash escapes differ; SEARCH is compared to the letter"),
    (_continues, "the file's line holds more than the SEARCH line, which must be the whole line"),
    (lambda s, _: "\\n" in s, "SEARCH has a written `\\n`; it is not read as a line end"),
)
