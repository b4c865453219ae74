"""A row of the runner table: what a test runner is called, how a project that uses it is recognised, how it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from regreen.testing.looking import Look
from regreen.testing.request import Runner, SuiteRequest

CONFIGURED = 3  # the project's own settings name this runner
DEPENDENCY = 2  # the project depends on it
FILES = 1  # its files look like it


@dataclass(frozen=True, slots=True)
class Sign:
    """Why a folder's tests seem to belong to a runner. The strongest sign wins, then the order of the table.

    `stands_for`: the runner that a wrapper comes down to; for tests in a language that is not that one's the sign
    says little.
    """

    strength: int
    why: str
    stands_for: str = ""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What a command such as `make test` comes down to: another runner with these words, in the same folder.

    `argv` is a whole allowed command of that runner; empty for the runner's default. `environment` are variables that
    the command sets; `python` is the interpreter that it would use, where it has one of its own.
    """

    runner: str
    argv: tuple[str, ...] = ()
    why: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    python: str = ""


Resolve = Callable[[Look, SuiteRequest], Elsewhere | None]
"""Finds the real runner behind a wrapper; None where there is none that we know, and the wrapper itself is run."""


@dataclass(frozen=True, slots=True)
class Row:
    """One runner.

    `marks` are files that make a folder a project of its own (`Cargo.toml`, `*.sln`); `suffixes` are those of its
    test files, empty for any. `resolve` is that of a wrapper; `instead` finds another runner that is meant although the
    files look like this one's, and is not asked where the caller named the runner.
    """

    name: str
    language: str
    marks: tuple[str, ...]
    suffixes: tuple[str, ...]
    detect: Callable[[Look], Sign | None]
    run: Runner
    resolve: Resolve | None = None
    instead: Resolve | None = None
