"""What a test run is asked for, and how a runner is called. Values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from regreen.model import SuiteReport
from regreen.sandbox import Cancel
from regreen.settings import Settings
from regreen.testing.interpreter import Interpreter
from regreen.workspace import Workspace

OnWritten = Callable[[Sequence[str]], None]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is. `total` is 0 until the tests have been collected."""

    done: int
    total: int
    failing: int
    current: str


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """One test run.

    `selection`: ids, files, folders or unambiguous bare names; empty is everything. `argv`: a whole command, checked
    against the whitelist, instead of the runner's default. `last_failed`: run only these ids, if any of them exists.
    `per_test_timeout_s` of 0 bounds no single test. `isolate`: when a test crashes or hangs the process, go on with
    the others without it. `environment` adds variables for the tests. `on_written` is told, while the tests run, which
    paths below the root the test process itself has made, opened for writing, renamed, removed or otherwise changed:
    each once, relative, at most 5,000. It is called in the thread of the run. What programs write that the tests
    start is not seen, and of tests spread over processes by pytest-xdist only what its controller writes. `workers` are
    arguments that spread the tests over processes, where that pays. `project` is the folder of the project that the
    tests belong to, relative to the root ("" is the root): selection and ids are relative to it, files in failures to
    the root.
    """

    workspace: Workspace
    settings: Settings
    store_folder: Path
    timeout_s: float
    selection: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    last_failed: tuple[str, ...] = ()
    project: str = ""
    workers: tuple[str, ...] = ()
    per_test_timeout_s: float = 0.0
    isolate: bool = False
    interpreter: Interpreter | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    on_written: OnWritten | None = None

    @property
    def folder(self) -> Path:
        """The project's folder, absolute: where its runner is started."""
        return self.workspace.root / self.project


class Runner(Protocol):
    """Runs the tests of one ecosystem and reports honestly. Raises only for calls that are refused or wrong."""

    def __call__(self, request: SuiteRequest, cancel: Cancel, on_progress: OnProgress | None) -> SuiteReport: ...
