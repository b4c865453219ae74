"""What `restore` can take back in a repository, newest first: read from the store, nothing is opened.

A run stands for all of its changes; one whose changes were put back already, and an edit that was undone, are left out.
The putting back itself is there: it can be taken back too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from sqlite3 import Row

from regreen.store import Store


@dataclass(frozen=True, slots=True)
class Restorable:
    """One thing to take back: a run or a transaction. `created` is in seconds since 1970; `files` are its paths."""

    id: str
    created: float
    what: str
    files: tuple[str, ...]


_CHANGES = """
SELECT t.id, t.run_id, t.label, t.created, e.path, COALESCE(e.before_sha, '') AS before,
       COALESCE(e.after_sha, '') AS after, r.result, r.finished, r.id IS NOT NULL AND r.finished IS NULL AS running
FROM transactions t JOIN entries e ON e.txn = t.id LEFT JOIN runs r ON r.id = t.run_id
WHERE t.repo = ? AND t.state = 'applied' ORDER BY t.created DESC, t.rowid DESC, e.seq DESC
"""
_UNDO = "undo "


def restorable(store: Store, repo: str) -> tuple[Restorable, ...]:
    """Everything that can be taken back in the repository of this key, newest first."""
    groups: dict[str, list[Row]] = {}
    undone: set[str] = set()
    for row in store.rows(_CHANGES, repo):
        if row["id"] in undone or row["running"]:
            continue
        if row["label"].startswith(_UNDO):
            undone.add(row["label"].removeprefix(_UNDO))
        if _takes_back(row):
            groups.setdefault(row["id"], []).append(row)
        groups.setdefault(row["run_id"] or row["id"], []).append(row)
    found = (Restorable(name, rows[0]["created"], _what(name, rows[0]), _files(rows)) for name, rows in groups.items())
    return tuple(r for r in found if r.files)


def _takes_back(row: Row) -> bool:
    """Whether this put back what a run had left at its end; while it works, a run puts back what it does not keep."""
    return row["label"] == f"rewind {row['run_id']}" and row["finished"] and row["created"] > row["finished"]


def _files(rows: Iterable[Row]) -> tuple[str, ...]:
    """The paths that are different after these changes (newest first) from what they were before."""
    sides: dict[str, tuple[str, str]] = {}
    for row in rows:
        _, after = sides.get(row["path"], ("", row["after"]))
        sides[row["path"]] = (row["before"], after)
    return tuple(sorted(path for path, (before, after) in sides.items() if before != after))


def _what(name: str, row: Row) -> str:
    if row["run_id"] and name == row["id"]:
        return f"restore of {row['run_id']}"
    if not row["run_id"]:
        return "edit" if row["label"] == "apply_edits" else row["label"]
    outcome = json.loads(row["result"] or "{}").get("outcome", {})
    return f"fix: {outcome.get('reason', 'not finished')}"
