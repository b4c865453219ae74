"""Names: variables, attributes, methods and functions mistaken for a relative; expressions copied from nearby. Pure."""

from __future__ import annotations

import ast
import difflib
import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from regreen.proposers.search.observed import related
from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.source import TextEdit
from regreen.proposers.search.templates.table import Template
from regreen.proposers.search.vocabulary import BUILTINS

_TYPES: Sequence[str] = (
    "builtins.str", "builtins.bytes", "builtins.list", "builtins.dict", "builtins.set", "builtins.frozenset",
    "collections.deque", "collections.OrderedDict", "collections.Counter", "datetime.datetime", "datetime.date",
    "datetime.timedelta", "re.Pattern", "re.Match", "pathlib.PurePosixPath", "decimal.Decimal", "fractions.Fraction",
    "asyncio.Queue", "asyncio.Event", "queue.Queue",
)  # fmt: skip
_MODULES = frozenset(
    ("operator", "math", "copy", "itertools", "functools", "string", "statistics", "bisect", "heapq", "datetime",
     "decimal", "json", "re", "textwrap", "html", "collections", "calendar", "time", "base64", "binascii", "fnmatch",
     "unicodedata", "asyncio", "random", "cmath", "secrets", "hashlib", "urllib.parse", "posixpath", "os.path")
)  # fmt: skip
_BUILTIN_FAMILIES: Sequence[Sequence[str]] = (
    ("min", "max"), ("any", "all"), ("min", "sum", "max", "len"), ("sorted", "list", "reversed", "set", "tuple"),
    ("iter", "list", "tuple"), ("map", "filter"), ("int", "float", "round", "str"), ("str", "repr"),
    ("dict", "list", "set"), ("set", "frozenset", "list"), ("isinstance", "issubclass"), ("hasattr", "getattr"),
    ("ord", "chr"), ("bytes", "bytearray"), ("bool", "int"), ("abs", "round", "int"), ("next", "list"),
    ("True", "False"), ("ValueError", "TypeError", "KeyError", "LookupError", "IndexError", "RuntimeError"),
)  # fmt: skip


_MEMBER_FAMILIES: Sequence[Sequence[str]] = (
    ("lt", "le", "gt", "ge"), ("eq", "ne"), ("add", "sub", "mul", "truediv", "floordiv", "mod"), ("and_", "or_", "xor"),
    ("copy", "deepcopy"), ("match", "search", "fullmatch", "findall", "finditer"), ("pop", "popleft", "popitem"),
    ("append", "appendleft", "extend", "add", "insert"), ("extend", "extendleft"), ("get", "setdefault", "pop"),
    ("keys", "values", "items"), ("lower", "upper", "casefold", "title", "capitalize", "swapcase"),
    ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix"), ("startswith", "endswith"),
    ("split", "rsplit", "splitlines", "partition", "rpartition"), ("find", "rfind", "index", "rindex", "count"),
    ("union", "intersection", "difference", "symmetric_difference"), ("issubset", "issuperset", "isdisjoint"),
    ("update", "intersection_update", "difference_update"), ("add", "discard", "remove"), ("remove", "pop", "discard"),
    ("weekday", "isoweekday"), ("date", "time"), ("days", "seconds", "total_seconds"), ("hour", "minute", "second"),
    ("year", "month", "day"), ("floor", "ceil", "trunc", "round"), ("ljust", "rjust", "center", "zfill"),
    ("isdigit", "isdecimal", "isnumeric", "isalnum", "isalpha"), ("bisect_left", "bisect_right", "insort"),
    ("nlargest", "nsmallest"), ("heappush", "heappop", "heapify"), ("start", "stop", "end"), ("min", "max"),
    ("prev", "next", "previous"), ("left", "right"), ("first", "last"), ("width", "height"),
    ("rows", "columns", "cols"),
    ("put", "put_nowait", "get", "get_nowait"), ("read", "readline", "readlines"), ("group", "groups", "groupdict"),
    ("permutations", "combinations", "combinations_with_replacement", "product"), ("astimezone", "replace"),
    ("accumulate", "chain"), ("zip_longest", "zip"), ("mean", "median", "mode", "fmean"), ("pstdev", "stdev"),
    ("pvariance", "variance"), ("sub", "subn"), ("utcnow", "now", "today"), ("fromtimestamp", "utcfromtimestamp"),
    ("gcd", "lcm"), ("sin", "cos", "tan"), ("radians", "degrees"), ("log", "log2", "log10", "log1p", "exp"),
    ("quote", "quote_plus", "unquote", "unquote_plus"), ("dumps", "dump", "loads", "load"), ("encode", "decode"),
)  # fmt: skip


def _kind(name: str) -> str:
    if name.isupper() or name.lstrip("_").isupper():
        return "constant"
    return "class" if name.lstrip("_")[:1].isupper() else "value"


def _closeness(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b).ratio()


def variable(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or not site.reliable(node):
        return
    local = site.scope.names_at(site.source, node)
    if not site.is_callee(node):
        types = site.types(node)
        for name in local:
            if name not in (node.id, "self"):
                fits = 1.0 if related(types, site.types_of(name)) else 0.2
                fits *= 1.3 if site.scope.together(node.id, name) else 1.0
                yield site.replace(node, name, fits * (2.0 if name in site.scope.unused else 1.0), tight=True)
    if node.id in site.scope.module:
        for name in site.scope.module:
            if name != node.id and _kind(name) == _kind(node.id):
                yield site.replace(node, name, 0.5 + _closeness(name, node.id), tight=True)
    if node.id not in local:
        yield from _builtin_siblings(site, node)


def _builtin_siblings(site: Site, node: ast.Name) -> Iterator[Option]:
    for family in _BUILTIN_FAMILIES:
        if node.id in family:
            for name in family:
                if name != node.id:
                    yield site.replace(node, name, 1.0 if family[0] == node.id or len(family) == 2 else 0.6)


def attribute(site: Site) -> Iterator[Option]:
    """Another attribute of the same object."""
    node = site.node
    if not isinstance(node, ast.Attribute) or site.is_callee(node) or not _placed(site, node):
        return
    near = _used_nearby(site, node)
    for name, weight in _weighted(node.attr, _sibling_attributes(site, node), near):
        yield _renamed(site, node, name, weight)
    for name, weight in _weighted(node.attr, _module_members(site, node), near):
        yield _renamed(site, node, name, weight * 0.8)


def _sibling_attributes(site: Site, node: ast.Attribute) -> Iterable[str]:
    owner = site.text(node.value)
    names = set(site.words.attributes.get(owner, ()))
    cls = site.source.class_of(site.stmt)
    if owner == "self" and cls is not None:
        names.update(site.words.members.get(cls.name, ()))
        return names
    for members in site.words.members.values():
        if node.attr in members or owner.split(".")[-1].lower() == "".join(members).lower():
            names.update(members)
    names.update(site.words.members.get(owner, ()))
    for cls_name, members in site.words.members.items():
        if owner.lower().rstrip("s") == cls_name.lower():
            names.update(members)
    if len(names) < 2:
        close = difflib.get_close_matches(node.attr, sorted({m for ms in site.words.members.values() for m in ms}), 3)
        names.update(close)
    return names


def method(site: Site) -> Iterator[Option]:
    """Another method of the same object: its class's, those of the built-in types that have this one, a module's."""
    node = site.node
    if not isinstance(node, ast.Attribute) or not site.is_callee(node) or not _placed(site, node):
        return
    owner = site.text(node.value)
    own = set(site.words.called.get(owner, ()))
    for methods in site.words.methods.values():
        if node.attr in methods:
            own.update(methods)
    types = site.types(node.value)
    own = {n for n in own if not n.startswith("__") and site.seen.has(types, n)}
    near = _used_nearby(site, node)
    for name, weight in _weighted(node.attr, own, near):
        yield _renamed(site, node, name, weight)
    members = list(_module_members(site, node)) or sorted(site.seen.offers(site.types(node.value)))
    for name, weight in _weighted(node.attr, members or _type_siblings(node.attr), near):
        if name not in own:
            yield _renamed(site, node, name, weight * 0.8)


def _weighted(old: str, names: Iterable[str], near: frozenset[str]) -> list[tuple[str, float]]:
    family = {n for members in _MEMBER_FAMILIES if old in members for n in members}
    return [
        (n, 0.4 + 0.7 * _closeness(old, n) + 1.0 * (n in family) + 0.6 * (n in near))
        for n in sorted(set(names))
        if n != old
    ]


def _used_nearby(site: Site, node: ast.Attribute) -> frozenset[str]:
    """What the same function reads from the same owner."""
    if site.function is None:
        return frozenset()
    owner = ast.dump(node.value)
    found = (n for n in ast.walk(site.function) if isinstance(n, ast.Attribute))
    return frozenset(n.attr for n in found if ast.dump(n.value) == owner)


def _renamed(site: Site, node: ast.Attribute, name: str, weight: float) -> Option:
    end = site.source.span(node)[1]
    return Option((TextEdit(end - len(node.attr), end, name),), f"`.{node.attr}` -> `.{name}`", weight)


def _placed(site: Site, node: ast.Attribute) -> bool:
    if site.source.inside(node, ast.JoinedStr):
        return site.reliable(node)
    return site.text(node).endswith(node.attr)


def _module_members(site: Site, node: ast.Attribute) -> Iterable[str]:
    """The public functions of a harmless standard module, or its values where a value stands."""
    owner = site.text(node.value)
    if site.words.imports.get(owner, "") not in (f"import {owner}", f"from os import {owner}"):
        return ()
    return _public(owner, node.attr)


@lru_cache(maxsize=256)
def _public(module: str, like: str) -> tuple[str, ...]:
    if module not in _MODULES or module.split(".")[0] not in sys.stdlib_module_names:
        return ()
    names = vars(importlib.import_module(module))
    same = [n for n in sorted(names) if isinstance(names[n], (int, float)) is isinstance(names.get(like), (int, float))]
    return tuple(n for n in same if not n.startswith("_") and callable(names[n]) is callable(names.get(like)))


@lru_cache(maxsize=256)
def _type_siblings(method_name: str) -> tuple[str, ...]:
    """The public methods of all built-in types that have this one."""
    found: set[str] = set()
    for path in _TYPES:
        module, name = path.rsplit(".", 1)
        members = dir(getattr(importlib.import_module(module), name))
        if method_name in members:
            found.update(n for n in members if not n.startswith("_"))
    return tuple(sorted(found))


def ingredient(site: Site) -> Iterator[Option]:
    """An expression replaced by another one of the same function."""
    node = site.node
    if not isinstance(node, ast.expr) or not _is_value(site, node) or not site.reliable(node):
        return
    function = site.function
    if function is None:
        return
    own = site.text(node)
    texts: dict[str, float] = {}
    names = set(site.scope.names_at(site.source, node)) | set(site.scope.module)
    for other in ast.walk(function):
        if isinstance(other, (ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.JoinedStr)) and site.reliable(
            other
        ):
            text = site.text(other)
            if len(text) <= 40 and text != own and "\n" not in text and _readable(other, names):
                texts.setdefault(text, 1.0 if isinstance(other, (ast.Attribute, ast.Subscript)) else 0.8)
    types = site.types(node)
    for text, weight in texts.items():
        fits = 1.0 if related(types, site.types_of(text)) else 0.2
        yield site.replace(node, text, fits * (weight if own not in text else weight * 0.5))


def _readable(node: ast.AST, names: set[str]) -> bool:
    inner = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return used <= names | inner | BUILTINS


def _is_value(site: Site, node: ast.expr) -> bool:
    """A place where a whole value stands: argument, returned, assigned, element, index, side of a comparison."""
    parent = site.source.parents.get(node)
    match parent:
        case ast.Call(args=args):
            return node in args
        case ast.Return() | ast.keyword() | ast.Tuple() | ast.List() | ast.Yield() | ast.Dict() | ast.IfExp():
            return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.AnnAssign(value=value):
            return value is node
        case ast.Subscript(slice=index):
            return index is node
        case ast.Compare() | ast.BinOp():
            return isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        case ast.For(iter=value) | ast.comprehension(iter=value):
            return value is node
        case _:
            return False


def both_sides(site: Site) -> Iterator[Option]:
    """Both names of a comparison at once: the wrong pair of variables."""
    node = site.node
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not site.reliable(node):
        return
    left, right = node.left, node.comparators[0]
    if not isinstance(left, ast.Name) or not isinstance(right, ast.Name):
        return
    names = [n for n in site.scope.names_at(site.source, node) if n not in ("self", left.id, right.id)]
    for first in names:
        for second in names:
            if first != second:
                weight = 1.0 + _closeness(first, second)
                edits = (TextEdit(*site.source.span(left), first), TextEdit(*site.source.span(right), second))
                yield Option(edits, f"compare `{first}` and `{second}`", weight)


def bound_name(site: Site) -> Iterator[Option]:
    """An assignment to a name that nothing reads, to be given to a similar one."""
    node = site.node
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and not isinstance(site.stmt, ast.For):
        others = [n for n, _ in site.scope.locals] + site.scope.params
        for name in difflib.get_close_matches(node.id, [n for n in others if n != node.id], 3, 0.5):
            yield site.replace(node, name, 1.0, tight=True)


TABLE = (
    Template("variable", 0.75, variable),
    Template("attribute", 0.8, attribute),
    Template("method or function", 0.8, method),
    Template("expression from nearby", 0.4, ingredient),
    Template("pair of variables", 0.35, both_sides),
    Template("assigned name", 0.3, bound_name),
)
