"""The public object: take a snapshot, mark and attribute what tests do, restore, release, recover after a crash.

Nothing of the user's is ever lost: files are written by the journal only, which keeps what it replaces, and never
where a file is not what the run, or its tests, left there. What changes while tests run is theirs only if something
shows it. HEAD, index, stash, branches and hooks are not touched; if somebody moves them meanwhile, that is told.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from sqlite3 import Row
from typing import Any

from regreen.errors import EnvironmentFault, RegreenError, UsageError
from regreen.git import Git, common_dir
from regreen.model import ChangeReport, Conflict, RestoreReport, Snapshot
from regreen.snapshots import changes, objects
from regreen.snapshots.effects import Landed, Ledger, Mark, SideEffects, hold
from regreen.snapshots.heads import Heads, moved
from regreen.snapshots.inner_heads import inner_moved
from regreen.snapshots.known import Trees
from regreen.snapshots.leftovers import Leftovers
from regreen.snapshots.manifest import Manifest, pack, unpack
from regreen.snapshots.noticing import Notice
from regreen.snapshots.restoring import Plan, Restorer
from regreen.snapshots.taking import Taker
from regreen.snapshots.walking import Walker
from regreen.store import Store, new_id, repo_key
from regreen.workspace import Journal, Stat, Workspace

_MAX_SINCE = 1_000  # characters; no name of a commit is that long
_GRACE_S = 2.0  # between a last sign of life and the end of a run that was killed


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
        self._restorer = Restorer(store, workspace, journal, git, self._ledger)
        self._leftovers = Leftovers(store, workspace, git, self._ledger)
        self._known: tuple[str, Manifest] | None = None  # the snapshot in use, decoded
        foreign = [store.folder] + ([git.git_dir, common_dir(git.git_dir)] if git is not None else [])
        self._walker = Walker(workspace, git, frozenset(_below(workspace.root, folder) for folder in foreign))
        self._trees = Trees(store, self._repo)
        self._taker = Taker(store, workspace, git, self._walker, self._trees, clock)
        self._notice = Notice(workspace)

    def take(self, run_id: str) -> Snapshot:
        """Record the tree, and make its bytes recoverable: see `Manifest.uncovered` for what is too large.

        Reads nothing larger than a few MiB. All is on disk when this returns.
        """
        created = self._clock()
        name = new_id("snap")
        # The row comes first, so that a crash leaves no ref behind that nobody knows.
        taken = self._taker.take(name, lambda: self._insert(name, run_id, created))
        with self._store.transaction() as db:
            self._trees.assure()
            db.execute("UPDATE snapshots SET tree = ?, commit_id = ?, manifest = ? WHERE id = ?",
                       (taken.tree, taken.commit, taken.record, name))  # fmt: skip
            about = {"heads": taken.heads.rows() if taken.heads else None, "inner": taken.inner,
                     "passed_over": sorted(taken.passed_over)}  # fmt: skip
            db.execute("INSERT INTO surroundings VALUES (?, ?)", (name, pack(about)))
            hold(self._store, name, taken.kept)
        if taken.is_new_tree:
            self._trees.sweep()
        self._known = (name, taken.manifest)
        return Snapshot(name, created, taken.tree, taken.manifest.files)

    def uncovered(self, snapshot: Snapshot) -> int:
        """How many files of a snapshot are too large or too many to be put back if tests change them."""
        return self._manifest(snapshot.id).uncovered

    def mark(self, snapshot: Snapshot, *, thorough: bool = False) -> Mark:
        """Note the tree before a test run; durable when this returns.

        With `thorough` the whole tree is walked. Else only what the system said has changed since the last time is
        looked at, where it can tell: it does not know of every way to write (see `noticing`).
        """
        now = self._scan(snapshot.id, thorough=thorough)
        ours = self._landed_later(snapshot.id)
        return self._ledger.open_mark(snapshot.id, self._manifest(snapshot.id), now, ours, self._clock())

    def note_written(self, snapshot: Snapshot, paths: Sequence[str]) -> None:
        """The test process was seen writing these paths (relative, posix); durable.

        To be called while tests run, at the latest before `side_effects`. It speaks for every test run of the
        snapshot, earlier and later; a folder speaks for all below it if this test run made, removed or replaced it.
        """
        self._ledger.witness.note_written(snapshot.id, paths, self._clock())

    def side_effects(self, snapshot: Snapshot, before: Mark, *, thorough: bool = False) -> SideEffects:
        """What changed since `before`, noted for `restore_run`, after a crash too; and of that what tests did.

        `thorough` as for `mark`.
        """
        now = self._scan(snapshot.id, thorough=thorough)
        return self._ledger.record(before, now, self._landed_later(snapshot.id))

    def made_by_tests(self, snapshot: Snapshot) -> dict[str, frozenset[str]]:
        """Hashes of what the tests surely left, by path: what a rewind may count as the run's own."""
        made: dict[str, set[str]] = {}
        for effect in self._ledger.sure(snapshot.id):
            made.setdefault(effect.path, set()).add(effect.after_sha)
        return {path: frozenset(hashes) for path, hashes in made.items()}

    def inferred(self, snapshot: Snapshot, paths: Iterable[str]) -> list[str]:
        """Those of `paths` that count as the tests' doing though no test was seen writing them: see `evidence`."""
        evidence = self._ledger.witness.evidence(snapshot.id)
        return sorted(path for path in paths if evidence.infers(path))

    def restore_run(
        self, run_id: str, snapshot: Snapshot,
        *, keep: frozenset[str] = frozenset(), dry_run: bool = False, final: bool = True,
    ) -> RestoreReport:  # fmt: skip
        """Put back what the run's tests did and, except for the paths in `keep`, the run's own edits.

        What somebody changed since is left, and reported as a conflict. So is, if `final` (no test of the run comes
        after it), what changed while tests ran without a sign that they did it, and a HEAD, ref or stash that moved.
        A path that is as the snapshot recorded it is no conflict. Doing it twice changes nothing more. The report's
        transaction holds the bytes that tests had written.
        """
        known = self._rows("id = ?", snapshot.id)
        tree = self._manifest(snapshot.id) if known else Manifest({}, {})  # after a release: only the edits are left
        plan = Plan(run_id, snapshot.id, tree, keep, dry_run, final)
        report = self._restorer.restore(plan)
        told = self._moved(snapshot.id) if final else ()
        return replace(report, conflicts=(*report.conflicts, *told)) if told else report

    def release(self, snapshot: Snapshot, *, keep_blobs: bool = True) -> str:
        """Forget a snapshot: its hidden ref, its record, and copies that nothing else needs. Twice is fine.

        The old bytes of what changed and was not put back go into a transaction of the journal first, which this
        returns ("" = none): to undo that puts them back, where a path is still as it is now.
        """
        self.close()
        txn = self._keep_bytes(snapshot.id) if keep_blobs else ""
        self._drop(snapshot.id)
        return txn

    def close(self) -> None:
        """Let go of what the system gave for noticing changes. All goes on working: it is asked for again."""
        self._notice.close()

    def changes(self, since: str) -> ChangeReport:
        """What differs now from a snapshot, from the start of a run, or from a commit such as HEAD."""
        if len(since) > _MAX_SINCE:
            raise UsageError("not_found", f"{len(since)} characters are no name of a snapshot, a run or a commit",
                             "name a run: see `regreen runs list`; or a commit")  # fmt: skip
        if self._rows("id = ?", since):
            return changes.since_manifest(
                self._sources(), since, self._manifest(since), self._scan(since, thorough=True)
            )
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

    def recovered(self, close: Callable[[str, RestoreReport], None] | None = None) -> dict[str, RestoreReport]:
        """As `recover`, with what was put back, and what could not be, for each run.

        `close` writes that down. It is called while the snapshots are there: if this is killed, the next one knows all.
        """
        half_done = self._half_done()
        self._journal.recover()
        unfinished = self._store.rows(
            "SELECT id FROM runs WHERE repo = ? AND finished IS NULL ORDER BY created", self._repo)  # fmt: skip
        snapshots = {r["run_id"]: Snapshot(r["id"], r["created"], r["tree"]) for r in self._rows("1")}
        reports: dict[str, RestoreReport] = {}
        for run_id in [row["id"] for row in unfinished]:
            snapshot = snapshots.get(run_id)
            report = self._journal.rewind(run_id) if snapshot is None else self._recover_run(run_id, snapshot)
            reports[run_id] = _with_files(report, [file for run, *file in half_done if run == run_id])
            if close is not None:
                close(run_id, reports[run_id])
        for row in self._rows("1"):
            self._keep_bytes(row["id"])
            self._drop(row["id"])
        self._trees.sweep()
        if self._git is not None:
            objects.sweep_refs(self._git, {row["id"] for row in self._store.rows("SELECT id FROM snapshots")})
        return reports

    # --- how ---------------------------------------------------------------------------------------

    def _half_done(self) -> list[tuple[str, str, bool]]:
        """The files that open transactions have written, with their runs, and whether they were made by it: rolling
        these back puts the files back."""
        rows = self._store.rows(
            "SELECT run_id, path, before_sha, after_sha FROM entries JOIN transactions ON transactions.id = entries.txn"
            " WHERE repo = ? AND state = 'open' AND after_sha IS NOT before_sha", self._repo)  # fmt: skip
        return [(r["run_id"], r["path"], not r["before_sha"]) for r in rows if self._holds(r["path"], r["after_sha"])]

    def _holds(self, path: str, sha: str | None) -> bool:
        try:
            return (self._workspace.image(path, follow=False).sha256 or None) == (sha or None)
        except RegreenError:  # something else stands there now
            return False

    def _recover_run(self, run_id: str, snapshot: Snapshot) -> RestoreReport:
        try:
            manifest = self._manifest(snapshot.id)
        except EnvironmentFault:  # what was recorded is lost: the edits are all that is known
            return self._journal.rewind(run_id)
        mark = self._ledger.last_mark(snapshot.id, manifest, only_open=True)
        if mark.created:
            until_s = max(mark.created, mark.alive, self._last_sign(run_id)) + _GRACE_S
            now = self._scan(snapshot.id, thorough=True)
            self._ledger.record(mark, now, self._landed_later(snapshot.id), until_s)
        return self.restore_run(run_id, snapshot)

    def _last_sign(self, run_id: str) -> float:
        """When the run last wrote anything into its folder."""
        newest = 0.0
        for folder, _, names in os.walk(self._store.run_folder(run_id)):
            for name in names:
                with contextlib.suppress(OSError):
                    newest = max(newest, Path(folder, name).stat().st_mtime)
        return newest

    def _scan(self, name: str, *, thorough: bool) -> dict[str, Stat]:
        seen = None if thorough else self._notice.look(name)
        if seen is not None:
            return seen
        manifest = self._manifest(name)
        passed_over = frozenset(self._surroundings(name).get("passed_over", ()))

        def walk(notice: Notice) -> tuple[dict[str, Stat], frozenset[str]]:
            found = self._walker.again(manifest, passed_over, notice)
            was = manifest.entries.get  # the same row as the same object is compared faster later on
            shared = {p: w if (w := was(p)) is not None and w == row else row for p, row in found.entries.items()}
            return shared, found.hidden

        return self._notice.walked(name, walk)

    def _surroundings(self, name: str) -> Mapping[str, Any]:
        rows = self._store.rows("SELECT data FROM surroundings WHERE snapshot = ?", name)
        return unpack(rows[0]["data"]) if rows else {}

    def _heads(self, name: str) -> Heads | None:
        rows = self._surroundings(name).get("heads")
        return Heads.from_rows(rows) if rows else None

    def _moved(self, name: str) -> tuple[Conflict, ...]:
        """What of git moved since the snapshot, here and in the repositories inside."""
        told = moved(self._heads(name), Heads.of(self._git))
        inner = inner_moved(self._workspace.root, self._surroundings(name).get("inner") or {})
        return (*([Conflict(".git", told)] if told else []), *(Conflict(path, why) for path, why in inner))

    def _landed(self, run_id: str) -> dict[str, str]:
        """The hashes that the run's edits left, by path."""
        return {path: after for path, (_, after) in self._journal.touched(run_id).items()} if run_id else {}

    def _landed_later(self, name: str) -> Landed:
        """The same, found out when it is needed: mostly nothing changes, and then it is not."""
        return cache(lambda: self._landed(self._run_of(name)))

    def _keep_bytes(self, name: str) -> str:
        heads = self._heads(name)
        return self._leftovers.keep_bytes(name, self._landed(self._run_of(name)), heads.commit if heads else "")

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
            self._known = (name, self._trees.read(rows[0]["manifest"]))
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
                " (SELECT before_sha FROM entries WHERE before_sha IS NOT NULL"
                " UNION SELECT after_sha FROM entries WHERE after_sha IS NOT NULL)", [(s,) for s in held])  # fmt: skip
        if self._known is not None and self._known[0] == name:
            self._known = None


def _below(root: Path, folder: Path) -> str:
    """`folder` as a path from `root`; empty where it is outside."""
    real = Path(os.path.realpath(folder))
    return real.relative_to(root).as_posix() if real.is_relative_to(root) else ""


def _with_files(report: RestoreReport, put_back: Sequence[Sequence[str | bool]]) -> RestoreReport:
    """The report, with the files that were put back before it was made: path, and whether the run had made it."""
    told = {*report.restored, *report.deleted, *report.merged, *(c.path for c in report.conflicts)}
    more = {str(path): bool(made) for path, made in put_back if path not in told}
    restored = (*report.restored, *(path for path, made in more.items() if not made))
    return replace(report, restored=restored, deleted=(*report.deleted, *(p for p, made in more.items() if made)))
