"""How a person sees a coding task while it runs: each event in a line or two, each turn, what is spent. Pure and
bounded."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from regreen.cli.lines import Line, count, diff, more, price
from regreen.wire import shortened

Data = Mapping[str, Any]

_ARGUMENT_CHARS = 80
_ARGUMENTS_CHARS = 400
_TEXT_CHARS = 2_000  # of one line
_EDIT_LINES = 40  # of the diff of one edit while the task runs
_MAIN_ARGUMENTS = ("path", "name", "pattern", "question", "task", "paths", "selection", "focus", "to", "since", "text")


# --- what is spent ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spent:
    """Where a task stands: its turn, and what it has cost so far."""

    turn: int = 0
    max_turns: int = 0
    tokens: int = 0
    usd: float = 0.0
    unpriced: bool = False
    started: float = 0.0
    seconds: float = 0.0

    def after(self, kind: str, time: float, data: Data) -> Spent:
        """As it stands once this event has happened."""
        started = self.started or time
        now = replace(self, started=started, seconds=max(0.0, time - started))
        match kind:
            case "turn_started":
                return replace(now, turn=data["turn"], max_turns=data.get("limit", self.max_turns))
            case "model_response":
                used = sum(data.get("usage", {}).values())
                unpriced = self.unpriced or "usd" not in data
                return replace(now, tokens=self.tokens + used, usd=self.usd + data.get("usd", 0.0), unpriced=unpriced)
            case "budget":  # counts also what failed attempts to ask have cost
                return replace(now, tokens=data.get("tokens", self.tokens), usd=data.get("usd", self.usd))
            case _:
                return now


def spent_line(spent: Spent) -> str:
    """Where the task stands, in one of many lines: turn, tokens, money, seconds. That a price is not known is told at
    the end, once."""
    paid = f", {price(spent.usd, unpriced=False)}" if spent.usd or not spent.unpriced else ""
    return f"{_so_far(spent)}{paid}, {spent.seconds:.0f} s"


def running_line(spent: Spent, doing: str) -> str:
    """The running line where the seconds are counted beside it, and what is being done."""
    return f"{_so_far(spent)}, {price(spent.usd, unpriced=spent.unpriced)}{f': {doing}' if doing else ''}"


def _so_far(spent: Spent) -> str:
    most = f"/{spent.max_turns}" if spent.max_turns else ""
    return f"turn {spent.turn}{most}, {spent.tokens:,} tokens"


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


# --- events ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Known:
    """What earlier events tell of the next one. `watched`: somebody at the terminal is asked about every edit, and has
    seen its diff."""

    watched: bool = False
    begun: bool = False  # has the model been asked?
    waited: bool = False  # was a person waited for during this call?
    failed: tuple[str, str] = ("", "")  # the model whose question goes to another one at once, and why
    refused: int = 0  # calls that were not allowed
    why_refused: str = ""  # the last of them

    def after(self, kind: str, data: Data) -> Known:
        """What is known once this event has happened."""
        match kind:
            case "turn_started":
                return replace(self, begun=True)
            case "tool_call":
                return replace(self, waited=data["tool"] == "ask_user")
            case "permission":
                return replace(self, waited=self.waited or self.watched or "tool" in data)
            case "tool_result" if data.get("denied"):
                return replace(self, refused=self.refused + 1, why_refused=str(data.get("message", "")))
            case "model_retry" if not data.get("wait_s"):
                return replace(self, failed=(str(data.get("model", "")), _fault(data)))
            case "model_request":
                return replace(self, failed=("", ""))
            case _:
                return self


def event_lines(kind: str, data: Data, known: Known | None = None) -> Iterator[Line]:
    """What is said of one event, by what was known before it; of most, nothing."""
    known = known or Known()
    if kind in ("run_started", "model_request", "model_retry"):
        yield from _asking(kind, data, known)
        return
    match kind:
        case "tool_call":
            yield Line(f"-> {data['tool']} {_shown_argument(data)}".rstrip(), "dim")
        case "tool_result":
            yield _result(data, waited=known.waited)
        case "edit_applied":
            yield from _edit(data, diffs=not known.watched)
        case "tests_finished" if not known.begun:  # what later runs come to is said by the verdict
            style = "good" if data.get("status") == "passed" else "bad"
            yield Line(f"the named tests, before the task: {tests_line(data)}", style)
        case "verified":
            yield Line(*_verified(data))
        case "stuck":
            yield Line(_stuck(data), "warn")
        case "error":
            yield Line(f"note: {brief(str(data.get('message', '')))}", "warn")
        case _:
            return


def _asking(kind: str, data: Data, known: Known) -> Iterator[Line]:
    """Which model is asked: at the start, and where it is another one or has to be asked again."""
    request, (model, why) = data.get("request", {}), known.failed
    if kind == "run_started" and request.get("model"):
        provider = request.get("provider", "")
        beside = f" ({provider})" if provider not in ("", request["model"]) else ""
        yield Line(f"regreen: asking {request['model']}{beside}")
    elif kind == "model_retry" and data.get("wait_s"):
        said = f"the model is asked again in {data['wait_s']:.1f} s: {_fault(data)}"
        yield Line(f"{said}: {brief(data['message'])}" if data.get("message") else said, "warn")
    elif kind == "model_request" and model:
        other = data.get("model", "")
        yield Line(f"the model is asked again: {why}" if other == model else f"asking {other} instead: {why}", "warn")


def _fault(data: Data) -> str:
    """A fault's word, for people: `model_overloaded` is "overloaded"."""
    return str(data.get("error", "")).removeprefix("model_").replace("_", " ") or brief(str(data.get("message", "")))


def _result(data: Data, *, waited: bool) -> Line:
    tool, message = data["tool"], brief(str(data.get("message", "")))
    size = count(data.get("chars", 0), "character")
    if not waited:
        size = f"{size} in {data.get('duration_s', 0.0):.1f} s"
    if data.get("denied"):
        return Line(f"<- {tool}: denied: {message}" if message else f"<- {tool}: denied", "warn")
    if data.get("is_error"):
        return Line(f"<- {tool}: error: {message}" if message else f"<- {tool}: error, {size}", "warn")
    return Line(f"<- {tool}: ok, {size}", "dim")


def _edit(data: Data, *, diffs: bool) -> Iterator[Line]:
    for file in data.get("files", []):
        yield Line(f"{file.get('action', 'edited')} {file['path']} +{file.get('added', 0)} -{file.get('removed', 0)}")
    if diffs:
        yield from bounded_diff(data.get("diff", ""), _EDIT_LINES)


def bounded_diff(text: str, most: int, rest: str = "") -> Iterator[Line]:
    """The first lines of a diff, none longer than anybody reads, and how many there are besides: `rest` shows them."""
    lines = list(diff(text))
    yield from (Line(shortened(line.text, _TEXT_CHARS), line.style) for line in lines[:most])
    if rest and len(lines) > most:
        yield Line(f"... {count(len(lines) - most, 'more line')}: {rest}", "dim")
    else:
        yield from more(len(lines), most)


def tests_line(told: Data) -> str:
    """What tests came to: `failed: 1 failed, 2 passed`."""
    counts = told.get("counts", {})
    shown = ", ".join(f"{counts[k]} {k}" for k in ("failed", "errors", "passed", "skipped") if counts.get(k))
    return f"{told.get('status', '')}: {shown}" if shown else str(told.get("status", ""))


def _verified(data: Data) -> tuple[str, Any]:
    if data.get("ok"):
        return "the named tests pass", "good"
    why = brief(str(data.get("message", ""))) or tests_line({"counts": data.get("counts", {})}).removeprefix(": ")
    return f"not there yet: {why or 'the named tests do not pass'}", "warn"


_STUCK = {
    "same": "the model makes the same call again and again, with the same result",
    "circles": "the model makes the same calls again and again, in the same order and with the same results",
    "empty": "the model's calls find nothing, again and again",
    "failing": "the model's calls of one tool fail again and again",
    "polling": "the model looks at the same job again and again, and nothing has changed",
}


def _stuck(data: Data) -> str:
    said = _STUCK.get(str(data.get("rule", "")), "the model gets nowhere")
    return f"no way forward: {said}" if data.get("is_final") else f"{said}; it is told so"


def brief(text: str) -> str:
    """A text of any size in one line."""
    return shortened(" ".join(text.split()), _ARGUMENTS_CHARS)


def _shown_argument(call: Data) -> str:
    """The argument that is shown of a call. A question stands where it is asked, or with the result."""
    return "" if call["tool"] == "ask_user" else main_argument(call.get("arguments", {}))


def main_argument(arguments: Data) -> str:
    """The argument that tells a call from others of its tool, in one line."""
    named = [arguments[k] for k in _MAIN_ARGUMENTS if arguments.get(k)]
    values = named or list(arguments.values())
    if not values:
        return ""
    return shortened(" ".join(_as_text(values[0]).split()), _ARGUMENT_CHARS)


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return _listed(cast("list[object]", value))
    if isinstance(value, str) and value.startswith("[{") and (paths := _PATH.findall(value)):  # cut JSON
        return ", ".join([*dict.fromkeys(paths), "..."])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_PATH = re.compile(r'"path": "([^"]+)"')


def _listed(values: list[object]) -> str:
    """The values of a list, each once; of several edits, the files and how many there are of each."""
    found = Counter(_path(v) or _as_text(v) for v in values)
    return ", ".join(f"{text} ({count(n, 'edit')})" if n > 1 else text for text, n in found.items())


def _path(value: object) -> str:
    return str(cast("Data", value).get("path", "")) if isinstance(value, dict) else ""


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
