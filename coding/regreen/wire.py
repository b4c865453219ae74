"""The JSON form of our value types: what `--json`, structured tool results and events are made of.

Rules: dataclass -> object with the same field names (without the underscore behind a Python keyword), enum -> its
value, path -> its text, tuple -> list; a field that is None is left out (absent, never null), and so is a field marked
`internal()`. Lists of ours hold no None; in those of callers it stays, since its place counts.

What is sent to somebody passes `encodable`: a name holds bytes that are not UTF-8 as lone surrogates, which strict
readers of JSON refuse. What callers and models send may be of any depth and size: neither function raises for it, and
what no reader could take (numbers, depth) is said in words.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeAlias, cast

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json]"

MAX_DEPTH = 100
"""Of data that are written. Nothing of ours is so deep."""
MAX_NAME = 100
"""Characters of a word that may be a name: what is longer was not mistyped."""
MAX_PATH = 300
"""The same of a path."""

_INTERNAL = "regreen.internal"
_MAX_BITS = 1024  # of a whole number: readers take more for infinite, and Python writes no more than it likes to
_LEFT_OUT = "…"


def internal(**kwargs: Any) -> Any:
    """A dataclass field that never leaves the process (raw bytes, full reports, and the like)."""
    return dataclasses.field(**kwargs, metadata={_INTERNAL: True})


def to_json(value: object) -> Json:
    """Turn `value` into plain JSON data. Raises TypeError on a type that has no JSON form."""
    return _to_json(value, MAX_DEPTH)


def _to_json(value: object, room: int) -> Json:
    """The value as JSON data, `room` levels of it."""
    match value:
        case Enum():
            return _to_json(value.value, room)
        case str() | bool():
            return value
        case int() | float():
            return _number(value)
        case PurePath():
            return str(value)
        case Mapping() if room:
            items = cast("Mapping[object, object]", value)
            return {_key(k): _to_json(v, room - 1) for k, v in items.items() if v is not None}
        case list() | tuple() | set() | frozenset() if room:
            rows = cast("Iterable[object]", value)
            ordered = sorted(rows, key=str) if isinstance(value, set | frozenset) else rows
            return [v if v is None else _to_json(v, room - 1) for v in ordered]  # pyright: ignore[reportReturnType]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type) and room:
            shown = [f for f in dataclasses.fields(value) if _INTERNAL not in f.metadata]
            pairs = ((f.name, getattr(value, f.name)) for f in shown)
            return {name.removesuffix("_"): _to_json(v, room - 1) for name, v in pairs if v is not None}
        case _ if not room:
            return _LEFT_OUT
        case _:
            raise TypeError(f"{type(value).__name__} has no JSON form")


def encodable(value: Json) -> Json:
    r"""The same data as every reader can take it: what is no Unicode is written out, as the six characters `\udcff`."""
    return _encodable(value, MAX_DEPTH)


def _encodable(value: Json, room: int) -> Json:
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
        case bool():
            return value
        case int() | float():
            return _number(value)
        case list() | dict() if not room:
            return _LEFT_OUT
        case list():
            return [_encodable(v, room - 1) for v in value]
        case dict():
            return {str(_encodable(k, room)): _encodable(v, room - 1) for k, v in value.items()}
        case _:
            return value


def _number(value: int | float) -> Json:
    return value if is_number(value) else shown(value)


def _key(key: object) -> str:
    return key if isinstance(key, str) else shown(key) if isinstance(key, int | float) else str(key)


def is_number(value: int | float) -> bool:
    """Whether JSON has such a number, and readers take it."""
    return math.isfinite(value) if isinstance(value, float) else value.bit_length() <= _MAX_BITS


def shown(value: object, most: int = 80) -> str:
    """A value of JSON as Python writes it, for a sentence: of bounded length, whatever its size and depth."""
    text = ""
    for piece in _written(value, most, 0):
        text += piece
        if len(text) > most:
            return text[: most - 3] + "..."
    return text


def _written(value: object, most: int, depth: int) -> Iterator[str]:
    match value:
        case str():
            yield repr(value[: most + 1])
        case int() if not is_number(value):
            yield f"a whole number of {value.bit_length()} bits"
        case None | bool() | int() | float():
            yield repr(value)
        case list() | dict() if depth > most:
            yield _LEFT_OUT
        case list():
            yield "["
            for i, item in enumerate(cast("list[object]", value)):
                yield ", " if i else ""
                yield from _written(item, most, depth + 1)
            yield "]"
        case dict():
            yield "{"
            for i, (key, item) in enumerate(cast("dict[object, object]", value).items()):
                yield ", " if i else ""
                yield from _written(key, most, depth + 1)
                yield ": "
                yield from _written(item, most, depth + 1)
            yield "}"
        case _:
            yield f"a value of the type {type(value).__name__}"


def nearest(
    word: object, known: Iterable[str], most: int = 1, cutoff: float = 0.6, *, longest: int = MAX_NAME
) -> list[str]:
    """Those of `known` that somebody may have meant by `word`, the nearest first; none for what is longer than
    `longest`: comparing takes time that grows with the square of the length, and callers send words of any length."""
    if not isinstance(word, str) or len(word) > longest:
        return []
    from difflib import get_close_matches

    return get_close_matches(word, [k for k in known if len(k) <= longest], most, cutoff)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in the plural for all but 1. `plural` is that of a noun that takes no plain "s"."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def outcomes_counted(
    counts: Mapping[str, Any], order: Iterable[str] = ("failed", "errors", "passed", "skipped", "xfailed", "xpassed")
) -> str:
    """How many tests came to what, in a line: `1 failed, 1 error, 12 passed`; "" where none ran."""
    some = ((counts[name], name) for name in order if counts.get(name))
    return ", ".join(counted(n, "error") if name == "errors" else f"{n} {name}" for n, name in some)


def shortened(text: str, limit: int = 1_000) -> str:
    """The text, cut where it is longer than anybody reads, saying how much is left out."""
    return text if len(text) <= limit else f"{text[:limit]}… {len(text) - limit} characters more"


def names(items: Iterable[str], most: int = 3) -> str:
    """A list in a sentence: `a, b, c and 4 more`."""
    every = list(items)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def to_object(value: object) -> dict[str, Json]:
    """`to_json` for values whose JSON form is an object."""
    data = to_json(value)
    if not isinstance(data, dict):
        raise TypeError(f"{type(value).__name__} is not an object in JSON")
    return data
