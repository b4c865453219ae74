"""Comparisons of a class that have the same answer whatever is compared."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from regreen.fix.tamper.values import Weight

_YES = frozenset({"__eq__", "__le__", "__ge__", "__lt__", "__gt__", "__contains__", "__instancecheck__",
                  "__subclasscheck__", "__bool__"})  # fmt: skip
_PLAIN = frozenset({"int", "float", "str", "bytes", "list", "tuple", "dict", "set", "complex", "Decimal", "Fraction"})
_ORDER = frozenset({"__lt__", "__le__", "__gt__", "__ge__"})
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
        elif name == "__eq__" and _without_self(function):
            yield line, said, "refuse" if any(ast.unparse(b) in _PLAIN for b in node.bases) else "warn"


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


def _without_self(function: _Function) -> bool:
    """Does the answer not depend on the object at all?"""
    arguments = function.args.args
    if not arguments or isinstance(function, ast.Lambda):
        return False
    own = arguments[0].arg
    ends = list(_ends(function.body))
    names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    return bool(ends) and own not in names and "super" not in names and not any(isinstance(n, ast.Raise) for n in ends)


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
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = truth(operand)
            return None if inner is None else not inner
        case ast.BoolOp(op=op, values=values):
            wins = isinstance(op, ast.Or)
            answers = [truth(v) for v in values]
            return wins if wins in answers else (not wins if None not in answers else None)
        case ast.IfExp(body=body, orelse=orelse):
            return truth(body) if truth(body) is truth(orelse) else None
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return True
        case ast.Call(func=ast.Name(id="bool"), args=[value]):
            return truth(value)
        case _:
            return None


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool | None:
    if ast.dump(left) == ast.dump(right) and not any(isinstance(n, ast.Call) for n in ast.walk(left)):
        return isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE)
    if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
        return (left.value == right.value) is isinstance(op, ast.Eq | ast.Is)
    return None
