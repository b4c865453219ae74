"""Indices, slices, ranges and everything else that can be off by one. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from regreen.proposers.search.observed import numeric
from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.source import TextEdit
from regreen.proposers.search.templates.table import Template
from regreen.proposers.search.vocabulary import callee_name

_COUNTING = frozenset(("len", "int", "round", "index", "find", "rfind", "rindex", "count", "sum", "max", "min", "start",
                       "end", "bisect", "bisect_left", "bisect_right", "ceil", "floor", "abs"))  # fmt: skip
_LENGTH_STEPS = {1: 1.0, 2: 0.8, 3: 0.8, 4: 0.6, 5: 0.6, 6: 0.5}
_NUMBERS = (ast.Sub, ast.Add, ast.FloorDiv, ast.Mult, ast.Div, ast.Mod)


def _counting_place(site: Site, node: ast.expr) -> float:
    """How much a place looks as if it held a count or position."""
    parent = site.source.parents.get(node)
    match parent:
        case ast.Slice():
            return 1.0
        case ast.Subscript(slice=index) if index is node:
            return 0.6 if isinstance(node, (ast.Name, ast.BinOp, ast.Call)) else 0.0
        case ast.Call() if callee_name(parent) in ("range", "islice", "randint", "randrange", "linspace"):
            return 1.0
        case ast.Compare() if any(isinstance(o, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for o in parent.ops):
            return 0.5
        case _:
            return _counting_value(node, parent)


def _counting_value(node: ast.expr, parent: ast.AST | None) -> float:
    if isinstance(node, ast.Call) and callee_name(node) in _COUNTING:
        return 0.7
    if isinstance(node, ast.BinOp) and isinstance(node.op, _NUMBERS):
        return 0.5 if not isinstance(parent, ast.BinOp) else 0.15
    if isinstance(parent, (ast.Assign, ast.Return, ast.AugAssign, ast.keyword, ast.Call, ast.IfExp, ast.BinOp)):
        return 0.4 if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else 0.0
    return 0.0


def off_by_one(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.expr) or isinstance(node, (ast.Constant, ast.Tuple, ast.JoinedStr, ast.Slice)):
        return
    if not site.is_whole(node) or not site.reliable(node):
        return
    likely = _counting_place(site, node)
    if likely and numeric(site.types(node)):
        text = site.text(node) if isinstance(node, ast.BinOp) and isinstance(node.op, _NUMBERS) else site.operand(node)
        yield site.replace(node, f"{text} + 1", likely)
        yield site.replace(node, f"{text} - 1", likely)


def other_length(site: Site) -> Iterator[Option]:
    """A bound that forgets the length of another value."""
    node = site.node
    if not isinstance(node, ast.expr) or not isinstance(site.source.parents.get(node), (ast.Slice, ast.Compare)):
        return
    if not isinstance(node, (ast.Name, ast.BinOp, ast.Attribute, ast.Call, ast.Constant)) or not site.reliable(node):
        return
    text = site.text(node) if isinstance(node, ast.BinOp) else site.operand(node)
    for name in site.scope.names_at(site.source, node):
        types = site.types_of(name)
        if name not in ("self", text) and site.seen.has(types, "__len__"):
            yield site.replace(node, f"{text} - len({name})", 1.0)
            yield site.replace(node, f"{text} + len({name})", 0.7)
        if name not in ("self", text) and numeric(types):
            yield site.replace(node, f"{text} - {name}", 0.4)
            yield site.replace(node, f"{text} + {name}", 0.4)


def literal_length(site: Site) -> Iterator[Option]:
    """`len` of a literal is a number in disguise."""
    match site.node:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Constant(value=str(text))]):
            for step in [sign * n for n in _LENGTH_STEPS for sign in (1, -1)]:
                if len(text) + step >= 0:
                    yield site.replace(site.node, str(len(text) + step), _LENGTH_STEPS[abs(step)], tight=True)
        case _:
            pass


def slice_bounds(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice) or not site.reliable(node):
        return
    start, end = site.source.span(node.slice)
    low, high, step = node.slice.lower, node.slice.upper, node.slice.step
    a, b, c = (site.text(x) if x else "" for x in (low, high, step))
    shapes = [(b, a, c, 0.8)] if a or b else []
    shapes += [("", b, c, 0.6)] if a else [("1", b, c, 0.5)]
    shapes += [(a, "", c, 0.6)] if b else [(a, "-1", c, 0.5)]
    shapes += [(a, b, "-1", 0.4)] if not c else [(a, b, "", 0.6)]
    shapes += [(f"-{a}", b, c, 0.6)] if a and not a.startswith("-") else []
    shapes += [(a, f"-{b}", c, 0.6)] if b and not b.startswith("-") else []
    for x, y, z, weight in shapes:
        text = f"{x}:{y}" + (f":{z}" if z else "")
        yield Option((TextEdit(start, end, text),), f"slice `[{text}]`", weight)
    whole = site.source.span(node)[1]
    for suffix in ("[::-1]",):
        yield Option((TextEdit(whole, whole, suffix),), f"append `{suffix}`", 0.4)


def missing_slice(site: Site) -> Iterator[Option]:
    """A sequence of which only a part is meant, or only one element."""
    node = site.node
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) or not site.reliable(node):
        return
    if not site.is_whole(node):
        return
    if not site.seen.has(site.types(node), "__getitem__"):
        return
    end = site.source.span(node)[1]
    for suffix, weight in (
        ("[:-1]", 0.8),
        ("[1:]", 0.9),
        ("[0]", 0.7),
        ("[-1]", 0.6),
        ("[::-1]", 0.7),
        ("[1]", 0.4),
        ("[1:-1]", 0.4),
    ):
        if ":" in suffix or not isinstance(site.source.parents.get(node), (ast.For, ast.comprehension)):
            yield Option((TextEdit(end, end, suffix),), f"append `{suffix}`", weight)


def missing_key(site: Site) -> Iterator[Option]:
    """A mapping or sequence where one of its elements is meant: by a key it is read with elsewhere, or a name."""
    node = site.node
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) or not site.is_read(node):
        return
    if not site.reliable(node) or not site.seen.has(site.types(node), "__getitem__"):
        return
    end, text = site.source.span(node)[1], site.text(node)
    keys = dict.fromkeys(sorted(site.words.keys.get(text, ())), 1.0)
    for name in site.scope.names_at(site.source, node):
        if name not in ("self", text):
            keys.setdefault(name, 0.7)
    for key, weight in keys.items():
        yield Option((TextEdit(end, end, f"[{key}]"),), f"append `[{key}]`", weight)


def drop_index(site: Site) -> Iterator[Option]:
    node = site.node
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and site.reliable(node):
        yield site.replace(node, site.text(node.value), 0.8 if isinstance(node.slice, ast.Slice) else 0.4)
        if not isinstance(node.slice, ast.Slice):
            owner, key = site.receiver(node.value), site.text(node.slice)
            yield site.replace(node, f"{owner}.get({key})", 0.5)
            yield site.replace(node, f"{owner}.get({key}, 0)", 0.5)
            yield site.replace(node, f"{owner}[-{key}]", 0.3)
            yield site.replace(node, f"{owner}.get({key}, [])", 0.2)
            yield site.replace(node, f'{owner}.get({key}, "")', 0.3)


def padded_slice(site: Site) -> Iterator[Option]:
    """A text cut to a width that it may not have: filled up first."""
    match site.node:
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=ast.Constant(value=int(n)), step=None)) if (
            n > 0
        ):
            owner, width = site.receiver(value), site.text(site.node.slice.upper)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
            for fill, weight in (('ljust({}, "0")', 1.0), ("ljust({})", 0.6), ("zfill({})", 0.8), ("rjust({})", 0.4)):
                yield site.replace(site.node, f"{owner}.{fill.format(width)}[:{width}]", weight)
        case _:
            pass


TABLE = (
    Template("off by one", 0.55, off_by_one),
    Template("slice bounds", 0.5, slice_bounds),
    Template("missing slice", 0.3, missing_slice),
    Template("missing key", 0.35, missing_key),
    Template("superfluous index", 0.3, drop_index),
    Template("forgotten length", 0.35, other_length),
    Template("length of a literal", 0.3, literal_length),
    Template("missing padding", 0.25, padded_slice),
)
