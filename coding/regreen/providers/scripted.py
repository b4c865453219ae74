"""A model that answers from a script, one JSON object a line: for tests, demonstrations and replays.

It refuses what a real provider refuses: a conversation that breaks the rules of `messages`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import cast, get_args

from regreen.errors import UsageError
from regreen.jsonl import objects
from regreen.providers import errors
from regreen.providers.arguments import read_arguments
from regreen.providers.conversation import CHARS_PER_TOKEN, characters, check, estimate_tokens
from regreen.providers.messages import (
    Block,
    CallBegun,
    Delta,
    Message,
    ModelRequest,
    ModelResponse,
    ModelStop,
    OnDelta,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenUsage,
    ToolCall,
)
from regreen.wire import Json, shortened

_ERRORS: Mapping[str, type[errors.ProviderError]] = {
    "bad_reply": errors.BadReply,
    "connection_lost": errors.ConnectionLost,
    "context_overflow": errors.ContextOverflow,
    "model_not_found": errors.ModelNotFound,
    "overloaded": errors.Overloaded,
    "quota_spent": errors.QuotaSpent,
    "rate_limited": errors.RateLimited,
    "request_refused": errors.RequestRefused,
    "server_fault": errors.ServerFault,
    "timeout": errors.ModelTimeout,
    "unauthorized": errors.Unauthorized,
}
_KEYS: Mapping[str, type] = {
    "text": str,
    "thinking": str,
    "calls": list,
    "stop": str,
    "raw_stop": str,
    "usage": dict,
    "error": str,
    "retry_after_s": float,
    "hang": bool,
}
_ENDS = ("text", "calls", "stop", "error", "hang")
_CALL_KEYS = frozenset({"name", "arguments", "id"})
_USAGE_KEYS = tuple(f.name for f in fields(TokenUsage))
_WANTED = (
    'write one a line: {"text": "..."}, {"calls": [{"name", "arguments"}]}, {"error": "overloaded"} or {"hang": true},'
    ' with an optional "thinking", "stop", "raw_stop", "usage": {"input", "output", "cache_read", "cache_write"}'
    ' and "retry_after_s"'
)
_SHOWN = 80
_PIECE = 24  # characters that are streamed at a time


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    arguments: Mapping[str, Json]
    raw: str
    fault: str
    id: str


@dataclass(frozen=True, slots=True)
class _Reply:
    text: str = ""
    thinking: str = ""
    calls: tuple[_Call, ...] = ()
    stop: ModelStop = "end_turn"
    raw_stop: str = ""
    usage: TokenUsage | None = None  # None = by the size of what is asked and answered
    error: str = ""
    retry_after_s: float | None = None
    hang: bool = False


class ScriptedProvider:
    """Gives its replies in order, whatever is asked; after the last it refuses.

    A reply is an object as in a line of the file. With `error` the question fails, with `hang` it is never answered;
    either may follow `text` that is streamed first. `requests` is what was asked, `closed` whether it was closed.
    """

    def __init__(
        self, replies: Iterable[Mapping[str, object]], *, name: str = "scripted", model: str = "scripted"
    ) -> None:
        self._left = [_parsed(reply, f"reply {number}") for number, reply in enumerate(replies, 1)]
        self._name = name
        self._model = model
        self._calls = 0
        self.requests: list[ModelRequest] = []
        self.closed = False

    @classmethod
    def from_file(cls, path: Path, *, name: str = "scripted", model: str = "scripted") -> ScriptedProvider:
        """Read a script; blank lines are skipped. Raises UsageError that names the file and the line."""
        made = cls((), name=name, model=model)
        made._left = [_parsed(row, where) for where, row in objects(path, _WANTED)]
        return made

    @property
    def name(self) -> str:
        return self._name

    @property
    def model(self) -> str:
        return self._model

    @property
    def left(self) -> int:
        """How many replies have not been given."""
        return len(self._left)

    async def ask(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelResponse:
        self.requests.append(request)
        fault = check(request.messages) or ("max_tokens is below 1" if request.max_tokens < 1 else "")
        if fault:
            raise errors.RequestRefused(fault, "this is a fault of whoever asks; please report it")
        if not self._left:
            raise errors.RequestRefused("the script has no further reply", "add a line to it for each question")
        reply = self._left.pop(0)
        message = Message("assistant", (*_spoken(reply), *self._numbered(reply.calls, request.messages)))
        await _stream(message, on_delta)
        if reply.hang:
            await _never()
        if reply.error:
            raise _failure(reply)
        usage = _estimated(request, message) if reply.usage is None else reply.usage
        stop: ModelStop = "tool_use" if reply.calls and reply.stop == "end_turn" else reply.stop
        return ModelResponse(message, stop, reply.raw_stop or stop, usage, self._model, self._name)

    async def count_tokens(self, request: ModelRequest) -> int:
        return estimate_tokens(request)

    async def aclose(self) -> None:
        self.closed = True

    def _numbered(self, calls: Sequence[_Call], messages: Sequence[Message]) -> list[ToolCall]:
        """The calls with ids: `call_1`, `call_2` and so on, none that the conversation has already."""
        taken = {c.id for m in messages for c in m.calls} | {c.id for c in calls if c.id}
        made: list[ToolCall] = []
        for call in calls:
            given = call.id
            while not given:
                self._calls += 1
                given = f"call_{self._calls}" if f"call_{self._calls}" not in taken else ""
            made.append(ToolCall(given, call.name, call.arguments, call.raw, call.fault))
        return made


def _spoken(reply: _Reply) -> list[Block]:
    thought: list[Block] = [Thinking(reply.thinking, "scripted")] if reply.thinking else []
    return [*thought, Text(reply.text)] if reply.text else thought


async def _stream(message: Message, on_delta: OnDelta | None) -> None:
    """Hand the answer on in pieces; between two of them others run, so that it can be cancelled in the middle."""
    import asyncio

    await asyncio.sleep(0)
    if on_delta is None:
        return
    for delta in _deltas(message):
        on_delta(delta)
        await asyncio.sleep(0)


def _deltas(message: Message) -> Iterator[Delta]:
    for block in message.blocks:
        match block:
            case ToolCall():
                yield CallBegun(block.id, block.name)
            case Text():
                yield from map(TextDelta, _pieces(block.text))
            case Thinking():
                yield from map(ThinkingDelta, _pieces(block.text))
            case _:
                pass


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


async def _never() -> None:
    import asyncio

    await asyncio.Event().wait()


def _estimated(request: ModelRequest, message: Message) -> TokenUsage:
    return TokenUsage(estimate_tokens(request), -(-characters(message) // CHARS_PER_TOKEN))


def _failure(reply: _Reply) -> errors.ProviderError:
    kind = _ERRORS[reply.error]
    return kind(f"the script says {reply.error}", retry_after_s=reply.retry_after_s, usage=reply.usage)


def _parsed(row: Mapping[str, object], where: str) -> _Reply:
    _check_keys(row, where)
    stop, error = row.get("stop", "end_turn"), row.get("error", "")
    if stop not in get_args(ModelStop):
        raise _bad(where, f"`stop` is {shortened(str(stop), _SHOWN)!r}, not one of {', '.join(get_args(ModelStop))}")
    if error not in ("", *_ERRORS):
        raise _bad(where, f"`error` is {shortened(str(error), _SHOWN)!r}, not one of {', '.join(_ERRORS)}")
    wait = row.get("retry_after_s")
    return _Reply(
        text=str(row.get("text", "")),
        thinking=str(row.get("thinking", "")),
        calls=tuple(_call(item, where) for item in cast("list[object]", row.get("calls", []))),
        stop=cast("ModelStop", stop),
        raw_stop=str(row.get("raw_stop", "")),
        usage=_usage(cast("Mapping[str, object]", row["usage"]), where) if "usage" in row else None,
        error=str(error),
        retry_after_s=None if wait is None else float(cast("float", wait)),
        hang=row.get("hang") is True,
    )


def _check_keys(row: Mapping[str, object], where: str) -> None:
    for key, value in row.items():
        if key not in _KEYS:
            raise _bad(where, f"unknown key {shortened(str(key), _SHOWN)!r}")
        wanted = (int, float) if _KEYS[key] is float else _KEYS[key]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise _bad(where, f"`{key}` is not {_JSON_NAMES[_KEYS[key]]}")
    if not any(key in row for key in _ENDS):
        raise _bad(where, f"it says nothing: one of {', '.join(f'`{k}`' for k in _ENDS)} is needed")
    if "error" in row and ("calls" in row or "stop" in row or "hang" in row):
        raise _bad(where, "with an `error` there are no `calls`, no `stop` and no `hang`: the question fails")
    if "retry_after_s" in row and ("error" not in row or not cast("float", row["retry_after_s"]) >= 0):
        raise _bad(where, "`retry_after_s` belongs to an `error`, and is not below 0")


_JSON_NAMES = {str: "a string", list: "a list", dict: "an object", float: "a number", bool: "a boolean"}


def _call(item: object, where: str) -> _Call:
    row: Mapping[str, object] = cast("Mapping[str, object]", item) if isinstance(item, dict) else {}
    name, arguments, given = row.get("name"), row.get("arguments", {}), row.get("id", "")
    if set(row) - _CALL_KEYS or not isinstance(name, str) or not name or not isinstance(given, str):
        raise _bad(where, "a call needs the string `name`, may have `arguments` and the string `id`, and nothing else")
    if isinstance(arguments, dict):
        known = cast("dict[str, Json]", arguments)
        return _Call(name, known, json.dumps(known), "", given)
    if not isinstance(arguments, str):
        raise _bad(where, "`arguments` is neither an object nor a string")
    read, fault = read_arguments(arguments)
    return _Call(name, read, arguments, fault, given)


def _usage(row: Mapping[str, object], where: str) -> TokenUsage:
    numbers = {key: value for key, value in row.items() if isinstance(value, int) and not isinstance(value, bool)}
    if set(row) - set(_USAGE_KEYS) or len(numbers) != len(row) or any(n < 0 for n in numbers.values()):
        raise _bad(where, f"`usage` holds more than {', '.join(_USAGE_KEYS)}: whole numbers, none below 0")
    return TokenUsage(**numbers)


def _bad(where: str, found: str) -> UsageError:
    return UsageError("invalid_arguments", f"{where}: {found}", _WANTED)
