"""The journal's rows: transactions and their entries, as values, in and out of the store's tables.

One write transaction of the store per call; nothing here touches a project's file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from sqlite3 import Connection, Row
from typing import Literal, TypeAlias

from regreen.store import Store
from regreen.workspace.attributes import Attributes

TxnState: TypeAlias = Literal["open", "applied", "rolled_back"]


@dataclass(frozen=True, slots=True)
class Version:
    """One side of a change. `sha` "" = absent; `mode` is st_mode, None = what the system gives a new file.

    `attributes` are known of a file that is deleted; one that is changed has them itself.
    """

    sha: str
    mode: int | None = None
    mtime_ns: int | None = None
    attributes: Attributes | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One path's change in a transaction. `path` is real: no link on the way. `made_dirs`: outermost first.

    `undoes`: the transaction took earlier changes back.
    """

    seq: int
    path: str
    before: Version
    after: Version
    made_dirs: tuple[str, ...] = ()
    undoes: bool = False


@dataclass(frozen=True, slots=True)
class Txn:
    id: str
    run_id: str
    state: TxnState
    entries: tuple[Entry, ...]


class Records:
    """The rows of one repository."""

    def __init__(self, store: Store, repo: str) -> None:
        self._store = store
        self._repo = repo

    def begin(self, txn: Txn, label: str, now: float, blobs: Mapping[str, bytes]) -> None:
        """Write down, durably, all that is about to change, with the bytes that will be replaced."""
        with self._store.transaction() as db:
            db.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blobs.items())
            db.execute("INSERT INTO transactions VALUES (?, ?, ?, ?, ?, ?)",
                       (txn.id, self._repo, txn.run_id, label, txn.state, now))  # fmt: skip
            db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                           [_row(txn.id, entry) for entry in txn.entries])  # fmt: skip

    def mark(self, txn: str, state: TxnState) -> None:
        with self._store.transaction() as db:
            db.execute("UPDATE transactions SET state = ? WHERE id = ?", (state, txn))

    def find(self, txn: str) -> Txn | None:
        found = self._select("id = ?", txn)
        return found[0] if found else None

    def open_ones(self) -> list[Txn]:
        """Transactions left open, newest first."""
        return self._select("state = 'open'")[::-1]

    def of_run(self, run_id: str) -> list[Txn]:
        """A run's transactions that took effect, oldest first; or the one of this id."""
        return self._select("(run_id = ? OR id = ?) AND state = 'applied'", run_id, run_id)

    def _select(self, where: str, *args: str) -> list[Txn]:
        sql = f"FROM transactions WHERE repo = ? AND {where}"
        rows = self._store.rows(f"SELECT id, run_id, state, label {sql} ORDER BY rowid", self._repo, *args)
        entries: dict[str, list[Row]] = {r["id"]: [] for r in rows}
        asked = f"SELECT * FROM entries WHERE txn IN (SELECT id {sql}) ORDER BY txn, seq"
        for entry in self._store.rows(asked, self._repo, *args) if rows else ():
            entries.get(entry["txn"], []).append(entry)
        return [Txn(r["id"], r["run_id"], r["state"], _entries(entries[r["id"]], r["label"])) for r in rows]

    def prune(self, keep: int, max_bytes: int) -> None:
        """Forget old closed transactions, and the bytes that only they held.

        Not while a snapshot exists (its manifest may name the same bytes), never a running run's transactions.
        """
        with self._store.transaction() as db:
            if db.execute("SELECT 1 FROM snapshots LIMIT 1").fetchone():
                return
            rows: list[tuple[str, str, int]] = db.execute(_CLOSED, (self._repo,)).fetchall()
            doomed = _too_many(rows, keep, max_bytes)
            for txn in doomed:
                _forget(db, txn)


_CLOSED = """
SELECT t.id, t.label, (SELECT COALESCE(SUM(LENGTH(b.data)), 0) FROM entries e
              JOIN blobs b ON b.sha IN (e.before_sha, e.after_sha) WHERE e.txn = t.id)
FROM transactions t WHERE t.repo = ? AND t.state != 'open'
AND t.run_id NOT IN (SELECT id FROM runs WHERE finished IS NULL) ORDER BY t.rowid DESC
"""


def _too_many(rows: Iterable[tuple[str, str, int]], keep: int, max_bytes: int) -> list[str]:
    """Those beyond the newest `keep`, or whose bytes are beyond `max_bytes`. Undoing does not push others out."""
    doomed: list[str] = []
    count = total = 0
    for txn, label, size in rows:
        count += not label.startswith("undo ")
        total += size
        if count > keep or total > max_bytes:
            doomed.append(txn)
    return doomed


def _forget(db: Connection, txn: str) -> None:
    pairs: Sequence[tuple[str | None, str | None]] = db.execute(
        "SELECT before_sha, after_sha FROM entries WHERE txn = ?", (txn,)
    ).fetchall()
    db.execute("DELETE FROM transactions WHERE id = ?", (txn,))
    for sha in {sha for pair in pairs for sha in pair if sha}:
        if not db.execute("SELECT 1 FROM entries WHERE before_sha = ? OR after_sha = ?", (sha, sha)).fetchone():
            db.execute("DELETE FROM blobs WHERE sha = ?", (sha,))


def _row(txn: str, entry: Entry) -> tuple[object, ...]:
    before, after = entry.before, entry.after
    return (
        txn, entry.seq, _stored(entry.path), before.sha or None, before.mode, before.mtime_ns,
        after.sha or None, after.mode, json.dumps(entry.made_dirs),
        before.attributes.packed() if before.attributes else None)  # fmt: skip


def _entries(rows: Sequence[Row], label: str) -> tuple[Entry, ...]:
    undoes = label.startswith(("undo ", "rewind "))
    return tuple(_entry(r, undoes=undoes) for r in rows)


def _entry(row: Row, *, undoes: bool) -> Entry:
    packed = row["before_attributes"]
    attributes = Attributes.unpacked(packed) if packed else None
    return Entry(
        row["seq"],
        os.fsdecode(row["path"]),
        Version(row["before_sha"] or "", row["before_mode"], row["before_mtime_ns"], attributes),
        Version(row["after_sha"] or "", row["after_mode"]),
        tuple(json.loads(row["made_dirs"])),
        undoes,
    )


def _stored(path: str) -> str | bytes:
    """A path as SQLite can hold it: names that are not UTF-8 as bytes."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path
