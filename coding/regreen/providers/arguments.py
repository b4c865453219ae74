"""The arguments of a tool call as a model wrote them: read strictly, since a call that is half understood does harm."""

from __future__ import annotations

import json
from typing import NoReturn, cast

from regreen.wire import Json

_SHOWN = 60  # characters around a fault that are quoted


def read_arguments(raw: str, cut_off: bool = False) -> tuple[dict[str, Json], str]:
    """The arguments, and what is wrong with them, told to the model ("" = nothing). Nothing at all means no arguments.
    With `cut_off` the answer ended before its time, which is then what is wrong with JSON that cannot be read."""
    if not raw.strip():
        return {}, ""
    try:
        value: object = json.loads(raw, parse_constant=_no_number)
    except RecursionError:
        return (
            {},
            "The arguments are nested too deeply to be read. The tool was not run. Send them flat, as its schema is.",
        )
    except ValueError as error:
        return {}, _cut_off(raw) if cut_off else _not_json(raw, error)
    if not isinstance(value, dict):
        return {}, (
            f"The arguments must be one JSON object, but they are {_kind(value)}: {_quoted(raw, 0)}. The tool was not "
            "run. Send the call again with an object of named arguments."
        )
    return cast("dict[str, Json]", value), ""


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


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
