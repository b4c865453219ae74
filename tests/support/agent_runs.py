"""Runs of the agent, step by step: short ways to say what a model answers and what tools give."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from regreen.agent.rules import AgentRules
from regreen.agent.run import AgentRun
from regreen.agent.state import Act, AgentEnd, Ask, Check, Checked, Ended, Executed
from regreen.providers.messages import (
    Block,
    Message,
    ModelRequest,
    ModelResponse,
    ModelStop,
    Text,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    ToolOutput,
)

TOOLS = tuple(
    ToolDefinition(name, f"It is the tool {name}.", {"type": "object"})
    for name in ("read_file", "search", "write_file", "job_status")
)
READ_ONLY = frozenset({"read_file", "search", "job_status"})


class Recorded:
    """A run, and all events that it told."""

    def __init__(self, task: str = "count the lines", tools: Sequence[ToolDefinition] = TOOLS, **limits: object):
        self.events: list[tuple[str, Mapping[str, object]]] = []
        rules = AgentRules(**{"read_only": READ_ONLY, **limits})  # type: ignore[arg-type]
        self.run = AgentRun("be good", task, tools, rules, lambda kind, data: self.events.append((kind, data)))

    def told(self, kind: str) -> list[Mapping[str, object]]:
        return [data for k, data in self.events if k == kind]

    @property
    def transitions(self) -> list[str]:
        return [str(turn.transition) for turn in self.run.state.turns]

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.run.state.messages

    @property
    def asked(self) -> ModelRequest:
        assert isinstance(self.run.step, Ask), self.run.step
        return self.run.step.request

    @property
    def end(self) -> AgentEnd:
        assert isinstance(self.run.step, Ended), self.run.step
        return self.run.step.end

    def says(self, text: str = "", *calls: ToolCall, stop: ModelStop = "end_turn", raw_stop: str = "") -> Recorded:
        """The model answers with words, calls, or both."""
        blocks: tuple[Block, ...] = (*((Text(text),) if text else ()), *calls)
        self.run.answered(ModelResponse(Message("assistant", blocks), stop, raw_stop or stop, TokenUsage(), "m"))
        return self

    def acts(self, text: str = "ok", **how: bool) -> Recorded:
        """All tools that are to be run give the same."""
        step = self.run.step
        assert isinstance(step, Act), step
        self.run.acted([result(call, text, **how) for call in step.calls])
        return self

    def uses(self, name: str = "read_file", text: str = "ok", *, arguments: object = None, **how: bool) -> Recorded:
        """The model calls one tool, and gets its result."""
        return self.says("", call(name, arguments)).acts(text, **how)

    def finds(self, *, ok: bool = True, message: str = "") -> Recorded:
        """The check of the answer says so."""
        assert isinstance(self.run.step, Check), self.run.step
        self.run.checked(Checked(ok, message))
        return self


def call(name: str = "read_file", arguments: object = None, given: str = "", fault: str = "") -> ToolCall:
    known = arguments if isinstance(arguments, dict) else {}
    return ToolCall(given, name, known, json.dumps(known), fault)


def result(of: ToolCall, text: str = "ok", *, is_error: bool = False, denied: bool = False, empty: bool = False):
    return Executed(of, ToolOutput(of.id, text, is_error), denied=denied, empty=empty)
