"""Does the agent run in circles? Pure rules over its turns from the last progress on.

| rule      | the model is told after                          | the run ends, once it was told, after        |
| --------- | ------------------------------------------------ | -------------------------------------------- |
| `same`    | the same calls with the same results twice       | three times                                  |
| `circles` | a period of 2 or 3 turns that is seen twice      | three times                                  |
| `empty`   | two turns in a row that found nothing            | four                                         |
| `failing` | five calls of one tool in a row that failed      | eight                                        |
| `polling` | ten looks at a job with the same result          | twenty                                       |

Progress is the success of a tool that writes, by a call that was not made before: whoever runs the same tests again,
or puts a change in and takes it out, gets nowhere. The model is told of each rule once. A look at a job that runs is
no repetition: it counts for `polling` alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regreen.agent.rules import AgentRules
from regreen.agent.state import CallTrace, Executed, Turn
from regreen.agent.texts import text
from regreen.fix.repetition import PERIODS, circles, row
from regreen.providers.messages import ToolCall
from regreen.wire import names

_VARYING = re.compile(r"\b\d+(?:\.\d+)?\s?(?:s|ms|seconds?)\b|\b(?=[0-9a-f-]*\d)[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b")


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that holds. `final`: the model was told before, and the run ends; `message` is for the model then too."""

    rule: str
    final: bool
    message: str


def trace(done: Executed, rules: AgentRules) -> CallTrace:
    """What is kept of a call for the rules."""
    failed = done.output.is_error or done.denied
    wrote = not (failed or done.call.name in rules.read_only or done.call.name in rules.polling)
    return CallTrace(
        name=done.call.name,
        call=_call_hash(done.call),
        result=_hash(f"{failed} {_VARYING.sub('', done.output.text)}"),
        failed=failed,
        denied=done.denied,
        empty=done.empty and not failed and not wrote,  # a tool that writes need not say anything
        wrote=wrote,
    )


def finding(turns: Sequence[Turn], rules: AgentRules) -> Finding | None:
    """What the model must be told now, or why the run must end; None while all is well."""
    progress = _last_progress(turns)
    told = {t.told for t in turns[progress + 1 :]}
    recent = [t for t in turns[max(progress, 0) :] if t.calls]
    levels = {name: level(recent, rules) for name, level in _RULES}
    for name, level in levels.items():
        if level == 2 and name in told:
            return Finding(name, True, _message(name, recent))
    for name, level in levels.items():
        if level and name not in told:
            return Finding(name, False, _message(name, recent))
    return None


def _last_progress(turns: Sequence[Turn]) -> int:
    """The index of the turn of the last progress, -1 where there was none."""
    made: set[str] = set()
    last = -1
    for n, turn in enumerate(turns):
        written = {c.call for c in turn.calls if c.wrote}
        if written - made:
            last = n
        made |= written
    return last


def _same(turns: Sequence[Turn], rules: AgentRules) -> int:
    return 0 if not turns or _polls(turns[-1], rules) else _level(_row_of_same(turns), rules.stuck.same)


def _polling(turns: Sequence[Turn], rules: AgentRules) -> int:
    return _level(_row_of_same(turns), rules.stuck.polling) if turns and _polls(turns[-1], rules) else 0


def _circles(turns: Sequence[Turn], rules: AgentRules) -> int:
    last = turns[-max(PERIODS) * max(rules.stuck.circles) :]
    since = row(last, lambda t: not _polls(t, rules))
    done = [_done(t) for t in last[len(last) - since :]]
    return sum(circles(done, times) for times in rules.stuck.circles)


def _empty(turns: Sequence[Turn], rules: AgentRules) -> int:
    return _level(row(turns, lambda t: not _polls(t, rules) and all(c.empty for c in t.calls)), rules.stuck.empty)


def _failing(turns: Sequence[Turn], rules: AgentRules) -> int:
    return _level(max((n for _, n in _failures(turns)), default=0), rules.stuck.failing)


_RULES: tuple[tuple[str, Callable[[Sequence[Turn], AgentRules], int]], ...] = (
    ("same", _same),
    ("circles", _circles),
    ("empty", _empty),
    ("failing", _failing),
    ("polling", _polling),
)


def _message(rule: str, turns: Sequence[Turn]) -> str:
    used = list(dict.fromkeys(c.name for c in turns[-1].calls))
    if rule == "circles":
        used = list(dict.fromkeys(c.name for t in turns[-3:] for c in t.calls))
    elif rule == "failing":
        used = [max(_failures(turns), key=lambda found: found[1])[0]]
    return text(f"stuck_{rule}", tools=names(f"`{name}`" for name in used))


def _failures(turns: Sequence[Turn]) -> list[tuple[str, int]]:
    """How often each tool of the last turn has failed in a row, whatever was called between."""
    calls = [c for t in turns for c in t.calls]
    last = dict.fromkeys(c.name for c in turns[-1].calls) if turns else {}
    return [(name, row([c for c in calls if c.name == name], lambda c: c.failed)) for name in last]


def _row_of_same(turns: Sequence[Turn]) -> int:
    return row(turns, lambda t: _done(t) == _done(turns[-1]))


def _done(turn: Turn) -> tuple[tuple[str, str], ...]:
    return tuple((c.call, c.result) for c in turn.calls)


def _polls(turn: Turn, rules: AgentRules) -> bool:
    return any(c.name in rules.polling for c in turn.calls)


def _level(count: int, bounds: tuple[int, int]) -> int:
    """0: nothing; 1: to be told; 2: the end."""
    return sum(count >= bound for bound in bounds)


def _call_hash(call: ToolCall) -> str:
    """The same for the same arguments, however they were written."""
    said = call.raw if call.fault else json.dumps(dict(call.arguments), sort_keys=True)
    return _hash(f"{call.name} {said}")


def _hash(said: str) -> str:
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
