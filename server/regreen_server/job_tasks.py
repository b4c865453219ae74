"""The engine's jobs as tasks: any process on the state folder tells of them, also after the one that began them died.

Rules: a job is a task where its end is all that is waited for; a fix run that its caller hands fixes to is none. A
task that ended stays as it ended. What a job asks the person is known to the process that it runs in alone.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from regreen.errors import UsageError
from regreen_server.task_questions import Questions
from regreen_server.tasks_extension import Task, created, negotiated, principal

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams

    from regreen.session.now import RunState
    from regreen.session.recording import RunRecord
    from regreen_server.calls import Answer, Caller, LiveJob, ToolEngine

log = logging.getLogger(__name__)

_AT_ONCE = frozenset({"fix_tests", "coding_task"})
_LATER = frozenset({"run_tests"})
_SUBMITTED = ("auto", "caller")  # proposers that may wait for fixes of whoever called
_MOST_ASKING = 200  # jobs whose questions are kept
_MAX_MESSAGE = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that may go on as a task: its arguments as they are handed on, and what its job can ask through it."""

    arguments: Mapping[str, Any]
    questions: Questions


@dataclass(frozen=True, slots=True)
class _Seen:
    """A job as the store and the process that it runs in know it, without its result."""

    run: RunRecord
    state: RunState
    repo: str

    @property
    def naming(self) -> dict[str, Any]:
        return {"job_id": self.run.id, **({"repo": self.repo} if self.repo else {})}


def wanted(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> Wanted | None:
    """How a call is made that may go on as a task; None for any other. What takes long becomes a task at once, unless
    the caller says how long it would wait; of tests those alone that are not done when the usual wait is over."""
    given = params.arguments or {}
    waits = params.name == "fix_tests" and given.get("proposer", "auto") in _SUBMITTED
    if params.name not in _AT_ONCE | _LATER or waits or not negotiated(ctx):
        return None
    return Wanted({"wait_s": 0, **given} if params.name in _AT_ONCE else given, Questions(principal(ctx)))


def is_task(run: RunRecord) -> bool:
    """Is this job's end all that is waited for?"""
    return run.kind != "fix" or run.request.get("proposer") not in _SUBMITTED


@dataclass(slots=True)
class JobTasks:
    """The jobs of one server's engine, as tasks."""

    _caller: Caller
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _changed: dict[str, float] = field(default_factory=dict[str, float])
    _questions: dict[str, Questions] = field(default_factory=dict[str, Questions])
    _ending: set[asyncio.Task[Answer]] = field(default_factory=set[asyncio.Task["Answer"]])

    def __post_init__(self) -> None:
        self._caller.watch_jobs(self._job_changed)

    async def begun(self, call: Wanted, answer: Answer) -> dict[str, Any] | None:
        """The answer to a call whose job goes on as a task; None where it has been answered already."""
        job_id = answer.data.get("job_id")
        if answer.is_error or answer.data.get("state") != "running" or not isinstance(job_id, str):
            return None
        with self._lock:
            self._questions[job_id] = call.questions
            while len(self._questions) > _MOST_ASKING:
                del self._questions[next(iter(self._questions))]
        return created(await self.task(job_id, call.questions.who))

    async def task(self, task_id: str, who: Hashable) -> Task:
        """A job as a task. Raises UsageError (`not_found`)."""
        seen = await self._seen(task_id)
        if seen.state.state == "running":
            return self._running(seen, who)
        self._forget(task_id)
        answer = await self._answer(seen)
        if answer.data.get("state") == "running":  # in the moment between
            return self._running(seen, who)
        return ended(seen.run, seen.state, answer, (await self._seen(task_id)).run.finished)

    async def answer(self, task_id: str, responses: Mapping[str, Any], who: Hashable) -> None:
        """Hand answers to the job that asked. Raises UsageError for no task, and for what is no answer to a form."""
        await self._seen(task_id)
        questions = self._asking(task_id, who)
        if questions is not None:
            questions.answer(responses)

    async def cancel(self, task_id: str) -> None:
        """End a job, in a thread of its own. Raises UsageError (`not_found`)."""
        seen = await self._seen(task_id)
        if not seen.state.ended:
            ending = asyncio.create_task(self._caller.call("job_cancel", seen.naming, _unheard))
            self._ending.add(ending)
            ending.add_done_callback(self._has_ended)

    # -------------------------------------------------------------------------------------------------

    async def _seen(self, task_id: str) -> _Seen:
        def look(engine: ToolEngine) -> _Seen:
            run = engine.known_run(task_id)
            if not is_task(run):
                raise UsageError("not_found", f"{task_id} is no task: it waits for fixes of whoever began it",
                                 "job_status tells of it")  # fmt: skip
            return _Seen(run, engine.run_state(task_id), engine.repo_of(task_id))

        return await self._caller.look("task", look)

    async def _answer(self, seen: _Seen) -> Answer:
        """What the call would have been answered with. Where a process died in the middle of a job, what it changed is
        put back first; a repository that cannot be opened any more keeps nobody from the record."""
        answer = await self._caller.call("job_status", {**seen.naming, "wait_s": 0}, _unheard)
        if answer.is_error and "job_id" not in answer.data:
            return await self._caller.look("task", lambda engine: engine.run_report(seen.run.id))
        return answer

    def _running(self, seen: _Seen, who: Hashable) -> Task:
        run = seen.run
        with self._lock:
            changed = self._changed.get(run.id, run.created)
        task = Task(run.id, "working", run.created, changed, seen.state.progress[:_MAX_MESSAGE])
        questions = self._asking(run.id, who)
        if questions is None or not (asked := questions.asked()):
            return task
        return replace(task, status="input_required", requests=asked, message="waits for an answer of the user")

    def _asking(self, job_id: str, who: Hashable) -> Questions | None:
        """What a job asks; of whoever began it, and of nobody else."""
        with self._lock:
            questions = self._questions.get(job_id)
        return questions if questions is not None and questions.who == who else None

    def _forget(self, job_id: str) -> None:
        with self._lock:
            self._changed.pop(job_id, None)
            self._questions.pop(job_id, None)

    def _job_changed(self, job: LiveJob, job_id: str) -> None:
        """Hears the engine's threads."""
        if job.state == "done":
            self._forget(job_id)
        else:
            with self._lock:
                self._changed[job_id] = time.time()

    def _has_ended(self, ending: asyncio.Task[Answer]) -> None:
        self._ending.discard(ending)
        if not ending.cancelled() and ending.result().is_error:
            log.warning("a task was not ended: %s", ending.result().text)


def ended(run: RunRecord, state: RunState, answer: Answer, finished: float | None) -> Task:
    """A job that has ended, by its answer. One whose process died is cancelled, as it is once its changes are back."""
    from regreen_server.tool_calls import as_call_result

    changed = finished or run.created
    reason = state.reason or _reason(answer.data)
    if reason == "cancelled" or answer.data.get("state") == "interrupted":
        message = str(answer.data.get("progress") or answer.text)
        return Task(run.id, "cancelled", run.created, changed, message[:_MAX_MESSAGE])
    result = as_call_result(answer).model_dump(mode="json", by_alias=True, exclude_none=True)
    return Task(run.id, "completed", run.created, changed, reason, result=result)


def _reason(data: Mapping[str, Any]) -> str:
    """Why a job ended that was put back only now: the record had been read before."""
    outcome: Mapping[str, Any] = data.get("outcome") or {}
    return str(outcome.get("reason") or data.get("status") or "")


async def _unheard(_seconds: float, _text: str) -> None:
    """Progress of a task is asked for."""
