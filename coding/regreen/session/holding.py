"""Who holds a work tree for writing, and what a dead holder left in it."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Row
from typing import TYPE_CHECKING

from regreen.errors import Busy
from regreen.jobs import lives
from regreen.model import MAX_IGNORED, Evidence, Outcome, RestoreReport, StopReason
from regreen.session import copies
from regreen.session.locking import Holder, TreeLock
from regreen.session.resolve import work_tree
from regreen.wire import to_json

if TYPE_CHECKING:
    from regreen.session.repository import Session

_BRIEF_WAIT_S = 5.0  # for another process that is just writing an edit


def acquire(session: Session, lock: TreeLock) -> None:
    """Take the run lock, and recover what is unfinished; or raise Busy, which names the holder.

    Another process's single edit is waited for, a job is not.
    """
    if not lock.acquire(0 if _live_runs(session) else _BRIEF_WAIT_S):
        raise busy(_for_what(session, lock.holder()), session.top)
    try:
        others = [r for r in _live_runs(session) if r["pid"] != os.getpid()]
        if others:  # its lock was lost, but it goes on
            raise busy(Holder(others[0]["pid"], others[0]["created"], others[0]["id"]), session.top)
        _recover(session)
    except BaseException:
        lock.release()
        raise


def recover(session: Session) -> dict[str, RestoreReport]:
    """Finish what a killed process left: restore its runs' changes. Returns what was put back, by run."""
    copies.sweep(session.store)
    if not _unfinished(session) or any(r["pid"] != os.getpid() for r in _live_runs(session)):
        return {}
    lock = session.run_lock()
    if not lock.acquire(0):
        return {}
    try:
        return _recover(session)
    finally:
        lock.release()


def busy(holder: Holder, top: Path) -> Busy:
    """The error for whoever wants to write while somebody else does."""
    if holder.pid == os.getpid():
        hint = "wait for it (job_status), or end it (job_cancel)" if holder.job else "wait until it has ended"
    else:
        hint = f"wait until it has ended, or end process {holder.pid}" if holder.pid else "wait until it has ended"
    return Busy(f"{holder} holds {top}", hint)


def _for_what(session: Session, holder: Holder) -> Holder:
    """The holder with the run that it holds the tree for, where that one is in our records."""
    runs = _live_runs(session)
    if not holder.pid and runs:
        return Holder(runs[0]["pid"], runs[0]["created"], runs[0]["id"])
    own = [r for r in runs if r["pid"] == holder.pid]
    return replace(holder, job=own[0]["id"]) if own and not holder.elsewhere else holder


def _live_runs(session: Session) -> list[Row]:
    """The fix runs and tasks in this work tree that are not finished and whose process lives, the newest first."""
    rows = session.store.rows(
        "SELECT runs.id, runs.pid, runs.born, runs.created, repos.root FROM runs JOIN repos ON runs.repo = repos.key"
        " WHERE kind IN ('fix', 'task') AND finished IS NULL ORDER BY created DESC"
    )
    return [r for r in rows if _tree_of(Path(r["root"])) == session.top and lives(r["pid"], r["born"])]


def _tree_of(root: Path) -> Path:
    """The work tree of a root: one inside another (a linked work tree, a nested repository) is its own."""
    return work_tree(root) or root


def _unfinished(session: Session) -> bool:
    rows = session.store.rows(
        "SELECT 1 FROM transactions WHERE repo = ? AND state = 'open' UNION ALL"
        " SELECT 1 FROM runs WHERE repo = ? AND finished IS NULL AND kind IN ('fix', 'task') UNION ALL"
        " SELECT 1 FROM snapshots WHERE repo = ? LIMIT 1",
        *[session.key] * 3,
    )
    return bool(rows)


def _recover(session: Session) -> dict[str, RestoreReport]:
    """Recover, the run lock being held: whatever is unfinished then belongs to nobody any more."""
    if not _unfinished(session):
        return {}
    return session.snapshots.recovered(partial(_close_run, session))


def _close_run(session: Session, run_id: str, report: RestoreReport) -> None:
    outcome = Outcome(
        StopReason.CANCELLED,
        fixed=False,
        restored=not report.conflicts,
        conflicts=report.conflicts,
        ignored=report.ignored[:MAX_IGNORED],
        evidence=Evidence(remarks=tuple(filter(None, [report.about_ignored]))),
        hint="The process ended in the middle of this run; its changes were restored"
        + (", except for what the conflicts name." if report.conflicts else "."),
    )
    told = to_json(outcome)
    results = {"fix": {"attempts": [], "outcome": told}, "task": {"outcome": told, "diff": "", "usage": {}}}
    with session.store.transaction() as db:
        for kind, result in results.items():
            db.execute(
                "UPDATE runs SET state = 'done', finished = ?, result = ? WHERE id = ? AND kind = ?",
                (time.time(), json.dumps(result), run_id, kind),
            )
