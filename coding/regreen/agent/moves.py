"""What a run does next: pure functions from one `AgentState` to the following one.

A state is always whole: whenever it is left, each call in it has its output, so that it can be ended anywhere and taken
up again. How each kind of answer is met:

| answer                | what follows                                                                            |
| --------------------- | --------------------------------------------------------------------------------------- |
| calls                 | stored first; all run in one go; those that cannot be read are answered with the fault  |
| words                 | checked; before any tool was used, once sent back with a nudge                          |
| cut off               | no call of it is run; asked again with twice the limit, at the largest told to go on    |
| a pause               | the same conversation again                                                             |
| nothing               | nudged once; then the end: checked if tools have been used, else `model_error`          |
| anything in last turn | the end; its calls are not run                                                          |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from regreen.agent import pairing, stuck
from regreen.agent.rules import AgentRules, turn_limit
from regreen.agent.state import AgentEnd, AgentState, Checked, Closing, Executed, Transition, Turn, TurnState
from regreen.agent.texts import text
from regreen.fix.repetition import row
from regreen.model import StopReason
from regreen.providers.conversation import estimate_tokens
from regreen.providers.messages import (
    Block,
    Message,
    ModelRequest,
    ModelResponse,
    ModelStop,
    ToolDefinition,
    said,
)
from regreen.providers.recovery import MAX_CAP, next_cap

_SAME_AGAIN = (Transition.PAUSED, Transition.TRUNCATED_OUTPUT)
"""The model is in the middle of an answer: nothing may come between."""
_CONTEXT = "about {tokens} tokens, and {limit} are allowed (max_input_tokens)"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a run is about, and never changes. `context` is told behind the task, and is no part of its length."""

    system: str
    task: str
    tools: tuple[ToolDefinition, ...]
    rules: AgentRules
    context: str = ""


def begun(a: Assignment) -> AgentState:
    message = f"{a.task}\n\n{a.context}" if a.context else a.task
    return _next_turn(a, AgentState((said("user", message),)), Transition.STARTED)


def request(a: Assignment, state: AgentState) -> ModelRequest:
    """What the model is asked in the turn that is open. In the last one it must answer in words."""
    words = state.closing is not None and bool(a.tools)
    return ModelRequest(a.system, state.messages, a.tools, state.turns[-1].cap, "none" if words else "auto")


def answered(a: Assignment, state: AgentState, response: ModelResponse) -> AgentState:
    """The model has answered the turn that is open."""
    blocks = pairing.sound_blocks(response.message, state.messages)
    if meet := _BAD_STOPS.get(response.stop):
        return meet(a, state, response, blocks)
    if state.closing is not None:
        return _last_words(state, state.closing, blocks, cut=response.stop == "truncated")
    if response.stop == "truncated":
        return _cut_off(a, state, blocks)
    after = replace(state, messages=pairing.answered_by(state.messages, blocks))
    answer = Message("assistant", blocks)
    if answer.calls:
        after = replace(_closed(after, TurnState.ACTING), said="")
        return after if pairing.runnable(answer) else acted(a, after, ())
    if response.stop == "pause":
        return _paused(a, after)
    return _words(a, after)


def acted(a: Assignment, state: AgentState, executed: Sequence[Executed]) -> AgentState:
    """The tools of the turn have run."""
    done = pairing.paired(state.messages[-1], executed, text("no_result"))
    calls = tuple(stuck.trace(e, a.rules) for e in done)
    after = replace(_closed(state, TurnState.ACTED), messages=(*state.messages, pairing.results(done)))
    after = replace(after, turns=(*after.turns[:-1], replace(after.turns[-1], calls=calls)))
    if question := next((e.question for e in done if e.question), ""):
        return ended(after, StopReason.NEEDS_USER, "it needs an answer of the user", question=question)
    if found := stuck.finding(after.turns, a.rules):
        if found.final:
            after = replace(after, closing=Closing(StopReason.STUCK, found.message))
            return _next_turn(a, after, Transition.FINAL_ANSWER, text("stuck_final"), told=found.rule)
        return _next_turn(a, after, Transition.STUCK_WARNING, found.message, told=found.rule)
    return _next_turn(a, after, _after_tools(done))


def checked(a: Assignment, state: AgentState, verdict: Checked) -> AgentState:
    """The answer by which the model said it is done was checked."""
    after = _closed(state, TurnState.ANSWERED)
    rechecks = sum(t.transition is Transition.NOT_VERIFIED for t in after.turns)
    if (verdict.ok or rechecks >= a.rules.max_rechecks) and not state.steering:
        return ended(after, StopReason.COMPLETED, "" if verdict.ok else verdict.message, after.said)
    words = "" if verdict.ok else text("not_verified", message=verdict.message)
    return _next_turn(a, replace(after, said=""), Transition.NOT_VERIFIED, words)


def steered(state: AgentState, words: str) -> AgentState:
    """The user says something, wherever the run is: it joins the conversation with the next turn that goes on."""
    return replace(state, steering=(*state.steering, words))


def stopped(state: AgentState, reason: StopReason, why: str) -> AgentState:
    """The run ends from outside, wherever it is; calls that are under way get an output that says so."""
    if state.closing is not None:
        why = f"{why} (it was in its last turn: {state.closing.why})"
    if state.turns and state.turns[-1].state is TurnState.ACTING:
        done = pairing.paired(state.messages[-1], (), text("stopped_call", why=why))
        state = replace(_closed(state, TurnState.ACTED), messages=(*state.messages, pairing.results(done)))
    return ended(state, reason, why, state.said)


def ended(state: AgentState, reason: StopReason, why: str, answer: str = "", question: str = "") -> AgentState:
    return replace(state, end=AgentEnd(reason, answer, why, len(state.turns), question))


# --- answers ---------------------------------------------------------------------------------------------------------


def _refused(_: Assignment, state: AgentState, response: ModelResponse, blocks: tuple[Block, ...]) -> AgentState:
    """Not stored: a model that sees its own refusal goes on refusing."""
    why = f"the model refused to answer (stop reason `{response.raw_stop}`)"
    return ended(state, StopReason.REFUSED, why, _text(blocks))


def _overflowed(_: Assignment, state: AgentState, response: ModelResponse, blocks: tuple[Block, ...]) -> AgentState:
    why = f"the conversation fills the model's window (stop reason `{response.raw_stop}`)"
    return ended(state, StopReason.CONTEXT_OVERFLOW, why, state.said + _text(blocks))


def _unknown(_: Assignment, state: AgentState, response: ModelResponse, blocks: tuple[Block, ...]) -> AgentState:
    why = f"the model stopped for a reason that is not known: `{response.raw_stop}`; no call of this answer is run"
    kept = pairing.answered_by(state.messages, pairing.without_calls(blocks) if _text(blocks) else ())
    return ended(replace(state, messages=kept), StopReason.MODEL_ERROR, why, state.said + _text(blocks))


_Meeting: TypeAlias = Callable[[Assignment, AgentState, ModelResponse, tuple[Block, ...]], AgentState]
_BAD_STOPS: Mapping[ModelStop, _Meeting] = {
    "refusal": _refused,
    "context_overflow": _overflowed,
    "unknown": _unknown,
}


def _last_words(state: AgentState, closing: Closing, blocks: tuple[Block, ...], *, cut: bool) -> AgentState:
    """The answer of the last turn, whatever it is. Calls in it are not run, and not kept."""
    words = state.said + _text(blocks)
    kept = pairing.whole_blocks(blocks) if _text(blocks) else ()
    after = _closed(state, TurnState.ANSWERED if words else TurnState.EMPTY)
    lacking = "" if words and not cut else "; the final answer was cut off" if words else "; there is no final answer"
    why = closing.why + lacking
    return ended(replace(after, messages=pairing.answered_by(state.messages, kept)), closing.reason, why, words)


def _cut_off(a: Assignment, state: AgentState, blocks: tuple[Block, ...]) -> AgentState:
    """Nothing of it is run. Below the largest limit it is dropped and asked for again; there, words alone are kept."""
    cap = state.turns[-1].cap
    after = _closed(state, TurnState.TRUNCATED)
    tries = _row(after, TurnState.TRUNCATED)
    whole = Message("assistant", blocks)
    keeps = cap >= MAX_CAP and bool(whole.text) and not whole.calls
    if keeps:
        kept = pairing.answered_by(state.messages, pairing.whole_blocks(blocks))
        after = replace(after, messages=kept, said=_answer(replace(state, messages=kept)))
    if tries > a.rules.max_output_recovery:
        why = (
            f"the answer was cut off {tries} times in a row, the last time at {cap} tokens; what there is of it is kept"
        )
        return ended(after, StopReason.MODEL_ERROR, why, after.said)
    if cap < MAX_CAP:
        return _next_turn(a, after, Transition.TRUNCATED_OUTPUT, cap=next_cap(cap))
    words = "go_on" if keeps else "smaller_calls" if whole.calls else "shorter_answer"
    return _next_turn(a, after, Transition.TRUNCATED_OUTPUT, text(words, cap=cap), cap=cap)


def _paused(a: Assignment, state: AgentState) -> AgentState:
    after = _closed(state, TurnState.PAUSED)
    pauses = _row(after, TurnState.PAUSED)
    if pauses > a.rules.max_pauses:
        why = f"the provider paused {pauses} times in a row without an answer"
        return ended(after, StopReason.MODEL_ERROR, why, _answer(after))
    return _next_turn(a, after, Transition.PAUSED)


def _words(a: Assignment, state: AgentState) -> AgentState:
    """An answer without calls: the model says that it is done."""
    used = any(t.calls for t in state.turns)
    answer = _answer(state)
    if not answer:
        return _nothing(a, state, used)
    nudges = sum(t.transition is Transition.NUDGED for t in state.turns)
    if a.tools and not used and nudges < a.rules.max_nudges and len(state.turns) + 1 < limit(a, state):
        after = replace(_closed(state, TurnState.ANSWERED), said="")
        return _next_turn(a, after, Transition.NUDGED, text("no_tool_used"))
    return replace(_closed(state, TurnState.CHECKING), said=answer)


def _nothing(a: Assignment, state: AgentState, used: bool) -> AgentState:
    after = _closed(state, TurnState.EMPTY)
    if _row(after, TurnState.EMPTY) <= 1:
        return _next_turn(a, after, Transition.NUDGED, text("empty_answer"))
    if used:
        return replace(_closed(state, TurnState.CHECKING), said="")
    return ended(after, StopReason.MODEL_ERROR, "the model gave an empty answer twice in a row")


# --- turns -----------------------------------------------------------------------------------------------------------


def _next_turn(
    a: Assignment, state: AgentState, transition: Transition, words: str = "", *, cap: int = 0, told: str = ""
) -> AgentState:
    """Begin a turn, after a word to the model: the last one that there may be asks for an answer in words."""
    number = len(state.turns) + 1
    closing = state.closing
    if state.steering and transition not in _SAME_AGAIN:
        words = "\n\n".join(filter(None, (words, *(text("steered", message=said) for said in state.steering))))
        state = replace(state, steering=())
        transition = Transition.FINAL_ANSWER if closing is not None else Transition.STEERED
    so_far = (*state.turns, Turn(number, transition, cap or a.rules.max_tokens, told=told))
    if closing is None and number >= (most := turn_limit(a.task, so_far, a.rules)):
        turns = "the only turn is" if most == 1 else f"all {most} turns are"
        closing = Closing(StopReason.MAX_TURNS, f"{turns} used")
        transition = Transition.FINAL_ANSWER
        words = f"{words}\n\n{text('final_turn')}".lstrip()
    after = replace(state, messages=pairing.told(state.messages, words), closing=closing)
    turn = Turn(number, transition, cap or a.rules.max_tokens, told=told)
    return _fitting(a, replace(after, turns=(*after.turns, turn)))


def _fitting(a: Assignment, state: AgentState) -> AgentState:
    """The state itself, if the request fits the model's window; else the end, before anything is sent."""
    tokens, most = estimate_tokens(request(a, state)), a.rules.max_input_tokens
    if tokens <= most:
        return state
    before = replace(state, turns=state.turns[:-1])
    why = _CONTEXT.format(tokens=tokens, limit=most)
    return ended(before, StopReason.CONTEXT_OVERFLOW, f"the conversation is too long for the model: {why}", state.said)


def _after_tools(done: Sequence[Executed]) -> Transition:
    if any(e.denied for e in done):
        return Transition.TOOL_DENIED
    return Transition.TOOL_FAILED if any(e.output.is_error for e in done) else Transition.NEXT_TURN


def limit(a: Assignment, state: AgentState) -> int:
    """How many turns the run is given, as it stands."""
    return turn_limit(a.task, state.turns, a.rules)


def _closed(state: AgentState, how: TurnState) -> AgentState:
    return replace(state, turns=(*state.turns[:-1], replace(state.turns[-1], state=how)))


def _row(state: AgentState, how: TurnState) -> int:
    return row(state.turns, lambda t: t.state is how)


def _answer(state: AgentState) -> str:
    """All that the model has said since it was last told something; "" where nothing stands last."""
    last = state.messages[-1]
    return state.said + (last.text if last.role == "assistant" else "")


def _text(blocks: tuple[Block, ...]) -> str:
    return Message("assistant", blocks).text
