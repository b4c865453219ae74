"""From the matches of a query to definitions: which nodes a capture names. What captures mean is in `languages.py`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from regreen.repo.symbols import declarations

if TYPE_CHECKING:
    from tree_sitter import Node

Captures: TypeAlias = "dict[str, list[Node]]"
Match: TypeAlias = "tuple[int, Captures]"

_MARKS = ("members", "scope", "rest")


class Found(NamedTuple):
    """One definition. Offsets are bytes; `stop` is where its signature ends, `value` the place of its value."""

    place: int  # of the name
    pattern: int
    kind: str
    name: str
    start: int
    end: int
    stop: int
    node: Node
    parent: str = ""  # a type named by the definition itself, as a Go receiver is
    qualified: str = ""  # what it is called inside its scope, if not by its name
    value: tuple[int, int] = (0, 0)
    fold: tuple[int, int] = (0, 0)
    marks: tuple[str, ...] = ()


class Collected(NamedTuple):
    found: dict[int, Found]
    decorators: list[tuple[int, int]]
    wrappers: dict[int, int]  # where something wrapped begins -> where its wrapper begins


def collect(source: bytes, matches: Iterable[Match]) -> Collected:
    """The definitions by the place of their names, and what stands around them."""
    found: dict[int, Found] = {}
    decorators: set[tuple[int, int]] = set()
    wrappers: dict[int, int] = {}
    for pattern, captures in matches:
        if "declared" in captures:
            wrappers[captures["declared"][0].start_byte] = captures["wrapper"][0].start_byte
        elif (marks := captures.get("decorator")) is not None:
            decorators.update((n.start_byte, n.end_byte) for n in marks)
        else:
            item = _read(source, pattern, captures)
            if item is not None:
                known = found.get(item.place)
                if known is None or known.pattern <= pattern:
                    found[item.place] = item
    return Collected(found, list(decorators), wrappers)


def _read(source: bytes, pattern: int, captures: Captures) -> Found | None:
    """The definition of one match."""
    kind, node = _defined(captures)
    name, ends, parent, value = _named(captures)
    if "declarator" in captures:
        declared = declarations.declared(captures["declarator"][0])
        if declared is not None:
            name, kind, parent, ends = declared.name, declared.kind_of(kind), declared.qualifier, declared.end
            value = declared.value if declared.value[1] else value
    if name is None or node is None:
        return None
    if "part" in captures:
        node = declarations.one_of(node, captures["part"][0])
    place = name.start_byte
    text = declarations.identifier(source[place:ends])
    if not text:
        return None
    start, end = node.byte_range
    return Found(
        place, pattern, kind, text, start, end, _stop(captures, end), node, parent, _qualified(source, captures), value,
        captures["fold"][0].byte_range if "fold" in captures else (0, 0), tuple([m for m in _MARKS if m in captures]),
    )  # fmt: skip


def _defined(captures: Captures) -> tuple[str, Node | None]:
    for capture, nodes in captures.items():
        if capture.startswith("definition."):
            return capture[11:], nodes[0]
    return "", None


def _named(captures: Captures) -> tuple[Node | None, int, str, tuple[int, int]]:
    """The name and where it ends, the type that it belongs to, and the place of its value."""
    names = captures.get("name")
    parent = declarations.type_name(captures["parent"][0]) if "parent" in captures else ""
    value = captures["value"][0].byte_range if "value" in captures else (0, 0)
    return (names[0], names[-1].end_byte, parent, value) if names else (None, -1, parent, value)


def _stop(captures: Captures, end: int) -> int:
    if (stops := captures.get("stop")) is not None:
        return min([n.start_byte for n in stops])
    last = captures.get("last")
    return max([n.end_byte for n in last]) if last is not None else end


def _qualified(source: bytes, captures: Captures) -> str:
    for capture in ("qualified", "verbatim"):
        if capture in captures:
            start, end = captures[capture][0].byte_range
            text = declarations.identifier(source[start:end])
            return text.replace("::", ".") if capture == "qualified" else text
    return ""
