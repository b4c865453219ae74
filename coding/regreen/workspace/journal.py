"""THE write-ahead journal: the only way in which a project's files are changed.

A change of several files is all or nothing: against errors by rolling back at once, against a crash by `recover`.
Before anything is written, the old bytes and all that will change are on disk in the store. A transaction is `open`
until all its files are in place, and only a holder of the repository's commit lock has one open; so whoever gets the
lock knows that the open ones it finds are left by the dead. No file is put back that somebody else has changed since.
"""

from __future__ import annotations

import contextlib
import stat
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256

from filelock import Timeout

from regreen.errors import Busy, EnvironmentFault, Refused, RegreenError, UsageError
from regreen.model import RestoreReport
from regreen.store import Store, repo_key
from regreen.workspace import paths
from regreen.workspace.files import FileImage, Workspace
from regreen.workspace.merging import MergeFiles, Merger, no_merge
from regreen.workspace.records import Entry, Records, Version
from regreen.workspace.restoring import Goal, by_path, goal_of, image_of, version_of
from regreen.workspace.transactions import Step, Transactions, content_of, made_folders, missing_folders
from regreen.workspace.weighing import Weigher
from regreen.workspace.writing import Content, OnStep, StaleFile, no_step

_RACES = 5
_OTHER_THING = ("path_outside_workspace", "not_regular_file", "path_invalid")


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit shall do to one path. `before_sha` is the sha256 of the bytes that it was planned for.

    `exact`: the path was no link, and neither was a folder on its way; if that is so no more, the file has changed.
    """

    path: str
    before_sha: str  # "" = must be absent
    after: bytes | None  # None = delete
    mode: int | None = None  # permission bits; None = keep, or what the umask leaves of 0o666
    like: str = ""  # a file that is moved here: the new one takes its owner and attributes; give its mode too
    exact: bool = False


class Journal:
    """The journal of one workspace. `on_step` is called between all steps of a commit (tests stop it there).

    `merge` takes our change out of a file that somebody changed since; without it, such a file stays as it is.
    """

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        *,
        on_step: OnStep = no_step,
        clock: Callable[[], float] = time.time,
        lock_s: float = 30.0,
        merge: MergeFiles = no_merge,
    ) -> None:
        repo = repo_key(workspace.root)
        self._store = store
        self._workspace = workspace
        self._records = Records(store, repo)
        self._lock = f"{repo}-commit"
        self._transactions = Transactions(store, workspace, self._records, on_step)
        self._merger = Merger(store, merge)
        self._weigher = Weigher(store, workspace, self._merger, self._steps)
        self._clock = clock
        self._lock_s = lock_s

    @property
    def workspace(self) -> Workspace:
        """Where the files are that this journal writes."""
        return self._workspace

    # --- changing ----------------------------------------------------------------------------------

    def commit(self, changes: Sequence[Change], *, label: str, run_id: str = "") -> str:
        """Make all changes or none; returns the transaction's id.

        StaleFile: a file is not what its change was planned for. Refused: a path may not be written. EnvironmentFault
        `io`: the system failed, all is as before. Deletes and modes follow the same rules as contents.
        """
        with self._held():
            steps = self._plan(changes)
            return self._transactions.carry_out(steps, label=label, run_id=run_id, now=self._clock())

    def undo(self, txn: str, *, dry_run: bool = False) -> RestoreReport:
        """Put back what one transaction changed. The report's own transaction undoes the undo."""
        found = self._records.find(txn)
        if found is None or found.state == "open":
            raise UsageError(
                "not_found",
                f"no transaction {txn!r} of this repository",
                "give a job_id or a transaction, as told by apply_edits or fix_tests",
            )
        if found.state == "rolled_back":
            return RestoreReport(dry_run=dry_run)
        goals = [
            Goal(e.path, e.before, frozenset({e.after.sha}), e.after.mode, left=e.after, since=txn)
            for e in found.entries
        ]
        return self._restore(goals, f"undo {txn}", found.run_id, made_folders(found.entries), dry_run)

    def rewind(
        self,
        run_id: str,
        *,
        to: str = "",
        keep: Collection[str] = (),
        ours: Mapping[str, Collection[str]] | None = None,
        dry_run: bool = False,
    ) -> RestoreReport:
        """Put every path that the run's transactions (after `to`, if given) touched back to what it was before them.

        Paths in `keep` stay. `ours` names contents (path -> hashes) that count as the run's own although the journal
        did not write them, such as what its tests left. What somebody else changed in a file stays, and only the run's
        change is taken out (`merged`). Where the two meet, the file stays as it is, or goes back to what somebody else
        left between two transactions; that is a conflict. Doing it twice changes nothing.
        """
        txns = self._records.of_run(run_id)
        if to:
            ids = [t.id for t in txns]
            if to not in ids:
                raise UsageError("not_found", f"no transaction {to!r} in run {run_id}", "name one of the run's own")
            txns = txns[ids.index(to) + 1 :]
        entries = [e for t in txns for e in t.entries if e.path not in keep]
        goals = [
            replace(self._goal(chain, (ours or {}).get(path, ())), since=run_id)
            for path, chain in by_path(entries).items()
        ]
        return self._restore(goals, f"rewind {run_id}", run_id, made_folders(entries), dry_run)

    def put_back(
        self,
        images: Mapping[str, FileImage | None],
        *,
        expected: Mapping[str, str],
        label: str,
        run_id: str = "",
        dry_run: bool = False,
    ) -> RestoreReport:
        """Make each path what its image says (None = absent), where its hash is the expected one ("" = absent)."""
        goals = [
            Goal(path, version_of(image), frozenset({expected[path]}), data=None if image is None else image.content)
            for path, image in images.items()
        ]
        return self._restore(goals, label, run_id, (), dry_run)

    def _goal(self, chain: list[Entry], ours: Collection[str] = ()) -> Goal:
        return goal_of(chain, ours, self._merger.blend)

    # --- looking back ------------------------------------------------------------------------------

    def touched(self, run_id: str) -> dict[str, tuple[str, str]]:
        """What a run's transactions (or the one of this id) wrote: path -> (hash of what was before, hash they left).

        What somebody else changed in between is not the run's: it counts as if it had been there before.
        """
        entries = [e for t in self._records.of_run(run_id) for e in t.entries]
        return {p: (self._goal(chain).target.sha, chain[-1].after.sha) for p, chain in by_path(entries).items()}

    def before(self, run_id: str, path: str) -> FileImage:
        """What a path was before the run (or the one transaction of this id) first wrote it."""
        for txn in self._records.of_run(run_id):
            for entry in txn.entries:
                if entry.path == path:
                    return image_of(path, entry.before, content_of(self._store, entry.before))
        raise UsageError("not_found", f"run {run_id} did not write {paths.shown(path)}", "see its changed files")

    def recover(self) -> tuple[str, ...]:
        """Roll back what a dead process left half done; returns the transactions. Safe to repeat and to interrupt."""
        with self._held() as recovered:
            return recovered

    def prune(self, *, keep: int = 50, max_bytes: int = 64 * 1024 * 1024) -> None:
        """Forget the oldest closed transactions beyond `keep`, or whose old bytes are beyond `max_bytes`."""
        self._records.prune(keep, max_bytes)

    # --- how ---------------------------------------------------------------------------------------

    @contextmanager
    def _held(self) -> Generator[tuple[str, ...]]:
        try:
            lock = self._store.lock(self._lock)
            lock.acquire(timeout=self._lock_s)
        except Timeout as e:
            raise Busy("another process is writing to this repository", "try again when it has finished") from e
        except EnvironmentFault as e:  # the store cannot make its folder
            raise EnvironmentFault(e.kind, f"{e.message}; nothing was changed", e.hint) from e
        except OSError as e:
            raise EnvironmentFault("io", f"state folder {self._store.folder}: {e.strerror}; nothing was changed",
                                   "free disk space, or make the state folder writable") from e  # fmt: skip
        try:
            yield self._clear()
        finally:
            lock.release()

    def _clear(self) -> tuple[str, ...]:
        try:
            return tuple(self._transactions.roll_back(txn) for txn in self._records.open_ones())
        except OSError as e:
            raise EnvironmentFault("io", f"an interrupted change cannot be rolled back: {e.strerror}",
                                   "make the repository's files writable, then try again") from e  # fmt: skip

    def _plan(self, changes: Sequence[Change]) -> list[Step]:
        steps: list[Step] = []
        stale: list[str] = []
        seen: set[str] = set()
        for change in changes:
            image = self._now(change)
            if image is None:
                stale.append(change.path)
                continue
            if image.real in seen:
                raise UsageError("invalid_arguments", f"{paths.shown(image.real)} is changed twice",
                                 "join the changes of one file")  # fmt: skip
            seen.add(image.real)
            if image.sha256 != change.before_sha:
                stale.append(change.path)
            like = self._workspace.image(self._workspace.normalise(change.like)).real if change.like else ""
            steps += [replace(s, like=like) for s in self._steps(len(steps), image, _content(change, image))]
        if stale:
            raise StaleFile(*stale)
        return steps

    def _now(self, change: Change) -> FileImage | None:
        """The file that a change is for; None where something else stands in the place of the one it was made for."""
        try:
            image = self._target(change)
        except RegreenError as e:
            if change.exact and e.kind in _OTHER_THING:
                return None
            raise
        return None if change.exact and image.real != change.path else image

    def _target(self, change: Change) -> FileImage:
        """The file that a change is for, after every check that needs no knowledge of its bytes."""
        workspace = self._workspace
        path = workspace.normalise(change.path)
        if workspace.protected(path):
            raise Refused("path_protected", f"{paths.shown(path)} is never edited", "leave it to its owner")
        if change.after is not None and len(change.after) > workspace.limits.max_file_bytes:
            raise UsageError("limit_exceeded", f"{paths.shown(path)} would have {len(change.after)} bytes",
                             f"at most {workspace.limits.max_file_bytes} are allowed")  # fmt: skip
        image = workspace.image(path)
        if image.kind == "symlink":
            raise paths.outside(path)
        if image.kind not in ("file", "absent"):
            raise Refused("not_regular_file", f"{paths.shown(path)} is no regular file", "name a regular file")
        if change.after is None and workspace.image(path, follow=False).kind == "symlink":
            raise Refused("not_regular_file", f"{paths.shown(path)} is a link", f"delete {paths.shown(image.real)}")
        return image

    def _steps(self, seq: int, image: FileImage, content: Content) -> list[Step]:
        """The step that makes `image` into `content`; none if it is that already."""
        sha = "" if content.data is None else sha256(content.data).hexdigest()
        before = version_of(image)
        if before.sha == sha and content.mode in (None, before.mode) and content.mtime_ns in (None, before.mtime_ns):
            return []
        if content.data is None:
            before = replace(before, attributes=self._transactions.attributes(image.real))
        made = () if content.data is None else missing_folders(self._workspace, image.real)
        return [Step(Entry(seq, image.real, before, Version(sha, content.mode), made), content, image.content)]

    def _restore(
        self, goals: Sequence[Goal], label: str, run_id: str, empty: Sequence[str], dry_run: bool
    ) -> RestoreReport:
        with self._held():
            for _ in range(_RACES):
                found = self._weigher.weigh(goals, empty)
                if dry_run or not found.steps:
                    self._drop(() if dry_run else empty)
                    return found.report(dry_run=dry_run)
                with contextlib.suppress(StaleFile):  # changed this very moment: weigh again
                    now = self._clock()
                    txn = self._transactions.carry_out(found.steps, label=label, run_id=run_id, now=now, empty=empty)
                    return found.report(dry_run=False, txn=txn)
        raise Busy("the files to be put back keep changing", "end the program that writes them, then try again")

    def _drop(self, folders: Sequence[str]) -> None:
        for folder in folders:
            self._workspace.remove_empty_folder(folder)


def _content(change: Change, image: FileImage) -> Content:
    if change.after is None:
        return Content(None)
    if change.mode is not None:
        return Content(change.after, stat.S_IFREG | change.mode)
    return Content(change.after, image.mode if image.kind == "file" else None)
