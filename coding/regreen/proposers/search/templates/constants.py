"""Literals: numbers off by one or by a slip of the fingers, flags, strings with close relatives. Pure."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from itertools import combinations

from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.templates.table import Template

_FAMILIES: Sequence[Sequence[str]] = (
    ("NFC", "NFD", "NFKC", "NFKD"),
    ("r", "w", "a", "x", "rb", "wb"),
    ("utf-8", "utf-8-sig", "latin-1", "ascii", "utf-16"),
    ("strict", "ignore", "replace", "surrogateescape"),
    ("left", "right", "center", "centre"),
    ("asc", "desc"), ("first", "last"), ("before", "after"), ("start", "end"), ("min", "max"), ("true", "false"),
    ("big", "little"), ("raise", "ignore"), ("yes", "no"), ("on", "off"), ("ROUND_HALF_EVEN", "ROUND_HALF_UP"),
    ("%d", "%s", "%i", "%f", "%02d"), ("%H", "%I"), ("%m", "%M"), ("%y", "%Y"), ("%d", "%D"),
    ("", " ", ",", ", ", ";", ":", ": ", ".", "-", "_", "/", "\n", "\t", "=", "|"),
)  # fmt: skip


def number(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
        return
    if not site.reliable(node):
        return
    value = node.value
    near: list[tuple[object, float]] = []
    if isinstance(value, int):
        end = 1.1 if isinstance(site.source.parents.get(node), ast.Subscript) else 0.5
        near = [(-1, end), (value + 1, 1.0), (value - 1, 1.0), (0, 0.7), (1, 0.7), (2, 0.3), (value + 2, 0.2)]
    near += [(-value, 0.6), (value * 10, 0.3), (value * 2, 0.25), (value * 1000, 0.2), (value * 100, 0.25)]
    near += [(v, 0.3) for v in _divided(value)]
    if isinstance(value, float):
        near += [(0.0, 0.3), (1.0, 0.3), (0.5, 0.2)]
    done = {repr(value)}
    for new, weight in near:
        if repr(new) not in done:
            done.add(repr(new))
            yield site.replace(node, repr(new), weight, tight=repr(new)[0] != "-")


def _divided(value: int | float) -> list[int | float]:
    parts = [value / n for n in (10, 2, 100, 1000)]
    if isinstance(value, int):
        return [int(p) for p in parts if p == int(p) and p]
    return list(parts)


def digits(site: Site) -> Iterator[Option]:
    """Two digits the wrong way round, neighbours first."""
    node = site.node
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
        return
    text = site.text(node) if site.reliable(node) else ""
    spots = [i for i, c in enumerate(text) if c.isdigit()]
    if len(spots) < 3:
        return
    for i, j in combinations(spots, 2):
        if text[i] != text[j] and (text[j] != "0" or i > 0):
            yield site.replace(node, text[:i] + text[j] + text[i + 1 : j] + text[i] + text[j + 1 :], 1.0 / (j - i))


def observed(site: Site) -> Iterator[Option]:
    """A literal equal to what a failing test got, replaced by what it wanted; numbers also by their ratio."""
    node = site.node
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or not site.reliable(node):
        return
    value = node.value
    for got, wanted in site.facts.pairs():
        if type(got) is type(value) and got == value and wanted != got:
            yield site.replace(node, repr(wanted), 1.0)
        elif isinstance(value, (int, float)) and isinstance(got, (int, float)) and isinstance(wanted, (int, float)):
            yield from _moved(site, node, value, got, wanted)


def _moved(site: Site, node: ast.Constant, value: float, got: float, wanted: float) -> Iterator[Option]:
    shifted = value + (wanted - got)
    if isinstance(value, int) and isinstance(shifted, int) and abs(wanted - got) > 1:
        yield site.replace(node, repr(shifted), 0.4)
    if got and wanted and value:
        scaled = float(f"{value * wanted / got:.12g}")
        new = int(scaled) if isinstance(value, int) and scaled == int(scaled) else scaled
        plain = len(repr(new)) <= max(6, len(repr(value)))  # a long fraction is rarely what was meant
        yield site.replace(node, repr(new), 0.6 if plain else 0.15)


def flag(site: Site) -> Iterator[Option]:
    node = site.node
    if isinstance(node, ast.Constant) and site.reliable(node):
        if isinstance(node.value, bool):
            yield site.replace(node, repr(not node.value), 1.0)
            yield site.replace(node, "None", 0.2)
        elif node.value is None:
            for new in ("[]", "{}", '""', "0", "False", "True"):
                yield site.replace(node, new, 0.2)


def string(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not site.reliable(node):
        return
    if isinstance(site.source.parents.get(node), (ast.Expr, ast.JoinedStr)):
        return  # a docstring, or the literal part of an f-string
    value = node.value
    near = [(word, 1.0) for family in _FAMILIES if value in family for word in family]
    near += [(v, 0.4) for v in (value.lower(), value.upper(), value.strip(), value.title(), f" {value}", f"{value} ")]
    others = _strings(site)
    close = difflib.get_close_matches(value, others, 3, 0.7) if len(value) > 2 else []
    near += [(v, 0.8) for v in close] + [(v, 0.15) for v in others]
    done = {value}
    for new, weight in near:
        if new not in done:
            done.add(new)
            yield site.replace(node, quote(new, site.text(node)), weight)


def _strings(site: Site) -> list[str]:
    """The short literals of the function, else of the file."""
    root = site.function or site.source.tree
    found = [n.value for n in ast.walk(root) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return list(dict.fromkeys(s for s in found if len(s) < 30 and "\n" not in s))[:25]


def quote(value: str, like: str) -> str:
    """A literal in the quotes of another one."""
    text = repr(value)
    if '"' in like[:3] and '"' not in value and "\\" not in text:
        return f'"{value}"'
    return text


def literal_for_name(site: Site) -> Iterator[Option]:
    """A hard-wired literal where a name of the scope is meant; parameters that nothing reads first."""
    node = site.node
    if not isinstance(node, ast.Constant) or node.value is None or not site.reliable(node):
        return
    if isinstance(site.source.parents.get(node), (ast.Expr, ast.JoinedStr)):
        return
    for name in site.scope.names_at(site.source, node):
        if name != "self":
            yield site.replace(node, name, 3.0 if name in site.scope.unused else 1.0)


TABLE = (
    Template("observed value", 0.9, observed),
    Template("number", 0.75, number),
    Template("transposed digits", 0.4, digits),
    Template("flag", 0.8, flag),
    Template("string", 0.5, string),
    Template("name for a literal", 0.35, literal_for_name),
)
