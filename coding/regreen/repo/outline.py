"""Definitions as lines of text: what budgets are measured on, and what every front end shows. Pure.

A definition is indented below those that it is inside of, as far as they are shown; where they are not, as with the
methods of a Rust `impl`, it says what it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from regreen.model import FileSymbols, SignatureReport, Skipped, Symbol

INDENT = "  "


class Row(NamedTuple):
    """What is shown of a definition, from a symbol or from its JSON."""

    line: int
    end_line: int
    qualified_name: str
    parent: str
    signature: str
    decorators: Sequence[str] = ()
    doc: str = ""


def row_of(symbol: Symbol) -> Row:
    return Row(symbol.line, symbol.end_line, symbol.qualified_name, symbol.parent, symbol.signature,
               symbol.decorators, symbol.doc)  # fmt: skip


def head_lines(path: str, language: str, errors: Iterable[str]) -> list[str]:
    """The line of a file, and one for each place that could not be read."""
    return [f"{path} ({language})", *[f"{INDENT}! {error}" for error in errors]]


def definition_lines(rows: Iterable[Row]) -> list[str]:
    """A line for each of a file's definitions: its lines, decorators and signature; its documentation behind."""
    open_names: list[str] = []
    texts: list[str] = []
    for row in rows:
        while open_names and open_names[-1] != row.parent:
            open_names.pop()
        lines = f"{row.line}-{row.end_line}" if row.end_line > row.line else str(row.line)
        text = " ".join(
            [lines, *row.decorators, owner(row.parent, row.signature, shown=bool(open_names)) + row.signature]
        )
        indent = INDENT * (1 + len(open_names))
        texts.append(f"{indent}{text}  # {row.doc}" if row.doc else indent + text)
        open_names.append(row.qualified_name)
    return texts


def owner(parent: str, signature: str, *, shown: bool) -> str:
    """`Type: ` before a signature that neither stands below its type nor names it."""
    name = parent.rpartition(".")[2].rpartition("\\")[2]
    return "" if shown or not name or name in signature else f"{parent}: "


def file_lines(file: FileSymbols) -> list[str]:
    return head_lines(file.path, file.language, file.errors)


def skip_line(skipped: Skipped) -> str:
    return f"skipped {skipped.path}: {skipped.reason}"


def render(report: SignatureReport) -> str:
    """The report as text: a line for each file, and below it one for each definition, indented as they nest."""
    lines: list[str] = []
    for file in report.files:
        lines.extend(file_lines(file))
        lines.extend(definition_lines(map(row_of, file.symbols)))
    lines.extend(skip_line(skipped) for skipped in report.skipped)
    return "\n".join(lines)
