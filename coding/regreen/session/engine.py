"""`Engine`: all repositories of one process, and the one way from a tool's name and arguments to its result.

Front ends call it from a thread that they own; it blocks. Errors that a user can act on come back as results. What
leaves here has passed the redactor.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.agent.offers import NOTHING, Offers
from regreen.errors import Refused, RegreenError, UsageError
from regreen.jobs import STOP_S, Job, Jobs
from regreen.model import RestoreReport
from regreen.redact import Redactor
from regreen.sandbox import Cancel
from regreen.session import asking, elsewhere, sealing, trust
from regreen.session.acting import act
from regreen.session.asked import Whole, checked
from regreen.session.diary import DIARY, Diary, events_after
from regreen.session.handlers import HANDLERS, Call, OnProgress
from regreen.session.mailbox import Mailbox
from regreen.session.now import RunState, state_of
from regreen.session.recording import RunRecord, find_run, not_a_task, recorded_runs, run_of
from regreen.session.repository import Approve, Session
from regreen.session.resolve import resolve
from regreen.session.run_log import LogPage, log_page
from regreen.session.webhooks import webhooks_of
from regreen.settings import Settings
from regreen.store import Store, no_room, repo_key
from regreen.tools.text import say
from regreen.wire import Json, encodable, shortened, shown, to_json

if TYPE_CHECKING:  # whoever only reads does not wait for what fixing imports
    from regreen.agent.approval import Approver
    from regreen.agent.ask_user import AskUser
    from regreen.agent.tool import Tool
    from regreen.events import Subscriber
    from regreen.session.fixing import FixJob, FixOptions
    from regreen.session.resuming import Anew
    from regreen.session.tasks import TaskJob, TaskOptions

_log = logging.getLogger(__name__)
PRUNE_EVERY_S = 3600.0
_MOST_RUNS = 500  # that are looked through for those of the allowed roots
_MOST_SAID = 4_000  # characters of an error: callers may name things of any length


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's answer: `text` is complete by itself, `data` says the same in structure."""

    text: str
    data: dict[str, Json]
    is_error: bool


class Engine:
    """Opens repositories on demand, runs tools on them, owns the jobs. `close` ends and restores everything."""

    def __init__(
        self,
        settings: Settings,
        *,
        cwd: Path | None = None,
        approve: Approve | None = None,
        caller_present: bool = True,
    ) -> None:
        self.settings = settings
        self.store = Store(settings.state_dir)
        self.jobs = Jobs(self.store)
        self._cwd = cwd or Path.cwd()
        self._approve = approve
        self.caller_present = caller_present
        self._redact = Redactor.from_environ(settings.may_be_told)
        self._sessions: dict[Path, Session] = {}
        self._retired: list[Session] = []
        self._next_pruning = 0.0
        self._fixes: dict[str, FixJob] = {}
        self._tasks: dict[str, TaskJob] = {}
        self._mailbox = Mailbox(self.store, self.jobs, partial(act, self))
        self._lock = threading.RLock()
        self._closed = False
        self._webhooks = webhooks_of(settings, self.store, self.jobs, self._redact)
        self.recovered: dict[str, RestoreReport] = {}
        """What was put back of runs that a killed process left, by run id."""

    # --- sessions ------------------------------------------------------------------------------------

    def session(self, repo: str = "") -> Session:
        """The session of a repository; opened, and recovered from a crash, at its first use."""
        root = resolve(repo, self.settings.roots, self.settings.environ, self._cwd)
        with self._lock:
            known = self._sessions.get(root)
            if known is not None and known.is_replaced and not self.jobs.any_running():
                self._retired.append(self._sessions.pop(root))  # another call may still be at work in it
                known = None
            if known is None:
                settings = self.settings if self.caller_present else replace(self.settings, watch=False)
                known = Session(root, settings, self.store, self.jobs, approve=self._approve)
                known.engine = self
                self._tidy(known)
                self._sessions[root] = known
            elif time.monotonic() >= self._next_pruning:
                self._prune(known)
            return known

    def _tidy(self, session: Session) -> None:
        """Recover and prune. Where that cannot be done now, reading goes on; whoever wants to write is told why."""
        try:
            self.recovered |= session.recover()
            self._prune(session)
        except RegreenError as e:
            _log.warning("%s: an interrupted change is not put back yet: %s", session.root, e)

    def _prune(self, session: Session) -> None:
        """Forget old records. A server that lives for weeks opens no further session, and does so now and then."""
        self._next_pruning = time.monotonic() + PRUNE_EVERY_S
        try:
            session.journal.prune()
            self.jobs.tidy()
            self.store.prune_runs()
        except RegreenError as e:
            _log.warning("old records are kept for now: %s", e)

    def recover(self) -> tuple[str, ...]:
        """Recover every repository under the roots in which a killed process left something unfinished."""
        rows = self.store.rows(
            "SELECT DISTINCT repo FROM runs WHERE finished IS NULL AND kind IN ('fix', 'task')"
            " UNION SELECT DISTINCT repo FROM transactions WHERE state = 'open'"
        )
        wanted = {r["repo"] for r in rows}
        for root in [Path(r["root"]) for r in self.store.rows("SELECT root FROM repos")]:
            allowed = not self.settings.roots or any(root.is_relative_to(r) for r in self.settings.roots)
            if allowed and repo_key(root) in wanted and root.is_dir():
                self.session(str(root) if self.settings.roots else "")
        return tuple(self.recovered)

    def trust(self, folder: Path, how: str) -> None:
        trust.grant(self.store, folder, how)

    # --- tools ---------------------------------------------------------------------------------------

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        on_progress: OnProgress | None = None,
        cancel: Cancel | None = None,
        offers: Offers = NOTHING,
    ) -> ToolResult:
        """Run a tool. Never raises RegreenError: a refused or invalid call gives `is_error` and the error's JSON.

        `offers` are what the caller offers besides: its own model, a person who can be asked.
        """

        def work() -> Whole:
            args, wanted = checked(tool, arguments, in_pages=self.caller_present)
            session = self.session(args.pop("repo", ""))
            call = Call(self, session, args, on_progress, cancel, offers, self.caller_present, wanted.cursor)
            with asking.asked_by(offers.approve, cancel):
                return wanted.of(HANDLERS[tool](call))

        return self._answered(tool, work)

    def call_in(
        self,
        session: Session,
        tool: str,
        arguments: Mapping[str, object],
        *,
        on_progress: OnProgress | None = None,
        cancel: Cancel | None = None,
    ) -> ToolResult:
        """`call` in one session, for a model that can call again: it waits less, and reads in pages."""

        def work() -> Whole:
            args, wanted = checked(tool, arguments, in_pages=True)
            if "repo" in args:
                raise Refused("argument_not_allowed", f"{tool} takes no repo here: it works in the one that is open",
                              "leave it out")  # fmt: skip
            return wanted.of(HANDLERS[tool](Call(self, session, args, on_progress, cancel, cursor=wanted.cursor)))

        return self._answered(tool, work)

    def answer(self, tool: str, work: Callable[[], dict[str, Json]]) -> ToolResult:
        """What `work` gives as the result of this tool, redacted; a RegreenError, and a full disk, an error result."""
        return self._answered(tool, lambda: Whole(work()))

    def _answered(self, tool: str, work: Callable[[], Whole]) -> ToolResult:
        whole = Whole({})
        try:
            whole = work()
            data: dict[str, Json] = whole.data
        except (RegreenError, OSError) as e:
            known = e if isinstance(e, RegreenError) else no_room(e)
            if known is None:
                raise
            error = self._redact.deep(to_json(known.as_json()["error"]))
            assert isinstance(error, dict)
            told: dict[str, Json] = {k: shortened(str(v), _MOST_SAID) for k, v in error.items()}
            data = {"error": told}
        masked = encodable(self._redact.deep(data))
        assert isinstance(masked, dict)
        if "error" not in masked:
            masked = whole.shown(tool, masked)  # cut only now: a mask hides a secret that is whole
        return ToolResult(self._redact(say(tool, masked)), masked, is_error="error" in masked)

    def fix(self, session: Session, options: FixOptions) -> FixJob:
        """Start a fix run as a job of this engine."""
        from regreen.session.fixing import start_fix

        self._check_open()
        fix_job = start_fix(session, options)  # not under the lock: a person may be asked first
        with self._lock:
            known = {i: f for i, f in self._fixes.items() if self.jobs.live(i) is not None}
            self._fixes = {**known, fix_job.job.id: fix_job}
        self._end_if_closed(fix_job.job)
        return fix_job

    def task(
        self,
        session: Session,
        options: TaskOptions,
        *,
        on_event: Subscriber | None = None,
        ask: AskUser | None = None,
        tools: Sequence[Tool] = (),
        approve: Approver | None = None,
    ) -> TaskJob:
        """Start a coding task as a job of this engine. `on_event` hears its events from the first one on, from the
        job's threads; `ask` asks the user a question of the agent's, and gives None where nobody answers; `tools` are
        offered to it besides the engine's; `approve` is asked before anybody else, as long as the job lasts."""
        from regreen.session.tasks import start_task

        self._check_open()
        task = start_task(self, session, options, on_event=on_event, ask=ask, tools=tools, approve=approve)
        with self._lock:
            known = {i: t for i, t in self._tasks.items() if self.jobs.live(i) is not None}
            self._tasks = {**known, task.job.id: task}
        self._end_if_closed(task.job)
        return task

    def _check_open(self) -> None:
        with self._lock:
            if self._closed:
                raise UsageError("invalid_arguments", "the engine is closed", "open it again")

    def _end_if_closed(self, job: Job) -> None:
        """A job that was begun while the engine closed is ended as the others were."""
        with self._lock:
            closed = self._closed
        if closed:
            job.stop(STOP_S)

    def resume(self, run_id: str, anew: Anew | None = None) -> FixJob:
        """Go on from a run that ended without a fix, or died, in a new run: its request, fresh counters, what it had
        kept first. `anew` says what shall be otherwise. Raises UsageError or Busy where that cannot be."""
        from regreen.session.resuming import Anew, resumed

        run = find_run(self.store, run_id)
        session = self.session(run.root)
        return self.fix(session, resumed(session, run.id, anew or Anew(), caller_present=self.caller_present))

    def fix_job(self, job_id: str) -> FixJob | None:
        """A fix run of this engine, running or ended."""
        return self._fixes.get(job_id)

    def steer(self, job_id: str, words: str) -> dict[str, Json]:
        """Let the agent of a coding task hear this at its next turn, whichever process it runs in; the job's data.
        Raises UsageError where it will not be heard, and Busy."""
        run = self.known_run(job_id)
        if run.kind != "task":
            raise UsageError("invalid_arguments", f"{job_id} hears no messages: it {not_a_task(run.kind)}",
                             "send it fixes where it waits for edits; else start a new run")  # fmt: skip
        task = self._tasks.get(job_id)
        if task is None:
            return elsewhere.steered(self, job_id, words)
        if task.job.state == "done":
            raise elsewhere.ended(job_id)
        task.steering.put(self._redact(words))
        return task.job.data()

    def known_runs(self, *, limit: int = 20, with_tests: bool = False) -> tuple[RunRecord, ...]:
        """The fix runs and coding tasks (`with_tests`: and test runs) inside of the allowed roots, the newest first."""
        most = limit if not self.settings.roots else _MOST_RUNS
        known = recorded_runs(self.store, limit=most, with_tests=with_tests)
        return tuple(run for run in known if self.may_tell(run))[:limit]

    def run_events(self, run_id: str, *, after: int = 0, limit: int = 1000) -> tuple[dict[str, Json], ...]:
        """The recorded events of a run of any process behind the one numbered `after`, in order, redacted, at most
        `limit`. Raises UsageError (`not_found`) for a run that is not known here."""
        return events_after(self.store.run_folder(self.known_run(run_id).id) / DIARY, after, limit)

    def diary(self, run_id: str, after: int = 0) -> Diary:
        """The same, to be read bit by bit while the run goes on. Raises UsageError (`not_found`)."""
        return Diary(self.store.run_folder(self.known_run(run_id).id) / DIARY, after)

    def run_state(self, run_id: str) -> RunState:
        """What a job of any process is at. Raises UsageError (`not_found`) for one that is not known here."""
        return state_of(self.jobs, self.known_run, run_id, self._redact)

    def repo_of(self, run_id: str) -> str:
        """The `repo` that calls about this job give. Raises UsageError (`not_found`) for one that is not known here."""
        run = self.known_run(run_id)
        return run.root if self.settings.roots and run.folder.is_dir() else ""

    def run_report(self, run_id: str) -> ToolResult:
        """State and result so far of a job of any process; reads only. An error (`not_found`) where it is not known."""

        def work() -> dict[str, Json]:
            run = self.known_run(run_id)
            job = self.jobs.live(run.id)
            return job.data() if job is not None else self.jobs.recorded(run.id)

        return self.answer("job_status", work)

    def run_log(self, run_id: str, *, offset: int = 0, size: int = 16_000) -> LogPage:
        """A page of the newest output of a job's tests, redacted, from `offset` (bytes). Raises UsageError."""
        run = self.known_run(run_id)
        return log_page(self.store.run_folder(run.id), run.result, offset, size, self._redact)

    def known_run(self, run_id: str) -> RunRecord:
        """The job of exactly this id. Raises UsageError (`not_found`) for one that may not be told of here."""
        run = run_of(self.store, run_id)
        if run is None or not self.may_tell(run):
            raise UsageError("not_found", f"there is no run {shown(run_id)}", "give a job_id that this server told")
        return run

    def may_tell(self, run: RunRecord) -> bool:
        """Is the run's repository one that this engine serves?"""
        roots = self.settings.roots
        return not roots or (bool(run.root) and any(run.folder.is_relative_to(root) for root in roots))

    def seal_key(self) -> bytes:
        """The secret of the state folder with which a server seals what a client carries back to it."""
        return sealing.seal_key(self.store)

    def take_seal(self, nonce: str, good_s: float) -> bool:
        """Does what a client carried back count? The first time only, for all processes on the state folder."""
        return sealing.take_seal(self.store, nonce, good_s)

    def job(self, job_id: str) -> Job | None:
        """A job of this process, running or ended."""
        return self.jobs.live(job_id)

    def file_names(self, repo: str = "") -> tuple[str, ...]:
        """The files of a repository, sorted; nothing is indexed for it. One whose name tells a secret is left out."""
        paths = self.session(repo).files(watch=False).paths
        whole = "\n".join(paths)
        return paths if self._redact(whole) == whole else tuple(path for path in paths if self._redact(path) == path)

    def last_failed(self, repo: str = "") -> tuple[str, ...]:
        """Ids of the tests that failed when they were last run in a repository, redacted."""
        return tuple(self._redact(test) for test in self.session(repo).last_failed())

    def watch_jobs(self, watcher: Callable[[str], None]) -> None:
        """Let `watcher` hear the id of each job of this process whose state or progress changed, from its threads."""
        self.jobs.watch(watcher)

    def close(self) -> None:
        """End every job, restore what they changed, close the store. Safe to call twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.jobs.stop_all(STOP_S)
        self._webhooks.close()
        self._mailbox.close()
        with self._lock:
            for session in (*self._sessions.values(), *self._retired):
                session.close()
            self.store.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
