"""Checking a call's arguments against a tool's flat schema. Refuses what it does not know, with the nearest name.

Some clients send lists and objects as JSON text; such text is read where the schema wants a list or an object.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from regreen.errors import Refused, UsageError
from regreen.tools.specs import Schema, ToolSpec
from regreen.wire import MAX_NAME, is_number, nearest, shortened, shown

_MAX_ITEMS = 10_000


def check(spec: ToolSpec, arguments: object) -> dict[str, Any]:
    """The arguments, validated. Raises UsageError (`unknown_argument`, `invalid_arguments`, `limit_exceeded`), and
    Refused (`argument_not_allowed`) for one that is withheld; nothing else, whatever is sent."""
    if not isinstance(arguments, Mapping):
        raise UsageError("invalid_arguments", f"the arguments of {spec.name} are {shown(arguments)}, not an object",
                         "send one JSON object of named arguments")  # fmt: skip
    return _checked(spec, cast("Mapping[object, object]", arguments))


def _checked(spec: ToolSpec, arguments: Mapping[object, object]) -> dict[str, Any]:
    schema = spec.checked_schema
    known: dict[str, Schema] = schema["properties"]
    for name in arguments:
        for withheld, why in spec.withheld:
            if name == withheld:
                raise Refused("argument_not_allowed", f"{spec.name} takes no `{name}`: {why}", "leave it out")
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean `{near[0]}`? " if near else ""
            raise UsageError("unknown_argument", f"{spec.name} has no argument `{_named(name)}`",
                             f"{hint}known: {', '.join(sorted(known))}")  # fmt: skip
    given = {str(k): v for k, v in arguments.items() if v is not None}
    for name in spec.required:
        if name not in given:
            raise UsageError("invalid_arguments", f"{spec.name} needs `{name}`", f"give `{name}`")
    return {name: _value(name, value, known[name]) for name, value in given.items()}


def _value(name: str, value: object, schema: Schema) -> Any:
    kind: str = schema["type"]
    if kind in ("array", "object") and isinstance(value, str):
        value = _from_json(name, value, kind)
    return _CHECKS[kind](name, value, schema)


def _from_json(name: str, text: str, kind: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # RecursionError: nested deeper than Python reads
        raise _wrong(name, text, kind) from None


def _text(name: str, value: object, schema: Schema) -> str:
    if not isinstance(value, str):
        raise _wrong(name, value, "string")
    options: Sequence[str] = schema.get("enum", ())
    if options and value not in options:
        near = nearest(value, options)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError("invalid_arguments", f"`{name}` is {shown(value)}", f"{hint}one of: {', '.join(options)}")
    return value


def _number(name: str, value: object, schema: Schema) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not is_number(value):
        raise _wrong(name, value, schema["type"])
    if schema["type"] == "integer":
        if value != int(value):
            raise _wrong(name, value, "integer")
        value = int(value)
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if not low <= value <= high:
        raise UsageError("limit_exceeded", f"`{name}` is {value}", f"give {low} to {high}")
    return value


def _flag(name: str, value: object, schema: Schema) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, value, schema["type"])
    return value


def _array(name: str, value: object, schema: Schema) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(name, value, "array")
    items = cast("list[object]", value)
    if len(items) > _MAX_ITEMS:
        raise UsageError("limit_exceeded", f"`{name}` has {len(items)} items", f"give at most {_MAX_ITEMS}")
    return [_value(f"{name}[{i}]", v, schema["items"]) for i, v in enumerate(items)]


def _object(name: str, value: object, schema: Schema) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(name, value, "object")
    pairs = cast("dict[str, object]", value)
    if "properties" not in schema:
        return {k: _value(f"{name}.{_named(k)}", v, schema["additionalProperties"]) for k, v in pairs.items()}
    properties: dict[str, Schema] = schema["properties"]
    for key in schema.get("required", ()):
        if key not in pairs:
            raise UsageError("invalid_arguments", f"`{name}` lacks `{key}`", f"give {', '.join(properties)}")
    for key in pairs:
        if key not in properties:
            raise UsageError("unknown_argument", f"`{name}` has no `{_named(key)}`", f"known: {', '.join(properties)}")
    return {k: _value(f"{name}.{k}", v, properties[k]) for k, v in pairs.items()}


def _named(name: object) -> str:
    """A name that a caller chose, in a sentence."""
    return shortened(name, MAX_NAME) if isinstance(name, str) else shown(name)


def _wrong(name: str, value: object, wanted: str) -> UsageError:
    return UsageError("invalid_arguments", f"`{name}` is {shown(value)}, not of type {wanted}", f"give a JSON {wanted}")


_CHECKS: dict[str, Callable[[str, object, Schema], Any]] = {
    "string": _text, "integer": _number, "number": _number, "boolean": _flag, "array": _array, "object": _object,
}  # fmt: skip
