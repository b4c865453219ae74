"""`Session`: one repository, opened. Joins the parts (workspace, git, journal, snapshots) and offers the operations.

Whatever changes files or runs code passes `policy` first, and holds the repository's run lock: one writer at a time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from sqlite3 import Row
from typing import TYPE_CHECKING

from regreen.errors import Busy, Refused, UsageError
from regreen.jobs import Jobs
from regreen.model import (
    ChangeReport,
    EditReport,
    FileText,
    Outcome,
    Proposal,
    RestoreReport,
    SignatureReport,
    Skeleton,
    StopReason,
    SuiteReport,
)
from regreen.policy import Action, Ask, Deny, Request, decide
from regreen.redact import Redactor
from regreen.sandbox import Cancel
from regreen.session import trust
from regreen.session.locking import TreeLock, is_alive
from regreen.session.remembered import Question, TestMemory
from regreen.session.resolve import work_tree
from regreen.settings import Settings
from regreen.store import Store, repo_key
from regreen.wire import to_json
from regreen.workspace import Journal, Workspace

if TYPE_CHECKING:
    from regreen.git import Git
    from regreen.repo import FileList
    from regreen.session.fixing import FixOptions
    from regreen.snapshots import Snapshots
    from regreen.testing import Progress
    from regreen.testing.warm import CoverageMap, WarmPytest

Approve = Callable[[Ask], bool]
"""Asks somebody; True means: yes, this once."""

_LONG_S = 3600.0
_BRIEF_WAIT_S = 5.0  # for another process that is just writing an edit


class Session:
    """The operations on one repository. Safe for several threads; jobs of this session share its parts."""

    def __init__(
        self, root: Path, settings: Settings, store: Store, jobs: Jobs, *, approve: Approve | None = None
    ) -> None:
        self.settings = settings
        self.store = store
        self.jobs = jobs
        self.workspace = Workspace(root, settings.limits)
        self.root = self.workspace.root
        self.key = repo_key(self.root)
        self.journal = Journal(store, self.workspace)
        self.redact = Redactor.from_environ(settings.may_be_told)
        self._approve = approve
        with store.transaction() as db:
            db.execute("INSERT OR IGNORE INTO repos VALUES (?, ?)", (self.key, str(self.root)))

    @cached_property
    def git(self) -> Git | None:
        from regreen.git import Git

        return Git.open(self.root, self.settings.environ)

    @cached_property
    def snapshots(self) -> Snapshots:
        from regreen.snapshots import Snapshots

        return Snapshots(self.store, self.workspace, self.journal, self.git)

    def close(self) -> None:
        if "_warm" in self.__dict__:
            self._warm.close()
        self.workspace.close()

    @cached_property
    def _warm(self) -> WarmPytest:
        from regreen.testing.warm import WarmPytest

        return WarmPytest()

    # --- reading -------------------------------------------------------------------------------------

    def files(self) -> FileList:
        """What git tracks, and what is untracked but not ignored."""
        from regreen.repo import list_files

        return list_files(self.workspace, self.git)

    def skeleton(self, path: str = "", *, depth: int = 0, max_tokens: int = 4000, cursor: str = "") -> Skeleton:
        """The file tree, folded to fit `max_tokens`. `depth` 0 shows as deep as fits."""
        from regreen.repo import skeleton

        return skeleton(self.files(), self.workspace, path=path, depth=depth, max_tokens=max_tokens, cursor=cursor)

    def signatures(
        self, paths: Sequence[str], *, max_tokens: int = 4000, cursor: str = "", docstrings: bool = False
    ) -> SignatureReport:
        """The definitions in files, folders or globs."""
        from regreen.repo import signatures

        return signatures(
            self.workspace, self.files(), paths=paths, max_tokens=max_tokens, cursor=cursor, docstrings=docstrings
        )

    def read(self, path: str, *, start_line: int = 1, end_line: int = 0) -> FileText:
        """Lines of a text file, secrets masked. `end_line` 0 reads to the end."""
        text = self.workspace.read_text(path, start_line, end_line)
        masked, hits = self.redact.count(text.text)
        return replace(text, text=masked, redacted=hits)

    def changes(self, since: str = "HEAD") -> ChangeReport:
        """What differs from HEAD, a job's start, a transaction or a snapshot."""
        return self.snapshots.changes(since)

    # --- writing -------------------------------------------------------------------------------------

    def apply_edits(
        self,
        proposal: Proposal | str = "",
        *,
        dry_run: bool = False,
        commit: str = "",
        hunks: Sequence[int] = (),
        expected_sha256: Mapping[str, str] | None = None,
        strict: bool = False,
    ) -> EditReport:
        """Apply edits (a text is a response in any of the formats), all or none.

        `commit` applies exactly the plan of an earlier dry run, `hunks` only some of its hunks (numbered from 1
        through all files). `expected_sha256` (path -> hex sha256 of what was read): a file that changed since is
        edited only where the text that the edit names is unchanged. `strict` allows exact matches only.
        """
        from regreen.session.editing import EditRequest, apply

        strict = strict or self.settings.strict_edits
        asked = Proposal(proposal) if isinstance(proposal, str) else proposal
        request = EditRequest(asked, tuple(hunks), dict(expected_sha256 or {}), strict)
        return apply(self, request, commit=commit, dry_run=dry_run)

    def restore(self, to: str, *, dry_run: bool = False) -> RestoreReport:
        """Undo what a job or a transaction changed; what others changed since is left and named."""
        if not dry_run:
            self.allow("restore")
        with self.exclusive():
            if to.startswith("txn-"):
                return self.journal.undo(to, dry_run=dry_run)
            if not self.store.rows("SELECT 1 FROM runs WHERE id = ? AND repo = ?", to, self.key):
                raise UsageError(
                    "not_found",
                    f"there is no job or transaction {to!r} in {self.root}",
                    "give a job_id or a transaction, as told by apply_edits or fix_tests",
                )
            return self.journal.rewind(to, dry_run=dry_run)

    def standing_changes(self) -> list[str]:
        """What `restore` takes to undo each change that stands, newest first: a run's id, or a transaction.

        Passed over are what was undone already, the undoing itself, and runs whose changes were rolled back.
        """
        rows = self.store.rows(
            "SELECT id, run_id, label FROM transactions WHERE repo = ? AND state = 'applied'"
            " ORDER BY created DESC, rowid DESC",
            self.key,
        )
        undone: set[str] = set()
        found: dict[str, None] = {}
        for row in rows:
            if row["id"] in undone:
                continue
            if row["label"].startswith("undo "):
                undone.add(row["label"].removeprefix("undo "))
                continue
            touched = self.journal.touched(row["run_id"]) if row["run_id"] else {}
            if not row["run_id"] or any(before != after for before, after in touched.values()):
                found[row["run_id"] or row["id"]] = None
        return list(found)

    def last_change(self) -> str:
        """The newest change that stands; "" for none."""
        return next(iter(self.standing_changes()), "")

    # --- tests ---------------------------------------------------------------------------------------

    def run_suite(
        self,
        selection: Sequence[str] = (),
        *,
        argv: Sequence[str] = (),
        timeout_s: float = 0.0,
        cancel: Cancel | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        log_folder: Path | None = None,
        isolate: bool = False,
        per_test_timeout_s: float = 0.0,
        last_failed: bool = False,
        on_written: Callable[[Sequence[str]], None] | None = None,
        runner: str = "auto",
        warm: bool = False,
    ) -> SuiteReport:
        """Run tests, remember what came of it, and say what changed since the same tests were last run. The caller has
        asked `allow("run")`.

        `warm`: pytest's tests may be run by a process that stays and has other people's modules imported already;
        quick, but the next cold run has the last word.

        With `isolate`, the tests after one that crashes or hangs are run in a process of their own. `last_failed`
        runs only the tests that failed in the last run, where there are any. `on_written` hears, while they run,
        which paths the tests write.
        """
        from regreen.testing import run_suite

        memory = self._memory
        failed = memory.last_failed() if last_failed else ()
        question = Question(tuple(selection), tuple(argv), runner, bool(failed))
        report = run_suite(
            self.workspace,
            self.settings,
            log_folder or self.store.run_folder(f"tests-{self.key}"),
            selection=selection,
            argv=argv,
            timeout_s=timeout_s or self.settings.limits.test_timeout_s,
            cancel=cancel or Cancel(),
            on_progress=on_progress,
            isolate=isolate,
            per_test_timeout_s=per_test_timeout_s,
            last_failed=failed,
            on_written=on_written,
            runner=runner,
            last_s=memory.took_s(question),
            warm=self._warm if warm else None,
        )
        if last_failed and not failed:
            report = replace(report, notes=(*report.notes, "no test is known to have failed: everything was run"))
        return memory.take(question, report)

    def coverage(self, selection: Sequence[str] = (), *, cancel: Cancel | None = None) -> CoverageMap:
        """Which of the selected tests call which functions (pytest, Linux). To order and preselect, never to judge."""
        from regreen.session.covering import coverage

        self.allow("run")
        return coverage(self, self._warm, selection, cancel or Cancel())

    def fix(self, options: FixOptions | None = None, *, on_progress: Callable[[str], None] | None = None) -> Outcome:
        """Repair failing tests and wait for the end. Raises RegreenError where the run could not be made.

        To follow a run, to submit fixes of one's own or to cancel, use `Engine.fix`, which returns at once.
        """
        from regreen.session.fixing import FixOptions, start_fix

        fix_job = start_fix(self, options or FixOptions())
        while fix_job.job.wait(_LONG_S, on_progress=on_progress) != "done":
            pass
        if fix_job.job.error is not None:
            raise fix_job.job.error
        assert fix_job.run.outcome is not None
        return fix_job.run.outcome

    def last_failed(self) -> tuple[str, ...]:
        """Ids that failed when they were last run; empty where none did, or none is known."""
        return self._memory.last_failed()

    @property
    def _memory(self) -> TestMemory:
        return TestMemory(self.store.run_folder(f"tests-{self.key}"))

    # --- rules ---------------------------------------------------------------------------------------

    def allow(self, action: Action) -> None:
        """Pass, or raise Refused with what to do about it."""
        wants = Request(
            action,
            str(self.root),
            self.trusted,
            trust.tainted(self.store, self.key, self.workspace) if action == "run" else (),
        )
        decision = decide(wants, self.settings.mode)
        if isinstance(decision, Deny) or (isinstance(decision, Ask) and not self._ask(decision)):
            raise Refused(decision.kind, decision.reason, decision.hint)

    def _ask(self, question: Ask) -> bool:
        return self._approve is not None and self._approve(question)

    @property
    def trusted(self) -> bool:
        return trust.is_trusted(self.store, self.root, self.settings.roots)

    @cached_property
    def top(self) -> Path:
        """The work tree's own folder, which may lie above the root: what one writer holds is all of it."""
        return work_tree(self.root) or self.root

    def run_lock(self) -> TreeLock:
        """The lock that the one writer of this work tree holds, whatever its state folder."""
        return TreeLock(self.store.lock(f"{repo_key(self.top)}-run"), self.top)

    @contextmanager
    def exclusive(self) -> Generator[None]:
        """Hold the run lock for one change. Raises Busy, naming the job, while a run holds the tree."""
        lock = self.run_lock()
        self.acquire(lock)
        try:
            yield
        finally:
            lock.release()

    def acquire(self, lock: TreeLock) -> None:
        """Take the run lock or raise Busy. Another process's single edit is waited for, a job is not."""
        holder = self._holder()
        if not lock.acquire(0 if holder else _BRIEF_WAIT_S):
            raise Busy(f"{holder or 'another process'} holds {self.top}",
                       "wait for it (job_status), or end it (job_cancel)")  # fmt: skip
        try:
            if self._alive():
                raise Busy(f"{holder} holds {self.top}", "wait for it (job_status), or end it (job_cancel)")
            self._recover_held()
        except BaseException:
            lock.release()
            raise

    def _holder(self) -> str:
        """The id of a fix run that is not finished in this work tree; "" if there is none."""
        rows = self._unfinished_runs()
        return rows[0]["id"] if rows else ""

    def _unfinished_runs(self) -> list[Row]:
        rows = self.store.rows(
            "SELECT runs.id, runs.pid, runs.repo, repos.root FROM runs JOIN repos ON runs.repo = repos.key"
            " WHERE kind = 'fix' AND finished IS NULL ORDER BY created DESC"
        )
        return [r for r in rows if Path(r["root"]).is_relative_to(self.top)]

    def _alive(self) -> bool:
        """Does another process still drive a run of this repository, though its lock was lost?"""
        return any(r["pid"] != os.getpid() and is_alive(r["pid"]) for r in self._unfinished_runs())

    def recover(self) -> dict[str, RestoreReport]:
        """Finish what a killed process left: restore its runs' changes. Returns what was put back, by run."""
        if not self._unfinished() or self._alive():
            return {}
        lock = self.run_lock()
        if not lock.acquire(0):
            return {}
        try:
            return self._recover_held()
        finally:
            lock.release()

    def _unfinished(self) -> bool:
        rows = self.store.rows(
            "SELECT 1 FROM transactions WHERE repo = ? AND state = 'open' UNION ALL"
            " SELECT 1 FROM runs WHERE repo = ? AND finished IS NULL AND kind = 'fix' LIMIT 1",
            self.key,
            self.key,
        )
        return bool(rows)

    def _recover_held(self) -> dict[str, RestoreReport]:
        """Recover, the run lock being held: whatever is unfinished then belongs to nobody any more."""
        if not self._unfinished():
            return {}
        recovered = self.snapshots.recovered()
        for run_id, report in recovered.items():
            self._close_run(run_id, report)
        return recovered

    def _close_run(self, run_id: str, report: RestoreReport) -> None:
        outcome = Outcome(
            StopReason.CANCELLED,
            fixed=False,
            restored=not report.conflicts,
            conflicts=report.conflicts,
            hint="The process ended in the middle of this run; its changes were restored"
            + (", except for what the conflicts name." if report.conflicts else "."),
        )
        result = json.dumps({"attempts": [], "outcome": to_json(outcome)})
        with self.store.transaction() as db:
            db.execute(
                "UPDATE runs SET state = 'done', finished = ?, result = ? WHERE id = ? AND kind = 'fix'",
                (time.time(), result, run_id),
            )
