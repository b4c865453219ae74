"""Reading the tables of the user's `config.toml`: a mistake is told with the table, the key and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from regreen.errors import ConfigError
from regreen.settings.values import CustomTests, Gate
from regreen.wire import nearest, shown

KEYS: Mapping[str, tuple[str, ...]] = {
    "[provider]": (
        "name", "model", "fallback_models", "base_url", "api_key_env", "timeout_s", "max_tokens", "edit_format",
        "effort", "max_input_tokens",
    ),
    "[agent]": ("max_turns", "system_prompt_file"),
    "[tools]": ("enabled", "concurrency_safe", "max_parallel", "timeout_s", "result_chars", "mcp"),
    "[loop]": ("max_output_recovery",),
    "[http]": ("hosts", "origins"),
}  # fmt: skip
"""What may stand in each table whose name is fixed."""
_MAX_NAME = 60  # characters of a gate's name


def unknown_key(where: str, key: str, known: Iterable[str]) -> ConfigError:
    """The error for a key that is not known there: with the table it belongs to, or the nearest one that is."""
    near = nearest(key, known := sorted(known))
    homes = [table for table, keys in KEYS.items() if key in keys]
    meant = f"it belongs below {homes[0]}; " if homes else f"did you mean `{near[0]}`? " if near else ""
    return ConfigError("config_refused", f"{where}: unknown key {shown(key)}", f"{meant}known keys: {', '.join(known)}")


def unquoted(name: str, given: object) -> str:
    """The whole name of a table whose name has dots and stands without quotes, which makes it a table in a table; ""
    for any other."""
    whole = name
    while isinstance(given, dict):
        tables = cast("Mapping[str, object]", given)
        inner = next((k for k, v in tables.items() if isinstance(v, dict)), None)
        if inner is None:
            break
        whole, given = f"{whole}.{inner}", tables[inner]
    return whole if whole != name else ""


class Table:
    """One table, whose keys are all in `known`. Each reader gives the key's value, or its default; or ConfigError."""

    def __init__(self, where: str, given: object, known: Iterable[str]) -> None:
        if not isinstance(given, dict):
            raise ConfigError("config_refused", f"{where} is {shown(given)}, not a table",
                              f"write {where} on a line of its own, and its keys below")  # fmt: skip
        self.where = where
        self._given = cast("Mapping[str, object]", given)
        known = tuple(known)
        for key in self._given:
            if key not in known:
                raise unknown_key(where, key, known)

    def bad(self, key: str, wanted: str) -> ConfigError:
        return ConfigError("config_refused", f"{self.where}: {key} is {shown(self._given.get(key))}", wanted)

    def __contains__(self, key: str) -> bool:
        return key in self._given

    def text(self, key: str, default: str = "") -> str:
        value = self._given.get(key, default)
        if not isinstance(value, str) or not value.isprintable():
            raise self.bad(key, 'give a text on one line, such as "..."')
        return value.strip()

    def choice(self, key: str, default: str, allowed: Sequence[str]) -> str:
        value = self._given.get(key, default)
        if not isinstance(value, str) or value not in allowed:
            raise self.bad(key, f"use one of: {', '.join(a for a in allowed if a)}")
        return value

    def count(self, key: str, default: int, low: int, high: int) -> int:
        value = self._given.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.bad(key, f"give a whole number from {low} to {high}")
        return value

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value = self._given.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self.bad(key, f"give a number from {low:g} to {high:g}")
        return float(value)

    def names(self, key: str, *, one: bool = False) -> tuple[str, ...]:
        """A list of texts; with `one` a single text does, too."""
        value = self._given.get(key, [])
        listed = [value] if one and isinstance(value, str) else value
        texts = cast("list[object]", listed) if isinstance(listed, list) else [None]
        if not all(isinstance(v, str) and v.strip() and v.isprintable() for v in texts):
            raise self.bad(key, 'give a list of texts: ["...", "..."]')
        return tuple(dict.fromkeys(str(v).strip() for v in texts))

    def argv(self, key: str, example: str) -> tuple[str, ...]:
        return _words(self.where, self._given.get(key), example)

    def tables(self, key: str) -> dict[str, object]:
        """The tables below this one, by name."""
        value = self._given.get(key, {})
        if not isinstance(value, dict):
            raise self.bad(key, f'write [{self.where.strip("[]")}.{key}."NAME"] and its keys below')
        return cast("dict[str, object]", value)


def custom_tests(tables: Mapping[str, Any]) -> dict[str, CustomTests]:
    """The tables `[tests."/path/of/repo"]`."""
    return {str(Path(path)): _custom(path, table) for path, table in tables.items()}


def _custom(path: str, table: Any) -> CustomTests:
    name = f'[tests."{path}"]'
    _absolute(name, path)
    if not isinstance(table, dict) or set(table) - {"argv", "junit"}:  # pyright: ignore[reportUnknownArgumentType]
        raise ConfigError("config_refused", f"{name} holds something else than argv and junit",
                          'write argv = ["./run", "tests"] and, for its reports, junit = "build/*.xml"')  # fmt: skip
    given = cast("dict[str, Any]", table)
    junit = given.get("junit", "")
    words = _words(name, given.get("argv"), '["./run", "tests"]')
    if not isinstance(junit, str) or Path(junit).is_absolute() or ".." in Path(junit).parts or "\0" in junit:
        raise ConfigError("config_refused", f"{name}: junit is {shown(junit)}",
                          "give a path or glob inside the repository, relative to it")  # fmt: skip
    return CustomTests(words, junit)


def gates(tables: Mapping[str, Any]) -> dict[str, tuple[Gate, ...]]:
    """The lists of tables `[[gates."/path/of/repo"]]`, in their order."""
    found: dict[str, tuple[Gate, ...]] = {}
    for path, listed in tables.items():
        where = f'[[gates."{path}"]]'
        _absolute(where, path)
        if not isinstance(listed, list):
            raise ConfigError("config_refused", f"{where} is no list of tables",
                              f"write {where} in double brackets for each gate, with name and argv below")  # fmt: skip
        read = tuple(_gate(where, table) for table in cast("list[Any]", listed))
        twice = [g.name for i, g in enumerate(read) if g.name in {other.name for other in read[:i]}]
        if twice:
            raise ConfigError("config_refused", f"{where}: two gates are named {twice[0]!r}", "give each its own name")
        found[str(Path(path))] = read
    return found


def _gate(where: str, table: Any) -> Gate:
    if not isinstance(table, dict) or set(table) - {"name", "argv", "timeout_s"}:  # pyright: ignore[reportUnknownArgumentType]
        raise ConfigError("config_refused", f"{where} holds something else than name, argv and timeout_s",
                          'write name = "types" and argv = ["mypy", "src"]')  # fmt: skip
    given = cast("dict[str, Any]", table)
    name, timeout_s = given.get("name"), given.get("timeout_s", 0.0)
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.strip()) <= _MAX_NAME:
        raise ConfigError("config_refused", f"{where}: name is {shown(name)}",
                          f'give a name of at most {_MAX_NAME} characters, such as "types"')  # fmt: skip
    words = _words(f"{where} {name}", given.get("argv"), '["mypy", "src"]')
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not 0 <= timeout_s < float("inf"):
        raise ConfigError("config_refused", f"{where} {name}: timeout_s is {shown(timeout_s)}",
                          "give seconds, such as 120")  # fmt: skip
    return Gate(name.strip(), words, float(timeout_s))


def _absolute(where: str, path: str) -> None:
    if not Path(path).is_absolute():
        raise ConfigError("config_refused", f"{where}: {shown(path)} is no absolute path",
                          "name the repository's folder")  # fmt: skip


def _words(where: str, argv: object, example: str) -> tuple[str, ...]:
    words = cast("list[object]", argv) if isinstance(argv, list) else []
    if not words or not all(isinstance(w, str) and w and "\0" not in w for w in words):
        found = shown(cast("object", argv))
        raise ConfigError("config_refused", f"{where}: argv is {found}", f"give a list of words: {example}")
    return tuple(map(str, words))
