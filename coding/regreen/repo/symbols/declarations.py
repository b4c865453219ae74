"""The text of a declaration, from its bytes and, for comments, its node.

The signature rule: the text from the declaration's first token up to its body, without comments and decorators, every
run of white space one space, no space inside brackets, no comma before a closing bracket, no semicolon at the end.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_NAME = 200

_CONTINUATION = re.compile(r"\\\r?\n")
_AFTER_OPEN = re.compile(r"([(\[]) ")
_BEFORE_CLOSE = re.compile(r" ?,? ?([)\]])")
_BLANK = re.compile(rb"(?:\s|//[^\n]*(?:\n|$)|#[^\n\[]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_WHITE = frozenset(b" \t\r\n\f")
_MAY_BE_BLANK = frozenset({b" ", b"\t", b"\r", b"\n", b"/", b"#", b"\f"})
_GENERIC = re.compile(r"[<\[].*", re.DOTALL)
_NOT_IN_NAMES = re.compile(r"[^\w.]+")
_MAX_DEPTH = 50  # of a declarator
_WRAPPING = frozenset({"parenthesized_declarator", "reference_declarator", "attributed_declarator"})
_OPERATOR = re.compile(r"^operator\s+(?=\W)")


class Lines:
    """From byte offsets to 1-based line numbers."""

    def __init__(self, source: bytes) -> None:
        self._starts = [m.end() for m in re.finditer(rb"\n", source)]

    def number(self, offset: int) -> int:
        return bisect_right(self._starts, offset) + 1


class Declared(NamedTuple):
    """What a C declarator declares. `callable_`: a function, not a pointer to one. `end` is where the name ends;
    `value` is the place of its first value."""

    name: Node
    callable_: bool
    qualifier: str
    end: int
    value: tuple[int, int] = (0, 0)

    def kind_of(self, given: str) -> str:
        """`declaration` and `member` become what they are; other kinds stay."""
        if given == "declaration":
            return "prototype" if self.callable_ else "variable"
        if given == "member":
            return "method" if self.callable_ else "field"
        return given


def one_of(declaration: Node, part: Node) -> Node:
    """What declares the name in `part`: the whole declaration, or only the part if there are several like it."""
    kind = part.type
    return part if sum(child.type == kind for child in declaration.named_children) > 1 else declaration


def declared(declarator: Node) -> Declared | None:
    """Follow a C or C++ declarator inwards to the name. None for one without a name."""
    node = declarator
    inside_function = False
    qualifier: list[str] = []
    initial = node.child_by_field_name("value") if node.type == "init_declarator" else None
    value = initial.byte_range if initial is not None else (0, 0)
    for _ in range(_MAX_DEPTH):
        kind = node.type
        if kind == "qualified_identifier":
            scope, inner = node.child_by_field_name("scope"), node.child_by_field_name("name")
            if scope is not None:
                qualifier.append(type_name(scope))
            if inner is None:
                return None
            node = inner
            continue
        if kind == "operator_cast":
            return Declared(node, True, ".".join(qualifier), _before_parameters(node))
        inner = node.child_by_field_name("declarator")
        if inner is None and kind in _WRAPPING:
            inner = next((c for c in node.named_children if "comment" not in c.type), None)
        if inner is None:
            break
        inside_function = kind == "function_declarator"
        node = inner
    if node.type.startswith("template_"):
        node = node.child_by_field_name("name") or node
    return Declared(node, inside_function, ".".join(qualifier), node.end_byte, value)


def _before_parameters(cast: Node) -> int:
    """Where the type of a conversion operator ends."""
    node = cast
    while (inner := node.child_by_field_name("declarator")) is not None:
        node = inner
    parameters = node.child_by_field_name("parameters")
    return parameters.start_byte if parameters is not None else cast.end_byte


def identifier(text: bytes) -> str:
    """A name as it is shown: on one line, without the quotes of a quoted property or the colon of a symbol. "" for
    what is no name."""
    name = text.decode("utf-8", "replace")
    if name.isidentifier():
        return name if len(name) <= MAX_NAME else ""
    name = _OPERATOR.sub("operator", " ".join(name.split()).lstrip(":"))
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'`":
        name = name[1:-1]
    return name if len(name) <= MAX_NAME else ""


def type_name(node: Node) -> str:
    """The dotted name of a type: without its arguments, pointers and references."""
    text = _GENERIC.sub("", (node.text or b"").decode("utf-8", "replace").replace("::", ".").lstrip("*&( \t"))
    return _NOT_IN_NAMES.sub("", text).strip(".")[:MAX_NAME]


def blank(text: bytes) -> bool:
    """Whether there is nothing but white space and comments."""
    return not text or _BLANK.fullmatch(text) is not None


def last(source: bytes, start: int, end: int) -> int:
    """The offset of the last byte between two that is no white space; blocks by indentation may end with some."""
    end = min(end, len(source))
    while end - 1 > start and source[end - 1] in _WHITE:
        end -= 1
    return max(start, end - 1)


def next_token(source: bytes, offset: int) -> int:
    """The first offset from here on that is no white space or comment."""
    if source[offset : offset + 1] not in _MAY_BE_BLANK:
        return offset
    match = _BLANK.match(source, offset)
    return match.end() if match else offset


def shown(source: bytes, node: Node, start: int, end: int, limit: int) -> str:
    """A piece of source on one line, without comments, at most `limit` characters."""
    return cut(text_of(source, node, start, end, ()), limit)


def text_of(source: bytes, node: Node, start: int, end: int, cuts: Sequence[tuple[int, int]]) -> str:
    """The bytes from `start` to `end` in or around `node` by the signature rule, without what is in `cuts`."""
    piece = source[start:end]
    if b"//" in piece or b"/*" in piece or b"#" in piece:
        cuts = sorted([*cuts, *_comments(node, start, end)])
    if cuts:
        pieces: list[bytes] = []
        for a, b in cuts:
            pieces.append(source[start:a])
            start = max(start, b)
        piece = b" ".join([*pieces, source[start:end]])
    return normalise(piece.decode("utf-8", "replace")).rstrip("; ")


def normalise(text: str) -> str:
    """The text of a declaration on one line, by the signature rule (comments must be gone already)."""
    if "\\" in text:
        text = _CONTINUATION.sub(" ", text)
    text = " ".join(text.split())
    if "( " in text or "[ " in text:
        text = _AFTER_OPEN.sub(r"\1", text)
    if " )" in text or " ]" in text or ",)" in text or ",]" in text:
        text = _BEFORE_CLOSE.sub(r"\1", text)
    return text


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _comments(node: Node, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The comments between two offsets, in order. Goes only into what overlaps them."""
    cursor = node.walk()
    while True:
        here = cursor.node
        inside = here is not None and here.end_byte > start and here.start_byte < end
        if inside and here is not None and "comment" in here.type:
            yield here.start_byte, min(here.end_byte, end)
        elif inside and cursor.goto_first_child():
            continue
        past = here is not None and here.start_byte >= end
        while past or not cursor.goto_next_sibling():
            past = False
            if not cursor.goto_parent():
                return
