"""Running a project's tests and saying truthfully what came of it.

`run_suite` picks the runner from a table; each runner is one entry here and files of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from regreen.errors import UsageError
from regreen.model import SuiteReport
from regreen.sandbox import Cancel
from regreen.settings import Settings
from regreen.testing.condense import condense, neutral
from regreen.testing.interpreter import Interpreter, NoInterpreter, Tried, find_interpreter
from regreen.testing.pytest_suite import run_pytest
from regreen.testing.request import OnProgress, OnWritten, Progress, Runner, SuiteRequest
from regreen.workspace import Workspace

__all__ = [
    "RUNNERS", "Interpreter", "NoInterpreter", "Progress", "Runner", "SuiteRequest", "Tried",
    "condense", "find_interpreter", "neutral", "run_suite",
]  # fmt: skip

RUNNERS: Mapping[str, Runner] = {"pytest": run_pytest}


def run_suite(
    workspace: Workspace,
    settings: Settings,
    store_folder: Path,
    *,
    selection: Sequence[str] = (),
    argv: Sequence[str] = (),
    last_failed: Sequence[str] = (),
    timeout_s: float,
    cancel: Cancel,
    on_progress: OnProgress | None = None,
    per_test_timeout_s: float = 0.0,
    isolate: bool = False,
    interpreter: Interpreter | None = None,
    environment: Mapping[str, str] | None = None,
    runner: str = "pytest",
    on_written: OnWritten | None = None,
) -> SuiteReport:
    """Run tests; see `SuiteRequest` for what the arguments mean. Blocking.

    Raises Refused for a selection or argv that is not allowed, and UsageError for an unknown runner; everything that
    can happen to the tests is a status. `on_progress` and `on_written` are called in this thread.
    """
    if runner not in RUNNERS:
        raise UsageError("invalid_arguments", f"runner {runner!r} is not known", f"known: {', '.join(RUNNERS)}")
    request = SuiteRequest(
        workspace=workspace,
        settings=settings,
        store_folder=store_folder,
        timeout_s=timeout_s,
        selection=tuple(selection),
        argv=tuple(argv),
        last_failed=tuple(last_failed),
        per_test_timeout_s=per_test_timeout_s,
        isolate=isolate,
        interpreter=interpreter,
        environment=dict(environment or {}),
        on_written=on_written,
    )
    return RUNNERS[runner](request, cancel, on_progress)
