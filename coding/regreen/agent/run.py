"""`AgentRun`: the state machine of one coding task, driven from outside.

It knows no model, tool, protocol or clock. A driver (`regreen.agent.driver`) does what `step` says and hands in what
came of it, until it says `Ended`. Its state is one frozen value, replaced by each move; what happened is told by
comparing the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from regreen.agent import moves, pairing
from regreen.agent.moves import Assignment
from regreen.agent.rules import AgentRules
from regreen.agent.state import Act, AgentState, Ask, Check, Checked, Ended, Executed, Step, Turn, TurnState
from regreen.errors import Busy, Refused, RegreenError
from regreen.events import EventKind
from regreen.model import StopReason
from regreen.providers.client import OnEvent, ignore
from regreen.providers.errors import BudgetSpent, ContextOverflow, ProviderError
from regreen.providers.messages import Message, ModelResponse, ToolDefinition

_Event: TypeAlias = tuple[EventKind, Mapping[str, object]]

_REASONS: tuple[tuple[type[RegreenError], StopReason], ...] = (
    (BudgetSpent, StopReason.BUDGET),
    (ContextOverflow, StopReason.CONTEXT_OVERFLOW),
    (ProviderError, StopReason.MODEL_ERROR),
    (Refused, StopReason.REFUSED),
    (Busy, StopReason.REFUSED),
)


class AgentRun:
    """One task, from its first question to its end."""

    def __init__(
        self,
        system: str,
        task: str,
        tools: Sequence[ToolDefinition],
        rules: AgentRules,
        on_event: OnEvent = ignore,
        *,
        context: str = "",
    ) -> None:
        """`context` is what the model is told besides the task, such as what there is in the repository."""
        self._assignment = Assignment(system, task, tuple(tools), rules, context)
        self._on_event = on_event
        self.state: AgentState = AgentState(())
        self._become(moves.begun(self._assignment))

    @property
    def step(self) -> Step:
        """What must be done next."""
        state = self.state
        if state.end is not None:
            return Ended(state.end)
        match state.turns[-1].state:
            case TurnState.ACTING:
                return Act(pairing.runnable(state.messages[-1]))
            case TurnState.CHECKING:
                return Check(state.said)
            case _:
                return Ask(moves.request(self._assignment, state))

    def answered(self, response: ModelResponse) -> None:
        """What the model said to `Ask`."""
        self._expect(TurnState.OPEN)
        self._become(moves.answered(self._assignment, self.state, response))

    def acted(self, executed: Sequence[Executed]) -> None:
        """What came of the calls of `Act`. A call without a result gets an error; results of no call are dropped."""
        self._expect(TurnState.ACTING)
        self._become(moves.acted(self._assignment, self.state, executed))

    def checked(self, verdict: Checked) -> None:
        """What came of `Check`."""
        self._expect(TurnState.CHECKING)
        self._become(moves.checked(self._assignment, self.state, verdict))

    def steered(self, words: str) -> None:
        """The user says something while the run is under way. It ends nothing: what is being done goes on."""
        self._become(moves.steered(self.state, words))

    @property
    def hears(self) -> bool:
        """Will there be a turn in which the model is told what the user says now?"""
        return self.state.end is None and self.state.closing is None

    def failed(self, error: RegreenError) -> None:
        """A step could not be done, and the run ends. Does nothing to a run that has ended."""
        reason = next((r for kind, r in _REASONS if isinstance(error, kind)), StopReason.ENVIRONMENT)
        self.stop(reason, f"{error.message}; {error.hint}" if error.hint else error.message)

    def stop(self, reason: StopReason, why: str) -> None:
        """End the run from outside: `cancelled`, `hook_stopped`, ... Does nothing to a run that has ended."""
        if self.state.end is None:
            self._become(moves.stopped(self.state, reason, why))

    def _expect(self, where: TurnState) -> None:
        assert self.state.end is None and self.state.turns[-1].state is where, "this is not what `step` asks for"

    def _become(self, state: AgentState) -> None:
        before, self.state = self.state, state
        for kind, data in _events(before, state, moves.limit(self._assignment, state)):
            self._on_event(kind, data)


def _events(before: AgentState, after: AgentState, limit: int) -> Iterator[_Event]:
    """What happened between two states: calls that were not run, why the model is warned, the end of a turn and why the
    run goes on or ends, then the turn that was begun, of at most `limit`."""
    begun = after.turns[-1] if len(after.turns) > len(before.turns) else None
    last = len(before.turns)
    if last and before.turns[-1].state is not TurnState.ACTED and after.turns[last - 1].state is TurnState.ACTED:
        yield from _unreadable(after.messages[-2])
    if begun is not None and begun.told:
        final = after.closing is not None and after.closing.reason is StopReason.STUCK
        yield "stuck", {"rule": begun.told, "is_final": final}
    yield from _heard(before, after, begun)
    if begun is not None and last:
        yield "step", {"step_id": last, "is_final": False, "transition": begun.transition}
    if after.end is not None and after.turns:
        yield "step", {"step_id": len(after.turns), "is_final": True, "transition": after.end.reason}
    if begun is not None:
        yield "turn_started", {"turn": begun.number, "transition": begun.transition, "limit": limit}


def _heard(before: AgentState, after: AgentState, begun: Turn | None) -> Iterator[_Event]:
    """What the user has said that is told with the turn that begins, or will not be told, since the run has ended."""
    for words in before.steering if not after.steering else ():
        turn = {"turn": begun.number} if begun is not None else {}
        yield "steered", {"text": words, "joined": begun is not None, **turn}
    if after.end is not None:
        for words in after.steering if before.end is None else after.steering[len(before.steering) :]:
            yield "steered", {"text": words, "joined": False}


def _unreadable(answer: Message) -> Iterator[_Event]:
    """The calls that no runner of tools has seen, in its words."""
    for call in answer.calls:
        if call.fault:
            yield "tool_call", {"id": call.id, "tool": call.name, "arguments": {}, "fault": call.fault}
            yield "tool_result", {"id": call.id, "tool": call.name, "is_error": True, "denied": False}
