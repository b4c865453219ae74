"""One test run from the caller's side: which project and runner, what is protected meanwhile, and what is shown of it.

Inside a project's folder a runner knows ids and paths relative to that folder; here they are put below the root.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from regreen import commands
from regreen.errors import UsageError
from regreen.model import CaseOutcome, Counts, SuiteReport, SuiteStatus
from regreen.sandbox import Cancel, Isolation, isolation
from regreen.settings import Settings
from regreen.snapshots.protected import Guard, Tampered
from regreen.testing.bounding import bounded
from regreen.testing.interpreter import Interpreter, find_interpreter
from regreen.testing.labels import sandbox_note
from regreen.testing.looking import Look
from regreen.testing.meaning import meant, project_above
from regreen.testing.project import NoProject, Project, find_project
from regreen.testing.request import OnProgress, OnWritten, SuiteRequest
from regreen.testing.runners import BY_NAME, NAMES, ROWS, Row, custom
from regreen.wire import counted
from regreen.workspace import Workspace

if TYPE_CHECKING:
    from regreen.testing.warm import WarmPytest

_MARKS = tuple(dict.fromkeys(mark for row in ROWS for mark in row.marks))  # names of files that a project has
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
    last_s: float | None = None,
    warm: WarmPytest | None = None,
) -> SuiteReport:
    """Run tests; see `SuiteRequest` for what the arguments mean. Blocking. `runner` "" or `auto` finds it. `last_s`:
    what the last run of the same tests took, for whether to spread them over processes. `warm`: where tests of pytest
    can be run warm, and a warm run can be trusted, take it; the notes then say so.

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
        environment={**settings.test_environ, **(environment or {})},
        on_written=on_written,
    )
    project = _project(request, "" if runner == "auto" else runner)
    if isinstance(project, NoProject):
        above = project_above(workspace.root, settings.environ, _MARKS)
        said = f"{above} {project.message[:1].upper()}{project.message[1:]}" if above else project.message
        return SuiteReport(SuiteStatus.NO_TESTS, runner, tuple(argv), "", "", Counts(), (), (), 0.0, message=said)
    how = _How(named=runner not in ("", "auto"), last_s=last_s, warm=warm)
    return _run(request, project, cancel, on_progress, how)


@dataclass(frozen=True, slots=True)
class _How:
    """How the caller wants it run. `named`: the runner was chosen."""

    named: bool
    last_s: float | None
    warm: WarmPytest | None


def _project(request: SuiteRequest, runner: str) -> Project | NoProject:
    if runner and runner not in BY_NAME:
        raise UsageError("invalid_arguments", f"runner {runner!r} is not known", f"known: {', '.join(NAMES)}")
    if request.argv:
        return _of_command(request, runner)
    own = None if runner else custom.custom_tests(request.settings, request.workspace.root)
    if own and not (request.selection or request.last_failed):
        return Project("", BY_NAME["custom"], "configured by the user for this repository")
    found = find_project(request.workspace, ROWS, request.selection or request.last_failed, runner=runner)
    return NoProject(custom.no_selection(own)) if own and isinstance(found, NoProject) else found


def _of_command(request: SuiteRequest, runner: str) -> Project:
    """The project of a whole command: the one that what it names lies in, else the root."""
    checked = commands.check(request.argv, request.workspace.root)
    if runner and runner != checked.runner:
        raise UsageError(
            "invalid_arguments", f"argv is a command of {checked.runner}, not of {runner}", "give one of both"
        )
    places = request.selection or checked.targets
    found = find_project(request.workspace, ROWS, places, runner=checked.runner) if places else None
    if isinstance(found, Project) and found.folder:
        return found
    return Project("", BY_NAME[checked.runner], "named by argv")


def _run(
    request: SuiteRequest, project: Project, cancel: Cancel, on_progress: OnProgress | None, how: _How
) -> SuiteReport:
    inner = replace(
        request,
        project=project.folder,
        argv=_inward_command(request, project.folder),
        selection=tuple(_inward(s, project.folder, request.workspace) for s in request.selection),
        last_failed=tuple(_inward(s, project.folder, request.workspace) for s in request.last_failed),
    )
    look = Look(request.workspace)
    row, inner, notes = _real(project, inner, named=how.named)
    inner = _spread(row, inner, how.last_s, cancel)
    guard = Guard.take(request.workspace)
    watch = _Watch(request.on_written)
    report = _warm_or_cold(row, replace(inner, on_written=watch), cancel, on_progress, how.warm)
    notes += map(_tampered, guard.verify(watch.seen, request.store_folder / "protected"))
    if project.others and not request.selection:
        notes.append(f"also recognised here: {', '.join(project.others)} (choose with `runner`)")
    if project.below:
        notes.append(f"not run: projects below, each by its folder: {', '.join(project.below)}")
    if project.folder:
        notes.append(f"project {project.folder}: {project.why}")
        report = _outward(report, project.folder)
    if inner.workers:
        notes.append(f"spread over {inner.workers[1]} processes by pytest-xdist")
    if report.status is SuiteStatus.NO_TESTS:
        root, environ = request.workspace.root, request.settings.environ
        elsewhere = meant(request.selection, look) or project_above(root, environ, _MARKS)
        apart = ". " if elsewhere and not elsewhere.startswith(";") else ""
        report = replace(report, message=f"{report.message}{apart}{elsewhere}")
    report = bounded(replace(report, project=project.folder, notes=(*report.notes, *notes)))
    return _labelled(report, isolation(request.settings), (request.workspace.root, *request.settings.writable))


def _real(project: Project, request: SuiteRequest, *, named: bool) -> tuple[Row, SuiteRequest, list[str]]:
    """Behind commands that only stand for another one (`make test`), the runner that is really meant."""
    row, notes = project.row, list[str]()
    look = Look(request.workspace, project.folder)
    for _ in range(_MAX_HOPS):
        ask = row.resolve or (None if named else row.instead)
        found = ask(look, request) if ask is not None else None
        if found is None:
            break
        notes.append(f"{row.name} stands for {found.runner}" + (f" ({found.why})" if found.why else ""))
        row = BY_NAME[found.runner]
        request = replace(request, argv=found.argv, environment={**found.environment, **request.environment})
        if found.python and not request.settings.python:
            request = replace(request, settings=replace(request.settings, python=found.python))
    return row, request, notes


def _spread(row: Row, request: SuiteRequest, last_s: float | None, cancel: Cancel) -> SuiteRequest:
    """The request with pytest-xdist's workers, where the project has it and it pays.

    Not where the caller wants to know what the tests write: what workers write is not seen.
    """
    if row.name != "pytest" or last_s is None or request.on_written is not None or request.isolate:
        return request
    from regreen.testing.warm.refusals import own_words
    from regreen.testing.warm.workers import PAYS_S, choose_workers, has_xdist

    if last_s <= PAYS_S:
        return request
    found = request.interpreter or find_interpreter(request.workspace, request.settings, cancel, start=request.project)
    if not isinstance(found, Interpreter):
        return request
    words = (*own_words(request.folder, request.workspace.root), *request.argv)
    workers = choose_workers(
        words,
        installed=has_xdist(found),
        last_s=last_s,
        cores=os.cpu_count() or 1,
        memory_mib=request.settings.limits.memory_mib,
    )
    return replace(request, interpreter=found, workers=workers)


def _warm_or_cold(
    row: Row, request: SuiteRequest, cancel: Cancel, on_progress: OnProgress | None, warm: WarmPytest | None
) -> SuiteReport:
    if warm is None or row.name != "pytest":
        return row.run(request, cancel, on_progress)
    report = warm.run(request, cancel, on_progress)
    if isinstance(report, SuiteReport):
        return report
    cold = row.run(request, cancel, on_progress)
    return replace(cold, notes=(*cold.notes, f"run cold, not warm: {report.reason}"))


class _Watch:
    """Remembers which paths the tests were seen writing, and hands them on."""

    def __init__(self, on_written: OnWritten | None) -> None:
        self.seen: set[str] = set()
        self._on_written = on_written

    def __call__(self, paths: Sequence[str]) -> None:
        self.seen.update(paths)
        if self._on_written is not None:
            self._on_written(paths)


def _tampered(found: Tampered) -> str:
    """What is said of a protected file that is not as it was."""
    if found.restored:
        kept = f"; what it was changed to is kept in {found.kept}" if found.kept else ""
        return f"the tests {found.what} {found.path}, which is protected: it was put back{kept}"
    return f"{found.path}, which is protected, was {found.what} while the tests ran: {found.why}"


def _labelled(report: SuiteReport, isolation: Isolation, writable: Sequence[Path]) -> SuiteReport:
    """The report with a word on each failure that the sandbox caused."""
    if report.sandbox == "none" or not report.failures:
        return report
    folders = [str(w) for w in writable]
    failures = tuple(
        replace(f, note=sandbox_note(isolation, f"{f.kind}: {f.message}\n{f.excerpt}", writable=folders))
        for f in report.failures
    )
    marked = sum(bool(f.note) for f in failures)
    note = f"{counted(marked, 'failure seems', 'failures seem')} to be caused by the sandbox, as noted there"
    notes = (note,) if marked else ()
    return replace(report, failures=failures, notes=(*report.notes, *notes))


def _inward(entry: str, folder: str, workspace: Workspace) -> str:
    """An entry of a selection as the project's runner knows it."""
    if not folder:
        return entry
    path = PurePosixPath(entry)
    if path.is_absolute() and path.is_relative_to(workspace.root):
        entry = path.relative_to(workspace.root).as_posix()
    entry = entry.removeprefix("./")
    if entry.rstrip("/") == folder:
        return "."
    return entry.removeprefix(f"{folder}/")


def _inward_command(request: SuiteRequest, folder: str) -> tuple[str, ...]:
    """The words of a caller's command, those that name files as seen from the project."""
    if not folder or not request.argv:
        return request.argv
    targets = commands.check(request.argv, request.workspace.root).targets
    return tuple(_inward(w, folder, request.workspace) if w in targets else w for w in request.argv)


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
