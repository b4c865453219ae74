"""The values of a run of the agent: what was said, why each turn was begun, what must be done next. Frozen.

An `AgentState` holds everything that a run is, in plain values: as JSON it can be kept, and taken up again. Each move
makes a new one; counters are computed from its turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from regreen.model import StopReason
from regreen.providers.messages import Message, ModelRequest, ToolCall, ToolOutput


class Transition(StrEnum):
    """Why a turn was begun."""

    STARTED = "started"
    NEXT_TURN = "next_turn"  # the tools have answered
    TOOL_DENIED = "tool_denied"
    TOOL_FAILED = "tool_failed"
    TRUNCATED_OUTPUT = "truncated_output"  # the answer was cut off at its limit
    PAUSED = "paused"  # the provider wants the same conversation again
    NUDGED = "nudged"  # an answer without any use of the tools, or without any content
    STUCK_WARNING = "stuck_warning"  # the model is told that it repeats itself
    STEERED = "steered"  # the user has said something meanwhile
    NOT_VERIFIED = "not_verified"  # the model said that it is done, and the check said no
    FINAL_ANSWER = "final_answer"  # the last turn: an answer in words is asked for


class TurnState(StrEnum):
    """Where a turn is, or how it ended."""

    OPEN = "open"  # the model is to be asked
    ACTING = "acting"  # its tools are to be run
    CHECKING = "checking"  # its last answer is to be checked
    ACTED = "acted"
    ANSWERED = "answered"
    TRUNCATED = "truncated"
    PAUSED = "paused"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Executed:
    """A tool call and what came of it. `denied`: it was not allowed; `empty`: it found nothing; `question`: it had to
    ask the user, and nobody was there to answer."""

    call: ToolCall
    output: ToolOutput
    denied: bool = False
    empty: bool = False
    duration_s: float = 0.0
    question: str = ""


@dataclass(frozen=True, slots=True)
class CallTrace:
    """What the rules about repetition look at: `call` and `result` are hashes, the same for the same call and for
    results that differ in times and ids alone. `wrote`: it may have changed something."""

    name: str
    call: str
    result: str
    failed: bool = False
    denied: bool = False
    empty: bool = False
    wrote: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One question to the model and what followed from it. `told` is the rule that the model was warned of before."""

    number: int
    transition: Transition
    cap: int
    state: TurnState = TurnState.OPEN
    told: str = ""
    calls: tuple[CallTrace, ...] = ()


@dataclass(frozen=True, slots=True)
class Closing:
    """The run is in its last turn, and why: it ends with this reason whatever is answered."""

    reason: StopReason
    why: str


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """How a run ended. `answer` is the model's last answer ("" = none), `why` says more than the reason does."""

    reason: StopReason
    answer: str
    why: str
    turns: int
    question: str = ""


@dataclass(frozen=True, slots=True)
class AgentState:
    """A run as it stands. `said` is the answer so far, where it comes in several parts; `steering` is what the user has
    said meanwhile, and the model is told at its next turn."""

    messages: tuple[Message, ...]
    turns: tuple[Turn, ...] = ()
    said: str = ""
    closing: Closing | None = None
    end: AgentEnd | None = None
    steering: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of the answer by which the model said it is done. `message` tells it what is still wrong."""

    ok: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model, and hand what it says to `answered`."""

    request: ModelRequest


@dataclass(frozen=True, slots=True)
class Act:
    """Run these calls, all of them, in this order as far as it matters, and hand the results to `acted`."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """The model says it is done: see whether it is, and tell `checked`."""

    answer: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing is left to do."""

    end: AgentEnd


Step: TypeAlias = Ask | Act | Check | Ended
