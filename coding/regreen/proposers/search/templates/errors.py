"""Edits that an exception of the failing tests asks for: the missing name, key, import, argument, handler. Pure."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterator

from regreen.proposers.search.facts import Raised
from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.source import TextEdit
from regreen.proposers.search.templates.table import Template
from regreen.proposers.search.vocabulary import BUILTINS, callee_name, import_texts


def _raised(site: Site, *types: str) -> list[Raised]:
    found = site.facts.raised_in(site.source.path, site.source.own_lines(site.stmt))
    return [r for r in found if r.type in types or set(types) & set(r.bases)]


def _import_place(site: Site) -> int:
    """Offset below the docstring and the `__future__` imports, above the other imports."""
    at = 0
    for stmt in site.source.tree.body:
        docstring = isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
        future = isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__"
        if not docstring and not future:
            return site.source.starts[stmt.lineno - 1] if isinstance(stmt, (ast.Import, ast.ImportFrom)) else at
        at = site.source.starts[stmt.end_lineno or stmt.lineno]
    return at


def missing_name(site: Site) -> Iterator[Option]:
    """NameError: import it as the project does elsewhere, or the name that was meant."""
    for error in _raised(site, "NameError"):
        quoted = re.search(r"'(\w+)'", error.message)
        name = error.name or (quoted[1] if quoted else "")
        for text, weight in _imports_of(site, name):
            at = _import_place(site)
            yield Option((TextEdit(at, at, f"{text}\n"),), f"`{text}`", weight)
        known = {*site.scope.names_at(site.source, site.stmt), *site.scope.module, *BUILTINS}
        known |= {n for n, _ in site.scope.locals}
        for node in site.source.own_nodes(site.stmt):
            if isinstance(node, ast.Name) and node.id == name and site.reliable(node):
                for near in difflib.get_close_matches(name, sorted(known), 5, 0.6):
                    yield site.replace(node, near, 1.0, tight=True)
                yield site.replace(node, f"self.{name}", 0.5, tight=True)


def _imports_of(site: Site, name: str) -> Iterator[tuple[str, float]]:
    if not name:
        return
    if name in site.words.imports:
        yield site.words.imports[name], 1.0
    if name in sys.stdlib_module_names:
        yield f"import {name}", 1.0
    for module in ("collections", "datetime", "decimal", "functools", "itertools", "dataclasses", "pathlib", "typing"):
        if name in _names_of(module):
            yield f"from {module} import {name}", 0.9
    for path in site.words.defined.get(name, ()):
        module = path.removesuffix(".py").removesuffix("/__init__").removeprefix("src/").replace("/", ".")
        yield f"from {module} import {name}", 0.9
        if "/" in site.source.path and path.rpartition("/")[0] == site.source.path.rpartition("/")[0]:
            yield f"from .{module.rpartition('.')[2]} import {name}", 0.8


def _names_of(module: str) -> frozenset[str]:
    import importlib

    return frozenset(n for n in vars(importlib.import_module(module)) if not n.startswith("_"))


def missing_attribute(site: Site) -> Iterator[Option]:
    """AttributeError: the attribute that the object has instead."""
    for error in _raised(site, "AttributeError"):
        quoted = re.findall(r"'(\w+)'", error.message)
        name = error.name or (quoted[-1] if quoted else "")
        for node in site.source.own_nodes(site.stmt):
            if not isinstance(node, ast.Attribute) or node.attr != name or not site.text(node).endswith(name):
                continue
            end = site.source.span(node)[1]
            for near in difflib.get_close_matches(name, error.names, 6, 0.5):
                yield Option((TextEdit(end - len(name), end, near),), f"`.{name}` -> `.{near}`", 1.0)
            if "NoneType" in error.message and site.reliable(node):
                owner = site.text(node.value)
                whole = _value_of(site, node)
                yield site.replace(whole, f"{site.text(whole)} if {owner} is not None else None", 0.5)


def _value_of(site: Site, node: ast.expr) -> ast.expr:
    """The largest expression above `node` that is only calls and attributes of it."""
    up = site.source.parents.get(node)
    while isinstance(up, (ast.Call, ast.Attribute, ast.Subscript)):
        node, up = up, site.source.parents.get(up)
    return node


def missing_key(site: Site) -> Iterator[Option]:
    """KeyError: the key that was meant, or a value for when it is missing."""
    for error in _raised(site, "KeyError"):
        for node in site.source.own_nodes(site.stmt):
            if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice) or not site.reliable(node):
                continue
            owner, key = site.receiver(node.value), site.text(node.slice)
            if isinstance(node.ctx, ast.Load):
                for text in (f"{owner}.get({key})", f"{owner}.get({key}, 0)", f"{owner}.get({key}, [])",
                             f'{owner}.get({key}, "")', f"{owner}.get({key}, {{}})"):  # fmt: skip
                    yield site.replace(node, text, 0.8)
                for empty in ("[]", "{}", "set()", "0"):
                    yield site.replace(node, f"{owner}.setdefault({key}, {empty})", 0.5)
            if isinstance(node.slice, ast.Constant) and repr(node.slice.value) == error.key:
                words = [n.value for n in ast.walk(site.source.tree)
                         if isinstance(n, ast.Constant) and isinstance(n.value, str)]  # fmt: skip
                if isinstance(node.slice.value, str):
                    for near in difflib.get_close_matches(node.slice.value, sorted(set(words)), 4, 0.5):
                        yield site.replace(node.slice, repr(near), 1.0)


def wrong_call(site: Site) -> Iterator[Option]:
    """TypeError about arguments: the keyword that exists; a number joined to a text without `str`."""
    for error in _raised(site, "TypeError"):
        keyword = re.search(r"unexpected keyword argument '(\w+)'", error.message)
        joined = "must be str, not" in error.message or 'can only concatenate str (not "' in error.message
        for node in site.source.own_nodes(site.stmt):
            if isinstance(node, ast.keyword) and keyword and node.arg == keyword[1]:
                yield from _known_keywords(site, node, keyword[1])
            part = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) and site.reliable(node)
            if joined and part and isinstance(site.source.parents.get(node), ast.BinOp):
                yield site.replace(node, f"str({site.text(node)})", 1.0, tight=True)


def raised_text(site: Site) -> Iterator[Option]:
    """A text that is raised: the exception around it is missing."""
    match site.stmt:
        case ast.Raise(exc=ast.Constant(value=str()) | ast.JoinedStr() as text):
            own = [n for n in site.scope.module if n.endswith(("Error", "Exception", "Problem", "Failure", "Fault"))]
            for name in (*own, "ValueError", "TypeError", "KeyError", "RuntimeError", "LookupError"):
                yield site.replace(text, f"{name}({site.text(text)})", 1.0, tight=True)
        case _:
            pass


def _known_keywords(site: Site, node: ast.keyword, old: str) -> Iterator[Option]:
    call = site.source.parents.get(node)
    function = site.words.functions.get(callee_name(call)) if isinstance(call, ast.Call) else None
    start = site.source.span(node)[0]
    for arg in (*function.args.args, *function.args.kwonlyargs) if function else ():
        edit = TextEdit(start, start + len(old), arg.arg)
        yield Option((edit,), f"keyword `{old}` -> `{arg.arg}`", 1.0)


def wrong_import(site: Site) -> Iterator[Option]:
    """ImportError: the name or module that exists."""
    if not isinstance(site.stmt, (ast.Import, ast.ImportFrom)) or not _raised(site, "ImportError"):
        return
    start, end = site.source.span(site.stmt)
    for name, text in import_texts(site.stmt):
        for path in site.words.defined.get(name, ()):
            module = path.removesuffix(".py").removesuffix("/__init__").removeprefix("src/").replace("/", ".")
            yield Option((TextEdit(start, end, f"from {module} import {name}"),), f"import from `{module}`", 1.0)
        for near in difflib.get_close_matches(name, sorted(site.words.defined), 4, 0.6):
            yield Option((TextEdit(start, end, f"{text[: -len(name)]}{near} as {name}"),), f"import `{near}`", 0.8)


def handler(site: Site) -> Iterator[Option]:
    """An exception that the handler below the raising statement does not cover."""
    stmt = site.stmt
    block = site.source.inside(stmt, ast.Try)
    if not isinstance(block, ast.Try) or stmt not in list(_all(block.body)):
        return
    for h in block.handlers:
        if h.type is None:
            continue
        old = site.text(h.type)
        inner = old.strip("()")
        span = site.source.span(h.type)
        for error in _raised(site, "Exception"):
            for name in [n for n in error.bases if n not in ("BaseException", inner)]:
                if name in BUILTINS or name in site.scope.module or name in site.words.imports:
                    weight = 1.0 if name != "Exception" else 0.5
                    yield Option((TextEdit(*span, f"({inner}, {name})"),), f"also catch `{name}`", weight)
                    yield Option((TextEdit(*span, name),), f"catch `{name}` instead", weight * 0.6)


def _all(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for stmt in body:
        yield from ast.walk(stmt)


def unbound(site: Site) -> Iterator[Option]:
    """UnboundLocalError: a first value at the top of the function."""
    function = site.function
    for error in _raised(site, "UnboundLocalError"):
        quoted = re.search(r"'(\w+)'", error.message)
        if function is None or not quoted:
            continue
        for value in ("None", "0", "[]", "{}", '""'):
            yield site.insert_before(function.body[0], f"{quoted[1]} = {value}", 0.8)


def exhausted(site: Site) -> Iterator[Option]:
    """StopIteration, ValueError of an empty `max` or a failed unpacking: the default that the function takes."""
    for _error in _raised(site, "StopIteration", "ValueError"):
        for node in site.source.own_nodes(site.stmt):
            if (
                isinstance(node, ast.Call)
                and site.reliable(node)
                and callee_name(node) == "next"
                and len(node.args) == 1
            ):
                inner = site.text(node.args[0])
                inner = inner if inner.startswith("(") or isinstance(node.args[0], ast.Name) else f"({inner})"
                yield site.replace(node, f"next({inner}, None)", 1.0)


TABLE = (
    Template("missing name", 1.0, missing_name, of_statement=True),
    Template("missing attribute", 1.0, missing_attribute, of_statement=True),
    Template("missing key", 0.7, missing_key, of_statement=True),
    Template("wrong call", 0.9, wrong_call, of_statement=True),
    Template("raised text", 0.9, raised_text, of_statement=True),
    Template("wrong import", 1.0, wrong_import, of_statement=True),
    Template("exception handler", 0.95, handler, of_statement=True),
    Template("unbound variable", 0.7, unbound, of_statement=True),
    Template("exhausted iterator", 0.8, exhausted, of_statement=True),
)
