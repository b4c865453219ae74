"""Definitions as lines of text: what budgets are measured on, and what every front end shows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from regreen.model import FileSymbols, SignatureReport, Skipped, Symbol

INDENT = "  "


def head_lines(path: str, language: str, errors: Iterable[str]) -> list[str]:
    """The line of a file, and one for each place that could not be read."""
    return [f"{path} ({language})", *[f"{INDENT}! {error}" for error in errors]]


def definition_line(
    line: int, end_line: int, parent: str, signature: str, decorators: Sequence[str] = (), doc: str = ""
) -> str:
    """One definition: its lines, decorators and signature, indented as it nests; its documentation behind."""
    indent = INDENT * (1 + (parent.count(".") + 1 if parent else 0))
    lines = f"{line}-{end_line}" if end_line > line else str(line)
    text = " ".join([lines, *decorators, signature])
    return f"{indent}{text}  # {doc}" if doc else indent + text


def symbol_line(symbol: Symbol) -> str:
    return definition_line(
        symbol.line, symbol.end_line, symbol.parent, symbol.signature, symbol.decorators, symbol.doc
    )  # fmt: skip


def file_lines(file: FileSymbols) -> list[str]:
    return head_lines(file.path, file.language, file.errors)


def skip_line(skipped: Skipped) -> str:
    return f"skipped {skipped.path}: {skipped.reason}"


def render(report: SignatureReport) -> str:
    """The report as text: a line for each file, and below it one for each definition, indented as they nest."""
    lines: list[str] = []
    for file in report.files:
        lines.extend(file_lines(file))
        lines.extend(symbol_line(symbol) for symbol in file.symbols)
    lines.extend(skip_line(skipped) for skipped in report.skipped)
    return "\n".join(lines)
