"""What can be undone in a repository, and undoing it: a transaction, a run, or all since a snapshot was taken."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.errors import UsageError
from regreen.model import RestoreReport
from regreen.session import asking

if TYPE_CHECKING:
    from regreen.session.repository import Session

_RUNS_LOOKED_AT = 200
_EVENTS_READ_BYTES = 64 * 1024  # a run tells its snapshot at its very beginning


def restore(session: Session, to: str, *, dry_run: bool) -> RestoreReport:
    """See `Session.restore`."""
    if not dry_run:
        session.allow("restore", effect=asking.of_restore(to))
    with session.exclusive():
        if to.startswith("txn-"):
            return session.journal.undo(to, dry_run=dry_run)
        run = _run_of_snapshot(session, to) if to.startswith("snap-") else to
        if not session.store.rows("SELECT 1 FROM runs WHERE id = ? AND repo = ?", run, session.key):
            raise UsageError(
                "not_found",
                f"there is no job or transaction {to!r} in {session.root}",
                "give a job_id or a transaction, as told by apply_edits or fix_tests",
            )
        return session.journal.rewind(run, dry_run=dry_run)


def _run_of_snapshot(session: Session, snapshot: str) -> str:
    """The run that took a snapshot. Its own record ends with the run; what the run changed since, the journal knows."""
    for row in session.store.rows("SELECT run_id FROM snapshots WHERE id = ? AND repo = ?", snapshot, session.key):
        return row["run_id"]
    rows = session.store.rows(
        "SELECT id FROM runs WHERE repo = ? AND kind IN ('fix', 'task') ORDER BY created DESC LIMIT ?",
        session.key,
        _RUNS_LOOKED_AT,
    )
    for row in rows:
        if snapshot in _snapshots_of(session.store.folder / "runs" / row["id"] / "events.jsonl"):
            return row["id"]
    raise UsageError(
        "not_found",
        f"snapshot {snapshot!r} is not known (any more) in {session.root}: it was kept as long as its run lasted",
        "restore the run by its job_id instead: it puts back all that the run changed since",
    )


def _snapshots_of(events: Path) -> set[str]:
    """The snapshots that a run says it took, by the record of its events."""
    found: set[str] = set()
    with suppress(OSError), events.open("rb") as file:
        for line in file.read(_EVENTS_READ_BYTES).splitlines():
            if b'"snapshot_taken"' in line:
                with suppress(ValueError, AttributeError):
                    found.add(str(json.loads(line).get("snapshot")))
    return found


def standing_changes(session: Session) -> list[str]:
    """What `restore` takes to undo each change that stands, newest first: a run's id, or a transaction.

    Passed over are what was undone already, the undoing itself, and runs whose changes were rolled back.
    """
    rows = session.store.rows(
        "SELECT id, run_id, label FROM transactions WHERE repo = ? AND state = 'applied'"
        " ORDER BY created DESC, rowid DESC",
        session.key,
    )
    undone: set[str] = set()
    found: dict[str, None] = {}
    for row in rows:
        if row["id"] in undone:
            continue
        if row["label"].startswith("undo "):
            undone.add(row["label"].removeprefix("undo "))
            continue
        touched = session.journal.touched(row["run_id"]) if row["run_id"] else {}
        if not row["run_id"] or any(before != after for before, after in touched.values()):
            found[row["run_id"] or row["id"]] = None
    return list(found)
