"""`Session`: one repository, opened. Joins the parts (workspace, git, journal, snapshots) and offers the operations.

Whatever changes files or runs code passes `policy` first, and holds the repository's run lock: one writer at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.agent.approval import Effect
from regreen.git import Git, merge_file
from regreen.jobs import Jobs
from regreen.model import (
    ChangeReport,
    EditReport,
    FileText,
    Outcome,
    Proposal,
    RepoMap,
    RestoreReport,
    SearchReport,
    SignatureReport,
    Skeleton,
    SuiteReport,
    SymbolReport,
)
from regreen.policy import Action, Ask
from regreen.redact import MASK, Redactor
from regreen.sandbox import Cancel
from regreen.session import asking, holding, trust
from regreen.session.locking import TreeLock
from regreen.session.remembered import Question, TestMemory
from regreen.session.resolve import work_tree
from regreen.session.understanding import Understanding
from regreen.settings import Settings
from regreen.store import Store, repo_key
from regreen.wire import Json
from regreen.workspace import Journal, Workspace

if TYPE_CHECKING:
    from regreen.agent.tool import Tool
    from regreen.events import Subscriber
    from regreen.repo import FileList
    from regreen.session.engine import Engine, ToolResult
    from regreen.session.fixing import FixOptions
    from regreen.session.tasks import TaskDone, TaskOptions
    from regreen.session.toolbox import Form
    from regreen.snapshots import Snapshots
    from regreen.testing import Progress
    from regreen.testing.warm import CoverageMap, WarmPytest

Approve = Callable[[Ask], bool]
"""Asks somebody; True means: yes, this once."""


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
        self._folder = _identity(self.root)
        merge = partial(merge_file, environ=settings.environ, inside=self.top)
        self.journal = Journal(store, self.workspace, merge=merge)
        self.redact = Redactor.from_environ(settings.may_be_told)
        self.approve = approve  # None: nobody can be asked
        self.engine: Engine | None = None  # whose session this is
        self._understanding = Understanding(self)
        with store.transaction() as db:
            db.execute("INSERT OR IGNORE INTO repos VALUES (?, ?)", (self.key, str(self.root)))

    @cached_property
    def git(self) -> Git | None:
        return Git.open(self.root, self.settings.environ)

    @cached_property
    def snapshots(self) -> Snapshots:
        from regreen.snapshots import Snapshots

        return Snapshots(self.store, self.workspace, self.journal, self.git)

    @property
    def is_replaced(self) -> bool:
        """Whether another folder stands at the root's path now than the one that is open."""
        now = _identity(self.root)
        return now is not None and now != self._folder

    def close(self) -> None:
        if "_warm" in self.__dict__:
            self._warm.close()
        self._understanding.close()
        if "snapshots" in self.__dict__:
            self.snapshots.close()
        self.workspace.close()

    @cached_property
    def _warm(self) -> WarmPytest:
        from regreen.testing.warm import WarmPytest

        return WarmPytest()

    # --- reading -------------------------------------------------------------------------------------

    def files(self, *, watch: bool = True) -> FileList:
        """What git tracks, and what is untracked but not ignored, as of now. `watch`: and index what changes."""
        return self._understanding.files(watch=watch)

    def skeleton(self, path: str = "", *, depth: int = 0, max_tokens: int = 4000, cursor: str = "") -> Skeleton:
        """The file tree, folded to fit `max_tokens`. `depth` 0 shows as deep as fits."""
        from regreen.repo import skeleton

        return skeleton(self.files(), self.workspace, path=path, depth=depth, max_tokens=max_tokens, cursor=cursor)

    def signatures(
        self, paths: Sequence[str], *, max_tokens: int = 4000, cursor: str = "", docstrings: bool = False
    ) -> SignatureReport:
        """The definitions in files, folders or globs."""
        return self._understanding.signatures(paths, max_tokens=max_tokens, cursor=cursor, docstrings=docstrings)

    def repo_map(
        self,
        focus: Sequence[str] = (),
        *,
        max_tokens: int = 4000,
        tests: bool = False,
        wait_s: float | None = None,
        on_progress: Callable[[str], None] | None = None,
        cancel: Cancel | None = None,
    ) -> RepoMap:
        """The definitions that matter most for `focus` (files, folders, globs, names), as text within `max_tokens`.

        What is being changed and what tests failed last counts, too; `tests` ranks tests like other code. The first
        call indexes the repository: it waits for that, with a `wait_s` about so long, and is then of a part of it
        (`indexed` below 1) while the rest goes on.
        """
        return self._understanding.map(
            focus, max_tokens=max_tokens, tests=tests, wait_s=wait_s, on_progress=on_progress, cancel=cancel
        )

    def find_symbol(
        self,
        name: str,
        *,
        kind: str = "",
        references: bool = False,
        limit: int = 50,
        wait_s: float | None = None,
        on_progress: Callable[[str], None] | None = None,
        cancel: Cancel | None = None,
    ) -> SymbolReport:
        """Where a (qualified) name is defined and, with `references`, used; each at most `limit` times.

        Waits for the index as `repo_map` does. Raises UsageError (`invalid_arguments`) for what is no name.
        """
        return self._understanding.symbol(
            name, kind=kind, references=references, limit=limit, wait_s=wait_s, on_progress=on_progress, cancel=cancel
        )

    def search(
        self,
        pattern: str,
        *,
        regex: bool = False,
        globs: Sequence[str] = (),
        context: int = 0,
        limit: int = 100,
        ignore_case: bool = False,
        cancel: Cancel | None = None,
    ) -> SearchReport:
        """The lines that hold `pattern`, or match it as a regular expression; secrets in them masked.

        Raises UsageError: `invalid_arguments` for a bad pattern, `not_found` for a glob that matches no file.
        """
        return self._understanding.search(
            pattern, regex=regex, globs=globs, context=context, limit=limit, ignore_case=ignore_case, cancel=cancel
        )

    def read(self, path: str, *, start_line: int = 1, end_line: int = 0) -> FileText:
        """Lines of a text file, secrets masked (also those that begin before). `end_line` 0 reads to the end."""
        text = self.workspace.read_text(path, start_line, end_line)
        whole = text if text.end_line - text.start_line + 1 >= text.total_lines else self.workspace.read_text(path)
        if whole.sha256 != text.sha256:  # it changed between the two looks
            return self.read(path, start_line=start_line, end_line=end_line)
        masked, hits = self.redact.count(whole.text)
        if not hits:
            return text
        if whole is not text:
            lines = masked.split("\n")
            last = text.end_line < text.total_lines
            masked = "\n".join(lines[text.start_line - 1 : text.end_line]) + ("\n" if last else "")
            hits = len(MASK.findall(masked))
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
        """Undo what a job or a transaction changed, or all since a snapshot's run began; what others changed since is
        left and named. The report's transaction undoes the restore."""
        from regreen.session.undoing import restore

        return restore(self, to, dry_run=dry_run)

    def standing_changes(self) -> list[str]:
        """What `restore` takes to undo each change that stands, newest first: a run's id, or a transaction."""
        from regreen.session.undoing import standing_changes

        return standing_changes(self)

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
        from regreen.session.fixing import FixOptions, fixed

        return fixed(self, options or FixOptions(), on_progress)

    def do(self, task: str | TaskOptions, tools: Sequence[Tool] = (), on_event: Subscriber | None = None) -> TaskDone:
        """Let the agent do a coding task and wait for the end; `tools` (see `regreen.tool`) are offered to it besides.
        Raises RegreenError where the task could not be begun."""
        from regreen.session.tasks import done

        return done(self, task, tools, on_event)

    def last_failed(self) -> tuple[str, ...]:
        """Ids that failed when they were last run; empty where none did, or none is known."""
        return self._memory.last_failed()

    @property
    def _memory(self) -> TestMemory:
        return TestMemory(self.store.run_folder(f"tests-{self.key}"))

    def tool_definitions(self, form: Form) -> list[dict[str, Json]]:
        """The tools for a model, in the form of an API: `anthropic`, `openai` or `mcp`."""
        from regreen.session import toolbox

        return toolbox.tool_definitions(form)

    def call(self, name: str, arguments: Mapping[str, object] | str, *, cancel: Cancel | None = None) -> ToolResult:
        """Run a tool as a model asked (arguments: an object, or its JSON). What a call does wrong is in the result."""
        from regreen.session import toolbox

        return toolbox.call_session(self, name, arguments, cancel)

    # --- rules ---------------------------------------------------------------------------------------

    def allow(self, action: Action, about: str = "", effect: Effect | None = None) -> None:
        """Pass, or raise Refused with what to do about it (Declined: somebody said no). `about` is shown to whoever is
        asked at a terminal; `effect` is what would be done, for whoever is asked from afar."""
        asking.allow(self, action, about, effect or Effect(identity=about))

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
        """Hold the run lock for one change. Raises Busy, naming the holder, while another holds the tree."""
        lock = self.run_lock()
        self.acquire(lock)
        try:
            yield
        finally:
            lock.release()

    def acquire(self, lock: TreeLock) -> None:
        """Take the run lock or raise Busy. Another process's single edit is waited for, a job is not."""
        holding.acquire(self, lock)

    def recover(self) -> dict[str, RestoreReport]:
        """Finish what a killed process left: restore its runs' changes. Returns what was put back, by run."""
        return holding.recover(self)


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        info = folder.stat()
    except OSError:
        return None
    return info.st_dev, info.st_ino
