"""What a fix run works with in a session: its tests and gates, the files it may not change, its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.errors import RegreenError
from regreen.events import EventLog
from regreen.fix import FixBench, Insight
from regreen.fix.protected import decides_tests, is_protected_test
from regreen.jobs import Job
from regreen.model import SuiteReport
from regreen.repo import remarks
from regreen.session.gating import gates_of, run_gate
from regreen.session.recording import Recorder
from regreen.session.repository import Session

if TYPE_CHECKING:
    from regreen.testing import Progress


def bench_of(
    session: Session, job: Job, log: EventLog, folder: Path, insight: Callable[[SuiteReport], Insight]
) -> FixBench:
    """The effects of one run. `folder` takes the output of its tests and gates."""
    recorder = Recorder(session.store, job.id)

    def told(progress: Progress) -> None:
        log.emit("tests_progress", done=progress.done, total=progress.total, current=progress.current)

    def run_tests(
        selection: Sequence[str],
        timeout_s: float,
        per_test_timeout_s: float,
        on_written: Callable[[Sequence[str]], None],
    ) -> SuiteReport:
        return session.run_suite(
            selection,
            on_written=on_written,
            timeout_s=timeout_s,
            per_test_timeout_s=per_test_timeout_s,
            isolate=True,
            cancel=job.cancel,
            log_folder=folder,
            on_progress=told,
        )

    def read_text(path: str) -> str:
        try:
            return session.workspace.read_text(path).text
        except RegreenError:  # what a report names need not be there, or be text
            return ""

    return FixBench(
        workspace=session.workspace,
        journal=session.journal,
        snapshots=session.snapshots,
        run_tests=run_tests,
        insight=insight,
        protected_files=lambda: protected_files(session),
        cancelled=job.cancel.is_set,
        limits=session.settings.limits,
        strict_edits=session.settings.strict_edits,
        gates=gates_of(session),
        run_gate=lambda gate: run_gate(session, gate, job.cancel, folder),
        remarks=remarks(session.git),
        project_files=lambda: session.files().paths,
        read_text=read_text,
        record=lambda proposal, attempt: recorder.attempt(attempt.number, proposal, attempt),
    )


def protected_files(session: Session) -> Sequence[str]:
    """The files that decide what a test run says, of those that git does not ignore."""
    return [p for p in session.files().paths if is_protected_test(p) or decides_tests(p)]
