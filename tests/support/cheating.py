"""A fix run that takes any number of cheats: real tests, real snapshots, and limits that no cheat reaches."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from regreen.events import EventLog
from regreen.fix import FixRequest, FixRun, Insight, Scope, StopRules
from regreen.jobs import Job
from regreen.model import Attempt, Proposal, Replacement, StopReason, TamperPolicy
from regreen.session.fix_bench import bench_of
from regreen.store import new_id
from support.engines import engine_on

_PATIENT = StopRules(
    max_attempts=1000, budget_s=1000, patience=1000, repeats=1000, regressions=1000, tamperings=1000
)  # fmt: skip
Edits = tuple[tuple[str, str, str], ...]  # path, the lines to replace, the lines instead


@contextmanager
def patient_run(root: Path, tests: TamperPolicy = "readonly") -> Generator[FixRun]:
    """A run that has its baseline and waits for proposals; stopped at the end if it is still open."""
    with engine_on(root) as engine:
        session = engine.session()
        lock = session.run_lock()
        session.acquire(lock)
        try:
            run_id = new_id("job")
            folder = session.store.run_folder(run_id)
            log = EventLog(run_id, folder / "events.jsonl", session.redact, time.time)
            job = Job(run_id, "fix", session.key, session.store, {})
            session.jobs.add(job)
            request = FixRequest(run_id, (), Scope((), tests), _PATIENT)
            run = FixRun(request, bench_of(session, job, log, folder, lambda _: Insight()), log)
            run.start()
            assert run.outcome is None, run.outcome
            yield run
            run.stop(StopReason.PROPOSER_FAILED)
        finally:
            lock.release()


def hand_in(run: FixRun, edits: Edits) -> Attempt:
    """Submit one proposal of these edits."""
    assert run.outcome is None, run.outcome
    return run.submit(Proposal(replacements=tuple(Replacement(*e) for e in edits)))
