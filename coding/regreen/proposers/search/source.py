"""One Python file as text and tree together: exact source spans, parents, scopes, and which lines a statement owns.

Pure: nothing here reads a file. Spans are offsets into the text, so that edits keep formatting and comments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Span: TypeAlias = tuple[int, int]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace `text[start:end]` by `new`."""

    start: int
    end: int
    new: str


def apply_edits(text: str, edits: tuple[TextEdit, ...]) -> str:
    """The text after edits that do not overlap."""
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


@dataclass
class Source:
    """A parsed file. `path` is relative and posix; line ends in `text` are all LF."""

    path: str
    text: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict[ast.AST, ast.AST])

    @classmethod
    def parse(cls, path: str, text: str) -> Source | None:
        """None when this interpreter cannot parse the text."""
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return None
        source = cls(path, text, tree)
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                source.parents[child] = node
        return source

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Offset of the first character of every line, by line number minus one."""
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def offset(self, line: int, column: int) -> int:
        """From the tree's line and UTF-8 column to an offset."""
        text = self.lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode(errors="ignore"))
        return self.starts[line - 1] + column

    def span(self, node: ast.AST) -> Span:
        """Where an expression or statement stands; decorators are not part of it."""
        line, column = getattr(node, "lineno"), getattr(node, "col_offset")  # noqa: B009
        end_line, end_column = getattr(node, "end_lineno"), getattr(node, "end_col_offset")  # noqa: B009
        return self.offset(line, column), self.offset(end_line, end_column)

    def segment(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def indent(self, node: ast.stmt) -> str:
        line = self.lines[node.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def inside(self, node: ast.AST, kinds: type[ast.AST] | tuple[type[ast.AST], ...]) -> ast.AST | None:
        """The innermost enclosing node of one of these kinds (never the node itself)."""
        up = self.parents.get(node)
        while up is not None and not isinstance(up, kinds):
            up = self.parents.get(up)
        return up

    def function_of(self, node: ast.AST) -> Function | None:
        found = self.inside(node, FUNCTIONS)
        return found if isinstance(found, FUNCTIONS) else None

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        found = self.inside(node, ast.ClassDef)
        return found if isinstance(found, ast.ClassDef) else None

    @cached_property
    def statements(self) -> tuple[ast.stmt, ...]:
        return tuple(n for n in ast.walk(self.tree) if isinstance(n, ast.stmt))

    def own_lines(self, stmt: ast.stmt) -> range:
        """The lines of a statement's header: all of a simple statement, up to the body of a compound one."""
        body = getattr(stmt, "body", None)
        end = (stmt.end_lineno or stmt.lineno) + 1
        if isinstance(body, list) and body:
            end = max(stmt.lineno + 1, first_line(body[0]))  # pyright: ignore[reportUnknownArgumentType]
        return range(stmt.lineno, end)

    def own_nodes(self, stmt: ast.stmt) -> Iterator[ast.AST]:
        """Expressions, keywords and comprehensions of a statement's header, outermost first, in source order."""
        stack: list[ast.AST] = [stmt]
        while stack:
            node = stack.pop()
            if isinstance(node, (ast.expr, ast.keyword, ast.comprehension)):
                yield node
            children = [c for c in ast.iter_child_nodes(node) if not isinstance(c, (ast.stmt, ast.match_case))]
            if isinstance(node, FUNCTIONS):
                children = [node.args]
            annotation = getattr(node, "annotation", None)
            children = [c for c in children if c is not annotation]
            stack.extend(reversed([c for c in children if not isinstance(c, ast.ExceptHandler)]))

    def block_of(self, stmt: ast.AST) -> list[ast.stmt]:
        """The list of statements that `stmt` stands in."""
        parent = self.parents.get(stmt)
        for name in _BODIES if parent is not None else ():
            block = getattr(parent, name, None)
            if isinstance(block, list) and stmt in block:
                return block  # pyright: ignore[reportUnknownVariableType]
        return []


def first_line(node: ast.AST) -> int:
    """The first line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([getattr(node, "lineno", 1), *(d.lineno for d in decorators)])


@dataclass(frozen=True, slots=True)
class Unit:
    """The least text that gives the changed code objects: everything else is blank, so line numbers stay true."""

    text: str
    mode: str  # "swap": code objects; "exec": module-level assignments; "fresh": only a new import will do


def make_unit(source: Source, stmt: ast.stmt, edits: tuple[TextEdit, ...] = ()) -> Unit:
    """The unit around `stmt`, with the edits made inside it."""
    chain = _chain(source, stmt)
    function = next((n for n in chain if isinstance(n, FUNCTIONS)), None)
    if function is None:
        return _module_unit(source, chain[0], edits)
    if any(_outside(source, function, e) for e in edits):
        return Unit("", "fresh")
    lines = _unit_lines(source, function, edits)
    for cls in chain[: chain.index(function)]:
        if not isinstance(cls, ast.ClassDef):
            return Unit("", "fresh")  # defined inside an `if` or `try`: rare, and an import does it right
        lines[cls.lineno - 1] = f"{source.indent(cls)}class {cls.name}:"
    return Unit("\n".join(lines), "swap")


def _unit_lines(source: Source, node: ast.stmt, edits: tuple[TextEdit, ...]) -> list[str]:
    start, end = first_line(node), node.end_lineno or node.lineno
    from_, to = source.starts[start - 1], source.starts[end] - 1
    moved = tuple(TextEdit(e.start - from_, e.end - from_, e.new) for e in edits)
    return [""] * (start - 1) + apply_edits(source.text[from_:to], moved).split("\n")


def _chain(source: Source, stmt: ast.stmt) -> list[ast.stmt]:
    chain: list[ast.stmt] = []
    node: ast.AST | None = stmt
    while node is not None:
        if isinstance(node, ast.stmt):
            chain.append(node)
        node = source.parents.get(node)
    return chain[::-1]


def _outside(source: Source, function: Function, edit: TextEdit) -> bool:
    """Does an edit touch what is evaluated when the function is defined: decorators, defaults, annotations?"""
    start = source.offset(function.body[0].lineno, 0)
    if first_line(function.body[0]) <= function.lineno:
        start = source.span(function.body[0])[0]
    return edit.start < start or edit.end > source.starts[function.end_lineno or function.lineno]


def _module_unit(source: Source, stmt: ast.stmt, edits: tuple[TextEdit, ...]) -> Unit:
    """Module-level assignments are run again, with the later assignments that depend on them."""
    if not isinstance(stmt, (ast.Assign, ast.AnnAssign)):
        return Unit("", "fresh")
    start, end = source.span(stmt)
    if any(e.start < start or e.end > end for e in edits):
        return Unit("", "fresh")
    names, parts = _targets(stmt), [(stmt, edits)]
    for later in source.tree.body[source.tree.body.index(stmt) + 1 :]:
        if isinstance(later, (ast.Assign, ast.AnnAssign)) and names & _loads(later):
            names |= _targets(later)
            parts.append((later, ()))
    lines: list[str] = []
    for part, changes in parts:
        lines += _unit_lines(source, part, changes)[len(lines) :]
    return Unit("\n".join(lines), "exec")


def _targets(stmt: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _loads(stmt: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
