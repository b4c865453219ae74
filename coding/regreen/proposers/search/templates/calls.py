"""Calls: missing, superfluous, with arguments swapped, missing or too many; awaited, clamped. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from regreen.proposers.search.observed import Names, numeric, related
from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.source import TextEdit
from regreen.proposers.search.templates.constants import quote
from regreen.proposers.search.templates.table import Template
from regreen.proposers.search.vocabulary import callee_name

_WRAPPERS: Sequence[tuple[str, float]] = (
    ("abs", 1.0), ("list", 1.0), ("sorted", 1.0), ("set", 0.9), ("int", 0.9), ("str", 0.8), ("float", 0.8),
    ("len", 0.6), ("dict", 0.7), ("round", 0.7), ("tuple", 0.6), ("reversed", 0.5), ("bool", 0.4), ("sum", 0.3),
    ("max", 0.3), ("min", 0.3), ("iter", 0.2), ("frozenset", 0.2), ("repr", 0.3), ("enumerate", 0.4), ("bytes", 0.1),
    ("range", 0.5),
)  # fmt: skip
_ITERATING = frozenset(("list", "sorted", "set", "sum", "tuple", "reversed", "max", "min", "iter", "frozenset", "dict",
                        "enumerate"))  # fmt: skip
_METHODS: Sequence[tuple[str, float]] = (
    ("values()", 1.0), ("items()", 1.0), ("keys()", 0.5), ("strip()", 1.0), ("lower()", 1.0), ("upper()", 0.6),
    ("copy()", 0.9), ("casefold()", 0.5), ("rstrip()", 0.5), ("lstrip()", 0.4), ("split()", 0.5), ("title()", 0.2),
    ("splitlines()", 0.4), ("date()", 0.4), ("total_seconds()", 0.4), ("encode()", 0.2), ("decode()", 0.2),
    ("capitalize()", 0.2), ("isoformat()", 0.2), ("days", 0.2), ("name", 0.1), ("value", 0.2), ("group()", 0.2),
    ("utctimetuple()", 0.05), ("resolve()", 0.1), ("read()", 0.1), ("normalize()", 0.1), ('strip("\\n")', 0.1),
)  # fmt: skip
_ORDERS = ("reverse=True", "key=len", "key=str", "key=str.lower", "key=str.casefold", "key=lambda x: x[0]",
           "key=lambda x: x[1]")  # fmt: skip
_KEYWORDS: Mapping[str, Sequence[str]] = {
    "max": ("default=None", "default=0", "key=len"), "min": ("default=None", "default=0", "key=len"),
    "groupby": ("key=lambda x: x[0]", "key=lambda x: x[1]"),
    "sorted": _ORDERS, "sort": _ORDERS,
    "split": ("maxsplit=1",), "rsplit": ("maxsplit=1",), "splitlines": ("keepends=True",),
    "enumerate": ("start=1",), "dumps": ("sort_keys=True", "ensure_ascii=False", "indent=2"), "zip": ("strict=True",),
    "dump": ("sort_keys=True", "ensure_ascii=False"), "open": ('encoding="utf-8"', 'newline=""'), "round": (),
    "mkdir": ("parents=True", "exist_ok=True"), "makedirs": ("exist_ok=True",), "popitem": ("last=False",),
    "move_to_end": ("last=False",), "add_argument": ("type=int", "type=float", 'action="store_true"', 'nargs="*"'),
    "field": ("default_factory=list", "default_factory=dict"), "dataclass": ("frozen=True", "order=True", "eq=True"),
    "get": (), "sum": ("start=0",), "print": ('end=""', "file=out"), "sub": ("count=1", "flags=re.IGNORECASE"),
    "compile": ("flags=re.IGNORECASE", "flags=re.MULTILINE"), "lru_cache": ("maxsize=None",),
    "gather": ("return_exceptions=True",), "quantize": (), "int": ("base=16",), "fromtimestamp": ("tz=timezone.utc",),
    "now": ("tz=timezone.utc",), "wrap": ("break_long_words=False",), "urlencode": ("doseq=True",),
    "parse_qs": ("keep_blank_values=True",), "parse_qsl": ("keep_blank_values=True",), "quote": ('safe=""',),
}  # fmt: skip


def _wrappable(site: Site, node: ast.AST | None) -> bool:
    """A value that a call may be put around: not a callee, not the owner of an attribute, not an assigned name."""
    if not isinstance(
        node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.BoolOp, ast.GeneratorExp)
    ):
        return False
    return site.is_whole(node) and site.reliable(node)


def wrap(site: Site) -> Iterator[Option]:
    node = site.node
    if node is None or not _wrappable(site, node):
        return
    parent = site.source.parents.get(node)
    around = callee_name(parent) if isinstance(parent, ast.Call) else ""
    types = site.types(node)
    for name, weight in _WRAPPERS:
        if (
            _takes(site, name, types)
            and name != around
            and not (isinstance(node, ast.Call) and callee_name(node) == name)
        ):
            yield site.replace(node, f"{name}({site.text(node)})", weight, tight=True)
    known = {name for name, _ in _WRAPPERS}
    for name in sorted(site.words.converters.get(site.source.path, ())):
        if name not in known and name != around:
            yield site.replace(node, f"{name}({site.text(node)})", 0.6, tight=True)
    for function, signature in site.words.functions.items():
        if function in site.scope.module and len(signature.args.args) == 1 and function != around:
            yield site.replace(node, f"{function}({site.text(node)})", 0.5, tight=True)


def _takes(site: Site, function: str, types: Names) -> bool:
    """May a built-in function take a value of these types, and do something to it?"""
    if not types:
        return True
    if types == frozenset({function}):
        return function in ("list", "dict", "set")  # a copy
    if function in _ITERATING:
        return site.seen.has(types, "__iter__")
    if function == "range":
        return "int" in types
    if function in ("abs", "round"):
        return numeric(types) or site.seen.has(types, f"__{function}__")
    if function in ("int", "float"):
        return numeric(types) or "str" in types
    return function != "len" or site.seen.has(types, "__len__")


def clamp(site: Site) -> Iterator[Option]:
    node = site.node
    if node is None or not _wrappable(site, node) or not numeric(site.types(node)):
        return
    text = site.text(node)
    yield site.replace(node, f"max(0, {text})", 1.0, tight=True)
    yield site.replace(node, f"max(1, {text})", 0.4, tight=True)
    for name in site.scope.names_at(site.source, node):
        if name not in ("self", text) and numeric(site.types_of(name)):
            yield site.replace(node, f"min({text}, {name})", 0.4, tight=True)
            yield site.replace(node, f"max({text}, {name})", 0.3, tight=True)


def append_method(site: Site) -> Iterator[Option]:
    """`.strip()`, `.values()`, ... behind a value; `.astimezone(tz)` with a zone in scope."""
    node = site.node
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) or not site.is_read(node):
        return
    parent = site.source.parents.get(node)
    if not site.reliable(node):
        return
    if isinstance(parent, ast.Attribute) and not isinstance(site.source.parents.get(parent), ast.Call):
        return
    end = site.source.span(node)[1]
    inner = 0.7 if isinstance(parent, ast.Attribute) else 1.0
    types = site.types(node)
    inner *= 0.3 if isinstance(node, ast.Name) and node.id in site.scope.module else 1.0
    for call, weight in _METHODS:
        if site.seen.has(types, call.partition("(")[0]):
            yield Option((TextEdit(end, end, f".{call}"),), f"append `.{call}`", weight * inner)
    yield from _converted(site, node)


def _converted(site: Site, node: ast.expr) -> Iterator[Option]:
    """A time in a zone of the scope; the sorted or listed content of a mapping."""
    end, types = site.source.span(node)[1], site.types(node)
    for name in site.scope.names_at(site.source, node):
        if ("tz" in name.lower() or "zone" in name.lower()) and site.seen.has(types, "astimezone"):
            weight = 3.0 if name in site.scope.unused else 1.0
            yield Option((TextEdit(end, end, f".astimezone({name})"),), f"append `.astimezone({name})`", weight)
    if site.is_whole(node) and site.seen.has(types, "items"):
        for call in ("sorted({}.items())", "sorted({}.values())", "list({}.values())", "set({}.values())"):
            yield site.replace(node, call.format(site.text(node)), 0.4, tight=True)


def unwrap(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.Call) or not site.reliable(node) or isinstance(site.source.parents.get(node), ast.Expr):
        return
    if len(node.args) >= 1 and not isinstance(node.args[0], ast.Starred):
        yield site.replace(node, site.text(node.args[0]), 1.0 if len(node.args) == 1 else 0.4)
    if isinstance(node.func, ast.Attribute):
        yield site.replace(node, site.text(node.func.value), 0.8)


def swap_arguments(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.Call) or not site.reliable(node):
        return
    plain = [a for a in node.args if not isinstance(a, ast.Starred)]
    for i, first in enumerate(plain):
        for second in plain[i + 1 :]:
            edits = (
                TextEdit(*site.source.span(first), site.text(second)),
                TextEdit(*site.source.span(second), site.text(first)),
            )
            yield Option(edits, f"swap `{site.text(first)}` and `{site.text(second)}`", 1.0 if i == 0 else 0.6)


def drop_argument(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.Call) or not site.reliable(node):
        return
    arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    spans = [site.source.span(a) for a in arguments]
    for i, (start, end) in enumerate(spans):
        if i > 0:
            start = spans[i - 1][1]
        elif len(spans) > 1:
            end = spans[1][0]
        weight = 1.0 if i == len(spans) - 1 else 0.5
        yield Option((TextEdit(start, end, ""),), f"drop argument `{site.text(arguments[i])}`", weight)


def _append(site: Site, call: ast.Call, text: str, weight: float) -> Option:
    """One more argument at the end of a call."""
    end = site.source.span(call)[1] - 1
    inside = site.source.text[site.source.span(call.func)[1] : end].rstrip()
    at = site.source.span(call.func)[1] + len(inside)
    comma = "" if inside.endswith(("(", ",")) else ", "
    comma = " " if inside.endswith(",") else comma
    if len(call.args) == 1 and not call.keywords and isinstance(call.args[0], ast.GeneratorExp):
        start, stop = site.source.span(call.args[0])
        if site.source.text[start - 1 : start] != "(" or start != site.source.span(call.func)[1] + 1:
            bare = site.text(call.args[0])
            bare = bare if bare.startswith("(") else f"({bare})"
            return Option((TextEdit(start, stop, f"{bare}, {text}"),), f"argument `{text}`", weight)
    return Option((TextEdit(at, at, f"{comma}{text}"),), f"argument `{text}`", weight)


def add_keyword(site: Site) -> Iterator[Option]:
    """A keyword that other calls of the same function have, or that is often forgotten."""
    node = site.node
    if not isinstance(node, ast.Call) or not site.reliable(node):
        return
    name = callee_name(node)
    given = {k.arg for k in node.keywords}
    texts = dict.fromkeys(_KEYWORDS.get(name, ()), 1.0) | dict.fromkeys(sorted(site.words.keywords.get(name, ())), 0.9)
    for text, weight in texts.items():
        if text.split("=")[0] not in given:
            yield _append(site, node, text, weight)
    function = site.words.functions.get(name)
    if function is not None:
        scope = site.scope.names_at(site.source, node)
        for arg in [*function.args.args, *function.args.kwonlyargs]:
            if arg.arg in scope and arg.arg not in given and arg.arg != "self":
                yield _append(site, node, f"{arg.arg}={arg.arg}", 1.0)


def change_keyword(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.keyword) or not node.arg:
        return
    call = site.source.parents.get(node)
    function = site.words.functions.get(callee_name(call)) if isinstance(call, ast.Call) else None
    names = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)] if function else []
    start = site.source.span(node)[0]
    for name in names:
        if name not in (node.arg, "self"):
            edit = TextEdit(start, start + len(node.arg), name)
            yield Option((edit,), f"keyword `{node.arg}` -> `{name}`", 1.0)


def add_argument(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.Call) or not site.reliable(node) or len(node.args) > 3:
        return
    for name in site.scope.names_at(site.source, node):
        if name not in ("self", *(site.text(a) for a in node.args)):
            yield _append(site, node, name, 2.0 if name in site.scope.unused else 1.0)
    for literal, weight in (("0", 0.4), ("1", 0.6), ("None", 0.3), ('""', 0.3), ("[]", 0.2), ("2", 0.3)):
        yield _append(site, node, literal, weight)


def extend_argument(site: Site) -> Iterator[Option]:
    """What a (recursive) call is handed, with one more element, or united with another value."""
    node = site.node
    if not isinstance(node, (ast.Name, ast.Attribute)) or not _wrappable(site, node):
        return
    text = site.text(node)
    if not isinstance(site.source.parents.get(node), (ast.Call, ast.Return, ast.Assign, ast.comprehension, ast.For)):
        return
    types = site.types(node)
    boost = _recursive(site, node)
    for name in _partners(site, node):
        if name not in (text, "self"):
            near = 1.5 if site.scope.together(text, name) else 1.0
            for shape, weight in _joined(types, site.types_of(name)):
                yield site.replace(node, shape.format(a=text, b=name), weight * boost * near)


def _partners(site: Site, node: ast.Name | ast.Attribute) -> list[str]:
    """Names in scope and, for an attribute, those that are used on the same object."""
    names = site.scope.names_at(site.source, node)
    if isinstance(node, ast.Attribute):
        owner = site.text(node.value)
        siblings = set(site.words.attributes.get(owner, ()))
        for members in site.words.members.values():
            siblings |= set(members) if node.attr in members else set()
        names += [f"{owner}.{a}" for a in sorted(siblings) if a != node.attr]
    return names


def _recursive(site: Site, node: ast.AST) -> float:
    """A parameter that a function hands to itself unchanged deserves a second look."""
    call = site.source.parents.get(node)
    same = isinstance(call, ast.Call) and site.function is not None and callee_name(call) == site.function.name
    return 2.0 if same and site.text(node) in site.scope.params else 1.0


def _joined(a: Names, b: Names) -> Iterator[tuple[str, float]]:
    """Ways to make one value of two, of what types they are known to have."""
    if not a or "list" in a:
        yield from (("{a} + [{b}]", 1.0), ("[*{a}, *{b}]", 0.3))
    if not a or "tuple" in a:
        yield "{a} + ({b},)", 0.6
    if not a or a & {"set", "frozenset"}:
        yield from (("{a} | {{{b}}}", 0.6), ("{a} | {b}", 0.6), ("{a} & {b}", 0.4))
    if (not a or "dict" in a) and (not b or "dict" in b):
        yield from (("{{**{a}, **{b}}}", 0.8), ("{a}.keys() | {b}.keys()", 0.8), ("{a}.keys() & {b}.keys()", 0.4))
    if related(a, b):
        yield "{a} + {b}", 0.7
        if numeric(a) and numeric(b):
            yield from (("{a} - {b}", 0.6), ("{a} * {b}", 0.4), ("{a} / {b}", 0.3))
    if (not a or "dict" in a) and not b & {"list", "dict", "set"}:
        yield from (("{a}[{b}]", 0.4), ("{a}.get({b})", 0.2))
    yield from (("({a}, {b})", 0.2), ("{a} or {b}", 0.2))


def text_argument(site: Site) -> Iterator[Option]:
    """A text handed on, or one of its neighbours, with a short literal of the file behind it."""
    node = site.node
    if not isinstance(node, ast.Name) or "str" not in site.types(node) or not _wrappable(site, node):
        return
    literals = [n.value for n in ast.walk(site.source.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    short = [v for v in dict.fromkeys(literals) if 0 < len(v) <= 2 and v.isprintable()][:6]
    for name in site.scope.names_at(site.source, node):
        if "str" in site.types_of(name):
            weight = _recursive(site, node) * (1.0 if name == node.id else 0.8)
            for literal in short:
                text = quote(literal, '"')
                yield site.replace(node, f"{name} + {text}", weight)


def await_call(site: Site) -> Iterator[Option]:
    node = site.node
    if isinstance(node, ast.Await) and site.reliable(node):
        yield site.replace(node, site.text(node.value), 0.3)
    if not isinstance(node, ast.Call) or not isinstance(site.function, ast.AsyncFunctionDef) or not site.reliable(node):
        return
    if not isinstance(site.source.parents.get(node), ast.Await):
        yield site.replace(node, f"await {site.text(node)}", 1.0 if callee_name(node) in site.words.coroutines else 0.2)


def same_zone(site: Site) -> Iterator[Option]:
    """`.replace(tzinfo=z)` relabels a time; `.astimezone(z)` converts it."""
    match site.node:
        case ast.Call(func=ast.Attribute(value=value, attr="replace"), args=[], keywords=[ast.keyword(arg="tzinfo")]):
            zone = site.text(site.node.keywords[0].value)
            yield site.replace(site.node, f"{site.receiver(value)}.astimezone({zone})", 1.0)
        case ast.Call(func=ast.Attribute(value=value, attr="astimezone"), args=[zone]):
            yield site.replace(site.node, f"{site.receiver(value)}.replace(tzinfo={site.text(zone)})", 0.5)
        case _:
            pass


TABLE = (
    Template("swapped arguments", 0.7, swap_arguments),
    Template("missing await", 0.9, await_call),
    Template("time zone conversion", 0.8, same_zone),
    Template("missing method call", 0.5, append_method),
    Template("missing call", 0.5, wrap),
    Template("superfluous call", 0.3, unwrap),
    Template("missing keyword", 0.45, add_keyword),
    Template("wrong keyword", 0.5, change_keyword),
    Template("extended argument", 0.3, extend_argument),
    Template("extended text", 0.25, text_argument),
    Template("missing argument", 0.25, add_argument),
    Template("superfluous argument", 0.2, drop_argument),
    Template("clamped value", 0.3, clamp),
)
