"""`Engine`: all repositories of one process, and the one way from a tool's name and arguments to its result.

Front ends call it from a thread that they own; it blocks. Errors that a user can act on come back as results. What
leaves here has passed the redactor.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regreen.agent.offers import NOTHING, Offers
from regreen.errors import Refused, RegreenError, UsageError
from regreen.jobs import STOP_S, Jobs
from regreen.model import RestoreReport
from regreen.redact import Redactor
from regreen.sandbox import Cancel
from regreen.session import trust
from regreen.session.diary import DIARY, events_after
from regreen.session.handlers import HANDLERS, Call, OnProgress
from regreen.session.recording import RunRecord, find_run, recorded_runs
from regreen.session.repository import Approve, Session
from regreen.session.resolve import resolve
from regreen.settings import Settings
from regreen.store import Store, no_room, repo_key
from regreen.tools import BY_NAME, check
from regreen.tools.text import say
from regreen.wire import MAX_NAME, Json, encodable, nearest, shortened, shown, to_json

if TYPE_CHECKING:  # whoever only reads does not wait for what fixing imports
    from regreen.agent.ask_user import AskUser
    from regreen.agent.tool import Tool
    from regreen.events import Subscriber
    from regreen.session.fixing import FixJob, FixOptions
    from regreen.session.resuming import Anew
    from regreen.session.tasks import TaskJob, TaskOptions

_log = logging.getLogger(__name__)
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
        self._fixes: dict[str, FixJob] = {}
        self._lock = threading.RLock()
        self._closed = False
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
            return known

    def _tidy(self, session: Session) -> None:
        """Recover and prune. Where that cannot be done now, reading goes on; whoever wants to write is told why."""
        try:
            self.recovered |= session.recover()
            session.journal.prune()
            self.jobs.tidy()
            self.store.prune_runs()
        except RegreenError as e:
            _log.warning("%s: an interrupted change is not put back yet: %s", session.root, e)

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

        def work() -> dict[str, Json]:
            args = _checked(tool, arguments)
            session = self.session(args.pop("repo", ""))
            return HANDLERS[tool](Call(self, session, args, on_progress, cancel, offers, self.caller_present))

        return self.answer(tool, work)

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

        def work() -> dict[str, Json]:
            args = _checked(tool, arguments)
            if "repo" in args:
                raise Refused("argument_not_allowed", f"{tool} takes no repo here: it works in the one that is open",
                              "leave it out")  # fmt: skip
            return HANDLERS[tool](Call(self, session, args, on_progress, cancel))

        return self.answer(tool, work)

    def answer(self, tool: str, work: Callable[[], dict[str, Json]]) -> ToolResult:
        """What `work` gives as the result of this tool, redacted; a RegreenError, and a full disk, an error result."""
        try:
            data: dict[str, Json] = work()
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
        return ToolResult(self._redact(say(tool, masked)), masked, is_error="error" in masked)

    def fix(self, session: Session, options: FixOptions) -> FixJob:
        """Start a fix run as a job of this engine."""
        from regreen.session.fixing import start_fix

        with self._lock:
            if self._closed:
                raise UsageError("invalid_arguments", "the engine is closed", "open it again")
            fix_job = start_fix(session, options)
            self._fixes[fix_job.job.id] = fix_job
            return fix_job

    def task(
        self,
        session: Session,
        options: TaskOptions,
        *,
        on_event: Subscriber | None = None,
        ask: AskUser | None = None,
        tools: Sequence[Tool] = (),
    ) -> TaskJob:
        """Start a coding task as a job of this engine. `on_event` hears its events from the first one on, from the
        job's threads; `ask` asks the user a question of the agent's, and gives None where nobody answers; `tools` are
        offered to it besides the engine's."""
        from regreen.session.tasks import start_task

        with self._lock:
            if self._closed:
                raise UsageError("invalid_arguments", "the engine is closed", "open it again")
            return start_task(self, session, options, on_event=on_event, ask=ask, tools=tools)

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

    def known_runs(self, *, limit: int = 20) -> tuple[RunRecord, ...]:
        """The fix runs and coding tasks in the store that lie inside of the allowed roots, the newest first."""
        known = recorded_runs(self.store, limit=limit if not self.settings.roots else _MOST_RUNS)
        return tuple(run for run in known if self.may_tell(run))[:limit]

    def run_events(self, run_id: str, *, after: int = 0, limit: int = 1000) -> tuple[dict[str, Json], ...]:
        """The recorded events of a run behind the one numbered `after`, in order, redacted, at most `limit`; of any
        process that shares the state folder. Raises UsageError (`not_found`) for a run that is not known here."""
        run = find_run(self.store, run_id)
        if not self.may_tell(run):
            raise UsageError("not_found", f"there is no run {run_id!r}", "give a job_id that this server told")
        return events_after(self.store.run_folder(run.id) / DIARY, after, limit)

    def may_tell(self, run: RunRecord) -> bool:
        """Is the run's repository one that this engine serves?"""
        roots = self.settings.roots
        return not roots or (bool(run.root) and any(run.folder.is_relative_to(root) for root in roots))

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
        with self._lock:
            for session in (*self._sessions.values(), *self._retired):
                session.close()
            self.store.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _checked(tool: object, arguments: object) -> dict[str, Any]:
    """The arguments of a call as its handler takes them. Raises UsageError, also where there is no such tool."""
    spec = BY_NAME.get(tool) if isinstance(tool, str) else None
    if spec is None:
        near = nearest(tool, BY_NAME)
        hint = f"did you mean `{near[0]}`?" if near else f"tools: {', '.join(BY_NAME)}"
        name = shortened(tool, MAX_NAME) if isinstance(tool, str) else shown(tool)
        raise UsageError("not_found", f"there is no tool `{name}`", hint)
    return check(spec, arguments)
