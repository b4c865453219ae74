"""Where values come from: each expression has kinds (`python_sources`), which follow assignments, loops, copies,
calls of functions of the same file and what these return. A value of a kind that decides something is a sign.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from regreen.fix.tamper.folding import Names
from regreen.fix.tamper.python_sources import CALLS, SIZED, SOURCES

Kinds: TypeAlias = frozenset[str]
NONE: Kinds = frozenset()
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_STREAMS = frozenset({f"sys.{u}{s}{u}" for s in ("stdout", "stderr", "stdin") for u in ("", "__")})
_MEASURES = frozenset({"builtins.len", "builtins.hash", "builtins.sum", "builtins.ord", "builtins.id",
                       "zlib.crc32", "zlib.adler32", "sys.getsizeof"})  # fmt: skip
_DIGESTS = ("hashlib.", "hmac.", "binascii.crc")
_TELLS_TYPE = frozenset({"builtins.type", "builtins.repr", "builtins.str", "builtins.vars", "builtins.dir",
                         "builtins.ascii", "builtins.id"})  # fmt: skip
_OPAQUE = ("subprocess.", "os.exec", "os.spawn", "builtins.isinstance", "builtins.hasattr", "builtins.print",
           "logging.", "os.kill", "builtins.open")  # fmt: skip
_PASSES = ("builtins.", "os.path.", "os.fs", "re.", "json.", "copy.", "itertools.", "functools.", "operator.",
           "collections.", "pathlib.", "Path", "string.", "textwrap.", "pprint.")  # fmt: skip
_KEEPS = frozenset({"caller", "stack", "main", "stream"})
_TEST_PLACE = re.compile(r"(.*/)?(test_.*|.*_test\.py|conftest(\.py)?|tests?)(/.*)?")
_SOURCE_FILES = re.compile(r"(.*/)?\*(\.py[co*]?)?|\*\*?(/.*)?|.*\*.*\.py[co*]?|.*__pycache__.*")
_LIMITED = re.compile(r"RLIMIT_(CPU|FSIZE|AS|DATA|CORE|RSS)\b")
_MAX_ROUNDS = 4


class Flow:
    """The kinds of the expressions of one file."""

    def __init__(self, tree: ast.Module, names: Names) -> None:
        self.names = names
        self.scopes: dict[ast.AST, tuple[ast.AST, ...]] = {}
        self._known: dict[tuple[ast.AST, str], Kinds] = {}
        self._functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self._returns: dict[str, Kinds] = {}
        self._cache: dict[ast.expr, Kinds] = {}
        self._module = tree
        self._place(tree)
        nodes = list(self.scopes)
        self._functions = {n.name: n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
        for _ in range(_MAX_ROUNDS):
            before = dict(self._known), dict(self._returns)
            self._cache.clear()
            for node in nodes:
                self._learn(node)
            if (self._known, self._returns) == before:
                break
        self._cache.clear()

    def _place(self, tree: ast.Module) -> None:
        """Notes for each node the functions around it, the innermost first."""
        waiting: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, (tree,))]
        while waiting:
            node, around = waiting.pop()
            self.scopes[node] = around
            inner = (node, *around) if isinstance(node, _Function) else around
            waiting.extend((child, inner) for child in reversed(list(ast.iter_child_nodes(node))))

    # --- what is known of names ------------------------------------------------------------------------

    def _learn(self, node: ast.AST) -> None:
        for target, value in _bound(node):
            self._bind(node, target, self.of(value))
        if isinstance(node, ast.Return) and node.value is not None:
            function = self.scopes[node][0]
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                self._returns[function.name] = self._returns.get(function.name, NONE) | self.of(node.value)
        elif isinstance(node, ast.Call):
            self._pass_on(node)

    def _bind(self, node: ast.AST, target: ast.expr, kinds: Kinds) -> None:
        if not kinds:
            return
        for part in ast.walk(target):
            key = self._key(node, part)
            if key is not None:
                self._known[key] = self._known.get(key, NONE) | kinds

    def _key(self, node: ast.AST, part: ast.AST) -> tuple[ast.AST, str] | None:
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            return self.scopes[node][0], part.id
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            return self._module, ast.unparse(part)
        return None

    def _pass_on(self, node: ast.Call) -> None:
        """What a function of this file, or a lambda beside it, is given."""
        given = [self.of(a) for a in node.args]
        function = self._functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if function is not None:
            for parameter, kinds in zip(function.args.args, given, strict=False):
                self._give(function, parameter.arg, kinds)
            return
        whole = frozenset[str]().union(*given, self.of(node.func) if isinstance(node.func, ast.Attribute) else NONE)
        for argument in (*node.args, *(k.value for k in node.keywords)):
            inner = self._functions.get(argument.id) if isinstance(argument, ast.Name) else argument
            if isinstance(inner, _Function) and whole:
                for parameter in inner.args.args:
                    self._give(inner, parameter.arg, whole)

    def _give(self, function: ast.AST, name: str, kinds: Kinds) -> None:
        if kinds:
            self._known[function, name] = self._known.get((function, name), NONE) | kinds

    def _lookup(self, node: ast.AST, name: str) -> Kinds:
        for scope in (*self.scopes.get(node, ()), self._module):
            if (scope, name) in self._known:
                return self._known[scope, name]
        return NONE

    # --- expressions -----------------------------------------------------------------------------------

    def of(self, node: ast.expr) -> Kinds:
        """The kinds of values that this expression can come from."""
        if node not in self._cache:
            self._cache[node] = self._of(node)
        return self._cache[node]

    def _of(self, node: ast.expr) -> Kinds:
        match node:
            case ast.Name(id=name):
                return self._lookup(node, name) | self._source(node)
            case ast.Call():
                return self._call(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript(value=value, slice=key):
                return self._item(self._source(node) or self.of(value), value, key)
            case ast.Compare() | ast.Constant() | ast.Lambda():
                return NONE
            case ast.UnaryOp(op=ast.Not()):
                return NONE
            case ast.BinOp(op=ast.Div(), right=right) if _is_test_place(self.names.fold(right)):
                return self._parts(node) | {"tests"}
            case _:
                return self._parts(node)

    def _parts(self, node: ast.AST) -> Kinds:
        found: set[str] = set()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                found |= self.of(child)
            elif isinstance(child, ast.comprehension):
                found |= self.of(child.iter)
        return frozenset(found)

    def _source(self, node: ast.expr) -> Kinds:
        dotted = self.names.dotted(node)
        if not dotted:
            return frozenset({"here"}) if isinstance(node, ast.Name) and node.id == "__file__" else NONE
        return frozenset(kind for kind, pattern in SOURCES if pattern.fullmatch(dotted))

    def _attribute(self, node: ast.Attribute) -> Kinds:
        if node.attr in ("f_back", "findCaller"):
            return frozenset({"caller"})
        if self.names.dotted(node.value) == "sys.flags":
            return self._source(node)
        stored = self._known.get((self._module, ast.unparse(node)), NONE)
        return self._source(node) or stored or self.of(node.value)

    def _item(self, kinds: Kinds, value: ast.expr, key: ast.expr) -> Kinds:
        """An item that is asked for by its name is what the program has a use for."""
        slices = isinstance(key, ast.Slice)
        if "arguments" in kinds:
            return frozenset({"argument"}) if isinstance(key, ast.Constant) and key.value == 0 else kinds
        if kinds & _KEEPS or slices or isinstance(self.names.fold(key), int):
            return kinds
        whole = self.names.dotted(value)
        return NONE if whole or kinds & {"modules", "environment"} else kinds

    def _call(self, node: ast.Call) -> Kinds:
        called = self.names.dotted(node.func)
        direct = frozenset(kind for kind, pattern in CALLS if pattern.fullmatch(called))
        if called == "resource.getrlimit" and _LIMITED.search(ast.unparse(node)):
            return frozenset({"flags"})
        if direct - {"place"}:
            return direct
        if "here" in self._source(node.func) or self._asks_where(called, node):
            return frozenset({"here"})
        given = self._given(node)
        if called in _TELLS_TYPE and any(self.names.dotted(a) in _STREAMS for a in node.args):
            return frozenset({"stream"})
        if called in _TELLS_TYPE and any(self.names.dotted(a) == "__main__" for a in node.args):
            return frozenset({"main"})
        if called == "builtins.range":
            return given | {"numbers"}
        if called in _MEASURES or called.startswith(_DIGESTS):
            return self._measured(called, node, given)
        if direct:
            return frozenset({"files"}) | ({"place"} if self._is_of_machine(node) else self._own_sources(node, given))
        if called.startswith(_OPAQUE):
            return NONE
        return self._called(called, node, given)

    def _called(self, called: str, node: ast.Call, given: Kinds) -> Kinds:
        if isinstance(node.func, ast.Name) and node.func.id in self._functions:
            return self._returns.get(node.func.id, NONE)
        if isinstance(node.func, ast.Attribute):
            return self._method(called, node, node.func, given)
        return given if called.startswith(_PASSES) else NONE

    def _method(self, called: str, node: ast.Call, func: ast.Attribute, given: Kinds) -> Kinds:
        if func.attr in ("rglob", "glob", "iterdir"):
            machine = any(isinstance(n, ast.Call) and self._is_of_machine(n) for n in ast.walk(func.value))
            place: Kinds = frozenset({"place"}) if machine else NONE
            return place | {"files"} | self._own_sources(node, self.of(func.value) | self._given(node))
        if func.attr == "findCaller":
            return frozenset({"caller"})
        if ast.unparse(func.value) in ("self", "cls") and func.attr in self._functions:
            return self._returns.get(func.attr, NONE)
        owner = self.of(func.value)
        if func.attr in ("get", "pop", "setdefault", "isatty", "fileno", "write", "flush"):
            return owner & _KEEPS if func.attr != "fileno" else NONE
        passes = called.startswith(_PASSES) or isinstance(func.value, ast.Constant) or not called
        return (
            owner
            | (given if passes and func.attr in ("join", "format", "search", "match", "sub") else NONE)
            | (given if called.startswith(_PASSES) else NONE)
        )

    def _given(self, node: ast.Call) -> Kinds:
        parts = [*node.args, *(k.value for k in node.keywords)]
        return frozenset[str]().union(*(self.of(p) for p in parts))

    def _measured(self, called: str, node: ast.Call, given: Kinds) -> Kinds:
        if called == "builtins.hash" and node.args and isinstance(self.names.fold(node.args[0]), str | bytes):
            return frozenset({"chance"})
        if called == "builtins.id":
            return frozenset({"address"})
        return frozenset({"size"}) if given & SIZED else given

    def _own_sources(self, node: ast.Call, given: Kinds) -> Kinds:
        """Are these the program's own files, those of Python among them?"""
        text = ast.unparse(node)
        own = (
            "here" in given
            or "own" in given
            or not re.search(r"[a-z]", re.sub(r"[\w.]*(Path|i?glob)|'[^']*'", "", text))
        )
        patterns = [self.names.fold(a) for a in node.args] + [
            self.names.fold(n) for a in node.args for n in ast.walk(a) if isinstance(n, ast.Constant)
        ]
        wide = any(isinstance(p, str) and _SOURCE_FILES.fullmatch(p) for p in patterns)
        tests = any(_is_test_place(p) for p in patterns) or "tests" in given
        return frozenset({"own"} if own and wide else ()) | frozenset({"tests"} if tests else ())

    def _asks_where(self, called: str, node: ast.Call) -> bool:
        named = self.names.fold(node.args[0]) if node.args else None
        return called in ("os.environ.get", "os.getenv") and named in ("TMPDIR", "TEMP", "TMP", "HOME", "PWD", "OLDPWD")

    def _is_of_machine(self, node: ast.Call) -> bool:
        """Is it a folder that has nothing to do with the program?"""
        first = self.names.fold(node.args[0]) if node.args else ""
        return isinstance(first, str) and first.startswith("/")


def _is_test_place(text: object) -> bool:
    return isinstance(text, str) and bool(_TEST_PLACE.fullmatch(text))


def _bound(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Names with what they are given."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            yield from zip(targets, values, strict=False)
        case ast.Assign(targets=targets, value=value):
            yield from ((t, value) for t in targets)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.AugAssign(target=target, value=value)
            | ast.NamedExpr(target=target, value=value)
        ):
            yield target, value
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield target, value
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            yield target, value
        case _:
            for loop in _loops(node):
                yield loop.target, loop.iter


def _loops(node: ast.AST) -> Sequence[ast.comprehension]:
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return node.generators
    return ()
