"""The rows of `make test` and `make check`. No variables, no other file, no other target: those are a shell."""

from __future__ import annotations

from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import CHANGES, LOADS, MOVES, RUNS, because
from regreen.commands.validators import number

_SCHEMA = Schema(
    switches=frozenset(("-s", "--silent", "--quiet", "-k", "--keep-going", "--no-print-directory")),
    options={"-j": number(1, 32)},
    attached={"--jobs": number(1, 32)},
    glued="j",
    bundle="sk",
    goals="test|check",
    goal="test` or `check",
    refused=because(LOADS, "-f*", "--file", "--makefile", "-I*", "--include-dir", "-e", "--environment-overrides")
    | because(MOVES, "-C*", "--directory")
    | because(RUNS, "-E*", "--eval*")
    | because(CHANGES, "-i", "--ignore-errors", "-W*", "--what-if", "--new-file", "--assume-new", "-o*", "--old-file",
              "-B", "--always-make", "-n", "--just-print", "--dry-run", "-t", "--touch", "-q", "--question"),
)  # fmt: skip

ROWS = (Row(("make",), "make", _SCHEMA),)
