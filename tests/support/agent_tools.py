"""Tools of the agent for tests: calls, and tools whose moments a test decides."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regreen.agent.state import Executed
from regreen.agent.tool import Tool, ToolContext, ToolReply
from regreen.agent.toolbox import Toolbox
from regreen.providers.messages import ToolCall
from regreen.wire import Json

LIMIT_S = 10.0  # nothing here takes so long
Run = Callable[[Mapping[str, Json], ToolContext], ToolReply]


def a_tool(name: str, run: Run | str = "ok", *, read_only: bool = True, **chosen: Any) -> Tool:
    """A tool that runs `run`, or says it."""
    said = run if isinstance(run, str) else ""
    work: Run = (lambda arguments, context: ToolReply(said)) if isinstance(run, str) else run
    return Tool(name, f"Does {name}.", {"type": "object", "properties": {}}, work, read_only=read_only, **chosen)


def a_call(name: str, number: int = 1, /, **arguments: Any) -> ToolCall:
    return ToolCall(f"Call-{number}", name, arguments)


def executed(box: Toolbox, calls: Sequence[ToolCall]) -> tuple[Executed, ...]:
    return asyncio.run(box.execute(calls))


def said(box: Toolbox, name: str, /, **arguments: Any) -> Executed:
    """What came of one call."""
    return executed(box, [a_call(name, **arguments)])[0]


class Gate:
    """A tool's work that begins, and ends when it is let go (or told to stop, if it `listens`)."""

    def __init__(self, *, listens: bool = False) -> None:
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()
        self.told_to_stop = threading.Event()
        self.ended = threading.Event()
        self.runs = 0
        self._listens = listens

    def __call__(self, arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
        self.runs += 1
        self.begun.release()
        with context.cancel.waking(self._stop):
            assert self.go.wait(LIMIT_S)
        self.ended.set()
        return ToolReply("stopped early" if context.cancel.is_set() else "went through")

    def _stop(self) -> None:
        self.told_to_stop.set()
        if self._listens:
            self.go.set()

    def has_begun(self) -> None:
        assert self.begun.acquire(timeout=LIMIT_S)
