"""The table: every row of every runner. A new runner is a new file of rows and one entry here."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from regreen.commands import (
    cargo,
    dotnet,
    git,
    go,
    javascript,
    jvm,
    make,
    php,
    pytest,
    ruby,
    tox,
    unittest,
)
from regreen.commands.grammar import Row
from regreen.commands.refusals import shown
from regreen.errors import Refused

RUNS_TESTS: tuple[Row, ...] = (
    *pytest.ROWS, *unittest.ROWS, *javascript.ROWS, *go.ROWS, *cargo.ROWS, *jvm.ROWS, *dotnet.ROWS, *ruby.ROWS,
    *php.ROWS, *make.ROWS, *tox.ROWS,
)  # fmt: skip
READS_GIT: tuple[Row, ...] = git.ROWS

_ALLOWED = (
    "allowed: pytest, python -m pytest|unittest, npm|pnpm|yarn test, npx jest|mocha|vitest run, node --test, go test, "
    "cargo test, cargo nextest run, mvn|gradle test, dotnet test, rspec, phpunit, make test|check, tox, nox"
)
_STRICT = frozenset(("python", "python3"))  # what stands before `-m` here is another command, not an option too many
_LISTED = 6


def find(argv: Sequence[str], table: Sequence[Row]) -> Row:
    """The row of the longest leading words. Raises Refused if there is none."""
    matching = [row for row in table if row.matches(argv)]
    if not matching:
        raise _unknown(argv, table)
    return max(matching, key=lambda r: len(r.words))


def _unknown(argv: Sequence[str], table: Sequence[Row]) -> Refused:
    said = shown(" ".join(argv[:4]))
    mine = [words for words in _commands(table) if words.partition(" ")[0] == argv[0]]
    if not mine:
        return Refused("command_not_allowed", f"{said} is not an allowed command", _hint(argv, table))
    hint = "allowed: " + ", ".join(f"`{words}`" for words in mine[:_LISTED])
    if len(argv) > 1 and argv[1][:1] in ("-", "+") and argv[0] not in _STRICT:
        return Refused("argument_not_allowed", f"{shown(argv[1])} is not allowed: no option may stand between "
                       f"{shown(argv[0])} and what it is to do", hint)  # fmt: skip
    return Refused("command_not_allowed", f"{said} is not an allowed command", hint)


def _hint(argv: Sequence[str], table: Sequence[Row]) -> str:
    if table is READS_GIT:
        return "allowed: " + ", ".join(_commands(table))
    near = get_close_matches(" ".join(argv[:3])[:100], _commands(table), 1, 0.8)
    return (f"did you mean `{near[0]}`? " if near else "") + _ALLOWED


def _commands(table: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(" ".join(w if isinstance(w, str) else "test:NAME" for w in r.words) for r in table))
