"""Coding tasks as jobs: agent, model, tools and tree put together, with the verdict of the engine at the end."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.agent.driver import drive
from regreen.agent.mcp_tools import McpServers
from regreen.agent.rules import agent_rules
from regreen.agent.run import AgentRun
from regreen.agent.state import AgentEnd, Checked
from regreen.agent.steering import Steering
from regreen.agent.system_prompt import read_own, system_prompt
from regreen.agent.toolbox import Toolbox
from regreen.errors import UsageError
from regreen.events import Event, EventKind, EventLog
from regreen.fix import FixRequest, Insight, Scope, StopRules
from regreen.fix.task_tree import Judged, TaskTree
from regreen.jobs import Job
from regreen.model import StopReason, SuiteReport, SuiteStatus, TaskOutcome, TaskUsage, Usage
from regreen.proposers.fitting import fenced
from regreen.providers.configured import make_client
from regreen.providers.messages import Delta, TextDelta
from regreen.providers.meter import Budget, Meter
from regreen.session import asking
from regreen.session.diary import DIARY
from regreen.session.fix_bench import bench_of
from regreen.session.recording import masked
from regreen.session.repository import Session
from regreen.session.scoping import default_paths, own_paths
from regreen.session.task_brief import hint_for, task_context
from regreen.session.task_tools import People, TaskTools, Time, Waiting
from regreen.session.toolbox import engine_of
from regreen.store import new_id
from regreen.tools.text import say
from regreen.wire import Json, shortened, to_json, to_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from regreen.agent.approval import Approver
    from regreen.agent.ask_user import AskUser
    from regreen.agent.tool import Tool
    from regreen.events import Subscriber
    from regreen.providers.client import ModelClient
    from regreen.session.engine import Engine

DEFAULT_BUDGET_S = 1800.0
_MAX_TURNS = 200
_SKELETON_TOKENS, _MAP_TOKENS = 1_200, 2_000
_MAX_DIFF_CHARS = 60_000
_CANNOT_BE_RUN = frozenset({SuiteStatus.ENVIRONMENT, SuiteStatus.NO_TESTS, SuiteStatus.DENIED})
_INDEX_WAIT_S = 2.0  # the map is a help, not a condition


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """What a coding task was asked for. Zeros and empty texts mean the settings' default.

    `selection`: tests that are there, and must be green at the end. `provider` may also be `scripted`, with the file of
    its replies.
    """

    task: str
    selection: tuple[str, ...] = ()
    provider: str = ""
    model: str = ""
    script: Path | None = None
    budget_s: float = 0.0
    budget_tokens: int = 0
    budget_usd: float = 0.0
    max_turns: int = 0
    keep_partial: bool = False
    system_prompt_file: Path | None = None


class TaskJob:
    """A coding task as a job."""

    def __init__(self, job: Job, meter: Meter, log: EventLog) -> None:
        self.job = job
        self.outcome: TaskOutcome | None = None
        self.diff = ""
        self.turns = 0
        self.steering = Steering()
        self._meter = meter
        log.subscribe(self._hear)

    @property
    def usage(self) -> TaskUsage:
        """What models have used so far."""
        meter, used = self._meter, self._meter.usage
        return TaskUsage(meter.calls, used.total, round(meter.usd, 6), meter.unpriced, used.input, used.output,
                         used.cache_read, used.cache_write)  # fmt: skip

    def view(self) -> dict[str, Json]:
        out: dict[str, Json] = {"usage": to_json(self.usage), "turns": self.turns}
        if self.outcome is not None:
            out |= {"outcome": to_json(self.outcome), "diff": shortened(self.diff, _MAX_DIFF_CHARS)}
        return out

    def _hear(self, event: Event) -> None:
        if event.kind == "turn_started":
            self.turns = int(str(event.data["turn"]))
            self.job.set_progress(f"turn {self.turns}: asking the model")
            self.job.show()
        elif event.kind == "tool_call":
            self.job.set_progress(f"turn {self.turns}: {event.data['tool']}")
        elif event.kind in ("tests_started", "verified"):
            self.job.set_progress("running the named tests" if event.kind == "tests_started" else "judging")


def start_task(
    engine: Engine,
    session: Session,
    options: TaskOptions,
    *,
    on_event: Subscriber | None = None,
    ask: AskUser | None = None,
    tools: Sequence[Tool] = (),
    approve: Approver | None = None,
) -> TaskJob:
    """Take the work tree and start the task in a job. Raises RegreenError before anything happens."""
    options = _checked(replace(options, task=session.redact(options.task)))
    if options.selection:
        about = f"tests: {', '.join(options.selection)}"
        session.allow("run", about, asking.of_tests(options.selection))
    lock = session.run_lock()
    session.acquire(lock)
    try:
        work = _Work(engine, session, options, on_event, People(ask, approve), tools)
    except BaseException:
        lock.release()
        raise

    def run() -> None:
        try:
            work()
        finally:
            lock.release()

    work.task.job.start(run, lambda: masked(session, work.task.view()), settled=lambda: work.task.outcome is not None)
    return work.task


@dataclass(frozen=True, slots=True)
class TaskDone:
    """A task at its end: how it ended, what it had changed (also where that was taken back), what models have used."""

    job_id: str
    outcome: TaskOutcome
    diff: str
    usage: TaskUsage


def done(
    session: Session, task: str | TaskOptions, tools: Sequence[Tool] = (), on_event: Subscriber | None = None
) -> TaskDone:
    """Start a task and wait for its end. Raises RegreenError where it could not be begun."""
    options = TaskOptions(task) if isinstance(task, str) else task
    started = engine_of(session).task(session, options, on_event=on_event, tools=tools)
    started.job.wait_for_end()
    assert started.outcome is not None
    return TaskDone(started.job.id, started.outcome, started.diff, started.usage)


def _checked(options: TaskOptions) -> TaskOptions:
    if not options.task.strip():
        raise UsageError("invalid_arguments", "the task is empty", "say what is to be done")
    if (options.provider == "scripted") != (options.script is not None):
        raise UsageError("invalid_arguments", "provider `scripted` and a script belong together", "give both")
    if options.max_turns > _MAX_TURNS:
        raise UsageError("limit_exceeded", f"max_turns is {options.max_turns}", f"give at most {_MAX_TURNS}")
    return options


class _Work:
    """One task, from its start to its end. `task` is what others see of it."""

    def __init__(
        self,
        engine: Engine,
        session: Session,
        options: TaskOptions,
        on_event: Subscriber | None,
        people: People,
        tools: Sequence[Tool],
    ) -> None:
        self._session = session
        self._more_tools = tuple(tools)
        self._options = options
        limits = session.settings.limits
        budget_s = options.budget_s or DEFAULT_BUDGET_S
        self._waiting = Waiting()
        meter = Meter(Budget(options.budget_tokens, options.budget_usd, budget_s), self._waiting.clock)
        run_id = new_id("job")
        folder = session.store.run_folder(run_id)
        log = EventLog(run_id, folder / DIARY, session.redact, time.time)
        self._log = log
        self._meter = meter
        self._client = self._make_client(meter)
        own = options.system_prompt_file or session.settings.agent.system_prompt_file
        self._system = system_prompt(read_own(own) if own is not None else "")
        asked = _request(options, self._client, budget_s)
        job = Job(run_id, "task", session.key, session.store, asked)
        job.log = log
        session.jobs.add(job)
        self.task = TaskJob(job, meter, log)
        if on_event is not None:
            log.subscribe(on_event)
        log.emit("run_started", repo=session.root, request=asked)
        rules = StopRules(max_attempts=limits.max_attempts, budget_s=budget_s)
        paths = default_paths(session, options.selection) if options.selection else own_paths(session)
        scope = Scope((), "additions_only" if options.selection else "editable", paths.why_not)
        request = FixRequest(run_id, options.selection, scope, rules, options.keep_partial)
        self._tree = TaskTree(request, bench_of(session, job, log, folder, lambda _report: Insight()), log)
        self._servers = McpServers(session.settings.agent.mcp_servers, cwd=session.store.folder, redact=session.redact)
        self._own_tools = TaskTools(engine, session, self._tree, log, Time(self._waiting, meter.left_s), people)

    def __call__(self) -> None:
        try:
            self._tree.begin()
            end = self._without_agent() or asyncio.run(self._agent())
        except BaseException:  # a fault of ours, too, leaves the tree as it was
            self._servers.close()
            self._finish(AgentEnd(StopReason.CANCELLED, "", "", self.task.turns))
            raise
        self._servers.close()
        if self.task.job.cancel.is_set():  # also where the last step ended the run by itself in that moment
            end = replace(end, reason=StopReason.CANCELLED)
        self._finish(end)

    def _without_agent(self) -> AgentEnd | None:
        """The end of a task that cannot be begun: it was cancelled, or its tests cannot be run here."""
        report = self._tree.base_report
        if self.task.job.cancel.is_set():
            return AgentEnd(StopReason.CANCELLED, "", "", 0)
        if report is not None and report.status in _CANNOT_BE_RUN and not report.passing:
            return AgentEnd(StopReason.ENVIRONMENT, "", report.message, 0)
        return None

    async def _agent(self) -> AgentEnd:
        settings = self._session.settings
        foreign = await asyncio.to_thread(self._servers.tools, self.task.job.cancel)
        for note in self._servers.notes:
            self._log.emit("error", message=note)
        tools = (*self._own_tools.all(), *self._more_tools, *foreign)
        toolbox = Toolbox(
            tools,
            settings=settings.agent,
            on_event=self._on_event,
            approve=self._own_tools.approve,
            redact=self._session.redact,
        )
        try:
            rules = agent_rules(settings, frozenset(t.name for t in tools if t.read_only))
            if self._options.max_turns:
                rules = replace(rules, max_turns=self._options.max_turns, base_turns=self._options.max_turns)
            context = await asyncio.to_thread(self._context)
            task, offered = self._options.task, toolbox.definitions()
            run = AgentRun(self._system, task, offered, rules, self._on_event, context=context)
            return await drive(
                run,
                self._client,
                toolbox,
                check=self._check,
                on_delta=self._on_delta,
                cancelled=self.task.job.cancel.is_set,
                steering=self.task.steering,
            )
        finally:
            toolbox.close()
            await self._client.aclose()

    async def _check(self, _answer: str) -> Checked:
        """The engine's word on whether the named tests pass; the model hears what is still wrong."""
        judged = await asyncio.to_thread(self._tree.judge)
        return Checked(True) if judged is None or judged.ok else Checked(False, self._objection(judged))

    def _objection(self, judged: Judged) -> str:
        return judged.doubt or fenced(self._told(judged.report))

    def _finish(self, end: AgentEnd) -> None:
        for words in self.task.steering.close():
            self._log.emit("steered", text=words, joined=False)
        told = TaskOutcome(end.reason, answer=end.answer, why=end.why, question=end.question, turns=end.turns)
        outcome, self.task.diff = self._tree.end(told)
        usage = self.task.usage
        evidence = replace(outcome.evidence, usage=Usage(usage.tokens, usage.usd))
        hint = hint_for(outcome, self.task.job.id, changed=bool(self.task.diff))
        outcome = replace(outcome, evidence=evidence, hint=hint)
        self.task.outcome = outcome
        self._log.emit("run_finished", outcome=outcome, usage=usage)

    # --- parts ---------------------------------------------------------------------------------------

    def _make_client(self, meter: Meter) -> ModelClient:
        options, settings = self._options, self._session.settings
        if options.script is None:
            return make_client(settings, meter, provider=options.provider, model=options.model, on_event=self._on_event)
        from regreen.providers.client import ModelClient
        from regreen.providers.scripted import ScriptedProvider

        scripted = ScriptedProvider.from_file(options.script)
        return ModelClient([scripted], meter, prices=settings.models.prices, on_event=self._on_event)

    def _context(self) -> str:
        session, redact = self._session, self._session.redact
        tree = session.skeleton(max_tokens=_SKELETON_TOKENS)
        ranked = session.repo_map(max_tokens=_MAP_TOKENS, wait_s=_INDEX_WAIT_S, cancel=self.task.job.cancel)
        report = self._tree.base_report
        tests = self._told(report) if report is not None else ""
        parts = (redact(tree.tree), redact(ranked.text), self._options.selection, tests)
        return task_context(*parts, notes=self._servers.notes)

    def _told(self, report: SuiteReport) -> str:
        return self._session.redact(say("run_tests", to_object(report)))

    def _on_event(self, kind: EventKind, data: Mapping[str, object]) -> None:
        self._log.emit(kind, **data)
        if kind == "model_response":
            budget, meter = self._meter.budget, self._meter
            self._log.emit("budget", tokens=meter.usage.total, usd=round(meter.usd, 6), seconds=round(meter.seconds, 1),
                           limits={"tokens": budget.tokens, "usd": budget.usd, "seconds": budget.seconds})  # fmt: skip

    def _on_delta(self, delta: Delta) -> None:
        if isinstance(delta, TextDelta):
            self._log.emit("text_delta", text=delta.text)


def _request(options: TaskOptions, client: ModelClient, budget_s: float) -> dict[str, Json]:
    return {
        "task": options.task,
        "selection": list(options.selection),
        "provider": client.name,
        "model": client.model,
        "budget_s": budget_s,
        "budget_tokens": options.budget_tokens,
        "budget_usd": options.budget_usd,
        "max_turns": options.max_turns,
        "keep_partial": options.keep_partial,
    }
