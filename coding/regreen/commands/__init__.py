"""Which commands a caller may name: one table of rows, read by one grammar. Everything else is refused.

A row is data; a new runner is a new file of rows and one entry in the table here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regreen.commands import grammar, pytest
from regreen.commands.grammar import Row
from regreen.errors import Refused, UsageError

__all__ = ["CheckedCommand", "check"]

MAX_WORDS = 256
MAX_CHARS = 32 * 1024

_TABLE: tuple[Row, ...] = pytest.ROWS


@dataclass(frozen=True, slots=True)
class CheckedCommand:
    """An argv that passed: `words` name the program, `arguments` are what it may be given, without `--`."""

    runner: str
    words: tuple[str, ...]
    arguments: tuple[str, ...]


def check(argv: Sequence[str], workspace_root: Path) -> CheckedCommand:
    """Check a caller's argv. Raises Refused (`command_not_allowed`, `argument_not_allowed`,
    `argument_value_invalid`) or UsageError (`invalid_arguments`, `limit_exceeded`)."""
    if isinstance(argv, str) or not argv or not all(isinstance(w, str) for w in argv):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError("invalid_arguments", "argv is not a list of words", 'use for example ["pytest", "tests"]')
    if len(argv) > MAX_WORDS or sum(map(len, argv)) > MAX_CHARS:
        raise UsageError("limit_exceeded", f"argv has over {MAX_WORDS} words or {MAX_CHARS} characters",
                         "name folders instead of single files")  # fmt: skip
    matching = [row for row in _TABLE if tuple(argv[: len(row.words)]) == row.words]
    if not matching:
        known = ", ".join(f"`{' '.join(row.words)}`" for row in _TABLE)
        raise Refused("command_not_allowed", f"`{' '.join(argv)[:200]}` is not an allowed command", f"allowed: {known}")
    row = max(matching, key=lambda r: len(r.words))
    return CheckedCommand(row.runner, row.words, grammar.read(argv[len(row.words) :], row.schema, workspace_root))
