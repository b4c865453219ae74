"""The rows of `dotnet test`."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import LOADS, RUNS, WRITES, because
from regreen.commands.validators import Validator, expression, one_of, pattern, relative_path

_PROJECTS = frozenset((".csproj", ".fsproj", ".vbproj", ".sln", ".slnx"))
_VERBOSITY = one_of("q", "quiet", "m", "minimal", "n", "normal", "d", "detailed")
_CONFIGURATION = pattern(r"[A-Za-z]\w{0,39}", "a configuration such as Debug or Release")
_FRAMEWORK = pattern(r"[a-z][a-z0-9.\-]{1,39}", "a framework such as net8.0")
_OPTIONS: dict[str, Validator] = {
    "--filter": expression,
    "-v": _VERBOSITY,
    "--verbosity": _VERBOSITY,
    "-c": _CONFIGURATION,
    "--configuration": _CONFIGURATION,
    "-f": _FRAMEWORK,
    "--framework": _FRAMEWORK,
}


def _project(value: str, root: Path) -> str:
    """A project, a solution or a folder: a `.dll` would be run as it is."""
    problem = relative_path(value, root)
    if not problem and PurePosixPath(value).suffix not in _PROJECTS and not os.path.isdir(root / value):  # noqa: PTH112
        return "a project, a solution or a folder is wanted"
    return problem


_SCHEMA = Schema(
    switches=frozenset(("--no-build", "--no-restore", "--nologo", "--list-tests", "-t")),
    options=_OPTIONS,
    positional=_project,
    reads_at=True,
    refused=because(LOADS, "--settings*", "-s", "--test-adapter-path*", "--logger*", "-l", "--collect*",
                    "--environment", "-e", "-a", "--arch", "-r", "--runtime", "--os")
    | because(RUNS, "-p:*", "-p", "--property*", "/p:*")
    | because(WRITES, "--results-directory*", "-d", "--diag*", "-o", "--output", "--artifacts-path", "--blame*",
              "-bl*"),
)  # fmt: skip

ROWS = (Row(("dotnet", "test"), "dotnet", _SCHEMA),)
