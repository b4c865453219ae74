"""Operators: comparison, arithmetic, boolean; operands dropped, swapped, negated, grouped otherwise. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from regreen.proposers.search.observed import numeric
from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.source import TextEdit
from regreen.proposers.search.templates.table import Template

_COMPARE: Mapping[str, Sequence[tuple[str, float]]] = {
    "<": (("<=", 1.0), (">", 0.6), (">=", 0.6)),
    "<=": (("<", 1.0), (">=", 0.6), (">", 0.6)),
    ">": ((">=", 1.0), ("<", 0.6), ("<=", 0.6)),
    ">=": ((">", 1.0), ("<=", 0.6), ("<", 0.6)),
    "==": (("!=", 0.8), (">=", 0.5), ("<=", 0.5), ("in", 0.3), ("is", 0.2)),
    "!=": (("==", 0.8), ("<", 0.3), (">", 0.3), ("not in", 0.3)),
    "is": (("is not", 1.0), ("==", 0.9)),
    "is not": (("is", 1.0), ("!=", 0.9)),
    "in": (("not in", 1.0), ("==", 0.5)),
    "not in": (("in", 1.0), ("!=", 0.4)),
}
_ARITHMETIC: Mapping[str, Sequence[tuple[str, float]]] = {
    "+": (("-", 1.0), ("*", 0.4), ("|", 0.2)),
    "-": (("+", 1.0), ("%", 0.2)),
    "*": (("/", 0.7), ("**", 0.5), ("+", 0.5), ("//", 0.4)),
    "/": (("//", 1.0), ("*", 0.7), ("%", 0.4)),
    "//": (("/", 1.0), ("%", 0.6), ("*", 0.4)),
    "%": (("//", 0.8), ("/", 0.3), ("*", 0.2)),
    "**": (("*", 1.0),),
    "&": (("|", 1.0), ("^", 0.6), ("-", 0.4)),
    "|": (("&", 1.0), ("^", 0.6), ("-", 0.4)),
    "^": (("|", 0.8), ("&", 0.8)),
    "<<": ((">>", 1.0),),
    ">>": (("<<", 1.0),),
}
_SYMBOLS: Mapping[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_TESTS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Add)


def between(site: Site, left: ast.AST, right: ast.AST, symbol: str, new: str) -> TextEdit | None:
    """Replace the operator that stands between two operands."""
    start, end = site.source.span(left)[1], site.source.span(right)[0]
    pattern = r"\s+".join(re.escape(word) for word in symbol.split())
    found = re.search(pattern, site.source.text[start:end])
    if found is None or "#" in site.source.text[start:end]:
        return None
    return TextEdit(start + found.start(), start + found.end(), new)


def _swapped_operator(site: Site, left: ast.AST, right: ast.AST, symbol: str, new: str, weight: float):
    edit = between(site, left, right, symbol, new)
    if edit is not None:
        yield Option((edit,), f"operator `{symbol}` -> `{new}`", weight)


def compare(site: Site) -> Iterator[Option]:
    if isinstance(site.node, ast.Compare) and site.reliable(site.node):
        operands = [site.node.left, *site.node.comparators]
        for op, left, right in zip(site.node.ops, operands, operands[1:], strict=False):
            symbol = _TESTS[type(op)]
            for new, weight in _COMPARE[symbol]:
                yield from _swapped_operator(site, left, right, symbol, new, weight)


def arithmetic(site: Site) -> Iterator[Option]:
    if isinstance(site.node, ast.BinOp) and site.reliable(site.node):
        symbol = _SYMBOLS.get(type(site.node.op), "")
        for new, weight in _ARITHMETIC.get(symbol, ()):
            yield from _swapped_operator(site, site.node.left, site.node.right, symbol, new, weight)


def boolean(site: Site) -> Iterator[Option]:
    if isinstance(site.node, ast.BoolOp) and site.reliable(site.node):
        old, new = ("and", "or") if isinstance(site.node.op, ast.And) else ("or", "and")
        for left, right in zip(site.node.values, site.node.values[1:], strict=False):
            yield from _swapped_operator(site, left, right, old, new, 1.0)


def assignment(site: Site) -> Iterator[Option]:
    """`=` for `+=` and back, and other augmented operators; a missing first value of a mapping counts as 0."""
    match site.stmt:
        case ast.AugAssign(target=target, op=op, value=value):
            symbol = _SYMBOLS.get(type(op), "")
            for new, weight in (*_ARITHMETIC.get(symbol, ()), ("", 0.5)):
                yield from _swapped_operator(site, target, value, f"{symbol}=", f"{new}=", weight)
        case ast.Assign(targets=[(ast.Name() | ast.Attribute() | ast.Subscript()) as target], value=value):
            for new, weight in (("+=", 1.0), ("-=", 0.5), ("|=", 0.2), ("*=", 0.2)):
                yield from _swapped_operator(site, target, value, "=", new, weight)
            if isinstance(target, ast.Subscript):
                key, owner = site.text(target.slice), site.text(target.value)
                yield site.replace(value, f"{owner}.get({key}, 0) + {site.operand(value)}", 1.0, tight=True)
        case _:
            pass


def drop_operand(site: Site) -> Iterator[Option]:
    node = site.node
    if node is None or not isinstance(node, (ast.BinOp, ast.BoolOp, ast.UnaryOp)) or not site.reliable(node):
        return
    if isinstance(node, ast.BinOp):
        small = isinstance(node.right, ast.Constant)
        yield site.replace(node, site.text(node.left), 1.0 if small else 0.6)
        yield site.replace(node, site.text(node.right), 0.5)
    elif isinstance(node, ast.UnaryOp):
        yield site.replace(node, site.text(node.operand), 1.0)
    else:
        word = " and " if isinstance(node.op, ast.And) else " or "
        for i in range(len(node.values)):
            left = [site.operand(v) for j, v in enumerate(node.values) if j != i]
            yield site.replace(node, word.join(left), 0.6)


def swap_operands(site: Site) -> Iterator[Option]:
    node = site.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ORDERED) and site.reliable(node):
        symbol = _SYMBOLS[type(node.op)]
        weight = 0.3 if isinstance(node.op, ast.Add) else 1.0
        yield site.replace(node, f"{site.operand(node.right)} {symbol} {site.operand(node.left)}", weight)
    if isinstance(node, ast.Tuple) and len(node.elts) == 2 and not isinstance(site.source.parents.get(node), ast.For):
        first, second = node.elts
        one, two = site.source.span(first), site.source.span(second)
        edits = (TextEdit(*one, site.text(second)), TextEdit(*two, site.text(first)))
        yield Option(edits, f"swap `{site.text(first)}` and `{site.text(second)}`", 1.0)
    if isinstance(node, ast.IfExp) and site.reliable(node):
        one, two = site.source.span(node.body), site.source.span(node.orelse)
        edits = (TextEdit(*one, site.text(node.orelse)), TextEdit(*two, site.text(node.body)))
        yield Option(edits, "swap the two branches", 0.8)


def regroup(site: Site) -> Iterator[Option]:
    """Parentheses around the leading part of a chain of operators that precedence grouped otherwise, and without."""
    node = site.node
    if not isinstance(node, (ast.BinOp, ast.BoolOp)) or not site.reliable(node):
        return
    parent = site.source.parents.get(node)
    if isinstance(parent, type(node)) and not _in_parentheses(site, node):
        return
    operands = _flat(site, node)
    for i in range(len(operands)):
        for j in range(i + 1, len(operands)):
            if j - i < len(operands) - 1:
                edits = (TextEdit(operands[i][0], operands[i][0], "("), TextEdit(operands[j][1], operands[j][1], ")"))
                text = site.source.text[operands[i][0] : operands[j][1]]
                yield Option(edits, f"group `({text})`", 1.0)
    for child in ast.walk(node):
        if child is not node and isinstance(child, (ast.BinOp, ast.BoolOp)) and _in_parentheses(site, child):
            start, end = site.source.span(child)
            text = site.source.text
            left, right = text.rindex("(", 0, start), text.index(")", end)
            yield Option((TextEdit(left, left + 1, ""), TextEdit(right, right + 1, "")), "remove parentheses", 0.5)


def _flat(site: Site, node: ast.AST) -> list[tuple[int, int]]:
    """The spans of the operands of a chain, in source order; what stands in parentheses is one operand."""
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    else:
        return [site.source.span(node)]
    spans: list[tuple[int, int]] = []
    for part in parts:
        spans += [site.source.span(part)] if not _in_parentheses(site, part) else [_outer(site, part)]
        if not _in_parentheses(site, part) and isinstance(part, (ast.BinOp, ast.BoolOp)):
            spans[-1:] = _flat(site, part)
    return spans


def _in_parentheses(site: Site, node: ast.AST) -> bool:
    start, end = site.source.span(node)
    text = site.source.text
    return text[:start].rstrip().endswith("(") and text[end:].lstrip().startswith(")")


def _outer(site: Site, node: ast.AST) -> tuple[int, int]:
    start, end = site.source.span(node)
    return site.source.text.rindex("(", 0, start), site.source.text.index(")", end) + 1


def sign(site: Site) -> Iterator[Option]:
    """`-x`, `1 / x`, `1 - x`: an expression of the wrong sign or direction."""
    node = site.node
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) or not site.reliable(node):
        return
    if not site.is_whole(node):
        return
    if not numeric(site.types(node)):
        return
    text = site.text(node)
    yield site.replace(node, f"-{text}", 1.0)
    yield site.replace(node, f"1 / {text}", 0.6)
    yield site.replace(node, f"1 - {text}", 0.4)


TABLE = (
    Template("comparison operator", 0.9, compare),
    Template("arithmetic operator", 0.7, arithmetic),
    Template("boolean operator", 0.8, boolean),
    Template("assignment operator", 0.5, assignment, of_statement=True),
    Template("dropped operand", 0.45, drop_operand),
    Template("swapped operands", 0.5, swap_operands),
    Template("grouping", 0.5, regroup),
    Template("sign or inverse", 0.3, sign),
)
