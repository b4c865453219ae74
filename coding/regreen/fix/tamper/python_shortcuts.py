"""`__eq__` that does not compare what the two objects hold, although it may say no now and then."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from regreen.fix.tamper.values import Weight

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_NEAR = frozenset({"isclose", "approx", "allclose"})


def shortcut(function: _Function, owner: str, *, plain: bool) -> Weight | None:
    """How much an `__eq__` of the class `owner` leaves out. `plain`: its objects are numbers, texts or the like."""
    arguments = [a.arg for a in function.args.args]
    if len(arguments) < 2:
        return None
    own, other = arguments[:2]
    ends = list(_answers(function))
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    if not ends or any(isinstance(n, ast.Raise) for n in ast.walk(function)):
        return None
    if own not in used and "super" not in used:  # the answer does not depend on the object at all
        return "refuse" if plain or (owner not in used | {"__class__"}) else "warn"
    own_names = _derived(function, own) | {"super", owner}
    if any(_says_yes(test, own_names) for test in _yes_branches(function)) or _forgives(function):
        return "refuse"
    return "refuse" if plain and (_near(ends) or _takes_other(function, own, other)) else None


def _answers(function: _Function) -> Iterator[ast.expr]:
    if isinstance(function, ast.Lambda):
        yield function.body
        return
    yield from (n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None)


def _derived(function: _Function, own: str) -> set[str]:
    """The object and what is made from it."""
    known = {own}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and known & {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}:
            known |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return known


def _is_yes(body: Sequence[ast.stmt]) -> bool:
    last = body[-1] if body else None
    return isinstance(last, ast.Return) and isinstance(last.value, ast.Constant) and last.value.value is True


def _yes_branches(function: _Function) -> Iterator[ast.expr]:
    """Conditions under which the answer is yes without a look at anything else, outside of other conditions."""
    body = [] if isinstance(function, ast.Lambda) else function.body
    for node in body:
        if isinstance(node, ast.If) and _is_yes(node.body):
            yield node.test
    for answer in _answers(function):
        if isinstance(answer, ast.IfExp) and isinstance(answer.body, ast.Constant) and answer.body.value is True:
            yield answer.test
        elif isinstance(answer, ast.BoolOp) and isinstance(answer.op, ast.Or):
            yield from (v for v in answer.values if not isinstance(v, ast.Constant))


def _says_yes(test: ast.expr, own: set[str]) -> bool:
    names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
    return not names & own


def _forgives(function: _Function) -> bool:
    """Is the answer yes where comparing failed?"""
    return any(isinstance(n, ast.ExceptHandler) and _is_yes(n.body) for n in ast.walk(function))


def _near(ends: Sequence[ast.expr]) -> bool:
    """Are other numbers equal, too, that are near enough?"""
    for node in (n for end in ends for n in ast.walk(end)):
        if isinstance(node, ast.Compare) and any(isinstance(o, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for o in node.ops):
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _NEAR:
            return True
    return False


def _takes_other(function: _Function, own: str, other: str) -> bool:
    """Does one name stand for either object?"""
    for node in ast.walk(function):
        if isinstance(node, ast.IfExp | ast.BoolOp):
            choices = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
            said = [{n.id for n in ast.walk(c) if isinstance(n, ast.Name)} for c in choices]
            bare = any(isinstance(c, ast.Name) and c.id == other for c in choices)
            if bare and any(own in s for s in said):
                return True
    return False
