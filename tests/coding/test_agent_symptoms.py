"""What agents are known to suffer from, each with a model that would bring it about: the run ends as it should, and
says why."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from support.agent_runs import READ_ONLY, TOOLS, result

from regreen.agent.driver import drive
from regreen.agent.rules import AgentRules
from regreen.agent.run import AgentRun
from regreen.agent.state import AgentEnd, Executed
from regreen.model import StopReason
from regreen.providers.client import ModelClient
from regreen.providers.messages import ToolCall
from regreen.providers.meter import Budget, Meter
from regreen.providers.scripted import ScriptedProvider


class Tools:
    """Tools that answer by a function of the call, and remember what they ran."""

    def __init__(self, answer: Callable[[ToolCall], Executed] = result) -> None:
        self._answer = answer
        self.ran: list[ToolCall] = []

    async def execute(self, calls: Sequence[ToolCall]) -> tuple[Executed, ...]:
        self.ran += calls
        return tuple(self._answer(call) for call in calls)


class Played:
    """A run that was driven to its end by a script."""

    def __init__(self, replies: Iterable[Mapping[str, object]], tools: Tools | None = None, **limits: object) -> None:
        self.provider = ScriptedProvider(list(replies))
        self.tools = tools or Tools()
        rules = AgentRules(**{"read_only": READ_ONLY, **limits})  # type: ignore[arg-type]
        self.run = AgentRun("be good", "do the task", TOOLS, rules)
        self.end = asyncio.run(self._drive())

    async def _drive(self) -> AgentEnd:
        client = ModelClient([self.provider], Meter(Budget()))
        return await drive(self.run, client, self.tools)

    @property
    def transitions(self) -> list[str]:
        return [str(turn.transition) for turn in self.run.state.turns]


def uses(name: str, **arguments: object) -> dict[str, object]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def test_never_stops_a_model_that_sees_its_results_under_their_ids_ends_by_itself():
    """The scripted model refuses, as real ones do, a conversation whose results have another role or other ids."""
    played = Played([{"calls": [{"name": "read_file", "arguments": {}, "id": "toolu_AbC"}]}, {"text": "12 lines."}])
    assert (played.end.reason, played.end.answer) == (StopReason.COMPLETED, "12 lines.")
    answer, results = played.provider.requests[1].messages[1:]
    assert answer.calls[0].id == results.outputs[0].call_id == "toolu_AbC" and results.role == "user"


def test_never_stops_a_model_that_always_has_another_call_is_stopped_at_its_limit():
    played = Played((uses("read_file", n=n) for n in range(40)), max_turns=6)
    assert played.end.reason is StopReason.MAX_TURNS and played.end.turns == 6 == len(played.provider.requests)
    assert "all 6 turns are used" in played.end.why and len(played.tools.ran) == 5


def test_one_turn_only_tools_are_offered_in_every_turn_so_that_the_model_can_go_on():
    played = Played([uses("read_file", n=1), uses("search", n=2), uses("write_file", n=3), {"text": "Done."}])
    assert all(request.tools == TOOLS for request in played.provider.requests)
    assert played.transitions == ["started", "next_turn", "next_turn", "next_turn"]
    assert played.end.reason is StopReason.COMPLETED


def test_prompt_too_long_ends_with_what_was_found_instead_of_an_error_of_the_provider():
    long = Tools(lambda call: result(call, "line\n" * 4_000))
    played = Played((uses("read_file", n=n) for n in range(40)), long, max_input_tokens=20_000)
    assert played.end.reason is StopReason.CONTEXT_OVERFLOW and "20000 are allowed" in played.end.why
    assert len(played.run.state.messages) == 2 * played.end.turns + 1


def test_prompt_too_long_for_the_provider_itself_ends_the_same_way():
    played = Played([uses("read_file"), {"error": "context_overflow"}])
    assert played.end.reason is StopReason.CONTEXT_OVERFLOW and played.end.turns == 2


def test_deadlock_after_a_refusal_the_model_is_told_no_and_finds_another_way():
    no = Tools(lambda call: result(call, "not allowed: tests are read-only", denied=call.name == "write_file"))
    played = Played([uses("write_file", path="tests/a.py"), uses("read_file"), {"text": "I may not."}], no)
    assert played.end.reason is StopReason.COMPLETED
    assert played.transitions == ["started", "tool_denied", "next_turn"]
    assert "not allowed" in played.provider.requests[1].messages[-1].outputs[0].text


def test_deadlock_after_a_refusal_a_model_that_insists_is_ended():
    no = Tools(lambda call: result(call, "not allowed", denied=True))
    played = Played([*[uses("write_file", path="a")] * 3, {"text": "It is not allowed."}], no)
    assert (played.end.reason, played.end.answer) == (StopReason.STUCK, "It is not allowed.")


def test_stops_at_the_first_step_although_a_tool_was_needed_it_is_nudged_and_works():
    played = Played([{"text": "README.md has about 40 lines."}, uses("read_file"), {"text": "12 lines."}])
    assert played.transitions == ["started", "nudged", "next_turn"]
    assert played.end.answer == "12 lines." and [c.name for c in played.tools.ran] == ["read_file"]


def test_the_same_tool_again_and_again_is_warned_then_stopped_with_a_summary():
    played = Played([*[uses("search", q="x")] * 3, {"text": "x is nowhere."}])
    assert played.transitions == ["started", "next_turn", "stuck_warning", "final_answer"]
    assert (played.end.reason, played.end.answer) == (StopReason.STUCK, "x is nowhere.")
    assert played.provider.requests[-1].tool_choice == "none" and len(played.tools.ran) == 3


def test_never_a_final_answer_the_last_turn_takes_the_tools_away_and_asks_for_one():
    played = Played([*(uses("read_file", n=n) for n in range(3)), {"text": "So far: 3 files read."}], max_turns=4)
    assert (played.end.reason, played.end.answer) == (StopReason.MAX_TURNS, "So far: 3 files read.")
    assert [request.tool_choice for request in played.provider.requests] == ["auto"] * 3 + ["none"]
    assert played.transitions[-1] == "final_answer"
