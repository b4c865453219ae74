"""Fixtures of the conformance suite that go on as tasks: on the extension's own wire, with work that sleeps or asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import fixture_questions
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from regreen_server import tasks_extension
from regreen_server.tasks_extension import Task, TaskSource

Result = dict[str, Any]
ASKED = {
    "confirm_delete": {"confirmed": fixture_questions.form("Delete it?", confirm={"type": "boolean"})},
    "multi_input": {"first": fixture_questions.NAME, "second": fixture_questions.NAME},
}


def says(words: str, *, is_error: bool = False) -> Result:
    return {"content": [{"type": "text", "text": words}], "isError": is_error}


@dataclass
class Work:
    """One task, and what does it."""

    task: Task
    open: dict[str, Any] = field(default_factory=dict[str, Any])
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    doing: asyncio.Task[None] | None = None


class FixtureTasks:
    """The tasks of the fixtures; the server's own source is asked for all others."""

    def __init__(self, own: TaskSource) -> None:
        self._own = own
        self._works: dict[str, Work] = {}

    def begin(self, do: Callable[[Work], Awaitable[Result]], questions: Mapping[str, Any] | None = None) -> Result:
        now = time.time()
        work = Work(Task(f"fixture-{len(self._works) + 1}", "working", now, now), dict(questions or {}))
        self._works[work.task.id] = work
        work.doing = asyncio.create_task(self._do(work, do))
        return tasks_extension.created(work.task)

    async def _do(self, work: Work, do: Callable[[Work], Awaitable[Result]]) -> None:
        try:
            result = await do(work)
            work.task = replace(work.task, status="completed", result=result, changed=time.time())
        except asyncio.CancelledError:
            work.task = replace(work.task, status="cancelled", changed=time.time())
        except MCPError as e:
            fault = {"code": e.error.code, "message": e.error.message}
            work.task = replace(work.task, status="failed", error=fault, changed=time.time())

    async def task(self, task_id: str, who: Hashable) -> Task:
        work = self._works.get(task_id)
        if work is None:
            return await self._own.task(task_id, who)
        waits = work.task.status == "working" and bool(work.open)
        return replace(work.task, status="input_required", requests=dict(work.open)) if waits else work.task

    async def answer(self, task_id: str, responses: Mapping[str, Any], who: Hashable) -> None:
        work = self._works.get(task_id)
        if work is None:
            await self._own.answer(task_id, responses, who)
            return
        for key in responses:
            work.open.pop(key, None)
        if not work.open:
            work.answered.set()

    async def cancel(self, task_id: str) -> None:
        work = self._works.get(task_id)
        if work is None:
            await self._own.cancel(task_id)
        elif work.doing is not None:
            work.doing.cancel()


async def computed(seconds: float) -> Result:
    await asyncio.sleep(seconds)
    return says(f"computed for {seconds} s")


async def failed(_work: Work) -> Result:
    return says("this job always fails", is_error=True)


async def broken(_work: Work) -> Result:
    raise MCPError(INTERNAL_ERROR, "this job breaks the protocol")


async def confirmed(work: Work) -> Result:
    await work.answered.wait()
    return says("all questions are answered")


class Tools:
    """The tools of the suite that concern tasks, by name."""

    def __init__(self, tasks: FixtureTasks) -> None:
        self._tasks = tasks
        self.by_name: Mapping[str, Callable[[Any, Any], Awaitable[Any]]] = {
            "greet": self._greet,
            "slow_compute": self._slow_compute,
            "failing_job": self._failing_job,
            "protocol_error_job": self._protocol_error_job,
            "test_tool_with_task": self._with_task,
            **dict.fromkeys(ASKED, self._asks),
        }

    async def _greet(self, _ctx: Any, params: Any) -> list[Result]:
        return fixture_questions.said(f"Hello, {params.arguments['name']}!")

    async def _slow_compute(self, ctx: Any, params: Any) -> Any:
        seconds = float(params.arguments["seconds"])
        if not tasks_extension.negotiated(ctx):
            return (await computed(seconds))["content"]
        return self._tasks.begin(lambda _work: computed(seconds))

    async def _failing_job(self, ctx: Any, _params: Any) -> Any:
        self._need(ctx)
        return self._tasks.begin(failed)

    async def _protocol_error_job(self, ctx: Any, _params: Any) -> Any:
        self._need(ctx)
        return self._tasks.begin(broken)

    async def _asks(self, ctx: Any, params: Any) -> Any:
        self._need(ctx)
        return self._tasks.begin(confirmed, ASKED[params.name])

    async def _with_task(self, ctx: Any, params: Any) -> Any:
        """Asks first, as a result; what is done with the answer is a task."""
        self._need(ctx)
        if not fixture_questions.answered(params, "user_name", fixture_questions.NAME):
            return fixture_questions.question({"user_name": fixture_questions.NAME})
        name = params.input_responses["user_name"].content["name"]

        async def greeted(_work: Work) -> Result:
            return says(f"Hello, {name}!")

        return self._tasks.begin(greeted)

    def _need(self, ctx: Any) -> None:
        if not tasks_extension.negotiated(ctx):
            raise tasks_extension.undeclared()
