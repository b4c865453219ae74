"""What an expression of Python comes to without running it: constant texts, and which library name is meant.

Only what stands in the text counts: constants put together in simple ways, names that are imported or assigned once.
"""

from __future__ import annotations

import ast
import base64
import binascii
import builtins
import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

Value: TypeAlias = "str | bytes | int | list[Value] | None"

_MAX = 20_000
_WIDTH = re.compile(r"%[^sdrc%]")  # what could come to a text of any length
ANY_MODULE = "sys.modules.*"
_METHODS = frozenset({
    "join", "replace", "lower", "upper", "strip", "lstrip", "rstrip", "decode", "encode", "swapcase", "title",
    "capitalize", "casefold", "removeprefix", "removesuffix", "split",
})  # fmt: skip
_BUILTINS = frozenset(dir(builtins))
_IMPORTERS = frozenset({"builtins.__import__", "importlib.import_module", "importlib.__import__"})


class Names:
    """Resolves the expressions of one module: `fold` to constants, `dotted` to names of libraries."""

    def __init__(self, tree: ast.Module) -> None:
        self._aliases: dict[str, str] = {}
        self._constants: dict[str, Value] = {}
        self._numbers: dict[str, float] = {}
        nodes = list(ast.walk(tree))
        self._bound = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
        for node in nodes:
            self._import(node)
        for node in nodes:
            if isinstance(node, ast.For | ast.comprehension) and self._are_modules(node.iter):
                self._aliases.update((n.id, ANY_MODULE) for n in ast.walk(node.target) if isinstance(n, ast.Name))
        for _ in range(2):
            for node in nodes:
                for name, value in _bindings(node):
                    self._bind(name, value)

    def _import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for a in node.names:
                self._aliases[a.asname or a.name.partition(".")[0]] = a.name if a.asname else a.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for a in node.names:
                self._aliases[a.asname or a.name] = f"{module}.{a.name}" if module.strip(".") else f"{module}{a.name}"

    def _are_modules(self, node: ast.expr) -> bool:
        calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
        return any(self.dotted(f) in ("sys.modules.values", "sys.modules.items") for f in calls)

    def _bind(self, name: str, value: ast.expr) -> None:
        if dotted := self.dotted(value):
            self._aliases.setdefault(name, dotted)
            return
        folded = self.fold(value)
        if isinstance(folded, str | bytes | list):
            self._constants.setdefault(name, folded)
        elif isinstance(value, ast.Constant) and isinstance(value.value, int | float):
            self._numbers.setdefault(name, value.value)

    def number(self, name: str) -> float | None:
        """The number that a name is given."""
        return self._numbers.get(name)

    # --- library names -------------------------------------------------------------------------------

    def dotted(self, node: ast.expr) -> str:
        """The dotted name of what is meant (`os._exit`, `builtins.eval`, `sys.modules`); "" where that is not clear."""
        match node:
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute(value=value, attr=attr):
                base = self.dotted(value)
                return _attribute(base, attr)
            case ast.Subscript(value=value, slice=ast.Name(id="__name__")) if self.dotted(value) == "sys.modules":
                return ""
            case ast.Subscript(value=value, slice=key):
                return self._item(self.dotted(value), self.fold(key))
            case ast.NamedExpr(value=value) | ast.Await(value=value):
                return self.dotted(value)
            case ast.BoolOp(values=values):
                return next((d for v in values if (d := self.dotted(v))), "")
            case ast.Call():
                return self._call(node)
            case _:
                return ""

    def _name(self, name: str) -> str:
        if name in self._aliases:
            return self._aliases[name]
        if name == "__builtins__":
            return "builtins"
        return f"builtins.{name}" if name in _BUILTINS and name not in self._bound else ""

    def _item(self, base: str, key: Value) -> str:
        if base == "sys.modules":
            return key if isinstance(key, str) else ANY_MODULE
        if not base or not isinstance(key, str):
            return ""
        if base == "builtins":
            return f"builtins.{key}"
        if base == "globals()":
            return self._name(key)
        return _attribute(base.removesuffix(".__dict__"), key) if base.endswith(".__dict__") else ""

    def _call(self, node: ast.Call) -> str:
        called, args = self.dotted(node.func), node.args
        first = self.fold(args[0]) if args else None
        if called in _IMPORTERS:
            return first if isinstance(first, str) else ""
        if called == "sys.modules.get":
            return first if isinstance(first, str) else ""
        if called in ("builtins.globals", "builtins.locals"):
            return "globals()"
        if called == "builtins.vars" and args:
            return f"{base}.__dict__" if (base := self.dotted(args[0])) else ""
        return self._getattr(called, node)

    def _getattr(self, called: str, node: ast.Call) -> str:
        args = node.args
        if called == "builtins.getattr" and len(args) > 1:
            name = self.fold(args[1])
            return _attribute(self.dotted(args[0]), name) if isinstance(name, str) else ""
        inner = node.func
        if isinstance(inner, ast.Call) and self.dotted(inner.func) == "operator.attrgetter" and inner.args and args:
            name = self.fold(inner.args[0])
            return _attribute(self.dotted(args[0]), name) if isinstance(name, str) else ""
        return ""

    # --- constants -----------------------------------------------------------------------------------

    def fold(self, node: ast.expr, local: Mapping[str, Value] | None = None) -> Value:
        """The constant that an expression comes to, or None."""
        match node:
            case ast.Constant(value=str() | bytes() | int() as value):
                return value
            case ast.Name(id=name):
                return (local or {}).get(name) or self._constants.get(name)
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return self._all(items, local)
            case ast.JoinedStr(values=parts):
                return self._joined(parts, local)
            case ast.FormattedValue(value=value, format_spec=None):
                return self.fold(value, local)
            case ast.BinOp(left=left, op=op, right=right):
                return _combined(op, self.fold(left, local), self.fold(right, local))
            case ast.Subscript(value=value, slice=key):
                return _picked(self.fold(value, local), key)
            case ast.Call():
                return self._computed(node, local)
            case ast.GeneratorExp(elt=elt, generators=[loop]) | ast.ListComp(elt=elt, generators=[loop]):
                return self._looped(elt, loop, local)
            case _:
                return None

    def _all(self, nodes: Sequence[ast.expr], local: Mapping[str, Value] | None) -> Value:
        values = [self.fold(n, local) for n in nodes[:_MAX]]
        return None if any(v is None for v in values) else values

    def _joined(self, parts: Sequence[ast.expr], local: Mapping[str, Value] | None) -> Value:
        values = self._all(parts, local)
        return "".join(map(str, values)) if isinstance(values, list) else None

    def _looped(self, elt: ast.expr, loop: ast.comprehension, local: Mapping[str, Value] | None) -> Value:
        over = self.fold(loop.iter, local)
        if not isinstance(loop.target, ast.Name) or loop.ifs or not isinstance(over, str | bytes | list):
            return None
        each = [self.fold(elt, {**(local or {}), loop.target.id: v}) for v in list(over)[:_MAX]]
        return None if any(v is None for v in each) else each

    def _computed(self, node: ast.Call, local: Mapping[str, Value] | None) -> Value:
        if node.keywords:
            return None
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            base = self.fold(node.func.value, local)
            args = self._all(node.args, local)
            if isinstance(base, str | bytes) and isinstance(args, list) and _small(base, args):
                name = node.func.attr
                return _tried(lambda: getattr(base, name)(*args))
        called = self.dotted(node.func)
        if called == "builtins.map" and len(node.args) > 1 and self.dotted(node.args[0]) == "builtins.chr":
            numbers = self.fold(node.args[1], local)
            return _tried(lambda: [chr(cast("int", n)) for n in cast("list[Value]", numbers)])
        function = _FUNCTIONS.get(called)
        args = self._all(node.args, local) if function else None
        return _tried(lambda: function(*args)) if function and isinstance(args, list) else None


def _bindings(node: ast.AST) -> list[tuple[str, ast.expr]]:
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.NamedExpr(target=ast.Name(id=name), value=value)
        ):
            return [(name, value)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return [(name, value)]
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            return [(n.id, v) for n, v in zip(names, values, strict=False) if isinstance(n, ast.Name)]
        case _:
            return []


def _attribute(base: str, attr: str) -> str:
    if base in ("builtins.__dict__", "builtins.__builtins__"):
        return f"builtins.{attr}"
    return f"{base}.{attr}" if base else ""


def _combined(op: ast.operator, left: Value, right: Value) -> Value:
    if left is None or right is None or isinstance(left, int) != isinstance(right, int):
        return None
    match op:
        case ast.Add():
            return _tried(lambda: cast("str", left) + cast("str", right))
        case ast.BitXor() if isinstance(left, int) and isinstance(right, int):
            return left ^ right
        case ast.Sub() if isinstance(left, int) and isinstance(right, int):
            return left - right
        case ast.Mod() if isinstance(left, str) and not _WIDTH.search(left):
            return _tried(lambda: left % (tuple(right) if isinstance(right, list) else right))
        case _:
            return None


def _picked(value: Value, key: ast.expr) -> Value:
    if not isinstance(value, str | bytes | list):
        return None
    try:
        where = ast.literal_eval(key) if not isinstance(key, ast.Slice) else _slice(key)
        return cast("Value", value[where])
    except (ValueError, TypeError, IndexError, SyntaxError):
        return None


def _slice(key: ast.Slice) -> slice:
    parts = [None if p is None else ast.literal_eval(p) for p in (key.lower, key.upper, key.step)]
    return slice(*parts)


def _tried(compute: Callable[[], object]) -> Value:
    try:
        value = compute()
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError, binascii.Error):
        return None
    if isinstance(value, str | bytes | list):
        return cast("Value", value) if len(cast("str", value)) <= _MAX else None
    return None


def _small(base: str | bytes, args: Sequence[Value]) -> bool:
    """Whether a method of `base` cannot come to much more than is there already."""
    sizes = [len(a) if isinstance(a, str | bytes | list) else 1 for a in args]
    return (len(base) + 1) * (max(sizes, default=0) + 1) <= 50 * _MAX


def _bytes(values: object) -> bytes:
    return bytes(cast("list[int]", values)) if isinstance(values, list) else b""


def _reversed(value: object) -> object:
    return cast("list[Value]", value)[::-1]


def _fromhex(text: object) -> bytes:
    return bytes.fromhex(cast("str", text))


def _decoded(text: object, *how: object) -> object:
    safe = how and str(how[0]).replace("_", "").replace("-", "") in ("rot13", "hex", "base64", "utf8", "ascii")
    return codecs.decode(cast("bytes", text), str(how[0])) if safe else None


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "builtins.chr": chr,
    "builtins.str": str,
    "builtins.bytes": _bytes,
    "builtins.reversed": _reversed,
    "builtins.bytes.fromhex": _fromhex,
    "base64.b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.b32decode": base64.b32decode,
    "binascii.unhexlify": binascii.unhexlify,
    "codecs.decode": _decoded,
    "builtins.list": list,
}
