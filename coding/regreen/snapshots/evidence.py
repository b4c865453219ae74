"""Who changed a path while tests ran: the tests, as far as something shows it. All else is not ours to touch.

Two things show it: the test process was seen writing the path, or the path came to the same bytes in three test runs of
one snapshot in a row, and never changed between them. Saving a file once more, or working on it, is neither. A folder
that was seen written, and did come, go or give way to another in that test run, speaks for all below it; one that did
not (a `mkdir` of what is there, a new mode) speaks for nothing.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from sqlite3 import Row

from regreen.errors import RegreenError
from regreen.store import Store
from regreen.workspace import Stat, Workspace

_RECURS = 3
_NEVER = -1_000_000
_HEARD_EVERY_S = 0.5
UNSURE = "changed while tests ran, and nothing shows that they did it; left as it is"
LATE = "changed after the run's last sign of life; left as it is"


def parents(path: str) -> Iterator[str]:
    """The folders above a path, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one snapshot: `seen` are the paths that tests were seen writing, `recurring` those that change
    again and again; `whole` the folders that they changed as a whole, `above` all folders above both."""

    seen: frozenset[str]
    recurring: frozenset[str]
    whole: frozenset[str]
    above: frozenset[str]

    def shows(self, path: str, *, folder: bool = False) -> bool:
        """Whether tests changed `path`; for what is or was a folder, something seen below it shows that too."""
        if path in self.seen or path in self.recurring or (folder and path in self.above):
            return True
        return self._in_whole(path)

    def infers(self, path: str) -> bool:
        """Whether it was concluded only, and not seen, that tests changed `path`."""
        return path not in self.seen and (path in self.recurring or self._in_whole(path))

    def _in_whole(self, path: str) -> bool:
        return any(above in self.whole for above in parents(path))


class Witness:
    """The store's rows of evidence."""

    def __init__(self, store: Store, workspace: Workspace) -> None:
        self._store = store
        self._workspace = workspace
        self._noted: set[tuple[str, str]] = set()
        self._heard = 0.0

    def note_written(self, snapshot: str, paths: Sequence[str], now: float) -> None:
        """Write down what the test process was seen writing; also the file that a link on the way leads to."""
        found: set[str] = set()
        fresh = {p for p in paths if (snapshot, p) not in self._noted}
        if not fresh and 0 <= now - self._heard < _HEARD_EVERY_S:
            return
        for path in fresh:
            clean = posixpath.normpath(path) if path else "."
            if clean in (".", "..") or clean.startswith(("/", "../")) or "\0" in clean:
                continue
            found |= {clean, self._real(clean)}
        rows = [(snapshot, data) for path in found if (data := _stored(path))]
        with self._store.transaction() as db:
            if not db.execute("SELECT 1 FROM snapshots WHERE id = ?", (snapshot,)).fetchone():
                return
            db.executemany("INSERT OR IGNORE INTO written (snapshot, path) VALUES (?, ?)", rows)
            db.execute("UPDATE marks SET alive = ? WHERE snapshot = ? AND state = 'open'", (now, snapshot))
        self._noted |= {(snapshot, path) for path in fresh}
        self._heard = now

    def note_whole(self, snapshot: str, before: Mapping[str, Stat], now: Mapping[str, Stat]) -> None:
        """Of the folders seen written, mark those that a test run made, removed or replaced."""
        names = (os.fsdecode(r["path"]) for r in self._rows("written", snapshot))
        whole = [(snapshot, os.fsencode(p)) for p in names if _is_another_folder(before.get(p), now.get(p))]
        with self._store.transaction() as db:
            db.executemany("UPDATE written SET whole = 1 WHERE snapshot = ? AND path = ?", whole)

    def note_changed(self, snapshot: str, hashes: Mapping[str, str], again: Mapping[str, str]) -> None:
        """Count one more test run: `hashes` are what it left where the bytes changed, `again` where they are as before.

        Who changed in so many runs in a row is known for good; for all else, a run without it begins the count anew.
        """
        counted = {(r["path"], r["sha"]) for r in self._rows("seen_changed", snapshot)}
        same = {os.fsencode(p): sha for p, sha in again.items() if (os.fsencode(p), sha) in counted}
        rows = {os.fsencode(p): sha for p, sha in hashes.items()} | same
        missed = [(snapshot, path, _RECURS) for path, _ in counted if path not in rows]
        with self._store.transaction() as db:
            db.executemany("UPDATE seen_changed SET windows = 0 WHERE snapshot = ? AND path = ?"
                           " AND windows BETWEEN 0 AND ? - 1", missed)  # fmt: skip
            db.executemany(
                "INSERT INTO seen_changed (snapshot, path, windows, sha) VALUES (?, ?, 1, ?) ON CONFLICT DO UPDATE"
                " SET windows = CASE WHEN windows < 0 OR windows >= ? THEN windows WHEN sha = excluded.sha"
                " THEN windows + 1 ELSE 1 END, sha = excluded.sha",
                [(snapshot, path, sha, _RECURS) for path, sha in rows.items()])  # fmt: skip

    def counted(self, snapshot: str) -> list[str]:
        """The paths that changed in a test run."""
        return [os.fsdecode(r["path"]) for r in self._rows("seen_changed", snapshot)]

    def note_others(self, snapshot: str, paths: Iterable[str]) -> None:
        """Somebody changed these paths while no test ran: that they recur shows nothing any more."""
        with self._store.transaction() as db:
            db.executemany("UPDATE seen_changed SET windows = ? WHERE snapshot = ? AND path = ?",
                           [(_NEVER, snapshot, os.fsencode(p)) for p in paths])  # fmt: skip

    def evidence(self, snapshot: str) -> Evidence:
        written = self._rows("written", snapshot)
        recurring = [r for r in self._rows("seen_changed", snapshot) if r["windows"] >= _RECURS]
        seen = frozenset(os.fsdecode(r["path"]) for r in written)
        again = frozenset(os.fsdecode(r["path"]) for r in recurring)
        whole = frozenset(os.fsdecode(r["path"]) for r in written if r["whole"])
        return Evidence(seen, again, whole, frozenset(folder for path in seen | again for folder in parents(path)))

    def _rows(self, table: str, snapshot: str) -> list[Row]:
        return self._store.rows(f"SELECT * FROM {table} WHERE snapshot = ?", snapshot)

    def _real(self, path: str) -> str:
        try:
            with self._workspace.spot(path) as at:
                return at.real or path
        except (OSError, RegreenError):
            return path


def _is_another_folder(before: Stat | None, now: Stat | None) -> bool:
    folders = [row is not None and row.kind == "directory" for row in (before, now)]
    if before is None or now is None or not all(folders):
        return any(folders)
    return before.ino != now.ino


def _stored(path: str) -> bytes:
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        return b""
