"""What keeps a conversation valid whatever a model or a runner of tools sends: pure repairs of messages.

Every call gets an id of its own, and exactly one output, in the message that follows it. What is sent again in every
later request, and written to events, is bounded: ids, names, the depth of arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from regreen.agent.state import Executed
from regreen.providers.messages import Block, Message, Text, Thinking, ToolCall, ToolOutput, said
from regreen.wire import MAX_DEPTH, Json, is_number, shortened

NO_OUTPUT = "(no output)"
MAX_ID = 8_000  # some servers keep what a model thought in the ids of its calls
MAX_CALLED = 128  # of the name of a tool; longer than any that there is


def sound_blocks(answer: Message, messages: Sequence[Message]) -> tuple[Block, ...]:
    """The answer's blocks without blank text, with ids that the conversation has only once, and with calls whose names
    and arguments can be sent back: others are cut, or have a fault.

    An id is kept to the letter where it can be: some servers send none, or the same one twice.
    """
    taken = {b.id for m in messages if m.role == "assistant" for b in m.blocks if isinstance(b, ToolCall)}
    return tuple(_with_own_ids((b for b in answer.blocks if not _blank(b)), taken, len(messages)))


def _with_own_ids(blocks: Iterable[Block], taken: set[str], at: int) -> Iterator[Block]:
    for number, block in enumerate(blocks):
        if not isinstance(block, ToolCall):
            yield block
            continue
        own, tries = block.id, 0
        while not own.strip() or len(own) > MAX_ID or own in taken:
            own, tries = f"call_{at}_{number}" + (f"_{tries}" if tries else ""), tries + 1
        taken.add(own)
        yield _bounded(block if own == block.id else replace(block, id=own))


def _bounded(call: ToolCall) -> ToolCall:
    """The call, with a name of which no more is kept than tells that there is no such tool, and without arguments that
    few could write out again."""
    if len(call.name) > MAX_CALLED:
        call = replace(call, name=call.name[:MAX_CALLED])
    wrong = "" if call.fault else _unfit(dict(call.arguments))
    return replace(call, arguments={}, fault=wrong) if wrong else call


def _unfit(arguments: Json) -> str:
    """What in the arguments cannot be handed on, told to the model; "" where all can."""
    todo = [(arguments, 1)]
    while todo:
        value, depth = todo.pop()
        if depth > MAX_DEPTH:
            return "The arguments are nested too deeply. The tool was not run. Send them flat, as its schema is."
        match value:
            case int() | float() if not is_number(value):
                return "The arguments hold a number that is too large. The tool was not run. Send a smaller one."
            case list():
                todo += [(item, depth + 1) for item in value]
            case dict():
                todo += [(item, depth + 1) for item in value.values()]
            case _:
                pass
    return ""


def without_calls(blocks: Iterable[Block]) -> tuple[Block, ...]:
    return tuple(b for b in blocks if not isinstance(b, ToolCall))


def whole_blocks(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """What can be kept of an answer that was cut off: its text, and what it thought as far as that is signed."""
    return tuple(b for b in blocks if isinstance(b, Text) or (isinstance(b, Thinking) and (b.signature or b.sealed)))


def answered_by(messages: Sequence[Message], blocks: tuple[Block, ...]) -> tuple[Message, ...]:
    """The conversation with what the model said; what follows a pause is one message with what came before it."""
    if not blocks:
        return tuple(messages)
    if messages[-1].role == "assistant":
        return (*messages[:-1], Message("assistant", (*messages[-1].blocks, *blocks)))
    return (*messages, Message("assistant", blocks))


def told(messages: Sequence[Message], words: str) -> tuple[Message, ...]:
    """The conversation with a word to the model at its end, behind outputs of tools that stand there."""
    if not words:
        return tuple(messages)
    if messages[-1].role == "user":
        return (*messages[:-1], Message("user", (*messages[-1].blocks, Text(words))))
    return (*messages, said("user", words))


def runnable(answer: Message) -> tuple[ToolCall, ...]:
    """The calls whose arguments can be read. The others are never run."""
    return tuple(call for call in answer.calls if not call.fault)


def paired(answer: Message, executed: Iterable[Executed], missing: str) -> tuple[Executed, ...]:
    """One result for each call of the answer, in its order: those that were handed in, by the ids of their calls, and
    errors for calls that cannot be read, or have no result; `missing` says why there is none. Others are dropped."""
    known: dict[str, Executed] = {}
    for done in executed:
        known.setdefault(done.call.id, done)
    return tuple(_result(call, known.get(call.id), missing) for call in answer.calls)


def results(executed: Iterable[Executed]) -> Message:
    return Message("user", tuple(done.output for done in executed))


def _result(call: ToolCall, done: Executed | None, missing: str) -> Executed:
    if call.fault:
        words = f"`{shortened(call.name, MAX_CALLED)}`: {call.fault}"  # a fault says what to do next
    elif done is None:
        words = missing
    else:
        words = done.output.text if done.output.text.strip() else NO_OUTPUT
        return replace(done, call=call, output=ToolOutput(call.id, words, done.output.is_error))
    return Executed(call, ToolOutput(call.id, words, is_error=True))


def _blank(block: Block) -> bool:
    return isinstance(block, Text) and not block.text.strip()
