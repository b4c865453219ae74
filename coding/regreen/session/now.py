"""What a job is at now, whichever process it runs in: cheap enough to be asked several times a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from regreen.jobs import Jobs
from regreen.session.recording import RunRecord


@dataclass(frozen=True, slots=True)
class RunState:
    """`state` as `job_status` tells it; `reason` says why a job that is done has ended, "" where that is not known."""

    state: str
    progress: str = ""
    reason: str = ""

    @property
    def ended(self) -> bool:
        """Nothing more will come of it: it is done, or its process has died."""
        return self.state in ("done", "interrupted")


def state_of(jobs: Jobs, record: Callable[[str], RunRecord], run_id: str, redact: Callable[[str], str]) -> RunState:
    """The state of a job. `record` reads what is recorded of it, and raises UsageError where it may not be told."""
    job = jobs.live(run_id)
    state = job.state if job is not None else ""  # before the record is read: what is done by now is in it
    run = record(run_id)
    if run.finished is not None or (job is not None and state == "done"):
        return RunState("done", reason=run.reason or (job.error.kind if job is not None and job.error else ""))
    if job is not None:
        return RunState(state, redact(job.progress))
    told = jobs.recorded(run_id)
    if told["state"] == "done":  # only now
        return RunState("done", reason=record(run_id).reason)
    return RunState(str(told["state"]), redact(str(told.get("progress", ""))))
