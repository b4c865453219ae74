"""The public object: take a snapshot, mark and attribute what tests do, restore, release, recover after a crash.

Nothing of the user's is ever lost: files are written by the journal only, which keeps what it replaces, and never
where a file is not what the run, or its tests, left there. HEAD, index, stash, branches and hooks are not touched.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from sqlite3 import Row

from regreen.errors import UsageError
from regreen.git import Git, common_dir
from regreen.model import ChangeReport, RestoreReport, Snapshot
from regreen.snapshots import changes, objects
from regreen.snapshots.capture import capture
from regreen.snapshots.effects import Ledger, Mark, SideEffects, hold
from regreen.snapshots.manifest import Manifest, is_derived
from regreen.snapshots.restoring import Restorer
from regreen.store import Store, new_id, repo_key
from regreen.workspace import Journal, Stat, Workspace

_GRACE_S = 60.0  # a test may work on for so long after its last sign of life, and be killed then


class Snapshots:
    """Snapshots of one workspace. `git` is None where the folder is in no work tree."""

    def __init__(
        self, store: Store, workspace: Workspace, journal: Journal, git: Git | None,
        *, clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._store = store
        self._workspace = workspace
        self._journal = journal
        self._git = git
        self._clock = clock
        self._repo = repo_key(workspace.root)
        self._ledger = Ledger(store, workspace, git)
        self._restorer = Restorer(store, workspace, journal, git)
        self._known: tuple[str, Manifest] | None = None  # the snapshot in use, decoded
        foreign = [store.folder] + ([git.git_dir, common_dir(git.git_dir)] if git is not None else [])
        self._foreign = frozenset(_below(workspace.root, folder) for folder in foreign)

    def take(self, run_id: str) -> Snapshot:
        """Record the tree, and make its bytes recoverable: see `Manifest.uncovered` for what is too large.

        Reads nothing larger than a few MiB. Costs about as much as `git status`.
        """
        created = self._clock()
        name = new_id("snap")
        self._insert(name, run_id, created)  # first, so that a crash leaves no ref behind that nobody knows
        entries = self._scan()
        taken = capture(self._store, self._workspace, self._git, entries, name)
        manifest = Manifest(entries, taken.sources)
        with self._store.transaction() as db:
            db.execute("UPDATE snapshots SET tree = ?, commit_id = ?, manifest = ? WHERE id = ?",
                       (taken.tree, taken.commit, manifest.encode(), name))  # fmt: skip
            hold(self._store, name, taken.kept)
        self._known = (name, manifest)
        return Snapshot(name, created, taken.tree, manifest.files)

    def uncovered(self, snapshot: Snapshot) -> int:
        """How many files of a snapshot are too large or too many to be put back if tests change them."""
        return self._manifest(snapshot.id).uncovered

    def mark(self, snapshot: Snapshot) -> Mark:
        """Note the tree before a test run; durable when this returns."""
        return self._ledger.open_mark(snapshot.id, self._manifest(snapshot.id), self._scan(), self._clock())

    def side_effects(self, snapshot: Snapshot, before: Mark) -> SideEffects:
        """What the tests changed since `before`; noted for `restore_run`, after a crash too."""
        run_id = self._run_of(snapshot.id)
        ours = {path: after for path, (_, after) in self._journal.touched(run_id).items()}
        return self._ledger.record(before, self._scan(), ours)

    def made_by_tests(self, snapshot: Snapshot) -> dict[str, frozenset[str]]:
        """Hashes of what the tests left, by path: what a rewind within the run may count as the run's own."""
        made: dict[str, set[str]] = {}
        for effect in self._ledger.effects(snapshot.id):
            made.setdefault(effect.path, set()).add(effect.after_sha)
        return {path: frozenset(hashes) for path, hashes in made.items()}

    def restore_run(
        self, run_id: str, snapshot: Snapshot, *, keep: frozenset[str] = frozenset(), dry_run: bool = False
    ) -> RestoreReport:
        """Put back what the run's tests did and, except for the paths in `keep`, the run's own edits.

        What somebody changed since is left, and reported as a conflict. Doing it twice changes nothing more.
        """
        return self._restorer.restore(run_id, snapshot.id, keep, dry_run)

    def release(self, snapshot: Snapshot) -> None:
        """Forget a snapshot: its hidden ref, its record, and copies that nothing else needs. Twice is fine."""
        self._drop(snapshot.id)

    def changes(self, since: str) -> ChangeReport:
        """What differs now from a snapshot, from the start of a run, or from a commit such as HEAD."""
        if self._rows("id = ?", since):
            return changes.since_manifest(self._sources(), since, self._manifest(since), self._scan())
        if self._store.rows("SELECT 1 FROM runs WHERE id = ? AND repo = ?", since, self._repo) or (
            self._journal.touched(since)
        ):
            return changes.since_run(self._journal, self._workspace, since)
        if self._git is None:
            raise UsageError("not_found", f"`{since}` is no snapshot and no run, and there is no git repository here",
                             "name a run: see `regreen runs list`")  # fmt: skip
        return changes.since_commit(self._sources(), self._git, since)

    def recover(self) -> tuple[str, ...]:
        """Undo what dead runs of this repository left; returns the ids of unfinished runs, for the caller to close.

        The caller holds the repository's run lock, so a run that is not finished has nobody left. Idempotent.
        """
        return tuple(self.recovered())

    def recovered(self) -> dict[str, RestoreReport]:
        """As `recover`, with what was put back, and what could not be, for each run."""
        self._journal.recover()
        unfinished = self._store.rows(
            "SELECT id FROM runs WHERE repo = ? AND finished IS NULL ORDER BY created", self._repo)  # fmt: skip
        snapshots = {r["run_id"]: Snapshot(r["id"], r["created"], r["tree"]) for r in self._rows("1")}
        reports: dict[str, RestoreReport] = {}
        for run_id in [row["id"] for row in unfinished]:
            snapshot = snapshots.get(run_id)
            reports[run_id] = self._journal.rewind(run_id) if snapshot is None else self._recover_run(run_id, snapshot)
        for row in self._rows("1"):
            self._drop(row["id"])
        return reports

    # --- how ---------------------------------------------------------------------------------------

    def _recover_run(self, run_id: str, snapshot: Snapshot) -> RestoreReport:
        mark = self._ledger.last_mark(snapshot.id, self._manifest(snapshot.id), only_open=True)
        if mark.created:
            ours = {path: after for path, (_, after) in self._journal.touched(run_id).items()}
            until_s = max(mark.created, self._last_sign(run_id)) + _GRACE_S
            self._ledger.record(mark, self._scan(), ours, until_s)
        return self.restore_run(run_id, snapshot)

    def _last_sign(self, run_id: str) -> float:
        """When the run last wrote anything into its folder."""
        newest = 0.0
        for folder, _, names in os.walk(self._store.run_folder(run_id)):
            for name in names:
                with contextlib.suppress(OSError):
                    newest = max(newest, Path(folder, name).stat().st_mtime)
        return newest

    def _scan(self) -> dict[str, Stat]:
        return self._workspace.scan(skip=self._skip)

    def _skip(self, folder: str) -> bool:
        if is_derived(folder) or folder in self._foreign:
            return True
        return self._workspace.image_kind(folder + "/pyvenv.cfg") == "file"  # a virtual environment

    def _insert(self, name: str, run_id: str, created: float) -> None:
        with self._store.transaction() as db:
            db.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, '', '', x'')", (name, self._repo, run_id, created))

    def _rows(self, where: str, *args: str) -> list[Row]:
        return self._store.rows(
            f"SELECT id, run_id, created, tree FROM snapshots WHERE repo = ? AND {where} ORDER BY created",
            self._repo, *args)  # fmt: skip

    def _manifest(self, name: str) -> Manifest:
        if self._known is None or self._known[0] != name:
            rows = self._store.rows("SELECT manifest FROM snapshots WHERE id = ?", name)
            if not rows:
                raise UsageError("not_found", f"snapshot {name} does not exist (any more)", "name a run instead")
            self._known = (name, Manifest.decode(rows[0]["manifest"]))
        return self._known[1]

    def _run_of(self, name: str) -> str:
        rows = self._rows("id = ?", name)
        return rows[0]["run_id"] if rows else ""

    def _sources(self) -> changes.Sources:
        return changes.Sources(self._store, self._workspace, self._git)

    def _drop(self, name: str) -> None:
        if self._git is not None and not objects.drop_ref(self._git, name):
            return  # somebody holds git's lock: the record stays, and the next `recover` tries again
        with self._store.transaction() as db:
            held = [r[0] for r in db.execute("SELECT sha FROM snapshot_blobs WHERE snapshot = ?", (name,))]
            db.execute("DELETE FROM snapshots WHERE id = ?", (name,))
            db.executemany(
                "DELETE FROM blobs WHERE sha = ? AND sha NOT IN (SELECT sha FROM snapshot_blobs) AND sha NOT IN"
                " (SELECT before_sha FROM entries WHERE before_sha IS NOT NULL)", [(s,) for s in held])  # fmt: skip
        if self._known is not None and self._known[0] == name:
            self._known = None


def _below(root: Path, folder: Path) -> str:
    """`folder` as a path from `root`; empty where it is outside."""
    real = Path(os.path.realpath(folder))
    return real.relative_to(root).as_posix() if real.is_relative_to(root) else ""
