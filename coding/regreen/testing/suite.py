"""One test run from the caller's side: which project and runner, what is protected meanwhile, and what is shown of it.

Inside a project's folder a runner knows ids and paths relative to that folder; here they are put below the root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from regreen import commands
from regreen.errors import UsageError
from regreen.model import CaseOutcome, Counts, SuiteReport, SuiteStatus
from regreen.sandbox import Cancel
from regreen.settings import Settings
from regreen.testing.bounding import bounded
from regreen.testing.interpreter import Interpreter
from regreen.testing.looking import Look
from regreen.testing.project import NoProject, Project, find_project
from regreen.testing.request import OnProgress, OnWritten, SuiteRequest
from regreen.testing.runners import BY_NAME, NAMES, ROWS, Row
from regreen.workspace import Workspace

_MAX_HOPS = 4  # of commands that stand for another: `tox` that runs `make test` that runs pytest


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
    runner: str = "",
    on_written: OnWritten | None = None,
) -> SuiteReport:
    """Run tests; see `SuiteRequest` for what the arguments mean. Blocking. `runner` "" or `auto` finds it.

    Raises Refused for a selection or argv that is not allowed, and UsageError for an unknown runner; everything that
    can happen to the tests is a status. `on_progress` and `on_written` are called in this thread.
    """
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
    project = _project(request, "" if runner == "auto" else runner)
    if isinstance(project, NoProject):
        return SuiteReport(
            SuiteStatus.NO_TESTS, runner, tuple(argv), "", "none", Counts(), (), (), 0.0, message=project.message
        )
    return _run(request, project, cancel, on_progress)


def _project(request: SuiteRequest, runner: str) -> Project | NoProject:
    if runner and runner not in BY_NAME:
        raise UsageError("invalid_arguments", f"runner {runner!r} is not known", f"known: {', '.join(NAMES)}")
    if request.argv:
        named = commands.check(request.argv, request.workspace.root).runner
        if runner and runner != named:
            raise UsageError("invalid_arguments", f"argv is a command of {named}, not of {runner}", "give one of both")
        return Project("", BY_NAME[named], "named by argv")
    return find_project(request.workspace, ROWS, request.selection or request.last_failed, runner=runner)


def _run(request: SuiteRequest, project: Project, cancel: Cancel, on_progress: OnProgress | None) -> SuiteReport:
    inner = replace(
        request,
        project=project.folder,
        selection=tuple(_inward(s, project.folder, request.workspace) for s in request.selection),
        last_failed=tuple(_inward(s, project.folder, request.workspace) for s in request.last_failed),
    )
    row, inner, notes = _real(project, inner)
    report = row.run(inner, cancel, on_progress)
    if project.others and not request.selection:
        notes.append(f"also recognised here: {', '.join(project.others)} (choose with `runner`)")
    if project.folder:
        notes.append(f"project {project.folder}: {project.why}")
        report = _outward(report, project.folder)
    return bounded(replace(report, project=project.folder, notes=(*report.notes, *notes)))


def _real(project: Project, request: SuiteRequest) -> tuple[Row, SuiteRequest, list[str]]:
    """Behind commands that only stand for another one (`make test`), the runner that is really meant."""
    row, notes = project.row, list[str]()
    look = Look(request.workspace, project.folder)
    for _ in range(_MAX_HOPS):
        found = row.resolve(look, request) if row.resolve is not None else None
        if found is None:
            break
        notes.append(f"{row.name} stands for {found.runner}" + (f" ({found.why})" if found.why else ""))
        row = BY_NAME[found.runner]
        request = replace(request, argv=found.argv)
    return row, request, notes


def _inward(entry: str, folder: str, workspace: Workspace) -> str:
    """An entry of a selection as the project's runner knows it."""
    if not folder:
        return entry
    path = PurePosixPath(entry)
    if path.is_absolute() and path.is_relative_to(workspace.root):
        entry = path.relative_to(workspace.root).as_posix()
    if entry.rstrip("/") == folder:
        return "."
    return entry.removeprefix(f"{folder}/")


def _outward(report: SuiteReport, folder: str) -> SuiteReport:
    """The report with ids as they are known from the root."""

    def put(test: str) -> str:
        return f"{folder}/{test}"

    outcomes: dict[str, CaseOutcome] = {put(i): o for i, o in report.outcomes.items()}
    return replace(
        report,
        failures=tuple(replace(f, id=put(f.id)) for f in report.failures),
        groups=tuple(replace(g, ids=tuple(map(put, g.ids))) for g in report.groups),
        outcomes=outcomes,
        durations_s={put(i): s for i, s in report.durations_s.items()},
    )
