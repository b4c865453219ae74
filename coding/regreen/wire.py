"""The JSON form of our value types: what `--json`, structured tool results and events are made of.

Rules: dataclass -> object with the same field names (without the underscore behind a Python keyword), enum -> its
value, path -> its text, tuple -> list; a field that is None is left out (absent, never null), and so is a field marked
`internal()`.

What is sent to somebody passes `encodable`: a name holds bytes that are not UTF-8 as lone surrogates, which strict
readers of JSON refuse.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeAlias, cast

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json]"

_INTERNAL = "regreen.internal"


def internal(**kwargs: Any) -> Any:
    """A dataclass field that never leaves the process (raw bytes, full reports, and the like)."""
    return dataclasses.field(**kwargs, metadata={_INTERNAL: True})


def to_json(value: object) -> Json:
    """Turn `value` into plain JSON data. Raises TypeError on a type that has no JSON form."""
    match value:
        case Enum():
            return to_json(value.value)
        case str() | bool() | int() | float():
            return value
        case PurePath():
            return str(value)
        case Mapping():
            items = cast("Mapping[object, object]", value)
            return {str(k): to_json(v) for k, v in items.items() if v is not None}
        case list() | tuple() | set() | frozenset():
            rows = cast("Iterable[object]", value)
            return [to_json(v) for v in (sorted(rows, key=str) if isinstance(value, set | frozenset) else rows)]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            shown = [f for f in dataclasses.fields(value) if _INTERNAL not in f.metadata]
            pairs = ((f.name, getattr(value, f.name)) for f in shown)
            return {name.removesuffix("_"): to_json(v) for name, v in pairs if v is not None}
        case _:
            raise TypeError(f"{type(value).__name__} has no JSON form")


def encodable(value: Json) -> Json:
    r"""The same data as every reader can take it: what is no Unicode is written out, as the six characters `\udcff`."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
        case list():
            return [encodable(v) for v in value]
        case dict():
            return {str(encodable(k)): encodable(v) for k, v in value.items()}
        case _:
            return value


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
