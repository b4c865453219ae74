"""JSON with comments and trailing commas, as editors keep their settings: read with the place of each value, and
changed at one place. Everything outside of the entry that is set or taken out stays byte for byte.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

Value: TypeAlias = Any
MAX_DEPTH = 100
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SAME_LINE = re.compile(r"(?:[ \t]+|/\*[^\r\n]*?\*/)*(?://[^\r\n]*)?")
_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")


class Malformed(ValueError):
    """The text is not what it should be; the message says what, and in which line."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands: `text[start:end]`. `members` are those of an object, in their order."""

    start: int
    end: int
    value: Value
    members: tuple[Member, ...] = ()

    def member(self, name: str) -> Member | None:
        """The member of that name, if there is one."""
        return next((m for m in self.members if m.name == name), None)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: its key begins at `start`; `comma` is the end of the comma after it, else its end."""

    name: str
    start: int
    node: Node
    comma: int

    @property
    def has_comma(self) -> bool:
        """Whether a comma follows."""
        return self.comma > self.node.end


def parse(text: str) -> Node | None:
    """The document; None where there is none, only blanks and comments. Raises Malformed."""
    start = _skip(text, 0)
    if start == len(text):
        return None
    root = _value(text, start, MAX_DEPTH)
    end = _skip(text, root.end)
    if end != len(text):
        raise _fault(text, end, "nothing more was expected")
    return root


def with_member(text: str, path: tuple[str, ...], value: Value) -> str:
    """The text with the member at `path` set to `value`; objects that are missing on the way are made. Every value on
    the way must be an object. Raises Malformed."""
    root = parse(text)
    if root is None:
        return _new_document(text, path, value)
    parent, rest = _deepest(root, path)
    style = _style(text, root)
    member = parent.member(rest[0])
    depth = len(path) - len(rest) + 1
    if member is not None:
        shown = _shown(value, style, depth)
        return text[: member.node.start] + shown + text[member.node.end :]
    shown = f"{json.dumps(rest[0], ensure_ascii=False)}: {_shown(_nested(rest[1:], value), style, depth)}"
    return _inserted(text, parent, shown, style, depth)


def without_member(text: str, path: tuple[str, ...]) -> str:
    """The text without the member at `path`; the same text if there is none. Raises Malformed."""
    root = parse(text)
    node = root
    for name in path[:-1]:
        member = node.member(name) if node is not None else None
        node = member.node if member is not None else None
    if node is None or node.member(path[-1]) is None:
        return text
    return _removed(text, node, path[-1])


def before_member(text: str, path: tuple[str, ...], value: Value) -> str | None:
    """What the text was if all of its document is what `with_member` makes: nothing, or comments; else None."""
    root = parse(text)
    bare = text[: root.start] if root is not None else text
    return bare if with_member(bare, path, value) == text else None


@dataclass(frozen=True, slots=True)
class _Style:
    indent: str
    newline: str


def _style(text: str, root: Node) -> _Style:
    """As the document is laid out: the indent of its first member, and its ends of lines."""
    newline = "\r\n" if "\r\n" in text else "\n"
    end = root.start + 1
    for member in root.members:
        _, begins_line, blank = text[end : member.start].rpartition("\n")
        if begins_line and blank and not blank.strip(" \t"):
            return _Style(blank, newline)
        end = member.comma
    found = re.search(r"^[ \t]+(?=\S)", text, re.MULTILINE)
    return _Style(found[0] if found else "  ", newline)


def _shown(value: Value, style: _Style, depth: int) -> str:
    lines = _dumped(value, style.indent).split("\n")
    return (style.newline + style.indent * depth).join(lines)


def _dumped(value: Value, indent: str) -> str:
    """As JSON, readable; with escapes where it holds halves of characters, which no file can hold by themselves."""
    shown = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        shown.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return shown


def _nested(path: tuple[str, ...], value: Value) -> Value:
    for name in reversed(path):
        value = {name: value}
    return value


def _new_document(text: str, path: tuple[str, ...], value: Value) -> str:
    style = _Style("  ", "\r\n" if "\r\n" in text else "\n")
    kept = text if not text.strip() or text.endswith("\n") else text + style.newline
    return (kept if text.strip() else "") + _shown(_nested(path, value), style, 0) + style.newline


def _deepest(root: Node, path: tuple[str, ...]) -> tuple[Node, tuple[str, ...]]:
    """The last object on the way that is there, and what is left of the path from it on."""
    node = root
    for at, name in enumerate(path[:-1]):
        member = node.member(name)
        if member is None:
            return node, path[at:]
        node = member.node
    return node, path[-1:]


def _inserted(text: str, parent: Node, shown: str, style: _Style, depth: int) -> str:
    """The text with one more member behind all others of `parent`, and behind the comment on the last one's line."""
    line = style.newline + style.indent * depth
    close = parent.end - 1
    if not parent.members:
        inside = text[parent.start + 1 : close]
        closing = style.newline + style.indent * (depth - 1)
        if not inside.strip():
            return text[: parent.start + 1] + line + shown + closing + text[close:]
        at = parent.start + 1 + len(inside.rstrip())
        return text[:at] + line + shown + (closing if "\n" not in text[at:close] else "") + text[at:]
    last = parent.members[-1]
    match = _SAME_LINE.match(text, last.comma)
    at = match.end() if match else last.comma
    at = last.comma + len(text[last.comma : min(at, close)].rstrip())
    if last.has_comma:
        return text[:at] + line + shown + "," + text[at:]
    return text[: last.node.end] + "," + text[last.node.end : at] + line + shown + text[at:]


def _removed(text: str, parent: Node, name: str) -> str:
    """The text without this member and what goes with it: a comma, the blanks before it."""
    place = next(i for i, m in enumerate(parent.members) if m.name == name)
    member = parent.members[place]
    start, end = len(text[: member.start].rstrip()), member.comma
    if len(parent.members) == 1 and not (text[parent.start + 1 : start] + text[end : parent.end - 1]).strip():
        return text[: parent.start + 1] + text[parent.end - 1 :]
    if not member.has_comma and place:  # it was the last: the comma before it goes too
        before = parent.members[place - 1].comma
        head = text[: before - 1] + text[before:start]
    else:
        head = text[:start]
    tail = text[end:]
    if _ends_in_line_comment(text, parent.start + 1, start) and not re.match(r"[ \t]*(?:\r?\n|$)", tail):
        head += text[start : member.start]
    return head + tail


def _ends_in_line_comment(text: str, start: int, end: int) -> bool:
    """Whether what stands before `end` is a comment that lasts to the end of its line."""
    parts = [m[0] for m in _PARTS.finditer(text, start, end)]
    return bool(parts) and parts[-1].startswith("//") and text[start:end].endswith(parts[-1])


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    end = match.end() if match else at
    if text.startswith("/*", end):
        raise _fault(text, end, "this comment does not end")
    return end


def _value(text: str, at: int, room: int) -> Node:
    if room == 0:
        raise _fault(text, at, "it is nested too deep")
    match text[at : at + 1]:
        case "{":
            return _object(text, at, room)
        case "[":
            return _array(text, at, room)
        case '"':
            value, end = _string(text, at)
            return Node(at, end, value)
        case _:
            found = _SCALAR.match(text, at)
            if found is None:
                raise _fault(text, at, "a value was expected")
            return Node(at, found.end(), json.loads(found[0]))


def _string(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found is None:
        raise _fault(text, at, "this string does not end in its line")
    try:
        return json.loads(found[0]), found.end()
    except ValueError:
        raise _fault(text, at, "this string holds an escape that is none") from None


def _object(text: str, start: int, room: int) -> Node:
    members: list[Member] = []
    names: set[str] = set()
    at = _skip(text, start + 1)
    while not text.startswith("}", at):
        if not text.startswith('"', at):
            raise _fault(text, at, 'a key in `"` or `}` was expected')
        name, end = _string(text, at)
        if name in names:
            raise _fault(text, at, f"the key {name!r} stands twice in one object")
        names.add(name)
        colon = _skip(text, end)
        if not text.startswith(":", colon):
            raise _fault(text, colon, "`:` was expected")
        node = _value(text, _skip(text, colon + 1), room - 1)
        comma, next_at = _comma(text, node.end, "}")
        members.append(Member(name, at, node, comma))
        at = next_at
    return Node(start, at + 1, {m.name: m.node.value for m in members}, tuple(members))


def _array(text: str, start: int, room: int) -> Node:
    values: list[Value] = []
    at = _skip(text, start + 1)
    while not text.startswith("]", at):
        node = _value(text, at, room - 1)
        values.append(node.value)
        _, at = _comma(text, node.end, "]")
    return Node(start, at + 1, values)


def _comma(text: str, end: int, close: str) -> tuple[int, int]:
    """Behind a value: the end of its comma (the value's own end where there is none), and where to go on."""
    at = _skip(text, end)
    if text.startswith(",", at):
        return at + 1, _skip(text, at + 1)
    if text.startswith(close, at):
        return end, at
    raise _fault(text, at, f"`,` or `{close}` was expected")


def _fault(text: str, at: int, wanted: str) -> Malformed:
    line = text.count("\n", 0, at) + 1
    found = repr(text[at : at + 20]) if at < len(text) else "the end"
    return Malformed(f"line {line}: {wanted}, found {found}")
