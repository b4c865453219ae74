"""How a person sees a coding task: each event in a line or two, each turn, what is spent, the end. Pure and bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from regreen.cli.fix_lines import remarks
from regreen.cli.lines import Line, count, diff, more, names, split
from regreen.cli.wording import worded
from regreen.wire import shortened

Data = Mapping[str, Any]

_ARGUMENT_CHARS = 80
_ARGUMENTS_CHARS = 400
_TEXT_CHARS = 2_000  # of one line
_EDIT_LINES = 40  # of the diff of one edit while the task runs
_ANSWER_LINES = 200
_FAILING = 20
_MAIN_ARGUMENTS = ("path", "name", "pattern", "question", "task", "paths", "selection", "focus", "to", "since", "text")


# --- what is spent ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spent:
    """Where a task stands: its turn, and what it has cost so far."""

    turn: int = 0
    max_turns: int = 0
    tokens: int = 0
    usd: float = 0.0
    started: float = 0.0
    seconds: float = 0.0

    def after(self, kind: str, time: float, data: Data) -> Spent:
        """As it stands once this event has happened."""
        started = self.started or time
        now = replace(self, started=started, seconds=max(0.0, time - started))
        match kind:
            case "turn_started":
                return replace(now, turn=data["turn"], max_turns=data.get("max_turns", self.max_turns))
            case "model_response":
                used = sum(data.get("usage", {}).values())
                return replace(now, tokens=self.tokens + used, usd=self.usd + data.get("usd", 0.0))
            case "budget":  # counts also what failed attempts to ask have cost
                return replace(now, tokens=data.get("tokens", self.tokens), usd=data.get("usd", self.usd))
            case _:
                return now


def spent_line(spent: Spent) -> str:
    """The running line: turn, tokens, money, seconds."""
    return f"{_spent(spent)}, {spent.seconds:.0f} s"


def running_line(spent: Spent, doing: str) -> str:
    """The running line where the seconds are counted beside it, and what is being done."""
    return f"{_spent(spent)}{f': {doing}' if doing else ''}"


def _spent(spent: Spent) -> str:
    most = f"/{spent.max_turns}" if spent.max_turns else ""
    return f"turn {spent.turn}{most}, {spent.tokens:,} tokens, {dollars(spent.usd)}"


def doing_after(kind: str, data: Data) -> str | None:
    """What is being done once this event has happened, in a few words; None where that is what was done before."""
    match kind:
        case "run_started":
            return "looking at the repository"
        case "turn_started":
            return "asking the model"
        case "text_delta":
            return "the model answers"
        case "tool_call":
            return f"{data['tool']} {main_argument(data.get('arguments', {}))}".rstrip()
        case "tests_started":
            return "running tests"
        case _:
            return None


def dollars(usd: float) -> str:
    return f"${usd:.4f}" if 0 < usd < 0.1 else f"${usd:.2f}"


# --- events ----------------------------------------------------------------------------------------------


def event_lines(kind: str, data: Data, *, diffs: bool = True) -> Iterator[Line]:
    """What is said of one event; of most, nothing. Without `diffs`, those of edits are left out: they were shown."""
    match kind:
        case "tool_call":
            yield Line(f"-> {data['tool']} {main_argument(data.get('arguments', {}))}".rstrip(), "dim")
        case "tool_result":
            yield _result(data)
        case "edit_applied":
            yield from _edit(data, diffs=diffs)
        case "model_retry":
            yield Line(f"the model is asked again in {data.get('wait_s', 0.0):.1f} s: {_why(data)}", "warn")
        case "tests_finished":
            yield Line(f"tests: {_tests(data)}", "good" if data.get("status") == "passed" else "bad")
        case "verified":
            yield Line(*_verified(data))
        case "stuck":
            yield Line(f"no way forward: {_brief(_why(data))}", "warn")
        case _:
            return


def _result(data: Data) -> Line:
    size = f"{count(data.get('chars', 0), 'character')} in {data.get('duration_s', 0.0):.1f} s"
    if data.get("denied"):
        return Line(f"<- {data['tool']}: denied", "warn")
    if data.get("is_error"):
        return Line(f"<- {data['tool']}: error, {size}", "warn")
    return Line(f"<- {data['tool']}: ok, {size}", "dim")


def _edit(data: Data, *, diffs: bool) -> Iterator[Line]:
    for file in data.get("files", []):
        yield Line(f"{file.get('action', 'edited')} {file['path']} +{file.get('added', 0)} -{file.get('removed', 0)}")
    if diffs:
        yield from bounded_diff(data.get("diff", ""), _EDIT_LINES)


def bounded_diff(text: str, most: int) -> Iterator[Line]:
    """The first lines of a diff, none longer than anybody reads, and how many there are besides."""
    lines = list(diff(text))
    yield from (Line(shortened(line.text, _TEXT_CHARS), line.style) for line in lines[:most])
    yield from more(len(lines), most)


def _why(data: Data) -> str:
    return str(data.get("error") or data.get("message") or data.get("why") or data.get("reason") or "")


def _verified(data: Data) -> tuple[str, Any]:
    if data.get("ok"):
        return "the named tests pass", "good"
    return f"not there yet: {_brief(str(data.get('message', '')))}", "warn"


def _brief(text: str) -> str:
    """A text of any size in one line."""
    return shortened(" ".join(text.split()), _ARGUMENTS_CHARS)


def main_argument(arguments: Data) -> str:
    """The argument that tells a call from others of its tool, in one line."""
    named = [arguments[k] for k in _MAIN_ARGUMENTS if arguments.get(k)]
    values = named or list(arguments.values())
    if not values:
        return ""
    return shortened(" ".join(_as_text(values[0]).split()), _ARGUMENT_CHARS)


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_as_text, cast("list[object]", value)))
    if isinstance(value, dict) and (path := cast("Data", value).get("path")):  # one of several edits
        return str(path)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- turns -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn as `-v` logs it: the tool calls of it, and why the loop went on behind it (until that is known: why it
    was begun)."""

    number: int
    transition: str
    calls: tuple[tuple[str, Data], ...] = ()

    def called(self, tool: str, arguments: Data) -> Turn:
        return replace(self, calls=(*self.calls, (tool, arguments)))

    def went_on(self, transition: str) -> Turn:
        return replace(self, transition=transition or self.transition)


def turn_line(turn: Turn) -> Line:
    """One line for one turn: `[turn 3] transition=next_turn tool=read_file args={"path": "a.py"}`."""
    tools = ",".join(tool for tool, _ in turn.calls) or "-"
    args = " ".join(_arguments(arguments) for _, arguments in turn.calls) or "{}"
    return Line(f"[turn {turn.number}] transition={turn.transition} tool={tools} args={args}")


def _arguments(arguments: Data) -> str:
    return shortened(json.dumps(dict(arguments), ensure_ascii=False), _ARGUMENTS_CHARS)


def text_line(text: str) -> Line:
    """A line of what the model says."""
    return Line(shortened(text, _TEXT_CHARS))


# --- the end ---------------------------------------------------------------------------------------------

_ENDS = {
    "max_turns": "not done: all turns are used up",
    "stuck": "not done: the model went in circles",
    "needs_user": "not done: the model has a question that nobody was there to answer",
    "context_overflow": "not done: the conversation became too long for the model",
    "no_progress": "not done: the model said that it is done, but the named tests do not pass",
    "model_error": "not done: the model cannot be asked",
    "budget": "not done: the budget is spent",
    "environment": "not done: the environment is at fault",
    "refused": "refused",
    "hook_stopped": "stopped by a hook",
    "tampered": "refused: what the tests rest on was changed",
    "cancelled": "interrupted",
}


def ended(data: Data) -> Iterator[Line]:
    """The end of a task: verdict, answer, what was changed, what it cost, what to do next. `told`: the answer has been
    shown where this is shown."""
    outcome, job_id = data.get("outcome", {}), str(data.get("job_id", ""))
    yield from _verdict(outcome)
    yield from _answer("" if data.get("told") else str(outcome.get("answer", "")))
    yield from _changed(outcome, str(data.get("diff", "")))
    yield from remarks(outcome)
    if usage := data.get("usage"):
        yield Line(usage_line(outcome.get("turns", 0), usage), "dim")
    yield from _next(outcome, job_id)


def _verdict(outcome: Data) -> Iterator[Line]:
    reason, tests = str(outcome.get("reason", "")), outcome.get("tests")
    if outcome.get("fixed"):
        yield Line("fixed: the named tests failed and pass now", "good")
    elif reason == "completed":
        yield Line("completed: the model says that it is done", "good" if outcome.get("verified") else "warn")
    else:
        yield Line(_ENDS.get(reason, f"not done: {reason}"), "bad")
        if why := outcome.get("why"):
            yield Line(f"  {_brief(worded(why))}")
    if question := outcome.get("question"):
        yield from split(shortened(question, _TEXT_CHARS), "strong", "  ")
    if tests is None:
        yield Line("not verified: no tests were named")
        return
    word = "verified by a cold run" if outcome.get("verified") else "not verified"
    yield Line(f"{word}: {_tests(tests)}", "good" if outcome.get("verified") else "bad")
    yield from (Line(f"  {name}", "bad") for name in tests.get("failing", [])[:_FAILING])
    yield from more(len(tests.get("failing", [])), _FAILING)
    if doubt := tests.get("doubt"):
        yield Line(f"  {worded(doubt)}", "warn")


def _tests(told: Data) -> str:
    counts = told.get("counts", {})
    shown = ", ".join(f"{counts[k]} {k}" for k in ("failed", "errors", "passed", "skipped") if counts.get(k))
    return f"{told.get('status', '')}: {shown}" if shown else str(told.get("status", ""))


def _answer(answer: str) -> Iterator[Line]:
    if not answer.strip():
        return
    yield Line("")
    lines = list(split(answer.strip()))
    yield from (text_line(line.text) for line in lines[:_ANSWER_LINES])
    yield from more(len(lines), _ANSWER_LINES)
    yield Line("")


def _changed(outcome: Data, text: str) -> Iterator[Line]:
    files: Sequence[str] = outcome.get("kept_files", [])
    if files:
        yield Line(f"changed: {names(files)}")
    else:
        yield Line("everything is as it was before" if outcome.get("restored") else "no file was changed")
    if text:
        from regreen.tools.diff_text import shown_diff  # not at the top: most commands show no diff

        shown, left = shown_diff(text)
        yield from diff(shown)
        if left:
            yield Line(f"... {left}; --json has all", "dim")


def usage_line(turns: int, usage: Data) -> str:
    """What the models have cost: `3 turns, 3 model calls, 12,345 tokens (900 out), $0.02`."""
    usd = usage.get("usd", 0.0)
    more_than = f"more than {dollars(usd)}: " if usd else ""
    price = f"{more_than}a price is not known" if usage.get("unpriced") else dollars(usd)
    cached = f", {usage['cache_read']:,} from the cache" if usage.get("cache_read") else ""
    return (
        f"{count(turns, 'turn')}, {count(usage.get('calls', 0), 'model call')}, {usage.get('tokens', 0):,} tokens "
        f"({usage.get('output', 0):,} out{cached}), {price}"
    )


def _next(outcome: Data, job_id: str) -> Iterator[Line]:
    if hint := worded(outcome.get("hint", "")):
        yield from split(f"hint: {hint}")
    if job_id:
        yield Line(f"run {job_id}", "dim")
