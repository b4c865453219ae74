"""The words placeholders are made of, and how surely some of them stand for code that was left out.

Rule: one word that is not in the tables makes a comment an ordinary one, but for names and adjectives in their places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

NOT_ONE, WEAK, STRONG = 0, 1, 2
DOTS: Final = "…"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_REST = _words("rest remainder")
_KEPT = _words("existing remaining previous original prior unchanged unmodified untouched preexisting pre-existing")
_EARLIER = _words("previous original prior")
_OTHER = _words("other others else")
_SAME = _words("unchanged unmodified untouched same intact as-is no-change")
_OMITTED = _words("omitted elided snip snipped truncated shortened skipped trimmed abbreviated")
_VERBS = _words(
    "keep keeping kept leave leaving left retain retained preserve preserved insert include paste add put place"
)
_ASIDE = _words("todo note fixme nb")
_PLACES = _words("above below")
_REASONS = _words("brevity clarity space simplicity")
LINKS = _words("of in from for with is are be to as until by than or the a an")
_FILLERS = LINKS - _words("by than or") | _words(
    "your my our this that its all any and both stay stays remain remains go goes continue continues comes follows "
    "following should must will would up point save exactly completely everything here more needed required"
)
_BEING = _words("is are be should must will would")
_CODE = _words("code implementation implementations logic")
_PARTS = _words(
    "function functions method methods class classes import imports test tests component components constructor "
    "constructors helper helpers route routes endpoint endpoints hook hooks handler handlers declaration declarations "
    "definition definitions statement statements export exports interface interfaces enum enums struct structs "
    "fixture fixtures"
)
_FILES = _words("file files module modules script scripts program")
_BODIES = _words("body bodies content contents template page document")
_DATA = _words(
    "field fields property properties attribute attributes prop props parameter parameters argument arguments "
    "variable variables constant constants case cases branch branches type types rule rules style styles selector "
    "selectors setup configuration config option options setting settings part parts piece pieces section sections "
    "block blocks item items entry entries element elements row rows line lines key keys step steps check checks "
    "view views model models command commands assertion assertions dependency dependencies state functionality "
    "stuff things"
)
_CLASSES: Final[Mapping[str, frozenset[str]]] = {
    "code": _CODE, "part": _PARTS, "file": _FILES, "body": _BODIES, "data": _DATA,
}  # fmt: skip
_THINGS: Final = {word: name for name, words in _CLASSES.items() for word in words}
_KNOWN = _REST | _KEPT | _OTHER | _SAME | _OMITTED | _VERBS | _ASIDE | _PLACES | _REASONS | _FILLERS | _THINGS.keys()

# Relation to the code left out, kind of thing: strength when plain, with a state ("unchanged"), with dots at an edge.
_STRENGTHS: Final[Mapping[tuple[str, str], tuple[int, int, int]]] = {
    ("rest", "code"): (STRONG, STRONG, STRONG),
    ("rest", "part"): (STRONG, STRONG, STRONG),
    ("rest", "file"): (STRONG, STRONG, STRONG),
    ("rest", "body"): (WEAK, STRONG, STRONG),
    ("rest", "data"): (NOT_ONE, WEAK, WEAK),
    ("rest", "name"): (NOT_ONE, STRONG, STRONG),
    ("rest", ""): (NOT_ONE, WEAK, WEAK),
    ("kept", "code"): (STRONG, STRONG, STRONG),
    ("kept", "part"): (WEAK, STRONG, STRONG),
    ("kept", "file"): (NOT_ONE, STRONG, STRONG),
    ("kept", "body"): (NOT_ONE, WEAK, STRONG),
    ("kept", "data"): (NOT_ONE, WEAK, WEAK),
    ("kept", "name"): (NOT_ONE, WEAK, STRONG),
    ("kept", ""): (NOT_ONE, WEAK, WEAK),
    ("other", "code"): (NOT_ONE, STRONG, STRONG),
    ("other", "part"): (NOT_ONE, STRONG, STRONG),
    ("other", "file"): (NOT_ONE, STRONG, STRONG),
    ("other", "body"): (NOT_ONE, WEAK, WEAK),
    ("other", "data"): (NOT_ONE, WEAK, WEAK),
    ("other", "name"): (NOT_ONE, WEAK, STRONG),
    ("other", ""): (NOT_ONE, WEAK, WEAK),
    ("", "code"): (NOT_ONE, WEAK, WEAK),
    ("", "part"): (NOT_ONE, WEAK, WEAK),
    ("", "file"): (NOT_ONE, NOT_ONE, NOT_ONE),
    ("", "body"): (NOT_ONE, NOT_ONE, NOT_ONE),
    ("", "data"): (NOT_ONE, NOT_ONE, NOT_ONE),
    ("", "name"): (NOT_ONE, WEAK, WEAK),
    ("", ""): (NOT_ONE, WEAK, NOT_ONE),
}
_LOGIC = _words("logic implementation")
_DESCRIBED = _LOGIC | _words("functions methods classes imports tests")
_TELLTALE = _REST | _KEPT | _OTHER | _SAME | _OMITTED | _CODE | _words("methods functions imports keep")

_FRAMES = ("()", "[]", "<>", "{}")
_ONLY_DOTS = frozenset(".…()[]<>{}#/*!%;- \t")
_MOST_LOOSE_WORDS = 10
_MOST_UNTOLD_WORDS = 4
_MOST_NOUN_WORDS = 6
_FOR_BREVITY = ("omitted", "for", "brevity")
_MOST_NAMES = 3
_MOST_ADJECTIVES = 2


@dataclass(frozen=True)
class Remark:
    """The words of a line, lower case, and what stood around them."""

    kind: str  # "comment", "beside" a trivial statement, "inside" a body on the line that opens it, "quoted", "bare"
    names: tuple[str, ...]  # the words as written
    words: tuple[str, ...]
    left: str  # what was taken off at the edges
    right: str
    head: str = ""  # the statement before the comment

    @property
    def dots(self) -> int:
        """At how many edges dots stand."""
        return dotted(self.left) + dotted(self.right)

    @property
    def framed(self) -> bool:
        return any(pair[0] in self.left and pair[1] in self.right for pair in _FRAMES)


def dotted(edge: str) -> bool:
    return any(dots in edge for dots in ("…", "..", ". ."))


def said(remark: Remark) -> int:
    """How surely these words stand for code, whatever kind of line they are on."""
    words = remark.words
    if not words:
        dots = any(dots in remark.left for dots in ("…", "...", ". . ."))
        return WEAK if dots and _ONLY_DOTS.issuperset(remark.left[1:]) else NOT_ONE
    if remark.kind != "bare" and words[-3:] == _FOR_BREVITY and len(words) <= _MOST_LOOSE_WORDS:
        return STRONG
    strict = _grammatical(remark)
    return strict if remark.kind in ("quoted", "bare") else max(strict, _loose(remark))


def _loose(remark: Remark) -> int:
    """Dots at the edge of a comment say so much that other words may be there too, if they are few."""
    words = remark.words
    if len(words) > _MOST_LOOSE_WORDS or not dotted(remark.left):
        return NOT_ONE
    if dotted(remark.right):
        telltale = not _TELLTALE.isdisjoint(words)
        return STRONG if telltale else WEAK if len(words) <= _MOST_UNTOLD_WORDS else NOT_ONE
    first = next((word for word in words if word not in _FILLERS and word not in _VERBS), "")
    noun_phrase = len(words) <= _MOST_NOUN_WORDS and _BEING.isdisjoint(words) and remark.left[-1] in " ([<"
    return WEAK if noun_phrase and first in _REST | _KEPT | _OTHER else NOT_ONE


def _grammatical(remark: Remark) -> int:
    words = [word for word in remark.words if word != DOTS]
    relation = _relation(words)
    foreign = _foreign(remark, words, relation)
    if foreign is None or (not remark.dots and _is_clause(words)):
        return NOT_ONE
    used = frozenset(words)
    kind = _kind(words, named=foreign == "named")
    if used & _OMITTED and (kind in ("code", "part") or used & _REASONS):
        found = STRONG
    else:
        found = _STRENGTHS[relation, kind][_evidence(remark, words, relation, kind)]
    if relation and kind and remark.dots and not _SAME.isdisjoint(words[1:]):
        found = STRONG
    if foreign == "described" and relation == "kept" and not remark.dots and used.isdisjoint(_SAME):
        return min(found, WEAK)
    return _softened(found, remark, used, kind)


def _is_clause(words: Sequence[str]) -> bool:
    """Part of a sentence (`in the rest of the file`) or said of another thing (`same for methods`)."""
    return bool(words) and (words[0] in LINKS - {"the"} or (words[0] == "same" and words[1:2] in (["for"], ["with"])))


def _kind(words: Sequence[str], *, named: bool) -> str:
    kinds = {_THINGS[word] for word in words if word in _THINGS}
    if "data" in kinds and any(map(_is_number, words)) and not _words("line lines").isdisjoint(words):
        return "name"  # `lines 10-50`
    return next((name for name in _CLASSES if name in kinds), "name" if named else "")


def _is_number(word: str) -> bool:
    return word.replace("-", "").isdecimal()


def _softened(found: int, remark: Remark, used: frozenset[str], kind: str) -> int:
    """Less sure where the comment also is a label, an instruction or a pointer to code that is there."""
    plain = not remark.dots and used.isdisjoint(_SAME)
    doubts = (
        bool(used & _ASIDE),
        plain and remark.right.startswith(":"),
        plain and bool(used & _PLACES),
        plain and not (_related(used) and kind == "code") and bool(used & _VERBS),
    )
    if any(doubts):
        return max(found - 1, NOT_ONE)
    if plain and found == WEAK and kind == "part" and not any(w in _PARTS and w[-1] == "s" != w[-2] for w in used):
        return NOT_ONE
    if found == STRONG and plain and used & _EARLIER and used.isdisjoint(_REST | {"code"}):
        return WEAK
    return found


def _relation(words: Sequence[str]) -> str:
    """How the words relate to code that was there; `unchanged` behind a noun is a state, before it a relation."""
    for n, word in enumerate(words):
        if word in _REST:
            return "rest"
        if word in _OTHER:
            return "other"
        if word in _KEPT and (word not in _SAME or any(later in _THINGS for later in words[n + 1 :])):
            return "kept"
    return ""


def _evidence(remark: Remark, words: Sequence[str], relation: str, kind: str) -> int:
    used = frozenset(words)
    qualifier = next((word for word in words if word in _KEPT), "") if relation == "kept" else ""
    state = used & (_SAME - {qualifier})
    if remark.dots:
        return 2
    if state or used & _OMITTED:
        return 1
    if "here" in used and (kind == "code" or (kind == "part" and relation)):
        return 1
    return int(remark.framed and bool(relation))


def _foreign(remark: Remark, words: Sequence[str], relation: str) -> str | None:
    """What the words are that no table has; None: they say something, so the comment is an ordinary one.

    They may stand behind a relation: in front of a noun (`other cache helpers unchanged` is "described"), or as names
    (`rest of parse_row` is "named").
    """
    foreign = [n for n, word in enumerate(words) if word not in _KNOWN and not _is_number(word)]
    if not foreign:
        return ""
    first, last = foreign[0], foreign[-1]
    if _is_description(remark, words, relation, first, last + 1) and last - first == len(foreign) - 1:
        return "described"
    related = _related(words[:first])
    if "as" in words:
        return None  # `same logic as in parse_row()` points to code that is there
    names = all(_is_name(words[n], remark.names) and (related or words[n].endswith(("()", "__"))) for n in foreign)
    return "named" if names and len(foreign) <= _MOST_NAMES else None


def _is_description(remark: Remark, words: Sequence[str], relation: str, first: int, end: int) -> bool:
    noun = words[end] if end < len(words) else ""
    if (
        noun not in _THINGS
        or end - first > _MOST_ADJECTIVES
        or any(word in _THINGS or word in _BEING for word in words[:first])
    ):
        return False
    same = not _SAME.isdisjoint(words)
    if not _related(words[:first]):
        return same and noun in _DESCRIBED
    last_word = end == len(words) - 1 and noun in _LOGIC
    return relation == "rest" or bool(remark.dots) or same or "here" in words or last_word


def _related(words: Iterable[str]) -> bool:
    return any(word in _REST or word in _KEPT or word in _OTHER for word in words)


def _is_name(word: str, names: Sequence[str]) -> bool:
    if "_" in word or word.endswith("()"):
        return True
    return any(bared(n).lower() == word and any(c.isupper() for c in bared(n)[1:]) and not n.isupper() for n in names)


def bared(word: str) -> str:
    """A word without the punctuation around it; a call (`f()`) and dots stay what they are."""
    return word if word == DOTS or word.endswith("()") else word.strip("()[]<>{}.,;:!'\"`*=-–—/&+")
