"""Changing a client's document: pure functions from text to text. Entries of others are kept as they are.

The dialect says how the client reads its file: `json` (strict), `jsonc` (comments, trailing commas) or `toml`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from regreen.errors import ConfigError
from regreen_bridge import jsonc, toml_document

Entry: TypeAlias = Mapping[str, Any]
Dialect: TypeAlias = Literal["json", "jsonc", "toml"]
KeyPath: TypeAlias = tuple[str, ...]


def read(text: str, dialect: Dialect, where: str) -> dict[str, Any]:
    """The document's content; empty for an empty text. Raises ConfigError for one that is not understood."""
    try:
        content = toml_document.parse(text) if dialect == "toml" else _json(text, dialect)
    except (ValueError, RecursionError) as e:  # TOML's reader sets no bound to depth
        kind = "TOML" if dialect == "toml" else "JSON"
        raise ConfigError(
            "config_refused", f"{where}: not valid {kind}: {e}", "correct it; it was left as it is"
        ) from e
    return _object(content, where, "the document")


def find_entry(content: Entry, path: KeyPath, name: str, where: str) -> object:
    """What stands under `path` and `name`, None for nothing. Raises ConfigError where the way there is no object."""
    at: dict[str, Any] = dict(content)
    for n, key in enumerate(path):
        at = _object(at.get(key, {}), where, f"`{'.'.join(path[: n + 1])}`")
    return at.get(name)


def with_entry(text: str, path: KeyPath, name: str, entry: Entry, *, dialect: Dialect, where: str) -> str:
    """The document with our entry set. The same text comes back if it is already there. Raises ConfigError."""
    content = read(text, dialect, where)
    if find_entry(content, path, name, where) == entry:
        return text
    if dialect == "toml":
        return _checked(toml_document.with_entry(text, path, name, entry), where)
    return jsonc.with_member(text, (*path, name), dict(entry))


def without_entry(text: str, path: KeyPath, name: str, *, dialect: Dialect, where: str) -> str:
    """The document without our entry. The same text comes back if there is none. Raises ConfigError."""
    content = read(text, dialect, where)
    if find_entry(content, path, name, where) is None:
        return text
    if dialect == "toml":
        return _checked(toml_document.without_entry(text, path, name), where)
    return jsonc.without_member(text, (*path, name))


def before_entry(text: str, path: KeyPath, name: str, *, dialect: Dialect, where: str) -> str | None:
    """What the text was if its document is, to the letter, what our entry makes where there is none: the comments
    above it, or nothing. None for any other document. Raises ConfigError."""
    entry = find_entry(read(text, dialect, where), path, name, where)
    if dialect == "toml" or entry is None:
        return None  # without its entry a TOML file is what it was
    return jsonc.before_member(text, (*path, name), entry)


def difference(before: str, after: str, name: str) -> str:
    """A unified diff of the two texts."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")
    return "".join(line + "\n" for line in lines)


def _json(text: str, dialect: Dialect) -> object:
    root = jsonc.parse(text) if dialect == "jsonc" or not text.strip() else _strict(text)
    return {} if root is None else root.value


def _strict(text: str) -> jsonc.Node | None:
    """As the client reads it: a comment would make it refuse the whole file, so it is refused here too."""
    root = jsonc.parse(text)  # first, since it bounds the depth
    json.loads(text)
    return root


def _object(value: object, where: str, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError("config_refused", f"{where}: {what} is not an object", "correct it; it was left as it is")
    return cast("dict[str, Any]", value)


def _checked(text: str | None, where: str) -> str:
    if text is None:
        raise ConfigError("config_refused", f"{where}: it cannot be changed without touching what others put there",
                          "paste what `--print` shows, or take the entry out by hand")  # fmt: skip
    return text
