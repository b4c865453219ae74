"""Which types the values of the failing tests had: rules out candidates that could only raise. Pure.

An expression of unknown type is never ruled out.
"""

from __future__ import annotations

import ast
import collections
import datetime
import decimal
import fractions
import re
import types
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from regreen.proposers.search.facts import Json
from regreen.proposers.search.source import Function, Source, first_line
from regreen.proposers.search.vocabulary import callee_name

Names: TypeAlias = frozenset[str]

_CLASSES: tuple[Any, ...] = (
    str, bytes, int, float, bool, complex, list, tuple, dict, set, frozenset, range, type(None), bytearray,
    collections.deque, collections.Counter, collections.OrderedDict, collections.defaultdict, datetime.datetime,
    datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction, re.Pattern, re.Match,
    types.GeneratorType, types.FunctionType, types.BuiltinFunctionType, zip, map, filter, enumerate, reversed,
)  # fmt: skip
_KNOWN: Mapping[str, Any] = {c.__name__: c for c in _CLASSES}
_BUILTIN_RESULTS: Mapping[str, Names] = {
    "len": frozenset({"int"}), "str": frozenset({"str"}), "repr": frozenset({"str"}), "int": frozenset({"int"}),
    "float": frozenset({"float"}), "sorted": frozenset({"list"}), "list": frozenset({"list"}),
    "dict": frozenset({"dict"}), "set": frozenset({"set"}), "tuple": frozenset({"tuple"}), "bool": frozenset({"bool"}),
    "join": frozenset({"str"}), "format": frozenset({"str"}), "strip": frozenset({"str"}), "lower": frozenset({"str"}),
    "upper": frozenset({"str"}), "casefold": frozenset({"str"}), "splitlines": frozenset({"list"}),
    "total_seconds": frozenset({"float"}), "isoformat": frozenset({"str"}), "range": frozenset({"range"}),
    "enumerate": frozenset({"enumerate"}), "zip": frozenset({"zip"}),
}  # fmt: skip
_NUMBERS = frozenset({"int", "float", "bool", "complex", "Decimal", "Fraction"})


@dataclass
class Observed:
    """Types by place and expression, results by function name, members of the classes that are not built in."""

    places: dict[tuple[str, int], dict[str, set[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    returns: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    members: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    _tables: dict[tuple[str, int], dict[str, set[str]]] = field(
        default_factory=dict[tuple[str, int], dict[str, set[str]]]
    )

    @classmethod
    def of(cls, tests: Iterable[Json]) -> Observed:
        seen = cls()
        for test in tests:
            for path, line, expression, names in test.get("types", ()):
                seen.places[path, line][expression].update(names)
            for name, names in test.get("returns", {}).items():
                seen.returns[name].update(names)
            for name, names in test.get("members", {}).items():
                seen.members[name] = frozenset(names)
        return seen

    def _table(self, source: Source, function: Function) -> Mapping[str, set[str]]:
        """Of a function and of the comprehensions inside it."""
        key = (source.path, first_line(function))
        if key not in self._tables:
            table: dict[str, set[str]] = defaultdict(set)
            for (path, line), seen in self.places.items():
                if path == source.path and key[1] <= line <= (function.end_lineno or line):
                    for expression, names in seen.items():
                        table[expression] |= names
            self._tables[key] = dict(table)
        return self._tables[key]

    def types(self, source: Source, function: Function | None, node: ast.AST) -> Names:
        """Names of the types that the expression had; empty when unknown."""
        match node:
            case ast.Constant(value=value):
                return frozenset({type(value).__name__})
            case ast.JoinedStr():
                return frozenset({"str"})
            case ast.Call():
                name = callee_name(node)
                return frozenset(self.returns.get(name, ())) or _BUILTIN_RESULTS.get(name, frozenset())
            case ast.List() | ast.ListComp():
                return frozenset({"list"})
            case ast.Compare():
                return frozenset({"bool"})
            case ast.GeneratorExp():
                return frozenset({"generator"})
            case ast.Name() | ast.Attribute() if function is not None:
                return self.named(source, function, source.segment(node)) or self._property(node)
            case ast.Subscript(value=value, slice=index) if function is not None and not isinstance(index, ast.Slice):
                exactly = self.named(source, function, source.segment(node))
                return exactly or self.named(source, function, source.segment(value) + "[]")
            case _:
                return frozenset()

    def _property(self, node: ast.AST) -> Names:
        return frozenset(self.returns.get(node.attr, ())) if isinstance(node, ast.Attribute) else frozenset()

    def named(self, source: Source, function: Function | None, text: str) -> Names:
        """The same for an expression given as text."""
        if function is None:
            return frozenset()
        return frozenset(self._table(source, function).get(text, ()))

    def has(self, names: Names, attribute: str) -> bool:
        """May some of these types have the attribute?"""
        return not names or any(self._has(name, attribute) for name in names)

    def _has(self, name: str, attribute: str) -> bool:
        if name in _KNOWN:
            return hasattr(_KNOWN[name], attribute)
        return name not in self.members or attribute in self.members[name]

    def offers(self, names: Names) -> Names:
        """The public attributes of these types; empty when one is unknown."""
        found: set[str] = set()
        for name in names - {"NoneType"}:
            if name in _KNOWN:
                found |= set(dir(_KNOWN[name]))
            elif name in self.members:
                found |= self.members[name]
            else:
                return frozenset()
        return frozenset(n for n in found if not n.startswith("_"))


def numeric(names: Names) -> bool:
    """May it be a number?"""
    return not names or bool(names & _NUMBERS)


def related(a: Names, b: Names) -> bool:
    """May a value of the one stand where one of the other is expected?"""
    if not a or not b or a & b or "NoneType" in a | b:
        return True
    return bool(a & _NUMBERS and b & _NUMBERS)
