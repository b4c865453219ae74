"""How long the agent may go on: its limits, and the pure function that says how many turns a task is given."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from regreen.agent.results import READ_RESULT
from regreen.agent.state import Transition, Turn
from regreen.providers.recovery import RECOVERIES
from regreen.settings import Settings

_BASE_TURNS = 20


@dataclass(frozen=True, slots=True)
class StuckRules:
    """After how many turns of the same kind the model is told, and after how many the run ends. See `stuck`."""

    same: tuple[int, int] = (2, 3)
    circles: tuple[int, int] = (2, 3)
    empty: tuple[int, int] = (2, 4)
    failing: tuple[int, int] = (5, 8)  # calls of one tool, not turns
    polling: tuple[int, int] = (10, 20)


@dataclass(frozen=True, slots=True)
class AgentRules:
    """The limits of one run.

    A task is given `base_turns`, one more for each `turn_chars` characters of it and for each two tool calls that
    failed, and `steered_turns` for each turn in which the user had something to say, but never more than `max_turns`.
    `read_only` are the tools that change nothing: the success of any other is progress. `polling` are those that look
    at a job which needs its time.
    """

    max_turns: int = 30
    base_turns: int = _BASE_TURNS
    turn_chars: int = 200
    steered_turns: int = 5
    max_output_recovery: int = RECOVERIES
    max_tokens: int = 8192
    max_input_tokens: int = 120_000
    max_pauses: int = 5
    max_nudges: int = 1
    max_rechecks: int = 2
    read_only: frozenset[str] = frozenset()
    polling: frozenset[str] = frozenset({"job_status"})
    stuck: StuckRules = field(default_factory=StuckRules)


def agent_rules(settings: Settings, read_only: Set[str]) -> AgentRules:
    """The rules by what the operator chose: a short task is given two thirds of the turns, but 20 where there are."""
    most = settings.agent.max_turns
    return AgentRules(
        max_turns=most,
        base_turns=max(min(most, _BASE_TURNS), most * 2 // 3),
        max_output_recovery=settings.agent.max_output_recovery,
        max_tokens=settings.models.max_tokens,
        max_input_tokens=settings.models.max_input_tokens,
        read_only=frozenset(read_only) | {READ_RESULT},
    )


def step_limit(task: str, rules: AgentRules) -> int:
    """How many turns a task is given at its beginning: more for a longer one. At least 1, at most `max_turns`."""
    return max(1, min(rules.max_turns, rules.base_turns + len(task) // rules.turn_chars))


def turn_limit(task: str, turns: Sequence[Turn], rules: AgentRules) -> int:
    """How many turns it is given now: what was lost to tool calls that failed is made up for, in part, and what the
    user says meanwhile is more to do."""
    failed = sum(call.failed for turn in turns for call in turn.calls)
    more = rules.steered_turns * sum(turn.transition is Transition.STEERED for turn in turns)
    return max(1, min(rules.max_turns, step_limit(task, rules) + failed // 2 + more))
