"""What the project's own code offers as ingredients: names in scope, attributes, keywords, imports. Pure."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from regreen.proposers.search.source import FUNCTIONS, Function, Source

BUILTINS = frozenset(n for n in dir(builtins) if not n.startswith("_"))


@dataclass
class Vocabulary:
    """Ingredients of all parsed files together."""

    attributes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # receiver text -> attributes
    called: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # receiver text -> methods called
    members: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # class -> data attributes
    methods: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # class -> methods
    keywords: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # callee -> "name=value" texts
    keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # receiver text -> index texts
    converters: dict[str, set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )  # path -> called with one argument
    coroutines: set[str] = field(default_factory=set[str])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])  # by bare name
    imports: dict[str, str] = field(default_factory=dict[str, str])  # bound name -> import statement
    defined: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # name -> paths that define it

    @classmethod
    def of(cls, sources: Iterable[Source]) -> Vocabulary:
        words = cls()
        for source in sources:
            for node in ast.walk(source.tree):
                words.read(source, node)
            for stmt in source.tree.body:
                for name in _bound(stmt):
                    words.defined[name].append(source.path)
        return words

    def read(self, source: Source, node: ast.AST) -> None:
        match node:
            case ast.Attribute():
                kind = self.called if _is_callee(source, node) else self.attributes
                kind[source.segment(node.value)].add(node.attr)
            case ast.Call():
                self._read_call(source, node)
            case ast.Subscript(value=value, slice=ast.Constant() | ast.Name()):
                self.keys[source.segment(value)].add(source.segment(node.slice))
            case ast.ClassDef():
                self._read_class(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions[node.name] = node
                if isinstance(node, ast.AsyncFunctionDef):
                    self.coroutines.add(node.name)
            case ast.Import() | ast.ImportFrom():
                for name, text in import_texts(node):
                    self.imports.setdefault(name, text)
            case _:
                pass

    def _read_call(self, source: Source, node: ast.Call) -> None:
        name = callee_name(node)
        for k in node.keywords:
            if k.arg:
                self.keywords[name].add(f"{k.arg}={source.segment(k.value)}")
        if isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            self.converters[source.path].add(name)

    def _read_class(self, node: ast.ClassDef) -> None:
        members: list[str] = []
        methods: list[str] = []
        for stmt in node.body:
            if isinstance(stmt, FUNCTIONS):
                is_value = any(isinstance(d, ast.Name) and "property" in d.id for d in stmt.decorator_list)
                (members if is_value else methods).append(stmt.name)
            else:
                members += _bound(stmt)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and is_name(inner.value, "self"):
                members.append(inner.attr)
        self.members[node.name] = list(dict.fromkeys(members))
        self.methods[node.name] = methods


def is_name(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def callee_name(node: ast.Call) -> str:
    """The last part of what is called: `f` of `a.b.f(x)`."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def import_texts(node: ast.Import | ast.ImportFrom) -> list[tuple[str, str]]:
    """The bound names of an import, each with a statement that imports it alone."""
    found: list[tuple[str, str]] = []
    for alias in node.names:
        bound = alias.asname or alias.name.split(".")[0]
        renamed = f" as {alias.asname}" if alias.asname else ""
        if isinstance(node, ast.Import):
            found.append((bound, f"import {alias.name}{renamed}"))
        elif alias.name != "*":
            found.append((bound, f"from {'.' * node.level}{node.module or ''} import {alias.name}{renamed}"))
    return found


def _is_callee(source: Source, node: ast.Attribute) -> bool:
    parent = source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _bound(stmt: ast.stmt) -> list[str]:
    match stmt:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


@dataclass
class Scope:
    """The names of one function (or of the module), in order of first appearance."""

    params: list[str]
    locals: list[tuple[str, int]]  # name, line of its first binding
    module: list[str]
    unused: frozenset[str]  # parameters that nothing reads

    @classmethod
    def of(cls, source: Source, function: Function | None) -> Scope:
        module = list(dict.fromkeys(n for s in source.tree.body for n in _bound(s)))
        if function is None:
            return cls([], [], module, frozenset())
        params: list[str] = []
        bound: dict[str, int] = {}
        outer: Function | None = function
        while outer is not None:
            params += _params(outer)
            for name, line in _local_names(outer):
                bound.setdefault(name, line if outer is function else 0)
            outer = source.function_of(outer)
        read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        unused = frozenset(p for p in _params(function) if p not in read and p not in ("self", "cls"))
        return cls(params, [(n, line) for n, line in bound.items() if n not in params], module, unused)

    def together(self, a: str, b: str) -> bool:
        """Are two locals bound by one line? Such pairs are easily mistaken for each other."""
        lines = dict(self.locals)
        return a in lines and lines[a] == lines.get(b)

    def names_at(self, source: Source, node: ast.AST) -> list[str]:
        """Local names that can be read at `node`: parameters, names bound above it, comprehension variables."""
        line = getattr(node, "lineno", 0) or getattr(source.parents.get(node), "lineno", 0)
        names = [*self.params, *(n for n, first in self.locals if first <= line)]
        up: ast.AST | None = node
        while up is not None and not isinstance(up, ast.stmt):
            if isinstance(up, ast.Lambda):
                names += [a.arg for a in up.args.args]
            for generator in getattr(up, "generators", []):
                names += [n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)]
            up = source.parents.get(up)
        return list(dict.fromkeys(n for n in names if n not in ("cls", "_")))


def _params(function: Function) -> list[str]:
    a = function.args
    extra = [x.arg for x in (a.vararg, a.kwarg) if x]
    return [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)] + extra


def _local_names(function: Function) -> list[tuple[str, int]]:
    """Names bound by statements of the function: not those of comprehensions, nor of functions inside it."""
    found: list[tuple[str, int]] = []
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop(0)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)):
            continue
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.append((node.name, node.lineno))
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append((node.id, node.lineno))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.append((node.name, node.lineno))
        stack = list(ast.iter_child_nodes(node)) + stack
    return found
