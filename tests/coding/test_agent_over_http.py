"""The agent with the real SDKs, against servers of both wire formats: whatever a model or its server does, the run goes
on or ends as it should, each call has one result, and nothing is run that was not wholly said."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from support.model_wire import ModelServer, Stall, Step
from support.wires import WIRES, Wire

from regreen.agent.driver import drive
from regreen.agent.rules import AgentRules
from regreen.agent.run import AgentRun
from regreen.agent.state import AgentEnd
from regreen.agent.tool import Tool, ToolContext, ToolReply
from regreen.agent.toolbox import Toolbox
from regreen.model import StopReason
from regreen.providers.client import ModelClient
from regreen.providers.messages import Delta, Provider, Restarted
from regreen.providers.meter import Budget, Meter
from regreen.wire import Json

A: Mapping[str, Json] = {"path": "a.py"}
B: Mapping[str, Json] = {"path": "b.py"}
SCHEMA: Mapping[str, Json] = {"type": "object", "properties": {"path": {"type": "string"}}}
LIMIT_S = 30.0


@dataclass
class Desk:
    """A server, providers in one event loop, and a run with a tool that reads and one that writes."""

    wire: Wire
    server: ModelServer
    loop: asyncio.Runner
    main: Provider
    fallback: Provider
    ran: list[str] = field(default_factory=list[str])
    waits: list[float] = field(default_factory=list[float])
    deltas: list[Delta] = field(default_factory=list[Delta])
    transitions: list[str] = field(default_factory=list[str])
    meter: Meter = field(default_factory=Meter)

    def run(self, *steps: Step, budget: Budget | None = None, cancelled: Any = lambda: False, **rules: Any) -> AgentEnd:
        self.server.script(*steps)
        self.meter = Meter(budget or Budget())
        client = ModelClient([self.main, self.fallback], self.meter, sleep=self._sleep, jitter=lambda: 1.0)
        tools = [self._tool("read", read_only=True), self._tool("write", read_only=False)]
        toolbox = Toolbox(tools)
        run = AgentRun("Be good.", "Do it.", toolbox.definitions(), AgentRules(read_only=frozenset({"read"}), **rules),
                       self._hear)  # fmt: skip

        async def driven() -> AgentEnd:
            async with asyncio.timeout(LIMIT_S):
                return await drive(run, client, toolbox, on_delta=self.deltas.append, cancelled=cancelled)

        try:
            return self.loop.run(driven())
        finally:
            toolbox.close()

    @property
    def bodies(self) -> list[Any]:
        return [seen.body for seen in self.server.seen]

    def _tool(self, name: str, *, read_only: bool) -> Tool:
        def work(arguments: Mapping[str, Json], _context: ToolContext) -> ToolReply:
            self.ran.append(f"{name} {arguments.get('path')}")
            return ToolReply(f"{name}: {arguments.get('path')}")

        return Tool(name, f"It will {name}.", SCHEMA, work, read_only=read_only)

    def _hear(self, kind: str, data: Mapping[str, object]) -> None:
        if kind == "turn_started":
            self.transitions.append(str(data["transition"]))

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


@pytest.fixture(scope="module", params=WIRES, ids=lambda wire: wire.name)
def parts(request: pytest.FixtureRequest) -> Iterator[tuple[Wire, ModelServer, asyncio.Runner, Provider, Provider]]:
    wire: Wire = request.param
    with wire.server() as server, asyncio.Runner() as loop:
        main, fallback = wire.provider(server), wire.provider(server, "small")
        yield wire, server, loop, main, fallback
        loop.run(main.aclose())
        loop.run(fallback.aclose())


@pytest.fixture
def desk(parts: tuple[Wire, ModelServer, asyncio.Runner, Provider, Provider]) -> Desk:
    return Desk(*parts)


def test_parallel_calls_all_run_and_each_result_goes_back_under_its_id(desk: Desk) -> None:
    wire = desk.wire
    made = [("c1", "read", A), ("c2", "read", B), ("c3", "write", A)]
    end = desk.run(wire.calls(*made), wire.says("Done."))
    assert (end.reason, end.answer) == (StopReason.COMPLETED, "Done.")
    assert sorted(desk.ran) == ["read a.py", "read b.py", "write a.py"]
    assert desk.ran[-1] == "write a.py"
    assert wire.results(desk.bodies[1]) == {"c1": "read: a.py", "c2": "read: b.py", "c3": "write: a.py"}
    assert list(wire.results(desk.bodies[1])) == ["c1", "c2", "c3"]
    assert all(body["tools"] for body in desk.bodies)


def test_arguments_that_are_no_json_are_told_to_the_model_and_nothing_runs(desk: Desk) -> None:
    wire = desk.wire
    end = desk.run(wire.calls(("c1", "write", '{"path": a.py}')), wire.calls(("c2", "write", A)), wire.says("Done."))
    assert end.reason is StopReason.COMPLETED
    assert desk.ran == ["write a.py"]
    assert "JSON" in wire.results(desk.bodies[1])["c1"]
    assert desk.transitions[:2] == ["started", "tool_failed"]


def test_a_call_that_was_cut_off_is_not_run_but_asked_for_again_with_more_room(desk: Desk) -> None:
    wire = desk.wire
    cut_off = wire.calls(("c1", "write", '{"path": "a'), stop="cut")
    whole_but_cut = wire.calls(("c1", "write", A), stop="cut")
    end = desk.run(cut_off, whole_but_cut, wire.calls(("c1", "write", B)), wire.says("Done."), max_tokens=4096)
    assert end.reason is StopReason.COMPLETED
    assert desk.ran == ["write b.py"]
    assert [wire.cap(body) for body in desk.bodies] == [4096, 8192, 16384, 4096]
    assert desk.transitions[:3] == ["started", "truncated_output", "truncated_output"]


def test_an_answer_that_is_always_cut_off_ends_the_run_after_three_recoveries(desk: Desk) -> None:
    end = desk.run(*[desk.wire.calls(("c1", "write", '{"path": "a'), stop="cut")] * 4)
    assert end.reason is StopReason.MODEL_ERROR
    assert len(desk.bodies) == 4
    assert desk.ran == []


def test_a_rate_limit_is_waited_for_as_long_as_the_server_says(desk: Desk) -> None:
    end = desk.run(desk.wire.rate_limited(), desk.wire.calls(("c1", "read", A)), desk.wire.says("Done."))
    assert end.answer == "Done."
    assert desk.waits == [7.0]


def test_an_overloaded_model_is_replaced_by_the_fallback_and_asked_first_the_next_time(desk: Desk) -> None:
    wire = desk.wire
    end = desk.run(wire.overloaded(), wire.calls(("c1", "read", A)), wire.says("Done."))
    assert end.answer == "Done."
    assert [body["model"] for body in desk.bodies] == [desk.main.model, "small", desk.main.model]
    assert desk.waits == []


def test_an_answer_whose_connection_breaks_is_void_and_asked_for_again(desk: Desk) -> None:
    wire = desk.wire
    broken = wire.broken(wire.calls(("c1", "write", A)))
    end = desk.run(wire.broken(wire.says("Half of")), broken, wire.calls(("c1", "read", A)), wire.says("Done."))
    assert end.answer == "Done."
    assert desk.ran == ["read a.py"]
    assert any(isinstance(delta, Restarted) for delta in desk.deltas)
    assert desk.bodies[0] == desk.bodies[1] == desk.bodies[2]
    assert len(desk.waits) == 2


def test_a_refusal_ends_the_run_as_what_it_is(desk: Desk) -> None:
    end = desk.run(desk.wire.says("I will not.", stop="refused"))
    assert end.reason is StopReason.REFUSED
    assert desk.ran == []


def test_a_spent_budget_ends_the_run_before_the_next_question(desk: Desk) -> None:
    reads = [desk.wire.calls((f"c{n}", "read", {"path": f"{n}.py"})) for n in range(20)]
    end = desk.run(*reads, budget=Budget(tokens=600), max_tokens=1000)
    assert end.reason is StopReason.BUDGET
    assert desk.meter.usage.total <= 600
    assert 0 < len(desk.bodies) < 20


def test_a_cancelled_run_hangs_up_in_the_middle_of_an_answer(desk: Desk) -> None:
    stall = Stall(desk.wire.says("I begin to"), 3)
    end = desk.run(stall, cancelled=stall.reached.is_set)
    assert end.reason is StopReason.CANCELLED
    assert desk.server.seen[0].gone.wait(LIMIT_S)
