"""The rows of tox and nox. Words behind `--` go to the test runner, which is taken for pytest."""

from __future__ import annotations

from regreen.commands import pytest
from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import CHANGES, LOADS, MOVES, RUNS, WRITES, because
from regreen.commands.validators import one_of, pattern

_ENVIRONMENTS = pattern(r"[\w][\w.,\-]{0,99}", "names of environments such as py311")
_SESSIONS = pattern(r"[\w][\w.\-()=', ]{0,99}", "a session's name")
_TOX = Schema(
    switches=frozenset(("-q", "-v", "--quiet", "--verbose", "--skip-missing-interpreters", "--no-provision")),
    options={"-e": _ENVIRONMENTS, "--colored": one_of("yes", "no")},
    glued="e",
    bundle="qv",
    dashes="inner",
    inner=pytest.SCHEMA,
    refused=because(LOADS, "-c", "--conf", "--override", "-x", "--installpkg", "--force-dep", "--pip-pre", "-f*")
    | because(MOVES, "--workdir", "--root", "--discover")
    | because(CHANGES, "-r", "--recreate", "--notest", "-n", "--develop", "-b", "--pkg-only", "-p", "--parallel*")
    | because(WRITES, "--result-json", "--json"),
)
_NOX = Schema(
    switches=frozenset(("-R", "-r", "--reuse-existing-virtualenvs", "--no-install", "-v", "--verbose", "--no-color")),
    options={
        "-s": _SESSIONS,
        "--session": _SESSIONS,
        "--sessions": _SESSIONS,
        "-p": pattern(r"[0-9]\.[0-9]{1,2}", "a version such as 3.12"),
        "--python": pattern(r"[0-9]\.[0-9]{1,2}", "a version such as 3.12"),
    },
    dashes="inner",
    inner=pytest.SCHEMA,
    refused=because(LOADS, "-f", "--noxfile", "--extra-python*", "--force-python", "-P")
    | because(MOVES, "--envdir")
    | because(RUNS, "--force-venv-backend", "-fb", "--default-venv-backend", "-db", "--no-venv", "-k", "--keywords")
    | because(CHANGES, "-t", "--tags", "-x", "--stop-on-first-error", "--list", "-l")
    | because(WRITES, "--report"),
)

ROWS = (
    *(Row(words, "tox", _TOX) for words in (("tox",), ("tox", "run"), ("tox", "r"))),
    Row(("nox",), "nox", _NOX),
)
