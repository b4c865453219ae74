"""The loop: a model and a runner of tools drive a run to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from regreen.agent.run import AgentRun
from regreen.agent.state import Act, AgentEnd, Ask, Check, Checked, Ended, Executed
from regreen.agent.steering import Steering
from regreen.errors import RegreenError
from regreen.model import StopReason
from regreen.providers.messages import OnDelta, ToolCall

if TYPE_CHECKING:
    import asyncio

    from regreen.providers.client import ModelClient

_LOOK_S = 0.05  # how often `cancelled` is asked while something is awaited
_UNWIND_S = 5.0  # how long what is cancelled may take to close what it holds
_CANCELLED = "the run was cancelled"


class ToolRunner(Protocol):
    """Whatever runs tools."""

    async def execute(self, calls: Sequence[ToolCall]) -> tuple[Executed, ...]:
        """Run all of them, and give one result each, in their order. Never raises for a tool's fault."""
        ...


async def drive(
    run: AgentRun,
    client: ModelClient,
    tools: ToolRunner,
    *,
    check: Callable[[str], Awaitable[Checked]] | None = None,
    on_delta: OnDelta | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    steering: Steering | None = None,
) -> AgentEnd:
    """Drive a run to its end. Without `check` the model's word that it is done is taken. What is put into `steering`
    meanwhile is told to the model at its next turn.

    As soon as `cancelled` says so, whatever is under way is cancelled and the run ends `cancelled`. If the task itself
    is cancelled, the run ends so too, and CancelledError goes on. A RegreenError ends the run; others go on.
    """
    import asyncio

    while not isinstance(step := run.step, Ended):
        if cancelled():
            run.stop(StopReason.CANCELLED, _CANCELLED)
            continue
        work = asyncio.ensure_future(_done(run, step, client, tools, check, on_delta))
        try:
            hand_in = await _unless(cancelled, work)
        except asyncio.CancelledError:
            run.stop(StopReason.CANCELLED, _CANCELLED)
            raise
        except RegreenError as e:
            if not cancelled():  # else it is only how the work met its end
                run.failed(e)
        else:
            _steer(run, steering)
            hand_in()
    return step.end


def _steer(run: AgentRun, steering: Steering | None) -> None:
    """Tell the run what the user has said; nothing more is taken once the model will not hear it."""
    if steering is not None:
        for words in steering.take() if run.hears else steering.close():
            run.steered(words)


async def _done(
    run: AgentRun,
    step: Ask | Act | Check,
    client: ModelClient,
    tools: ToolRunner,
    check: Callable[[str], Awaitable[Checked]] | None,
    on_delta: OnDelta | None,
) -> Callable[[], None]:
    """Do what the run says. What is returned hands in what came of it: work that is left alone changes nothing."""
    match step:
        case Ask():
            return partial(run.answered, await client.ask(step.request, on_delta))
        case Act():
            return partial(run.acted, await tools.execute(step.calls))
        case Check():
            return partial(run.checked, await check(step.answer) if check is not None else Checked(ok=True))


async def _unless(cancelled: Callable[[], bool], work: asyncio.Task[Callable[[], None]]) -> Callable[[], None]:
    """What the work says how to hand in; nothing to hand in where it was cancelled because `cancelled` says so."""
    import asyncio

    try:
        while not work.done() and not cancelled():
            await asyncio.wait({work}, timeout=_LOOK_S)
    finally:
        told = not work.done()
        if told:
            work.cancel()
            await asyncio.wait({work}, timeout=_UNWIND_S)
    if told and (work.cancelled() or not work.done()):
        return lambda: None
    return work.result()
