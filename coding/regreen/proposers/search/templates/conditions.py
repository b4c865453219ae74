"""Conditions: negated, always true, widened or narrowed by one more term, truth against None. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.source import TextEdit
from regreen.proposers.search.templates.table import Template


def _is_condition(site: Site, node: ast.AST) -> bool:
    parent = site.source.parents.get(node)
    if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return parent.test is node
    if isinstance(parent, ast.comprehension):
        return node in parent.ifs
    if isinstance(parent, ast.BoolOp):
        return True
    return isinstance(parent, (ast.Return, ast.UnaryOp)) and isinstance(node, (ast.Compare, ast.BoolOp, ast.Call))


def negate(site: Site) -> Iterator[Option]:
    node = site.node
    if node is None or not _is_condition(site, node) or not site.reliable(node):
        return
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return  # dropping the operator is another template's
    if not isinstance(node, ast.Compare) or len(node.ops) > 1:
        yield site.replace(node, f"not {site.operand(node)}")


def constant_condition(site: Site) -> Iterator[Option]:
    parent = site.source.parents.get(site.node) if site.node else None
    if isinstance(parent, (ast.If, ast.IfExp, ast.While)) and parent.test is site.node and site.node is not None:
        yield site.replace(site.node, "False", 0.6, tight=True)
        if not isinstance(parent, ast.While):
            yield site.replace(site.node, "True", 1.0, tight=True)


def terms(site: Site, node: ast.AST) -> list[tuple[str, float]]:
    """Short boolean expressions over the names in scope and the attributes used on them."""
    found: list[tuple[str, float]] = []
    for name in site.scope.names_at(site.source, node):
        if name != "self":
            found += [(name, 1.0), (f"not {name}", 0.7), (f"{name} is not None", 0.6), (f"{name} is None", 0.5)]
            found += [(f"{name} > 0", 0.3), (f"{name} == 0", 0.2)]
        for attr in sorted(site.words.attributes.get(name, ())):
            found += [(f"{name}.{attr}", 0.5), (f"not {name}.{attr}", 0.5), (f"{name}.{attr} is not None", 0.3)]
    return found


def extra_term(site: Site) -> Iterator[Option]:
    """`name and cond`, `cond or name`, ..."""
    node = site.node
    if node is None or not _is_condition(site, node) or isinstance(site.source.parents.get(node), ast.BoolOp):
        return
    if not site.reliable(node):
        return
    text = site.text(node) if isinstance(node, (ast.Compare, ast.UnaryOp)) else site.operand(node)
    used = site.text(node)
    for term, weight in terms(site, node):
        if term != used:
            yield site.replace(node, f"{term} and {text}", weight)
            yield site.replace(node, f"{term} or {text}", weight * 0.5)


def comprehension_filter(site: Site) -> Iterator[Option]:
    """A filter where a comprehension has none."""
    node = site.node
    if not isinstance(node, ast.comprehension) or node.ifs or site.source.inside(node, ast.JoinedStr):
        return
    at = site.source.span(node.iter)[1]
    names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
    for name in names:
        tests = [(name, 1.0), (f"{name}.strip()", 0.6), (f"{name} is not None", 0.8), (f"not {name}", 0.3)]
        tests += [(f"{name} > 0", 0.4), (f"{name} != 0", 0.2)]
        for attr in sorted(site.words.attributes.get(name, ())):
            tests += [(f"{name}.{attr}", 0.5), (f"not {name}.{attr}", 0.5), (f"{name}.{attr} is not None", 0.4)]
        for other in site.scope.names_at(site.source, node):
            if other not in names and other != "self":
                tests += [(f"{name} != {other}", 0.3), (f"{name} in {other}", 0.2), (f"{name} not in {other}", 0.2)]
                tests += [(f"{name} {op} {other}", 0.2) for op in ("<", "<=", ">", ">=", "==")]
        for test, weight in tests:
            yield Option((TextEdit(at, at, f" if {test}"),), f"only `if {test}`", weight)


def drop_filter(site: Site) -> Iterator[Option]:
    node = site.node
    if isinstance(node, ast.comprehension) and node.ifs and not site.source.inside(node, ast.JoinedStr):
        start, end = site.source.span(node.iter)[1], site.source.span(node.ifs[-1])[1]
        if site.source.text[start:end].count("(") == site.source.text[start:end].count(")"):
            yield Option((TextEdit(start, end, ""),), "remove the filter", 1.0)


def none_or_falsy(site: Site) -> Iterator[Option]:
    """A falsy value taken for a missing one, and the other way round."""
    node = site.node
    if node is None or not isinstance(node, ast.expr) or not site.reliable(node):
        return
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
        first, second = site.operand(node.values[0]), site.operand(node.values[1])
        yield site.replace(node, f"{first} if {first} is not None else {second}", 1.0)
    if not _is_condition(site, node):
        return
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=(ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call()) as inner):
            yield site.replace(node, f"{site.text(inner)} is None", 1.0)
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
            yield site.replace(node, f"{site.text(node)} is not None", 0.9)
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            yield site.replace(node, f"not {site.operand(left)}", 0.5)
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            yield site.replace(node, site.text(left), 0.5)
        case _:
            pass


def any_or_all(site: Site) -> Iterator[Option]:
    """A condition of a comprehension's only result, and `and`-ed pairs of comparisons chained the wrong way."""
    node = site.node
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and site.reliable(node):
        left, right = site.source.span(node.left), site.source.span(node.comparators[0])
        if isinstance(node.ops[0], (ast.In, ast.NotIn, ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            edits = (TextEdit(*left, site.text(node.comparators[0])), TextEdit(*right, site.text(node.left)))
            yield Option(edits, "swap the two sides", 1.0)


TABLE = (
    Template("negated condition", 0.7, negate),
    Template("none or falsy", 0.55, none_or_falsy),
    Template("swapped comparison", 0.4, any_or_all),
    Template("missing filter", 0.35, comprehension_filter),
    Template("extra filter", 0.2, drop_filter),
    Template("missing condition", 0.4, extra_term),
    Template("constant condition", 0.08, constant_condition),
)
