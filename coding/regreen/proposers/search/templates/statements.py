"""Whole statements: exchanged, removed, moved, copied from nearby, or added because something is missing. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.source import FUNCTIONS, TextEdit
from regreen.proposers.search.templates.table import Template

_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Delete, ast.Assert, ast.Break,
           ast.Continue, ast.Pass)  # fmt: skip


_MAPPINGS = frozenset(("dict", "OrderedDict", "defaultdict"))
_UPDATES: Sequence[tuple[str, frozenset[str], float]] = (
    ("append({})", frozenset(("list", "deque")), 1.0), ("add({})", frozenset(("set",)), 1.0),
    ("move_to_end({})", frozenset(("OrderedDict",)), 1.0), ("pop({}, None)", _MAPPINGS, 0.4),
    ("discard({})", frozenset(("set",)), 0.5), ("remove({})", frozenset(("list",)), 0.3),
    ("clear()", _MAPPINGS | {"list", "set", "deque"}, 0.3), ("popleft()", frozenset(("deque",)), 0.3),
)  # fmt: skip


def _in_loop(site: Site) -> bool:
    up = site.source.inside(site.stmt, (ast.For, ast.While, ast.AsyncFor, *FUNCTIONS))
    return isinstance(up, (ast.For, ast.While, ast.AsyncFor))


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def exchange(site: Site) -> Iterator[Option]:
    """`break`, `continue`, `return`, `pass` and short statements for one another."""
    stmt = site.stmt
    if not isinstance(stmt, _SIMPLE) or _is_docstring(stmt) or site.function is None:
        return
    jump = isinstance(stmt, (ast.Break, ast.Continue, ast.Pass))
    weight = 1.0 if jump else 0.3
    for new in ("continue", "break") if _in_loop(site) else ():
        yield site.replace(stmt, new, weight, tight=True)
    yield site.replace(stmt, "return", weight * 0.8, tight=True)
    if jump:
        yield site.replace(stmt, "pass", 0.5, tight=True)


def returned(site: Site) -> Iterator[Option]:
    """Another returned value."""
    match site.stmt:
        case ast.Return(value=ast.expr() as value):
            text = site.operand(value)
            options = [(f"not {text}", 0.8), ("None", 0.5), ("True", 0.5), ("False", 0.5), ("[]", 0.2), ('""', 0.2),
                       ("{}", 0.15), ("0", 0.3), ("1", 0.2)]  # fmt: skip
            for new, weight in options:
                yield site.replace(value, new, weight, tight=True)
            names = site.scope.names_at(site.source, value)
            for a in names:
                for b in names:
                    if a != b and "self" not in (a, b) and isinstance(value, ast.Name):
                        yield site.replace(value, f"{a}, {b}", 0.1, tight=True)
        case _:
            pass


def missing_return(site: Site) -> Iterator[Option]:
    """A value that was computed and not handed back."""
    function = site.function
    if function is None or site.stmt is not function.body[-1] or isinstance(site.stmt, (ast.Return, ast.Raise)):
        return
    if isinstance(site.stmt, ast.Expr) and not _is_docstring(site.stmt):
        start = site.source.span(site.stmt)[0]
        yield Option((TextEdit(start, start, "return "),), "return the value", 1.0)
    for name, _ in reversed(site.scope.locals):
        yield site.insert_after(site.stmt, f"return {name}", 1.0)
    yield site.insert_after(site.stmt, "return self", 0.3)


def delete(site: Site) -> Iterator[Option]:
    stmt = site.stmt
    if isinstance(stmt, _SIMPLE) and not _is_docstring(stmt) and not isinstance(stmt, ast.Pass):
        if len(site.source.block_of(stmt)) > 1:
            start = site.source.starts[stmt.lineno - 1]
            end = site.source.starts[stmt.end_lineno or stmt.lineno]
            yield Option((TextEdit(start, end, ""),), f"delete `{' '.join(site.text(stmt).split())[:60]}`", 1.0)
        else:
            yield site.replace(stmt, "pass", 0.8, tight=True)


def move(site: Site) -> Iterator[Option]:
    """Swapped with the next statement; out of the loop or condition; into the block above."""
    stmt, block = site.stmt, site.source.block_of(site.stmt)
    if not block or isinstance(stmt, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return
    place = block.index(stmt)
    source = site.source
    start, end = source.starts[stmt.lineno - 1], source.starts[stmt.end_lineno or stmt.lineno]
    own = source.text[start:end]
    own = own if own.endswith("\n") else own + "\n"
    if place + 1 < len(block) and not isinstance(block[place + 1], (*FUNCTIONS, ast.ClassDef)):
        after = block[place + 1]
        stop = min(source.starts[after.end_lineno or after.lineno], len(source.text))
        tail = source.text[source.starts[after.lineno - 1] : stop]
        gap = source.text[end : source.starts[after.lineno - 1]]
        text = (tail if tail.endswith("\n") else tail + "\n") + gap + own
        yield Option((TextEdit(start, stop, text),), "swap with the next statement", 0.8)
    parent = source.parents.get(stmt)
    if place == len(block) - 1 and place > 0 and isinstance(parent, (ast.For, ast.While, ast.If, ast.With)):
        width = len(source.indent(stmt)) - len(source.indent(parent))
        out = "".join(line[width:] if line.strip() else line for line in own.splitlines(keepends=True))
        if stmt.end_lineno == parent.end_lineno:
            yield Option((TextEdit(start, min(end, len(source.text)), out),), "move out of the block above it", 1.0)
    if place > 0 and isinstance(block[place - 1], (ast.For, ast.While, ast.If, ast.With)):
        above = block[place - 1]
        inner = getattr(above, "orelse", None) or getattr(above, "body")  # noqa: B009
        extra = " " * (len(source.indent(inner[-1])) - len(source.indent(stmt)))
        into = "".join(extra + line if line.strip() else line for line in own.splitlines(keepends=True))
        yield Option((TextEdit(start, min(end, len(source.text)), into),), "move into the block above it", 0.6)


def copy_statement(site: Site) -> Iterator[Option]:
    """A simple statement of this function, class or file that is missing here too."""
    stmt = site.stmt
    function = site.function
    if function is None:
        return
    names = {*site.scope.names_at(site.source, stmt), *site.scope.module}
    names |= {n for n, line in site.scope.locals if line <= (stmt.end_lineno or stmt.lineno)}
    for text, weight in _ingredients(site, names):
        if isinstance(stmt, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            yield site.insert_before(stmt, text, weight)
        elif isinstance(stmt, _SIMPLE):
            yield site.insert_after(stmt, text, weight)
        elif isinstance(stmt, (ast.For, ast.While, ast.If, ast.With)):
            yield site.insert_before(stmt, text, weight * 0.5)
            first = stmt.body[0]
            if first.lineno > stmt.lineno:
                yield site.insert_before(first, text, weight * 0.7)


def _ingredients(site: Site, names: set[str]) -> list[tuple[str, float]]:
    """Simple statements that only use names known here: of the function, then its class, then the file."""
    found: dict[str, float] = {}
    roots: list[tuple[ast.AST | None, float]] = [(site.function, 1.0), (site.source.class_of(site.stmt), 0.8)]
    for root, weight in [*roots, (site.source.tree, 0.5)]:
        for node in ast.walk(root) if root is not None else ():
            if isinstance(node, (ast.Expr, ast.AugAssign, ast.Assign)) and site.source.function_of(node) is not None:
                text = site.text(node)
                if node is site.stmt or _is_docstring(node) or len(text) > 80 or "\n" in text:
                    continue
                used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
                if used <= names | {"len", "int", "str", "list", "dict", "set", "sorted", "max", "min"}:
                    found.setdefault(text, weight * (0.6 if isinstance(node, ast.Assign) else 1.0))
    return list(found.items())


def sibling_statement(site: Site) -> Iterator[Option]:
    """A copy of the statement with one attribute renamed: the bookkeeping that was forgotten beside another."""
    stmt = site.stmt
    if not isinstance(stmt, (ast.Assign, ast.AugAssign, ast.Expr)) or _is_docstring(stmt) or site.function is None:
        return
    text = site.text(stmt)
    start = site.source.span(stmt)[0]
    for node in ast.walk(stmt):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and "\n" not in text:
            names: set[str] = set()
            for members in site.words.members.values():
                names |= set(members) if node.attr in members else set()
            end = site.source.span(node)[1] - start
            for name in sorted(names - {node.attr}):
                copy = text[: end - len(node.attr)] + name + text[end:]
                yield site.insert_after(stmt, copy, 1.0)


def set_attribute(site: Site) -> Iterator[Option]:
    """`self.attribute = name` that was forgotten."""
    cls, function = site.source.class_of(site.stmt), site.function
    if cls is None or function is None or not isinstance(site.stmt, (ast.Assign, ast.AugAssign, ast.Expr)):
        return
    names = [n for n in site.scope.names_at(site.source, site.stmt) if n != "self"]
    written = {
        n.attr
        for n in ast.walk(function)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
    }  # fmt: skip
    for attr in site.words.members.get(cls.name, ()):
        if attr not in written:
            for name in names:
                yield site.insert_after(site.stmt, f"self.{attr} = {name}", 1.0)
            for value, weight in (("None", 0.4), ("[]", 0.3), ("{}", 0.3), ("0", 0.3), ("True", 0.3), ("False", 0.3)):
                yield site.insert_after(site.stmt, f"self.{attr} = {value}", weight)


def update(site: Site) -> Iterator[Option]:
    """A collection at hand that should have been told of a value: appended to, added to, forgotten, reordered."""
    if site.function is None or not isinstance(site.stmt, (*_SIMPLE, ast.For, ast.If)):
        return
    names = [n for n in site.scope.names_at(site.source, site.stmt) if n != "self"]
    cls = site.source.class_of(site.stmt)
    members = [f"self.{m}" for m in site.words.members.get(cls.name, ())] if cls is not None else []
    for owner in [*names, *members]:
        for call, kinds, weight in _UPDATES:
            if site.types_of(owner) & kinds:
                for name in names if "{}" in call else [""]:
                    if name != owner:
                        yield from _around(site, f"{owner}.{call.format(name)}", weight)


def _around(site: Site, text: str, weight: float) -> Iterator[Option]:
    """A new statement below this one or, where control leaves here, above it."""
    if isinstance(site.stmt, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
        yield site.insert_before(site.stmt, text, weight)
    else:
        yield site.insert_after(site.stmt, text, weight)


def call_method(site: Site) -> Iterator[Option]:
    """A call without arguments of a method of the object at hand, or of one that a local name holds."""
    if site.function is None or not isinstance(site.stmt, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)):
        return
    cls = site.source.class_of(site.stmt)
    owners = {"self": {cls.name}} if cls is not None else {}
    owners |= {n: set(site.types_of(n)) for n in site.scope.names_at(site.source, site.stmt) if n != "self"}
    for owner, classes in owners.items():
        for name in [m for c in sorted(classes) for m in site.words.methods.get(c, ())]:
            function = site.words.functions.get(name)
            if function is not None and len(function.args.args) == 1 and name != site.function.name:
                yield from _around(site, f"{owner}.{name}()", 1.0 if not name.startswith("_") else 0.7)


def mutable_default(site: Site) -> Iterator[Option]:
    """A default list, dict or set that all calls share: made anew in the body."""
    function = site.function
    if function is None or site.stmt is not _first(function.body):
        return
    args = function.args
    for arg, default in zip([*args.posonlyargs, *args.args][::-1], args.defaults[::-1], strict=False):
        if isinstance(default, (ast.List, ast.Dict, ast.Set, ast.Call)):
            body = f"if {arg.arg} is None:\n{_step(site)}{arg.arg} = {site.text(default)}"
            insert = site.insert_before(site.stmt, body)
            edits = (TextEdit(*site.source.span(default), "None"), *insert.edits)
            yield Option(edits, f"`{arg.arg}={site.text(default)}` made anew at each call", 1.0)


def _first(body: list[ast.stmt]) -> ast.stmt:
    return body[1] if len(body) > 1 and _is_docstring(body[0]) else body[0]


def _step(site: Site) -> str:
    """The file's unit of indentation."""
    found = re.search(r"^([ \t]+)\S", site.source.text, re.MULTILINE)
    return found[1] if found else "    "


TABLE = (
    Template("exchanged statement", 0.6, exchange, of_statement=True),
    Template("returned value", 0.35, returned, of_statement=True),
    Template("missing return", 0.7, missing_return, of_statement=True),
    Template("mutable default", 1.0, mutable_default, of_statement=True),
    Template("sibling statement", 0.35, sibling_statement, of_statement=True),
    Template("copied statement", 0.5, copy_statement, of_statement=True),
    Template("attribute not set", 0.3, set_attribute, of_statement=True),
    Template("collection not updated", 0.35, update, of_statement=True),
    Template("method not called", 0.35, call_method, of_statement=True),
    Template("moved statement", 0.35, move, of_statement=True),
    Template("deleted statement", 0.12, delete, of_statement=True),
)
