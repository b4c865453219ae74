"""Our table in a client's TOML file. What is written is read back: a text that says anything else than it should is
given up, so that nothing of others is lost.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, cast

Table = Mapping[str, Any]
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    """The content. Raises ValueError."""
    return tomllib.loads(text.replace("\r\n", "\n"))


def with_entry(text: str, path: tuple[str, ...], name: str, entry: Table) -> str | None:
    """The text with the table `path.name` set; None where it cannot be done without touching anything else."""
    wanted = _set(parse(text), path, name, entry)
    tries = (_edited,) if _has(parse(text), path, name) else (_appended, _edited)
    return next((t for t in (try_(text, path, name, entry) for try_ in tries) if _says(t, wanted)), None)


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
    """The text without the table and those within it: from each header to its last line that is more than a comment.
    What comments follow, up to the next header, may be about that one."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    at = 0
    while at < len(lines):
        if _header_of(lines[at])[: len(path) + 1] != (*path, name):
            kept.append(lines[at])
            at += 1
            continue
        following = next((n for n in range(at + 1, len(lines)) if _header_of(lines[n])), len(lines))
        last = next(n for n in range(following - 1, at - 1, -1) if n == at or not _says_nothing(lines[n]))
        rest = lines[last + 1 : following]
        blank_before = bool(kept) and not kept[-1].strip()
        if blank_before and not "".join((*rest, *lines[following:])).strip():
            kept.pop()  # nothing follows: the gap before it goes, too
        elif blank_before and rest and not rest[0].strip():
            rest = rest[1:]
        kept += rest
        at = following
    return "".join(kept)


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
    for key, value in entry.items():
        if key not in table or table[key] != value:
            table[key] = _inline(cast("Table", value)) if isinstance(value, Mapping) else value
    return tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType]


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
        case _:
            return json.dumps(value)
