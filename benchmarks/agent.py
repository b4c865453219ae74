"""What a turn of the agent costs beside its model and its tools, in a long conversation.

    python benchmarks/agent.py [--messages 500] [--rounds 15]

Drives a run with answers that are ready at once, each with a call and a result of 4 000 characters, until it has so
many messages, and then measures single turns: taking the answer in, pairing its results, the rules about repetition,
the next request with its estimated size, and that request in the form of either provider (a message's form for
Anthropic is made once, as `AnthropicProvider` does it). Prints median and least
milliseconds of CPU time; the aim is less than 5 ms for all of a turn with either provider.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from regreen.agent.rules import AgentRules
from regreen.agent.run import AgentRun
from regreen.agent.state import Act, Ask, Executed
from regreen.providers.anthropic_wire import Form, message_form, question
from regreen.providers.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    ToolOutput,
)
from regreen.providers.openai_wire import Dialect, body
from regreen.wire import Json

T = TypeVar("T")

SCHEMA: dict[str, Json] = {"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}}
TOOLS = tuple(ToolDefinition(f"tool_{n}", "What it does, in a sentence or two. " * 4, SCHEMA) for n in range(20))
RESULT = "    value = compute(first, second)  # a line of a file\n" * 75
RULES = AgentRules(
    max_turns=10**6, base_turns=10**6, max_input_tokens=10**9, read_only=frozenset(t.name for t in TOOLS)
)


class Clock:
    """CPU time by what it was spent for, one row for each turn."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}
        self._forms: dict[int, Form] = {}

    def time(self, what: str, work: Callable[[], T]) -> T:
        begin = time.process_time()
        done = work()
        self.spent.setdefault(what, []).append((time.process_time() - begin) * 1000)
        return done

    def form(self, message: Message) -> Form:
        """A message's form, kept. The run keeps the messages, so that their ids stay theirs."""
        return self._forms.get(id(message)) or self._forms.setdefault(id(message), message_form(message))


def answer(number: int) -> ModelResponse:
    arguments = f'{{"path": "src/module_{number}.py", "line": {number}}}'
    call = ToolCall(f"toolu_{number:08}", f"tool_{number % 20}", {"path": f"src/module_{number}.py"}, arguments)
    message = Message("assistant", (Text("I look at the next file. " * 8), call))
    return ModelResponse(message, "tool_use", "tool_use", TokenUsage(), "model")


def turn(run: AgentRun, number: int, clock: Clock) -> None:
    """One turn, and the next request as it is sent."""
    clock.time("answer taken in", lambda: run.answered(answer(number)))
    step = run.step
    assert isinstance(step, Act)
    done = [Executed(call, ToolOutput(call.id, f"{number}\n{RESULT}")) for call in step.calls]
    clock.time("results paired, rules, size", lambda: run.acted(done))
    request = clock.time("next request", lambda: asked(run))
    clock.time("in Anthropic's form", lambda: question(request, "claude-sonnet-5-5", "", clock.form))
    clock.time("in OpenAI's form", lambda: body(request, "gpt", Dialect()))


def asked(run: AgentRun) -> ModelRequest:
    step = run.step
    assert isinstance(step, Ask)
    return step.request


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    run = AgentRun("You are a coding agent. " * 200, "Find the fault in the pricing module.", TOOLS, RULES)
    number = 0
    while len(run.state.messages) < options.messages:
        turn(run, number, Clock())
        number += 1
    clock = Clock()
    turn(run, number, clock)  # makes the forms of all that was said so far
    number += 1
    clock.spent.clear()
    for _ in range(options.rounds):
        turn(run, number, clock)
        number += 1
    sys.stdout.write(f"one turn at {options.messages} messages; ms of CPU time\n{'':30}{'median':>9}{'least':>9}\n")
    for what, times in clock.spent.items():
        sys.stdout.write(row(what, times))
    for one, other in (("Anthropic", "OpenAI"), ("OpenAI", "Anthropic")):
        parts = [times for what, times in clock.spent.items() if other not in what]
        sys.stdout.write(row(f"all, with {one}", [sum(turn) for turn in zip(*parts, strict=True)]))


def row(what: str, times: list[float]) -> str:
    return f"{what:30}{statistics.median(times):9.2f}{min(times):9.2f}\n"


if __name__ == "__main__":
    main()
