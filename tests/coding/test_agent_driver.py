"""The agent's loop: a scripted model and tools drive a run; it can be cancelled at any moment, and hides no fault."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import pytest
from support.agent_runs import READ_ONLY, TOOLS, result

from regreen.agent.driver import drive
from regreen.agent.rules import AgentRules
from regreen.agent.run import AgentRun
from regreen.agent.state import AgentEnd, Checked, Ended, Executed
from regreen.errors import EnvironmentFault
from regreen.model import StopReason
from regreen.providers.client import ModelClient
from regreen.providers.conversation import check as fault_of
from regreen.providers.messages import Delta, TextDelta, ToolCall
from regreen.providers.meter import Budget, Meter
from regreen.providers.scripted import ScriptedProvider

LIMIT_S = 10.0
READS = {"calls": [{"name": "read_file", "arguments": {"path": "a"}, "id": "one"}]}
HANGS = {"text": "I think", "hang": True}


class Scene:
    """A run, a script, and tools that hang if they shall; `ended` are the tool runs that were cut short."""

    def __init__(self, *replies: Mapping[str, object], hang: bool = False, limit: int = 0) -> None:
        self.run = AgentRun("s", "do it", TOOLS, AgentRules(read_only=READ_ONLY))
        self.provider = ScriptedProvider(replies)
        self.client = ModelClient([self.provider], Meter(Budget(tokens=limit)))
        self.deltas: list[Delta] = []
        self.reached = asyncio.Event()
        self.ended = 0
        self._hang = hang

    async def execute(self, calls: Sequence[ToolCall]) -> tuple[Executed, ...]:
        try:
            if self._hang:
                self.reached.set()
                await asyncio.Event().wait()
        finally:
            self.ended += 1
        return tuple(result(call) for call in calls)

    def hear(self, delta: Delta) -> None:
        self.deltas.append(delta)
        if isinstance(delta, TextDelta):
            self.reached.set()

    async def drive(
        self,
        cancelled: Callable[[], bool] = lambda: False,
        check: Callable[[str], Awaitable[Checked]] | None = None,
    ) -> AgentEnd:
        async with asyncio.timeout(LIMIT_S):
            return await drive(self.run, self.client, self, check=check, on_delta=self.hear, cancelled=cancelled)

    @property
    def reason(self) -> StopReason:
        assert isinstance(self.run.step, Ended)
        assert fault_of(self.run.state.messages) == ""
        return self.run.step.end.reason


def test_a_model_and_tools_bring_a_run_to_its_end_and_its_words_are_streamed():
    async def scenario() -> None:
        scene = Scene(READS, {"text": "12 lines."})
        end = await scene.drive()
        assert (end.reason, end.answer, scene.ended) == (StopReason.COMPLETED, "12 lines.", 1)
        assert "".join(d.text for d in scene.deltas if isinstance(d, TextDelta)) == "12 lines."

    asyncio.run(scenario())


def test_the_check_is_asked_and_its_word_goes_back_to_the_model():
    async def scenario() -> None:
        verdicts = [Checked(ok=False, message="1 test fails"), Checked(ok=True)]
        heard: list[str] = []

        async def check(answer: str) -> Checked:
            heard.append(answer)
            return verdicts.pop(0)

        scene = Scene(READS, {"text": "Done."}, {"text": "Now it is."})
        end = await scene.drive(check=check)
        assert (end.answer, heard) == ("Now it is.", ["Done.", "Now it is."])
        assert "1 test fails" in scene.provider.requests[-1].messages[-1].text

    asyncio.run(scenario())


@pytest.mark.parametrize(("replies", "hang"), [((HANGS,), False), ((READS,), True)])
def test_a_run_is_cancelled_at_once_in_the_middle_of_an_answer_and_while_tools_run(replies, hang):
    async def scenario() -> None:
        scene = Scene(*replies, hang=hang)
        end = await scene.drive(cancelled=scene.reached.is_set)
        assert end.reason is scene.reason is StopReason.CANCELLED and scene.ended == hang

    asyncio.run(scenario())


@pytest.mark.parametrize(("replies", "hang"), [((HANGS,), False), ((READS,), True)])
def test_whoever_cancels_the_task_gets_its_cancellation_and_a_run_that_has_ended(replies, hang):
    async def scenario() -> None:
        scene = Scene(*replies, hang=hang)
        driving = asyncio.create_task(scene.drive())
        await scene.reached.wait()
        driving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driving
        assert scene.reason is StopReason.CANCELLED and scene.ended == hang

    asyncio.run(scenario())


def test_a_run_that_is_cancelled_before_it_begins_asks_nothing():
    async def scenario() -> None:
        scene = Scene(READS)
        assert (await scene.drive(cancelled=lambda: True)).reason is StopReason.CANCELLED
        assert scene.provider.requests == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"error": "unauthorized"}, StopReason.MODEL_ERROR),
        ({"error": "context_overflow"}, StopReason.CONTEXT_OVERFLOW),
        ({"text": "No.", "stop": "refusal"}, StopReason.REFUSED),
    ],
)
def test_what_the_model_cannot_do_ends_the_run_with_its_reason(reply, reason):
    async def scenario() -> None:
        scene = Scene(READS, reply)
        assert (await scene.drive()).reason is scene.reason is reason

    asyncio.run(scenario())


def test_a_failure_that_passes_gives_the_answer_no_more_room():
    async def scenario() -> None:
        async def at_once(seconds: float) -> None:
            pass

        scene = Scene({"error": "server_fault"}, READS, {"error": "timeout"}, {"text": "12 lines."})
        scene.client = ModelClient([scene.provider], Meter(Budget()), sleep=at_once)
        assert (await scene.drive()).reason is StopReason.COMPLETED
        assert [request.max_tokens for request in scene.provider.requests] == [8192] * 4
        assert len(scene.run.state.turns) == 2

    asyncio.run(scenario())


def test_a_budget_that_is_spent_ends_the_run():
    async def scenario() -> None:
        scene = Scene({**READS, "usage": {"input": 900, "output": 200}}, limit=1_000)
        end = await scene.drive()
        assert end.reason is scene.reason is StopReason.BUDGET and end.turns == 2

    asyncio.run(scenario())


def test_an_error_of_the_check_ends_the_run_and_a_fault_of_ours_goes_on_to_the_caller():
    async def scenario() -> None:
        async def no_disk(answer: str) -> Checked:
            raise EnvironmentFault("io", "disk full", "make room")

        async def buggy(answer: str) -> Checked:
            raise ZeroDivisionError

        end = await Scene(READS, {"text": "Done."}).drive(check=no_disk)
        assert (end.reason, end.why) == (StopReason.ENVIRONMENT, "disk full; make room")
        with pytest.raises(ZeroDivisionError):
            await Scene(READS, {"text": "Done."}).drive(check=buggy)

    asyncio.run(scenario())


@pytest.mark.parametrize("error", [None, EnvironmentFault("io", "the connection went away")])
def test_a_check_is_cancelled_too_and_an_error_by_which_it_ends_then_hides_nothing(error):
    async def scenario() -> None:
        begun = asyncio.Event()

        async def check(answer: str) -> Checked:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise error or asyncio.CancelledError from None
            return Checked(ok=True)

        scene = Scene(READS, {"text": "Done."})
        await scene.drive(check=check, cancelled=begun.is_set)
        assert scene.reason is StopReason.CANCELLED

    asyncio.run(scenario())


def test_work_that_cancels_itself_is_not_done_again():
    async def scenario() -> None:
        async def check(answer: str) -> Checked:
            raise asyncio.CancelledError

        scene = Scene(READS, {"text": "Done."})
        with pytest.raises(asyncio.CancelledError):
            await scene.drive(check=check)
        assert scene.reason is StopReason.CANCELLED

    asyncio.run(scenario())
