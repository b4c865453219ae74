"""Tool calls as a model wrote them: read strictly, since a call that is half understood does harm.

What is read is what everybody below can bear: an object of bounded size and depth, all of whose numbers are finite.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import NoReturn, cast

from regreen.providers.answer_text import joined
from regreen.wire import Json

MAX_SIZE = 1_000_000  # characters
MAX_DEPTH = 64
MAX_DIGITS = 20  # of a whole number: any of 64 bits
MAX_NAME = 200
_TOO_DEEP = MAX_DEPTH + 2
_SHOWN = 60  # characters around a fault that are quoted


def read_arguments(raw: str, cut_off: bool = False) -> tuple[dict[str, Json], str]:
    """The arguments, and what is wrong with them, told to the model ("" = nothing). Nothing at all means no arguments.
    With `cut_off` the answer ended before its time, which is then what is wrong with JSON that cannot be read."""
    if not raw.strip():
        return {}, ""
    if len(raw) > MAX_SIZE:
        return {}, _refused(f"are {len(raw)} characters long, more than {MAX_SIZE}", "with less in it")
    try:
        value: object = json.loads(raw, parse_constant=_not_finite, parse_float=_finite, parse_int=_whole)
    except RecursionError:
        return {}, _too_deep()
    except _Unfit as error:
        return {}, str(error)
    except ValueError as error:
        return {}, _cut_off(raw) if cut_off else _not_json(raw, error)
    if _is_deep(value):
        return {}, _too_deep()
    if not isinstance(value, dict):
        return {}, (
            f"The arguments must be one JSON object, but they are {_kind(value)}: {_quoted(raw, 0)}. The tool was not "
            "run. Send the call again with an object of named arguments."
        )
    return cast("dict[str, Json]", value), ""


def checked_arguments(given: Mapping[str, object]) -> tuple[dict[str, Json], str]:
    """As `read_arguments`, for arguments that came as an object."""
    if _is_deep(given):
        return {}, _too_deep()
    return read_arguments(json.dumps(dict(given)))


def object_text(given: object) -> str:
    """Arguments that came as JSON, as text. What cannot be written becomes text that `read_arguments` refuses."""
    return "[" * _TOO_DEEP + "]" * _TOO_DEEP if _is_deep(given) else json.dumps(given)


def short_name(name: str) -> tuple[str, str]:
    """A tool's name, cut where it is longer than any, and what is then wrong with the call."""
    cut = joined([name[:MAX_NAME]])
    if len(name) <= MAX_NAME:
        return cut, ""
    return cut, (
        f"There is no tool of this name: it is {len(name)} characters long, and begins with `{cut[:_SHOWN]}`. Nothing"
        " was run. Send the call again with the name of a tool that is listed."
    )


def short_id(call_id: str) -> str:
    """A call's id, a shorter one in its place where it is very long or no text; different for different ones."""
    plain = joined([call_id])
    if len(call_id) <= MAX_NAME and plain == call_id:
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return f"{plain[:64]}_{digest}"


class _Unfit(ValueError):
    """Arguments that are JSON, and that no tool can take. Says so to the model."""


def _is_deep(value: object) -> bool:
    """Whether anything lies deeper than `MAX_DEPTH`. Looks level by level, so that no depth is too much for it."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, object]", value).values())
    return cast("list[object]", value) if isinstance(value, list) else []


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _not_finite(text)


def _whole(text: str) -> int:
    digits = len(text.removeprefix("-"))
    if digits > MAX_DIGITS:
        raise _Unfit(_refused(f"hold a whole number of {digits} digits, more than {MAX_DIGITS}", "with a smaller one"))
    return int(text)


def _not_finite(text: str) -> NoReturn:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    raise _Unfit(_refused(f"hold `{shown}`, which is not a finite number", "with a number that is"))


def _too_deep() -> str:
    return _refused(f"are nested too deeply, beyond {MAX_DEPTH} levels", "flat, as its schema is")


def _refused(what: str, wanted: str) -> str:
    return f"The arguments {what}. The tool was not run. Send the call again {wanted}."


def _cut_off(raw: str) -> str:
    return (
        f"The answer reached its limit of tokens in the middle of this call: its arguments end after {len(raw)} "
        "characters. The tool was not run. Send the call again with less in it, or in several smaller calls."
    )


def _not_json(raw: str, error: ValueError) -> str:
    where = error.pos if isinstance(error, json.JSONDecodeError) else 0
    what = f"{error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else str(error)
    return (
        f"The arguments are not valid JSON ({what}): {_quoted(raw, where)}. The tool was not run. Send the call again "
        "with one JSON object; within strings, quotes, backslashes and line ends must be escaped."
    )


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case _:
            return "an array"


def _quoted(raw: str, at: int) -> str:
    start, end = max(0, at - _SHOWN), at + _SHOWN
    return f"`{'…' if start else ''}{raw[start:end]}{'…' if end < len(raw) else ''}`"
