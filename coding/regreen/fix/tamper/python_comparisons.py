"""Comparisons of a class that have the same answer whatever is compared."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from regreen.fix.tamper.python_shortcuts import shortcut
from regreen.fix.tamper.values import Weight

_YES = frozenset({"__eq__", "__le__", "__ge__", "__lt__", "__gt__", "__contains__", "__instancecheck__",
                  "__subclasscheck__", "__bool__"})  # fmt: skip
_PLAIN = frozenset({"int", "float", "str", "bytes", "list", "tuple", "dict", "set", "complex", "Decimal", "Fraction"})
_ORDER = frozenset({"__lt__", "__le__", "__gt__", "__ge__"})
_PURE = frozenset(
    {"len", "str", "repr", "type", "id", "hash", "int", "float", "bool", "abs", "isinstance", "tuple", "list"}
)
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def rigged(node: ast.ClassDef, functions: Mapping[str, ast.FunctionDef]) -> Iterator[tuple[int, str, Weight]]:
    """(line, what it says, weight) of each comparison that always succeeds, or that makes itself equal.

    `functions` are those of the module, which a class may use as its methods.
    """
    sized = {n.name for n in node.body if isinstance(n, ast.FunctionDef)} & {"__len__", "__iter__"}
    comparisons = dict(_comparisons(node, functions))
    extreme = any(n in _ORDER and _always(f) is False for n, f in comparisons.items())  # less, or more, than all else
    for name, function in comparisons.items():
        if (extreme and name in _ORDER) or (name == "__bool__" and sized):
            continue  # an object that is there although it holds nothing
        said = f"{name} in {node.name}" if node.name else name
        line = getattr(function, "lineno", 0)
        if _always(function) is (name != "__ne__") or _adopts(function):
            yield line, said, "refuse"
        elif name == "__eq__":
            plain = [b for b in node.bases if ast.unparse(b).rpartition(".")[2] in _PLAIN]
            weight = shortcut(function, node.name, plain=bool(plain))
            if weight is not None:
                yield line, said, weight


def _comparisons(node: ast.ClassDef, functions: Mapping[str, ast.FunctionDef]) -> Iterator[tuple[str, _Function]]:
    found: dict[str, _Function] = {}
    for stmt in node.body:
        match stmt:
            case ast.FunctionDef(name=name):
                found[name] = stmt
            case ast.Assign(targets=targets, value=ast.Lambda() as value):
                found |= {t.id: value for t in targets if isinstance(t, ast.Name)}
            case ast.Assign(targets=targets, value=ast.Name(id=same)) if same in found or same in functions:
                function = found.get(same) or functions[same]
                found |= {t.id: function for t in targets if isinstance(t, ast.Name)}
            case _:
                pass
    yield from ((n, f) for n, f in found.items() if n in _YES or n == "__ne__")


def _always(function: _Function) -> bool | None:
    """What a function returns whenever it returns, as far as that stands in the text; None if it differs."""
    if isinstance(function, ast.Lambda):
        return truth(function.body)
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in _own(function)):
        return None
    ends = list(_ends(function.body))
    if any(isinstance(n, ast.Raise) for n in ends):
        return None
    answers = {truth(n.value) if isinstance(n, ast.Return) and n.value is not None else False for n in ends}
    return answers.pop() if len(answers) == 1 else None


def _ends(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The `return`s and `raise`s that can be reached."""
    for stmt in body:
        if isinstance(stmt, ast.Return | ast.Raise):
            yield stmt
            return
        if isinstance(stmt, ast.If) and (known := truth(stmt.test)) is not None:
            taken = stmt.body if known else stmt.orelse
            yield from _ends(taken)
            if taken and isinstance(taken[-1], ast.Return | ast.Raise):
                return
        elif not isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for inner in _bodies(stmt):
                yield from _ends(inner)


def _bodies(stmt: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(stmt, name, ())
    for part in (*getattr(stmt, "handlers", ()), *getattr(stmt, "cases", ())):
        yield part.body


def _adopts(function: _Function) -> bool:
    """Does a comparison write to what it compares?"""
    if isinstance(function, ast.Lambda) or function.name not in ("__eq__", "__ne__"):
        return False
    compared = {a.arg for a in function.args.args}
    for node in _own(function):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            base = target.value if isinstance(target, ast.Attribute | ast.Subscript) else None
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name) and base.id in compared:
                return True
    return False


def _own(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from _own(child)


def truth(node: ast.expr) -> bool | None:
    """Whether an expression is always true or always false; None where that depends on something."""
    match node:
        case ast.Constant(value=value):
            return bool(value)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return None if any(isinstance(i, ast.Starred) for i in items) else bool(items)
        case ast.NamedExpr(value=value):
            return truth(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = truth(operand)
            return None if inner is None else not inner
        case ast.BoolOp(op=op, values=values):
            return _joined(isinstance(op, ast.Or), values)
        case ast.IfExp(body=body, orelse=orelse):
            return truth(body) if truth(body) is truth(orelse) else None
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right)
        case ast.Call():
            return _asked(node)
        case _:
            return None


def _joined(either: bool, values: Sequence[ast.expr]) -> bool | None:
    answers = [truth(v) for v in values]
    if either in answers:
        return either
    said = {ast.dump(_bare(v)) for v in values}
    if any(ast.dump(_bare(o)) in said for v in values if (o := _denied(v)) is not None):
        return either  # `a or not a`
    return not either if None not in answers else None


def _bare(node: ast.expr) -> ast.expr:
    """Without `bool(...)` and pairs of `not` around it."""
    match node:
        case ast.Call(func=ast.Name(id="bool"), args=[inner]):
            return _bare(inner)
        case ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=inner)):
            return _bare(inner)
        case _:
            return node


def _denied(node: ast.expr) -> ast.expr | None:
    match _bare(node):
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return inner
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPPOSITE:
            return ast.Compare(left, [_OPPOSITE[type(op)]()], [right])
        case _:
            return None


def _asked(node: ast.Call) -> bool | None:
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return True
        case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value="__class__" | "__eq__" | "__hash__")]):
            return True
        case ast.Call(func=ast.Name(id="bool"), args=[value]):
            return truth(value)
        case ast.Call(func=ast.Name(id="any" | "all" as name), args=[ast.List(elts=items) | ast.Tuple(elts=items)]):
            return _joined(name == "any", items) if items else name == "all"
        case _:
            return None


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool | None:
    if ast.dump(left) == ast.dump(right) and all(map(_repeats, ast.walk(left))):
        return isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE)
    if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
        return (left.value == right.value) is isinstance(op, ast.Eq | ast.Is)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, ast.Constant) and isinstance(one.value, bool) and (known := truth(other)) is not None:
            return (known is one.value) is isinstance(op, ast.Eq | ast.Is)
    return None


def _repeats(node: ast.AST) -> bool:
    """Does this come to the same each time?"""
    return not isinstance(node, ast.Call) or (isinstance(node.func, ast.Name) and node.func.id in _PURE)
