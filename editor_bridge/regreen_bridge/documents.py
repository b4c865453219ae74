"""Changing a client's JSON document: pure functions from text to text. Entries of others are kept as they are."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any, cast

from regreen.errors import ConfigError

Entry = Mapping[str, Any]


def with_entry(text: str, key: str, name: str, entry: Entry, *, where: str) -> str:
    """The document with our entry set. The same text comes back if it is already there. Raises ConfigError."""
    document = _parse(text, where)
    servers = _servers(document, key, where)
    if servers.get(name) == entry:
        return text
    return _dump({**document, key: {**servers, name: dict(entry)}}, text)


def without_entry(text: str, key: str, name: str, *, where: str) -> str:
    """The document without our entry. The same text comes back if there is none. Raises ConfigError."""
    document = _parse(text, where)
    servers = _servers(document, key, where)
    if name not in servers:
        return text
    return _dump({**document, key: {k: v for k, v in servers.items() if k != name}}, text)


def difference(before: str, after: str, name: str) -> str:
    """A unified diff of the two texts."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")
    return "".join(line + "\n" for line in lines)


def _parse(text: str, where: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except ValueError as e:  # JSONDecodeError among them
        raise ConfigError("config_refused", f"{where}: not valid JSON: {e}",
                          "correct it; it was left as it is") from e  # fmt: skip
    return _object(document, where, "the document")


def _servers(document: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    return _object(document.get(key, {}), where, f"`{key}`")


def _object(value: object, where: str, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError("config_refused", f"{where}: {what} is not an object", "correct it; it was left as it is")
    return cast("dict[str, Any]", value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that stands twice is refused, since writing it back would lose one of them."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [k for k, _ in pairs]
        raise ValueError(f"the key {next(k for k in names if names.count(k) > 1)!r} stands twice in one object")
    return found


def _dump(document: Mapping[str, Any], like: str) -> str:
    """The document's text, indented as the text it replaces where that can be told, and ended as it was."""
    indent = re.search(r"^[ \t]+(?=\S)", like, re.MULTILINE)
    end = "" if like.strip() and not like.endswith("\n") else "\n"
    return json.dumps(document, indent=indent[0] if indent else 2, ensure_ascii=False) + end
