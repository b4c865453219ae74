"""Which commands a caller may name: one table of rows, read by one grammar. Everything else is refused.

Commands of git that only read are checked by the same grammar, behind `check_git`. The table is loaded at the first
check, not with this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.errors import Refused, UsageError

if TYPE_CHECKING:
    from regreen.commands.grammar import Arguments, Row

__all__ = ["CheckedCommand", "check", "check_git", "check_words"]

MAX_WORDS = 256
MAX_CHARS = 32 * 1024


@dataclass(frozen=True, slots=True)
class CheckedCommand:
    """An argv that passed. `words` name the program, `arguments` are all words that it may be given: the two together
    could be checked again. For what `targets`, `options` and `after` hold, see `grammar.Arguments`.

    `--` is left out of `arguments` where the program would read on as before, and stays where it means something.
    """

    runner: str
    words: tuple[str, ...]
    arguments: tuple[str, ...]
    targets: tuple[str, ...] = ()
    options: tuple[tuple[str, str | None], ...] = ()
    after: Arguments | None = None


def check(argv: Sequence[str], workspace_root: Path) -> CheckedCommand:
    """Check an argv that is to run tests. Raises Refused (`command_not_allowed`, `argument_not_allowed`,
    `argument_value_invalid`) or UsageError (`invalid_arguments`, `limit_exceeded`)."""
    from regreen.commands import table

    _bounded(argv)
    if argv[0] == "git":
        raise Refused("command_not_allowed", "git is not run here: only tests are",
                      "use show_changes to see what has changed")  # fmt: skip
    return _check(argv, table.RUNS_TESTS, workspace_root)


def check_git(argv: Sequence[str], workspace_root: Path) -> CheckedCommand:
    """Check an argv of git that only reads: status, diff, log, show. Raises as `check` does, and
    Refused(`path_outside_workspace`) for a path behind `--` that leads out."""
    from regreen.commands import table

    _bounded(argv)
    return _check(argv, table.READS_GIT, workspace_root)


def check_words(words: Sequence[str], runner: str, workspace_root: Path) -> Arguments:
    """Check words against the rows of one runner: for those that a script hands on, once its runner is known.
    Raises as `check` does, and ValueError for a runner that is not in the table."""
    from regreen.commands import grammar, table

    row = next((row for row in table.RUNS_TESTS if row.runner == runner and not row.through), None)
    if row is None:
        raise ValueError(runner)
    return grammar.read(words, row.schema, workspace_root)


def _bounded(argv: Sequence[str]) -> None:
    if isinstance(argv, str) or not argv or not all(isinstance(w, str) for w in argv):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError("invalid_arguments", "argv is not a list of words", 'use for example ["pytest", "tests"]')
    if len(argv) > MAX_WORDS or sum(map(len, argv)) > MAX_CHARS:
        raise UsageError("limit_exceeded", f"argv has over {MAX_WORDS} words or {MAX_CHARS} characters",
                         "name folders instead of single files")  # fmt: skip


def _check(argv: Sequence[str], rows: Sequence[Row], root: Path) -> CheckedCommand:
    from regreen.commands import grammar, table

    row = table.find(argv, rows)
    words = tuple(argv[: len(row.words)])
    read = grammar.read(argv[len(words) :], row.schema, root)
    if row.through:
        read = grammar.Arguments(read.words, after=read)
    return CheckedCommand(row.runner, words, read.words, read.targets, read.options, read.after)
