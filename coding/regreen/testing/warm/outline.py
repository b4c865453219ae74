"""The functions of a Python file, each with a digest of its code: equal digests, equal behaviour of its own lines."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

MODULE = "<module>"
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Part:
    """A function from its first decorator to its last line, or the rest of the module (`MODULE`)."""

    qualname: str
    first: int
    last: int
    digest: str


@dataclass(frozen=True, slots=True)
class Outline:
    """All parts of one file. The module comes first; inner functions come after outer ones."""

    parts: tuple[Part, ...]

    def at(self, line: int) -> Part:
        """The innermost function that holds the line, or the module."""
        inside = [p for p in self.parts[1:] if p.first <= line <= p.last]
        return max(inside, key=lambda p: p.first, default=self.parts[0])

    @property
    def digests(self) -> dict[str, str]:
        """By qualified name; of functions that share one, all together."""
        found: dict[str, str] = {}
        for part in self.parts:
            found[part.qualname] = (
                _digest(found[part.qualname] + part.digest) if part.qualname in found else part.digest
            )
        return found


def outline(text: str) -> Outline:
    """Where the text is no Python, it is one part whose digest is that of the text."""
    lines = text.count("\n") + 1
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Outline((Part(MODULE, 1, lines, _digest(text)),))
    functions = tuple(
        Part(name, min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno or node.lineno,
             _digest(ast.dump(node)))
        for name, node in _functions(tree, "")
    )  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            node.body = []
    return Outline((Part(MODULE, 1, lines, _digest(ast.dump(tree))), *functions))


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
