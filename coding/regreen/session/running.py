"""Test runs as jobs: with a handle, progress, and a result that can be asked for later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from regreen.jobs import Job
from regreen.model import SuiteReport
from regreen.session import asking
from regreen.session.repository import Session
from regreen.store import new_id
from regreen.wire import Json, to_object

if TYPE_CHECKING:
    from regreen.testing import Progress


def _told(progress: Progress) -> str:
    """How far a test run is, in a line."""
    if not progress.total and not progress.done:
        return "collecting tests"
    of = f" of {progress.total}" if progress.total else ""
    failing = f", {progress.failing} failing" if progress.failing else ""
    return f"tests: {progress.done}{of}{failing}"


def start_tests(
    session: Session,
    selection: Sequence[str],
    *,
    argv: Sequence[str],
    timeout_s: float,
    last_failed: bool,
    runner: str,
    warm: bool,
) -> tuple[Job, Callable[[], SuiteReport | None]]:
    """Run tests as a job. The second value gives the report once the job is done."""
    session.allow("run", effect=asking.of_tests(selection, argv=argv, runner=runner))
    run_id = new_id("job")
    job = Job(run_id, "test", session.key, session.store, {"selection": list(selection), "argv": list(argv)})
    session.jobs.add(job)
    reports: list[SuiteReport] = []

    def work() -> None:
        reports.append(
            session.run_suite(
                selection,
                argv=argv,
                timeout_s=timeout_s,
                last_failed=last_failed,
                runner=runner,
                warm=warm,
                cancel=job.cancel,
                log_folder=session.store.run_folder(run_id),
                on_progress=lambda p: job.set_progress(_told(p)),
            )
        )

    def view() -> dict[str, Json]:
        return to_object(reports[0]) if reports else {"status": "running"}

    job.start(work, view)
    return job, lambda: reports[0] if reports else None
