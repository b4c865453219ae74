"""From the matches of a query to symbols: who encloses whom, of which kind, with which signature and decorators.

All is decided by positions in the source; the tree is asked again only for comments inside a declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from regreen.model import Symbol
from regreen.repo.languages import Language
from regreen.repo.symbols import declarations
from regreen.repo.symbols.doc_comments import Docs
from regreen.repo.symbols.matching import Found, Match, collect

MAX_VALUE = 60  # characters of a variable's value
MAX_SIGNATURE = 2000
MAX_QUALIFIED = 500

_VALUE_BYTES = 400
_SCOPE, _REST = "scope", "rest"  # marks
_VARIABLES = frozenset({"variable", "constant", "field"})
_HOLDS_NOTHING = _VARIABLES | {"type", "macro", "prototype", "property"}
_CALLABLE = frozenset({"function", "method", "constructor", "macro", "prototype"})
_MEMBER_OF = frozenset({
    "class", "interface", "struct", "trait", "impl", "enum", "record", "union", "object", "protocol", "extension",
    "actor", "annotation", "mixin",
})  # fmt: skip


class _Scope(NamedTuple):
    start: int
    end: int
    kind: str  # "" for what is not shown, nor is anything in it
    path: str


def symbols(source: bytes, matches: Iterable[Match], language: Language, *, docstrings: bool) -> Iterator[Symbol]:
    """The symbols of a file in the order of their places."""
    found, decorators, wrappers = collect(source, matches)
    docs = Docs(source, language.docs) if docstrings else None
    ordered = sorted(found.values(), key=lambda f: (f.start, -f.end, f.stop))
    attached = _attach(source, ordered, sorted(decorators), wrappers)
    scopes: list[_Scope] = []
    lines = declarations.Lines(source)
    for item in ordered:
        while scopes and (scopes[-1].end <= item.start or _REST in item.marks):
            scopes.pop()
        twin = bool(scopes) and scopes[-1][:2] == (item.start, item.end)  # several names declared at once
        scope = scopes[-1 - twin] if len(scopes) > twin else None
        outer = scope.path if scope else ""
        parent = outer if not item.parent or item.parent == _last(outer) else _join(outer, item.parent)
        qualified = _join(parent, item.qualified or item.name)
        kind = "" if scope is not None and not scope.kind else _kind(item, scope, language)
        end = len(source) if _REST in item.marks else item.end
        if not twin and (item.kind not in _HOLDS_NOTHING or "members" in item.marks):
            scopes.append(_Scope(item.start, end, kind, qualified[:MAX_QUALIFIED]))
        if not kind or _SCOPE in item.marks:
            continue
        mine = attached.get(item.start, ())
        begin, text = _declaration(source, item, mine, wrappers)
        yield Symbol(
            kind=kind,
            name=item.name,
            qualified_name=qualified,
            signature=text,
            line=lines.number(begin),
            end_line=lines.number(declarations.last(source, item.start, item.end)),
            parent=parent,
            decorators=tuple(declarations.shown(source, item.node, a, b, MAX_SIGNATURE) for a, b in mine),
            doc=docs.of(_outermost(item.start, wrappers), item.stop, mine) if docs else "",
        )


def _attach(
    source: bytes, ordered: Sequence[Found], decorators: Sequence[tuple[int, int]], wrappers: dict[int, int]
) -> dict[int, tuple[tuple[int, int], ...]]:
    """Decorators by the start of what they belong to: those in its head, and those right above it."""
    if not decorators:
        return {}
    attached: dict[int, list[tuple[int, int]]] = {}
    waiting: list[tuple[int, int]] = []
    at = 0
    for item in ordered:
        start = _outermost(item.start, wrappers)
        head = min(item.stop, item.value[0]) if item.value[1] else item.stop
        while at < len(decorators) and decorators[at][0] < head:
            waiting.append(decorators[at])
            at += 1
        mine: list[tuple[int, int]] = []
        edge = start
        for decorator in reversed(waiting):
            if decorator[0] >= start or declarations.blank(source[decorator[1] : edge]):
                mine.append(decorator)
                edge = min(edge, decorator[0])
            else:
                break
        waiting.clear()
        if mine:
            attached[item.start] = mine[::-1]
    return {start: tuple(mine) for start, mine in attached.items()}


def _outermost(start: int, wrappers: dict[int, int]) -> int:
    while start in wrappers and wrappers[start] < start:
        start = wrappers[start]
    return start


def _kind(item: Found, scope: _Scope | None, language: Language) -> str:
    """The kind as it is where the definition stands; "" for what is local to a function."""
    kind = item.kind
    member = scope is not None and scope.kind in _MEMBER_OF
    if (kind in _VARIABLES or kind == "prototype") and scope is not None and scope.kind in _CALLABLE:
        return ""
    if kind in _VARIABLES:
        if kind == "variable" and member:
            return "field"
        if kind == "variable" and language.constant is not None and language.constant.fullmatch(item.name):
            return "constant"
        return kind
    if kind in ("function", "prototype") and (member or item.parent):
        return "method"
    return kind


def _declaration(
    source: bytes, item: Found, decorators: Sequence[tuple[int, int]], wrappers: dict[int, int]
) -> tuple[int, str]:
    """Where the signature begins, and its text."""
    begin = _outermost(item.start, wrappers)
    for start, end in decorators:
        if start <= begin < end or declarations.blank(source[begin:start]):
            begin = max(begin, end)
    if decorators:  # a private name, which begins with `#`, is no comment
        begin = min(declarations.next_token(source, begin), max(begin, item.place))
    cuts = [d for d in decorators if d[0] >= begin]
    if item.value[1]:
        text = _with_value(source, item, begin, cuts)
    else:
        text = declarations.text_of(source, item.node, begin, item.stop, cuts)
    if item.fold[1] and len(text) > MAX_VALUE * 3:
        head = declarations.text_of(source, item.node, begin, item.fold[0], cuts)
        text = f"{head} {{…}} {declarations.text_of(source, item.node, item.fold[1], item.stop, cuts)}".rstrip()
    return begin, declarations.cut(text, MAX_SIGNATURE)


def _with_value(source: bytes, item: Found, begin: int, cuts: Sequence[tuple[int, int]]) -> str:
    start, end = item.value
    if item.stop <= start:
        return declarations.text_of(source, item.node, begin, item.stop, cuts)
    last = min(end, start + _VALUE_BYTES)
    shown = declarations.text_of(source, item.node, start, last, ())
    if len(shown) <= MAX_VALUE and last == end:
        return declarations.text_of(source, item.node, begin, item.stop, cuts)
    return f"{declarations.text_of(source, item.node, begin, start, cuts)} {shown[: MAX_VALUE - 1]}…"


def _last(path: str) -> str:
    return path.rpartition(".")[2].rpartition("::")[2]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name
