"""From the bytes of one source file to its definitions, whatever the language: the query files know the grammar.

Never raises on any input. The signature rule: the text from the declaration's first token up to its body, without
comments, every run of white space one space, no space inside brackets, no comma before a closing bracket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from regreen.model import Symbol
from regreen.repo.languages import Language, grammar

if TYPE_CHECKING:
    from tree_sitter import Node, Query

MAX_VALUE = 60  # characters of a variable's value
MAX_SIGNATURE = 2000
MAX_DOC = 200
MAX_ERRORS = 20
MAX_WORK = 500e6  # about a second; matching is quadratic in depth and breadth of damage; see _work

_VALUE_BYTES = 2000
_SAMPLES = 200
_HOLDS_NOTHING = frozenset({"variable", "constant", "field", "type"})
_CONTINUATION = re.compile(r"\\\r?\n")
_AFTER_OPEN = re.compile(r"([(\[]) ")
_BEFORE_CLOSE = re.compile(r" ?,? ?([)\]])")
_STRING = re.compile(r"[rRuU]{0,2}(\"\"\"|'''|\"|')(.*?)\1?", re.DOTALL)

Match: TypeAlias = "dict[str, list[Node]]"


@dataclass(frozen=True, slots=True)
class Extraction:
    """The definitions in order of their lines. `gave_up` says why nothing could be read, "" otherwise."""

    symbols: tuple[Symbol, ...] = ()
    errors: tuple[str, ...] = ()
    gave_up: str = ""


class _Definition(NamedTuple):
    kind: str
    name: str
    node: Node
    stop: Node | None
    value: Node | None


class _Extras(NamedTuple):
    decorators: dict[int, list[Node]]
    docs: dict[int, Node]


class _Scope(NamedTuple):
    end: int
    kind: str
    qualified_name: str


def extract(
    source: bytes,
    language: Language,
    *,
    docstrings: bool = False,
) -> Extraction:
    """The definitions in `source` (UTF-8, lines ended by LF or CRLF); `errors` names the lines that do not parse."""
    parser, query = grammar(language)
    root = parser.parse(source).root_node
    errors: tuple[str, ...] = ()
    if root.has_error:
        bad = sorted(set(_error_lines(root)))
        repaired = language.repair(source, lambda code: not parser.parse(code).root_node.has_error) \
            if language.repair else None  # fmt: skip
        if repaired is not None:
            source, bad = repaired.source, list(repaired.lines) or bad
            root = parser.parse(source).root_node
        errors = _describe(bad)
    matches = _matches(query, root)
    if matches is None:
        return Extraction(errors=errors, gave_up="nested too deeply or too damaged")
    definitions, extras = _sort_out(matches)
    return Extraction(tuple(_symbols(source, definitions, extras, language, docstrings)), errors)


def normalise(text: str) -> str:
    """The text of a declaration on one line, by the signature rule (comments must be gone already)."""
    text = " ".join(_CONTINUATION.sub(" ", text).split())
    return _BEFORE_CLOSE.sub(r"\1", _AFTER_OPEN.sub(r"\1", text))


def _matches(query: Query, root: Node) -> list[Match] | None:
    from tree_sitter import QueryCursor

    if _work(root) > MAX_WORK:
        return None
    return [captures for _, captures in QueryCursor(query).matches(root)]


def _work(root: Node) -> float:
    """How much matching a query costs, from evenly spread samples: nodes times mean depth, and the square of the
    number of children that an error has."""
    cursor = root.walk()
    step = max(1, root.descendant_count // _SAMPLES)
    depths: list[int] = []
    widest = 0
    for index in range(0, root.descendant_count, step):
        cursor.goto_descendant(index)
        depths.append(cursor.depth)
        cursor.goto_parent()
        above = cursor.node
        if above is not None and above.is_error:
            widest = max(widest, above.child_count)
    return root.descendant_count * sum(depths) / len(depths) + widest**2


def _sort_out(matches: Iterable[Match]) -> tuple[list[_Definition], _Extras]:
    definitions: dict[tuple[int, str], _Definition] = {}
    extras = _Extras({}, {})
    for captures in matches:
        if "decorator" in captures:
            extras.decorators.setdefault(captures["decorated"][0].id, []).extend(captures["decorator"])
        elif "doc" in captures:
            extras.docs[captures["documented"][0].id] = captures["doc"][0]
        else:
            kind, nodes = next((k[11:], v) for k, v in captures.items() if k.startswith("definition."))
            name = _decode(captures["name"][0].text or b"")
            stop, value = (next(iter(captures.get(k, ())), None) for k in ("stop", "value"))
            key = (nodes[0].id, name)
            if name and (key not in definitions or kind != "variable"):
                definitions[key] = _Definition(kind, name, nodes[0], stop, value)
    ordered = sorted(definitions.values(), key=lambda d: (d.node.start_byte, -d.node.end_byte))
    return ordered, extras


def _symbols(
    source: bytes, definitions: Iterable[_Definition], extras: _Extras, language: Language, docstrings: bool
) -> Iterator[Symbol]:
    scopes: list[_Scope] = []
    for found in definitions:
        node = found.node
        while scopes and scopes[-1].end <= node.start_byte:
            scopes.pop()
        scope = scopes[-1] if scopes else None
        kind = _kind(found, scope, language)
        if not kind:
            continue
        parent = scope.qualified_name if scope else ""
        qualified_name = f"{parent}.{found.name}" if parent else found.name
        if kind not in _HOLDS_NOTHING:
            scopes.append(_Scope(node.end_byte, kind, qualified_name))
        doc = extras.docs.get(node.id) if docstrings else None
        yield Symbol(
            kind=kind,
            name=found.name,
            qualified_name=qualified_name,
            signature=_signature(source, found),
            line=node.start_point[0] + 1,
            end_line=node.end_point[0] + 1,
            parent=parent,
            decorators=tuple(
                _cut(normalise(_text(source, d, d.start_byte, d.end_byte)), MAX_SIGNATURE)
                for d in extras.decorators.get(node.id, ())
            ),
            doc=_doc(_decode(source[doc.start_byte : doc.end_byte])) if doc else "",
        )


def _kind(found: _Definition, scope: _Scope | None, language: Language) -> str:
    """The kind as it is where the definition stands; "" for what is local to a function."""
    member = scope is not None and scope.kind in language.scopes
    if found.kind in ("variable", "constant"):
        if scope is not None and not member and scope.kind in ("function", "method"):
            return ""
        constant = language.constant is not None and language.constant.fullmatch(found.name)
        return "field" if member else "constant" if constant else found.kind
    return "method" if member and found.kind == "function" else found.kind


def _signature(source: bytes, found: _Definition) -> str:
    node = found.node
    if found.value is None:
        end = found.stop.start_byte if found.stop else node.end_byte
        return _cut(normalise(_text(source, node, node.start_byte, end)), MAX_SIGNATURE)
    value = found.value
    end = min(value.end_byte, value.start_byte + _VALUE_BYTES)
    text = normalise(_text(source, node, node.start_byte, end))
    shown = normalise(_text(source, value, value.start_byte, end))
    if len(shown) > MAX_VALUE or end < value.end_byte:
        text = text[: len(text) - len(shown)] + shown[: MAX_VALUE - 1] + "…"
    return _cut(text, MAX_SIGNATURE)


def _text(source: bytes, node: Node, start: int, end: int) -> str:
    """The bytes from `start` to `end` inside `node`, decoded, each comment replaced by a space."""
    if b"#" not in source[start:end] and b"/" not in source[start:end]:
        return _decode(source[start:end])
    pieces: list[bytes] = []
    for comment in _comments(node, start, end):
        pieces.append(source[start : comment.start_byte])
        start = comment.end_byte
    return _decode(b" ".join([*pieces, source[start:end]]))


def _comments(node: Node, start: int, end: int) -> Iterator[Node]:
    """The comments between two offsets, in order. Goes only into what overlaps them."""
    cursor = node.walk()
    while True:
        here = cursor.node
        inside = here is not None and here.end_byte > start and here.start_byte < end
        if inside and here is not None and "comment" in here.type:
            yield here
        elif inside and cursor.goto_first_child():
            continue
        past = here is not None and here.start_byte >= end
        while past or not cursor.goto_next_sibling():
            past = False
            if not cursor.goto_parent():
                return


def _doc(literal: str) -> str:
    """The first line of a docstring that has anything on it. Empty for f-strings and byte strings."""
    match = _STRING.fullmatch(literal)
    lines = match[2].strip().splitlines() if match else []
    return _cut(" ".join(lines[0].split()), MAX_DOC) if lines else ""


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _error_lines(root: Node) -> Iterator[int]:
    """The 1-based lines where the innermost errors begin. Looks at a bounded number of nodes."""
    waiting = [root]
    for _ in range(5000):
        if not waiting:
            return
        node = waiting.pop()
        below = [child for child in node.children if child.has_error] if node.child_count < 20_000 else []
        if node.is_missing or node.is_error or not below:
            yield node.start_point[0] + 1
        waiting.extend(below)


def _describe(lines: list[int]) -> tuple[str, ...]:
    """One message for each run of neighbouring lines."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line <= runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    texts = [
        f"line {a}: could not be parsed" if a == b else f"lines {a}-{b}: could not be parsed" for a, b in runs
    ]  # fmt: skip
    more = len(texts) - MAX_ERRORS
    return (*texts[:MAX_ERRORS], f"{more} more places could not be parsed") if more > 0 else tuple(texts)
