"""What a template is given (a place in the code and all that is known there) and what it gives: edit options. Pure."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from regreen.proposers.search.facts import Facts
from regreen.proposers.search.observed import Names, Observed
from regreen.proposers.search.source import Function, Source, TextEdit
from regreen.proposers.search.vocabulary import Scope, Vocabulary

_TIGHT = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Attribute, ast.Await, ast.Starred, ast.IfExp)
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.List, ast.Dict, ast.Set, ast.ListComp,
          ast.JoinedStr, ast.SetComp, ast.DictComp)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Option:
    """One way to change the site. `weight` is its share of the template's prior; `about` says what it does."""

    edits: tuple[TextEdit, ...]
    about: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Site:
    """A statement, and (unless None) one node of its header."""

    source: Source
    stmt: ast.stmt
    node: ast.AST | None
    scope: Scope
    words: Vocabulary
    facts: Facts
    seen: Observed

    @property
    def function(self) -> Function | None:
        return self.source.function_of(self.stmt)

    def types(self, node: ast.AST) -> Names:
        """The types that the expression had in the failing tests; empty when unknown."""
        return self.seen.types(self.source, self.function or self._lambda_owner(), node)

    def types_of(self, name: str) -> Names:
        return self.seen.named(self.source, self.function, name)

    def _lambda_owner(self) -> Function | None:
        return self.stmt if isinstance(self.stmt, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    def is_callee(self, node: ast.AST) -> bool:
        parent = self.source.parents.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    def is_read(self, node: ast.AST) -> bool:
        """A value that is read for itself: not assigned to, not called, not a whole statement."""
        loaded = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        return loaded and not self.is_callee(node) and not isinstance(self.source.parents.get(node), ast.Expr)

    def is_whole(self, node: ast.AST) -> bool:
        """The same, and not just the owner of an attribute that is read."""
        return self.is_read(node) and not isinstance(self.source.parents.get(node), ast.Attribute)

    def text(self, node: ast.AST) -> str:
        return self.source.segment(node)

    def replace(self, node: ast.AST, new: str, weight: float = 1.0, *, tight: bool = False) -> Option:
        """`new` in the place of `node`; in parentheses where it binds looser than its surroundings (not if `tight`)."""
        start, end = self.source.span(node)
        if not tight and self._needs_parentheses(node):
            new = f"({new})"
        return Option((TextEdit(start, end, new),), f"`{_short(self.text(node))}` -> `{_short(new)}`", weight)

    def insert_after(self, stmt: ast.stmt, lines: str, weight: float = 1.0) -> Option:
        """New statement(s) below `stmt`, in its block."""
        at = self.source.starts[(stmt.end_lineno or stmt.lineno)] - 1
        text = "".join(f"\n{self.source.indent(stmt)}{line}" for line in lines.split("\n"))
        return Option((TextEdit(at, at, text),), f"insert `{_short(lines)}`", weight)

    def insert_before(self, stmt: ast.stmt, lines: str, weight: float = 1.0) -> Option:
        at = self.source.starts[stmt.lineno - 1]
        text = "".join(f"{self.source.indent(stmt)}{line}\n" for line in lines.split("\n"))
        return Option((TextEdit(at, at, text),), f"insert `{_short(lines)}`", weight)

    def _needs_parentheses(self, node: ast.AST) -> bool:
        parent = self.source.parents.get(node)
        if isinstance(parent, ast.Call):
            return parent.func is node
        if isinstance(parent, ast.Subscript):
            return parent.value is node
        return isinstance(parent, _TIGHT)

    def operand(self, node: ast.AST) -> str:
        """The node's text, safe to stand beside an operator or before a dot."""
        text = self.text(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return text
        return text if isinstance(node, _ATOMS) else f"({text})"

    def receiver(self, node: ast.AST) -> str:
        if isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes)):
            return f"({self.text(node)})"
        return self.operand(node)

    def reliable(self, node: ast.AST) -> bool:
        """Are the node's span and text to be trusted? Inside f-strings some interpreters misplace them."""
        inside = self.source.inside(node, ast.JoinedStr)
        if inside is None or isinstance(node, ast.FormattedValue):
            return not isinstance(node, ast.FormattedValue)
        if "\n" in self.text(inside) or isinstance(node, (ast.JoinedStr, ast.FormattedValue)):
            return False
        text = self.text(node)
        try:
            return ast.dump(ast.parse(text, mode="eval").body) == ast.dump(node).replace("Store()", "Load()")
        except (SyntaxError, ValueError):
            return False


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
