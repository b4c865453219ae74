"""Where an identifier occurs in one source file and as what, in any language with a grammar.

Goes by the words that grammars use for their node types (`call`, `import`, `string`, `comment`), by field names and by
position; no language has a rule of its own. One walk down to each occurrence, never over the whole tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Tree

Kind: TypeAlias = Literal["definition", "use", "import", "call", "comment", "string"]

_CHUNK = 1 << 16
_ABOVE = 64  # nodes looked at above an occurrence
_HOPS = 32
_SIGILS = b"$@:%&?!'`#~"
_WORD = re.compile(rb"[A-Za-z0-9_\x80-\xff]")

_TEXTS = frozenset({
    "string", "strings", "heredoc", "nowdoc", "char", "character", "text", "regex", "rune", "template", "quasi",
})  # fmt: skip
_HOLES = frozenset({"interpolation", "substitution", "interpolated", "expansion"})  # code inside a string
_IMPORTS = frozenset({"import", "imports", "include", "require", "using", "use"})
_NO_IMPORTS = frozenset({"using_statement", "use_clause", "anonymous_function_use_clause", "using"})
_CALLS = frozenset({"call", "invocation", "new", "creation", "instance", "command", "conversion"})
_NO_CALLS = frozenset({"signature", "preproc", "substitution"})
_NOT_CALLED = frozenset({"object", "receiver", "scope", "operand", "body", "block", "condition", "right", "value"})
_CALLEES = frozenset({"function", "method", "name", "constructor", "type", "callee", "macro"})  # fields
_CREATES = frozenset({"new", "creation", "instance"})
_NAMES = frozenset({"identifier", "name", "variable", "symbol", "constant", "word", "lifetime"})
_NAME_FIELDS = frozenset({"name", "declarator", "left", "pattern", "key"})
_DECLARES = frozenset({"definition", "declaration", "declarator", "item"})
_WRAPPERS = frozenset({"generic", "template", "instantiation"})


class Step(NamedTuple):
    """A node on the way down: its type, the field of its parent that it is in ("" for none), and its bytes."""

    type: str
    field: str
    start: int
    end: int


class Occurrence(NamedTuple):
    """`offset` is that of the identifier's first byte. `names` means: it stands where a declaration has its name."""

    offset: int
    kind: Kind
    names: bool = False


def words(source: bytes, word: bytes) -> Iterator[int]:
    """The offsets where `word` stands alone. Bytes over ASCII count as parts of words."""
    size = len(word)
    at = source.find(word)
    while at >= 0:
        end = at + size
        alone = not _WORD.match(source[at - 1 : at]) if at else True
        if alone and not _WORD.match(source[end : end + 1]):
            yield at
        at = source.find(word, end)


def classify(tree: Tree, source: bytes, offsets: Sequence[int], size: int) -> Iterator[Occurrence]:
    """What each word of `size` bytes at the ascending `offsets` is. Parts of other identifiers are left out."""
    walk = _Walk(tree)
    for offset in offsets:
        found = _classified(walk.to(offset), source, offset, size)
        if found is not None:
            yield found


class _Walk:
    """The way from the root to an offset; to a later one the way is short."""

    def __init__(self, tree: Tree) -> None:
        self._cursor = tree.walk()
        self._way: list[Step] = []
        self._push()

    def to(self, offset: int) -> Sequence[Step]:
        """The last steps down to the smallest node that holds the byte at `offset`."""
        way = self._way
        while len(way) > 1 and way[-1].end <= offset:
            if way[-2].end <= offset or not self._hop(offset):
                self._cursor.goto_parent()
                way.pop()
        if way[-1].start > offset and len(way) > 1:  # it stands in a gap between two nodes
            return way[-_ABOVE - 1 : -1]
        while self._cursor.goto_first_child_for_byte(offset) is not None:
            self._push()
            if way[-1].start > offset:
                return way[-_ABOVE - 1 : -1]
        return way[-_ABOVE:]

    def _hop(self, offset: int) -> bool:
        """Go on to a near sibling that reaches over `offset`: a node that damage has made wide takes long to enter."""
        for _ in range(_HOPS):
            if not self._cursor.goto_next_sibling():
                return False
            self._way.pop()
            self._push()
            if self._way[-1].end > offset:
                return True
        return False

    def _push(self) -> None:
        node = self._cursor.node
        if node is None:
            raise AssertionError("a cursor stands somewhere")
        self._way.append(Step(node.type, self._cursor.field_name or "", node.start_byte, node.end_byte))


def _classified(way: Sequence[Step], source: bytes, offset: int, size: int) -> Occurrence | None:
    leaf = way[-1]
    tokens = _tokens(leaf.type)
    if any("comment" in token for token in tokens):
        return Occurrence(offset, "comment")
    above = way[-2 : -2 - _ABOVE : -1]
    whole = leaf.start == offset and leaf.end == offset + size
    text = source[leaf.start : leaf.end] if leaf.end - leaf.start <= size + 4 else b""
    sigil = not whole and text.strip(_SIGILS) == source[offset : offset + size]
    named = not tokens.isdisjoint(_NAMES) and tokens.isdisjoint(_TEXTS)
    if named and not whole and not sigil and not tokens & {"word", "name"}:
        return None  # `$name`, `name?`, or whatever else the language takes as one identifier
    kind = _by_surroundings(tokens, above, named=named and (whole or sigil))
    if kind is not None:
        return Occurrence(offset, kind)
    if not (whole or sigil):
        return Occurrence(offset, "use")
    if _is_called(way):
        return Occurrence(offset, "call")
    return _declared(way, offset)


def _by_surroundings(tokens: frozenset[str], above: Sequence[Step], *, named: bool) -> Kind | None:
    """`import`, `string` or `comment`, if it stands in one."""
    in_text = not named and not tokens.isdisjoint(_TEXTS)
    in_code = named
    for step in above:
        around = _tokens(step.type)
        if any("comment" in token for token in around):
            return "comment"
        if not around.isdisjoint(_IMPORTS) and step.type not in _NO_IMPORTS and "anonymous" not in around:
            return "import"
        if not around.isdisjoint(_HOLES) and "string" not in around:
            in_code = True
        elif not in_code and not around.isdisjoint(_TEXTS) and "function" not in around and "type" not in around:
            in_text = True
    return "string" if in_text else None


def _is_called(way: Sequence[Step]) -> bool:
    """Whether it is the last part of what a call calls."""
    for i in range(len(way) - 1, max(0, len(way) - _ABOVE), -1):
        here, parent = way[i], way[i - 1]
        tokens = _tokens(parent.type)
        if not tokens.isdisjoint(_CALLS) and tokens.isdisjoint(_NO_CALLS):
            return _is_callee(here, parent)
        if "macro" in tokens and here.field == "macro":
            return True
        if "argument" in _tokens(here.type) or "arguments" in _tokens(here.type):
            return False
        wrapped = not tokens.isdisjoint(_WRAPPERS) and here.start == parent.start
        if here.end != parent.end and not wrapped:
            return False
    return False


def _is_callee(here: Step, parent: Step) -> bool:
    tokens = _tokens(here.type)
    if here.field.startswith("argument") or here.field in _NOT_CALLED:
        return False
    if any(token.startswith("argument") or token in ("lambda", "suffix", "block") for token in tokens):
        return False
    return here.field in _CALLEES or here.start == parent.start or not _tokens(parent.type).isdisjoint(_CREATES)


def _declared(way: Sequence[Step], offset: int) -> Occurrence:
    here = way[-1]
    parent = way[-2] if len(way) > 1 else here
    names = any(step.field in _NAME_FIELDS for step in way[-3:])
    tokens = _tokens(parent.type)
    declares = here.field == "name" and not tokens.isdisjoint(_DECLARES) and "parameter" not in tokens
    return Occurrence(offset, "definition" if declares else "use", names)


def _tokens(node_type: str) -> frozenset[str]:
    tokens = _KNOWN.get(node_type)
    if tokens is None:
        tokens = _KNOWN[node_type] = frozenset(node_type.split("_"))
    return tokens


_KNOWN: dict[str, frozenset[str]] = {}  # as many as the grammars have types of nodes
