"""Which runner a command line of a project's own files plainly is.

What needs a shell, sets variables that steer loaders or runners, or has words that no caller may give is not plain;
options that only ask for reports or coverage are left out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from regreen import commands
from regreen.errors import RegreenError
from regreen.sandbox import is_withheld
from regreen.testing.request import SuiteRequest
from regreen.testing.runners.row import Elsewhere

_SHELL = re.compile(r"[|&;<>`$(){}*?~\n\\]|\[")
_PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.\d+)?)?")
_LAUNCHERS = (
    ("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run"), ("hatch", "run"), ("rye", "run"),
    ("bundle", "exec"), ("coverage", "run", "-m"), ("python", "-m", "coverage", "run", "-m"),
)  # fmt: skip
_PLACES = re.compile(r"(?:\.?/)?(?:\.?venv/bin|node_modules/\.bin|vendor/bin)/([\w.-]+)")
_REPORTS = re.compile(r"--(?:cov|no-cov|junit-?xml|html|self-contained-html|durations-min|log-junit|coverage)\b.*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
_STEERING = frozenset(("PATH", "VIRTUAL_ENV"))  # which programs run
_KNOWN = frozenset((
    "pytest", "unittest", "node", "jest", "vitest", "mocha", "npm", "pnpm", "yarn", "go", "cargo", "maven", "gradle",
    "dotnet", "rspec", "phpunit", "make", "tox", "nox",
))  # fmt: skip


def plain(line: str, request: SuiteRequest, root: Path) -> Elsewhere | None:
    """The runner behind a command line; None where it is not plainly one."""
    return _for(known(line, root), request)


def plain_words(words: list[str], request: SuiteRequest, root: Path) -> Elsewhere | None:
    """The same for words."""
    return _for(_known_words(words, root), request)


def known(line: str, root: Path) -> Elsewhere | None:
    """The runner behind a command line, whatever is asked for."""
    if _SHELL.search(line):
        return None
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    return _known_words(words, root)


def _for(found: Elsewhere | None, request: SuiteRequest) -> Elsewhere | None:
    """A selection takes the place of the command's own words."""
    chosen = request.selection or request.last_failed
    return replace(found, argv=()) if found is not None and chosen else found


def _known_words(words: list[str], root: Path) -> Elsewhere | None:
    environment, rest = _assigned(words)
    argv = _normal(rest)
    if not argv or environment is None:
        return None
    kept = [w for w in argv if not _REPORTS.fullmatch(w)]
    try:
        checked = commands.check(kept, root)
    except RegreenError:
        return None
    if checked.runner not in _KNOWN:
        return None
    without = ", without its options for reports" if kept != argv else ""
    return Elsewhere(checked.runner, tuple(kept), f"`{' '.join(words)}`{without}", environment)


def _assigned(words: list[str]) -> tuple[Mapping[str, str] | None, list[str]]:
    """The variables that stand before a command, and the command; None for variables that nobody may set."""
    found: dict[str, str] = {}
    rest = words[1:] if words[:1] == ["env"] else list(words)
    while rest and (assignment := _ASSIGNMENT.fullmatch(rest[0])):
        found[assignment[1]] = assignment[2]
        rest = rest[1:]
    return allowed(found), rest


def allowed(variables: Mapping[str, str]) -> Mapping[str, str] | None:
    """The variables, where anybody may set them; else None."""
    for name, value in variables.items():
        inside = name == "PYTHONPATH" and all(_is_inside(p) for p in value.split(":") if p)
        if (is_withheld(name) and not inside) or name in _STEERING:
            return None
    return variables


def _is_inside(path: str) -> bool:
    return not Path(path).is_absolute() and ".." not in Path(path).parts


def _normal(words: list[str]) -> list[str]:
    """The words as a caller would write them: without launchers, programs by their names."""
    words = list(words)
    if words and (place := _PLACES.fullmatch(words[0])):
        words[0] = place[1]
    if words and _PYTHON.fullmatch(words[0]):
        words[0] = "python"
    for launcher in _LAUNCHERS:
        if tuple(words[: len(launcher)]) == launcher:
            return _normal(words[len(launcher) :])
    return words
