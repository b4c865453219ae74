"""Our table in a client's TOML file. What is written is read back: a text that says anything else than it should is
given up, so that nothing of others is lost.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from datetime import date, time
from typing import Any, cast

Table = Mapping[str, Any]
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    """The content. Raises ValueError."""
    return tomllib.loads(text.replace("\r\n", "\n"))


def with_entry(text: str, path: tuple[str, ...], name: str, entry: Table) -> str | None:
    """The text with the table `path.name` set; None where it cannot be done without touching anything else."""
    wanted = _set(parse(text), path, name, entry)
    before, ours, after = _split(text, path, name)
    if ours:  # only its own lines are changed: what others put behind them stays there
        tries = (_edited(ours, path, name, entry), _appended("", path, name, entry))
        newline = "\r\n" if "\r\n" in text else "\n"
        made = (before + try_.rstrip() + newline + after for try_ in tries)
        return next((t for t in made if _says(t, wanted)), None)
    if not _has(parse(text), path, name) and _says(appended := _appended(text, path, name, entry), wanted):
        return appended
    edited = _edited(text, path, name, entry)
    return edited if _says(edited, wanted) and _comments(edited) == _comments(text) else None


def without_entry(text: str, path: tuple[str, ...], name: str) -> str | None:
    """The text without that table; None where it cannot be done without touching anything else."""
    wanted = _set(parse(text), path, name, None)
    cut = _cut(text, path, name)
    if _says(cut, wanted):
        return cut
    deleted = _deleted(text, path, name)
    return deleted if _says(deleted, wanted) and _comments(deleted) == _comments(text) else None


def _appended(text: str, path: tuple[str, ...], name: str, entry: Table) -> str:
    """The table at the end of the file, behind a blank line."""
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    lines = [_header(path, name), *(f"{_key(k)} = {_shown(v)}" for k, v in entry.items())]
    return text + gap + "".join(line + newline for line in lines)


def _cut(text: str, path: tuple[str, ...], name: str) -> str:
    """The text without the table and those within it, and without the gap that is left."""
    before, _, after = _split(text, path, name)
    lines = before.splitlines(keepends=True)
    gap = bool(lines) and not lines[-1].strip()
    if gap and not after.strip():
        return "".join(lines[:-1])
    following = after.splitlines(keepends=True)
    if gap and not following[0].strip():
        following = following[1:]
    return "".join((*lines, *following))


def _split(text: str, path: tuple[str, ...], name: str) -> tuple[str, str, str]:
    """What stands before the table, the table with those within it, and all the rest. A table goes from its header to
    its last line that is more than a comment: comments that follow may be about the next one."""
    lines = text.splitlines(keepends=True)
    before: list[str] = []
    ours: list[str] = []
    after: list[str] = []
    at = 0
    while at < len(lines):
        if _header_of(lines[at])[: len(path) + 1] != (*path, name):
            (after if ours else before).append(lines[at])
            at += 1
            continue
        following = next((n for n in range(at + 1, len(lines)) if _header_of(lines[n])), len(lines))
        last = next(n for n in range(following - 1, at - 1, -1) if n == at or not _says_nothing(lines[n]))
        ours += lines[at : last + 1]
        after += lines[last + 1 : following]
        at = following
    return "".join(before), "".join(ours), "".join(after)


def _header_of(line: str) -> tuple[str, ...]:
    """The name of the table that the line begins; () where it begins none."""
    if not line.lstrip().startswith("["):
        return ()
    try:
        content: Any = tomllib.loads(line)
    except ValueError:
        return ()
    parts: list[str] = []
    while isinstance(content, dict) and content:
        ((part, content),) = cast("dict[str, Any]", content).items()
        parts.append(part)
    return tuple(parts)


def _says_nothing(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _edited(text: str, path: tuple[str, ...], name: str, entry: Table) -> str:
    """The text with the table changed where it stands, its comments kept."""
    import tomlkit
    from tomlkit.items import InlineTable

    document = tomlkit.parse(text)
    servers: Any = document
    for key in path:
        servers = servers[key] if key in servers else servers.setdefault(key, tomlkit.table())
    inline = isinstance(servers, InlineTable)
    if name not in servers:
        servers[name] = tomlkit.inline_table() if inline else tomlkit.table()
    elif not isinstance(servers[name], Mapping):
        servers[name] = tomlkit.inline_table()
    table = servers[name]
    _fill(table, entry)
    return tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType]


def _fill(table: Any, entry: Table) -> None:
    """Let the table say what the entry says; what is right already is not touched, nor are tables put elsewhere."""
    for key in [key for key in table if key not in entry]:
        del table[key]
    for key, value in entry.items():
        if key in table and isinstance(table[key], Mapping) and isinstance(value, Mapping):
            _fill(table[key], cast("Table", value))
        elif key not in table or table[key] != value:
            table[key] = _inline(cast("Table", value)) if isinstance(value, Mapping) else value


def _inline(value: Table) -> Any:
    import tomlkit

    table: Any = tomlkit.inline_table()
    table.update(value)
    return table


def _deleted(text: str, path: tuple[str, ...], name: str) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    servers: Any = document
    for key in path:
        servers = servers[key]
    del servers[name]
    return tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType]


def _says(text: str, wanted: Table) -> bool:
    """Whether the text reads as `wanted`; a table that is empty counts as none."""
    try:
        return _full(parse(text)) == _full(wanted)
    except ValueError:
        return False


def _comments(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith("#")]


def _full(content: Table) -> dict[str, Any]:
    tables = {k: _full(cast("Table", v)) if isinstance(v, dict) else v for k, v in content.items()}
    return {k: v for k, v in tables.items() if v != {}}


def _set(content: dict[str, Any], path: tuple[str, ...], name: str, entry: Table | None) -> dict[str, Any]:
    """The content with the entry set, or without it."""
    if path:
        return {**content, path[0]: _set(content.get(path[0], {}), path[1:], name, entry)}
    others = {k: v for k, v in content.items() if k != name}
    return others if entry is None else {**others, name: dict(entry)}


def _has(content: dict[str, Any], path: tuple[str, ...], name: str) -> bool:
    for key in path:
        content = content.get(key, {})
    return name in content


def _header(path: tuple[str, ...], name: str) -> str:
    return f"[{'.'.join(_key(part) for part in (*path, name))}]"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    # JSON's escapes are TOML's too, but for the delete character, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _shown(value: object) -> str:
    match value:
        case Mapping():
            pairs = ", ".join(f"{_key(str(k))} = {_shown(v)}" for k, v in cast("Table", value).items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case list():
            return f"[{', '.join(_shown(v) for v in cast('list[object]', value))}]"
        case str():
            return _text(value)
        case date() | time():
            return value.isoformat()
        case float():
            return repr(value)  # `nan` and `inf` are TOML, too
        case _:
            return json.dumps(value)
