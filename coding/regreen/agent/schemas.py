"""JSON Schemas as every model takes them: flat, of known words, bounded. Pure.

References are written out, `null` is left out (an option that is not given is absent), and so are words that only some
providers know. What is lost so is still checked: by whoever runs the tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from regreen.wire import shortened

Schema: TypeAlias = dict[str, Any]

MAX_DEPTH = 8
_MAX_DESCRIPTION = 300
_KEPT = frozenset({
    "type", "enum", "const", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength",
    "maxLength", "minItems", "maxItems", "additionalProperties", "required",
})  # fmt: skip
PROPERTY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # what every provider takes


class Recursive(ValueError):
    """A schema that refers to itself, which cannot be written out."""


def flat(schema: Mapping[str, Any], *, recursion: bool = False) -> Schema:
    """The schema of an object, written out. With `recursion` what refers to itself may be anything from there on;
    without it raises Recursive. Also raises ValueError for what is no schema of an object."""
    if schema.get("type", "object") != "object":
        raise ValueError(f"its type is {schema.get('type')!r}, not object")
    found = _Flat(schema, recursion).of(schema, 0, ())
    properties = found.get("properties", {})
    required = [n for n in found.get("required", ()) if n in properties]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


class _Flat:
    def __init__(self, root: Mapping[str, Any], recursion: bool) -> None:
        self._root = root
        self._recursion = recursion

    def of(self, schema: object, depth: int, inside: tuple[str, ...]) -> Schema:
        """One level; `inside` are the references that it is within."""
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
            return {}
        given = cast("Mapping[str, Any]", schema)
        if isinstance(reference := given.get("$ref"), str):
            return self._referred(reference, given, depth, inside)
        kept: Schema = {k: v for k, v in given.items() if k in _KEPT and _is_plain(k, v)}
        if isinstance(text := given.get("description"), str) and text:
            kept["description"] = shortened(text, _MAX_DESCRIPTION)
        if "enum" in kept:
            kept["enum"] = [value for value in kept["enum"] if value is not None]
        if isinstance(kinds := given.get("type"), list):
            kept |= _one_type(cast("list[object]", kinds))
        if isinstance(properties := given.get("properties"), Mapping):
            pairs = cast("Mapping[str, Any]", properties)
            kept["properties"] = {str(k): self.of(v, depth + 1, inside) for k, v in pairs.items()}
        if "items" in given:
            kept["items"] = self.of(given["items"], depth + 1, inside)
        if isinstance(given.get("additionalProperties"), Mapping):
            kept["additionalProperties"] = self.of(given["additionalProperties"], depth + 1, inside)
        return self._with_choices(given, kept, depth, inside)

    def _referred(self, reference: str, given: Mapping[str, Any], depth: int, inside: tuple[str, ...]) -> Schema:
        if reference in inside:
            if not self._recursion:
                raise Recursive(f"{reference} refers to itself")
            return {}
        beside = {k: v for k, v in given.items() if k != "$ref"}
        return self.of(_at(self._root, reference), depth, (*inside, reference)) | self.of(beside, depth, inside)

    def _with_choices(self, given: Mapping[str, Any], kept: Schema, depth: int, inside: tuple[str, ...]) -> Schema:
        """`anyOf` and `oneOf` without null; of a single choice, that. `allOf` of one is that one, else anything."""
        for word in ("anyOf", "oneOf", "allOf"):
            if not isinstance(given.get(word), list):
                continue
            choices = [self.of(c, depth + 1, inside) for c in cast("list[Any]", given[word])]
            choices = [c for c in choices if c.get("type") != "null"]
            if len(choices) == 1:
                kept = choices[0] | kept
            elif choices and word != "allOf":
                kept["anyOf"] = choices
        return {k: v for k, v in kept.items() if not (k == "default" and v is None)}


def _at(root: Mapping[str, Any], reference: str) -> object:
    """What a local reference (`#/$defs/Name`) points to; nothing for others."""
    found: object = root
    if not reference.startswith("#/"):
        return {}
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        found = cast("Mapping[str, object]", found).get(name) if isinstance(found, Mapping) else None
    return found or {}


def _is_plain(word: str, value: object) -> bool:
    return isinstance(value, str | int | float | bool) or (word in ("enum", "required") and isinstance(value, Sequence))


def _one_type(kinds: Sequence[object]) -> Schema:
    """One of several types where null is the only other; else no type is said."""
    named = [k for k in kinds if isinstance(k, str) and k != "null"]
    return {"type": named[0]} if len(named) == 1 else {}
