"""Expected values of failing tests that a change writes into the code: told, never refused, since some are honest.

A value counts where it is told apart from chance: it is returned as it is, stands under a branch on an input of that
test, or is long enough that it hardly got there by itself.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from regreen.fix.tamper.parsing import parsed
from regreen.fix.tamper.source_text import language_of, without_comments
from regreen.fix.tamper.values import TextChange
from regreen.model import Failure

Literal: TypeAlias = str | int | float | bytes
MAX_TOLD = 5
_LITERAL = re.compile(r"\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'|(?<![\w.])(-?\d+(?:\.\d+)?)(?![\w.])")
_ASSERT = re.compile(r"expect|assert|toBe|toEqual|should|Equal|want|Errorf|Fatalf|\bis\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Case:
    """What failing tests expect, and what they put in."""

    expected: frozenset[Literal]
    inputs: frozenset[Literal]


def hard_coded(
    changes: Sequence[TextChange], failures: Sequence[Failure], sources: Callable[[str], str]
) -> tuple[str, ...]:
    """A sentence for each expected value of a failing test that a change adds to code that is no test."""
    python, other = _cases(failures, sources)
    found: list[str] = []
    for change in changes:
        if change.after is None:
            continue
        if language_of(change.path) == "python":
            found += [_told(change.path, line, v) for line, v in _in_python(change, python)]
        elif language_of(change.path):
            found += [_told(change.path, line, v) for line, v in _in_text(change, other)]
    return tuple(dict.fromkeys(found))[:MAX_TOLD]


def _told(path: str, line: int, value: Literal) -> str:
    return (
        f"`{path}`, line {line}: {value!r:.60} is what a failing test expects; "
        "make sure that it is computed and not written down for that test"
    )


# --- what tests expect ---------------------------------------------------------------------------------


def _cases(failures: Sequence[Failure], sources: Callable[[str], str]) -> tuple[Case, frozenset[str]]:
    expected: set[Literal] = set()
    inputs: set[Literal] = set()
    other: set[str] = set()
    for failure in failures[:50]:
        for path in _places(failure):
            text = sources(path)
            if not text:
                continue
            if language_of(path) == "python":
                for test in _tests(text, failure.id):
                    more = _of_test(test)
                    expected |= more.expected
                    inputs |= more.inputs
            else:
                other |= set(_asserted(path, text))
    return Case(frozenset(expected), frozenset(inputs)), frozenset(other)


def _places(failure: Failure) -> Iterator[str]:
    """Where the test may be: the runner's id says it, or the place of the failure."""
    start = re.split(r"::| > ", failure.id)[0]
    dotted = failure.id.partition("[")[0].split(".")
    modules = ["/".join(dotted[:n]) + ".py" for n in (-2, -1) if len(dotted) > -n]
    guesses = [start] if ("." in start and "/" in start) or start.endswith(".py") else []
    if "::" not in failure.id and re.fullmatch(r"[\w.]+", failure.id):
        guesses += [f"{folder}{m}" for m in modules for folder in ("", "tests/", "test/")]
    yield from dict.fromkeys([*guesses, failure.file])


def _tests(text: str, name: str) -> Iterator[ast.AST]:
    """The functions that a test's id names: of this name, with the decorators on them."""
    tree = parsed(text)
    wanted = re.split(r"::|\.", name.partition("[")[0])[-1]
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == wanted:
            yield node


def _of_test(test: ast.AST) -> Case:
    expected: set[Literal] = set()
    inputs: set[Literal] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            _divide([node.test], expected, inputs)
        elif isinstance(node, ast.Call) and _called(node).startswith("assert"):
            _divide(node.args, expected, inputs)
        elif isinstance(node, ast.Call) and _called(node) == "parametrize":
            both = {c for a in node.args[1:] for c in _constants(a)}
            expected |= both
            inputs |= both
        elif isinstance(node, ast.Assign):
            expected |= {c for c in _constants(node.value) if not isinstance(node.value, ast.Call)}
            inputs |= set(_constants(node.value))
    return Case(frozenset(v for v in expected if _telling(v)), frozenset(inputs))


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _divide(nodes: Sequence[ast.expr], expected: set[Literal], inputs: set[Literal]) -> None:
    """Constants in calls of an assertion go in; all others are expected to come out."""
    for node in nodes:
        if isinstance(node, ast.Call) and _called(node) not in ("approx", "isclose", "Decimal"):
            inputs |= set(_constants(node))
        elif isinstance(node, ast.Constant):
            expected |= set(_constants(node))
        else:
            _divide([c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)], expected, inputs)


def _constants(node: ast.AST) -> Iterator[Literal]:
    for n in ast.walk(node):
        if isinstance(n, ast.Constant) and isinstance(n.value, str | int | float | bytes):
            yield n.value


def _telling(value: Literal) -> bool:
    """Is this a value that says something, unlike 0, 1, True or a single character?"""
    if isinstance(value, str | bytes):
        return len(value) > 1
    return not isinstance(value, bool) and value not in (0, 1, -1)


def _distinctive(value: Literal) -> bool:
    if isinstance(value, str | bytes):
        return len(value) >= 6
    return abs(value) >= 1000 or (isinstance(value, float) and not value.is_integer())


# --- what the change adds ------------------------------------------------------------------------------


def _in_python(change: TextChange, case: Case) -> Iterator[tuple[int, Literal]]:
    tree, old = parsed(change.after or ""), parsed(change.before or "")
    if tree is None or not case.expected:
        return
    had = Counter((type(v), v) for v in _constants(old)) if old is not None else Counter[tuple[type, Literal]]()
    now = Counter((type(v), v) for v in _constants(tree))
    for line, value, close in _placed(tree, case.inputs):
        kind = type(value), value
        if now[kind] > had[kind] and value in case.expected and _telling(value) and (close or _distinctive(value)):
            yield line, value


def _placed(tree: ast.AST, inputs: frozenset[Literal]) -> Iterator[tuple[int, Literal, bool]]:
    """Every constant with its line, and whether it stands where answers stand."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, close = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bytes):
            yield node.lineno, node.value, close
        near = _answers(node, close, inputs)
        waiting.extend((child, near) for child in ast.iter_child_nodes(node))


def _answers(node: ast.AST, close: bool, inputs: frozenset[Literal]) -> bool:
    match node:
        case ast.Return(value=ast.Constant() | ast.Dict() | ast.List() | ast.Tuple()):
            return True
        case ast.If(test=test) | ast.IfExp(test=test):
            return close or any(_telling(c) and c in inputs for c in _constants(test))
        case ast.Dict(keys=keys):
            return close or any(isinstance(k, ast.Constant) and k.value in inputs for k in keys if _hashable(k))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return False
        case _:
            return close


def _hashable(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant)


def _asserted(path: str, text: str) -> Iterator[str]:
    for line in without_comments(text, language_of(path)).splitlines():
        if _ASSERT.search(line):
            yield from _literals(line)


def _literals(text: str) -> Iterator[str]:
    for match in _LITERAL.finditer(text):
        value = next(g for g in match.groups() if g is not None)
        if len(value) > 3 or (match[3] and len(value) > 2):
            yield value


def _in_text(change: TextChange, expected: frozenset[str]) -> Iterator[tuple[int, str]]:
    language = language_of(change.path)
    had = Counter(_literals(without_comments(change.before or "", language)))
    for number, line in enumerate(without_comments(change.after or "", language).splitlines(), 1):
        for value in _literals(line):
            had[value] -= 1
            if had[value] < 0 and value in expected:
                yield number, value
