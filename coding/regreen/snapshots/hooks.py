"""Where git takes hooks from in a work tree: `core.hooksPath`, read from the repository's own configuration.

A simple reading of the file, since asking git for every repository around a test run would take too long. Files that
are included are read as far as they are named by a path in the configuration, not where a condition decides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_MAX_BYTES = 256 * 1024
_MAX_INCLUDES = 16
_SECTION = re.compile(r'\s*\[\s*([^\s\]"]+)\s*(?:"[^"]*")?\s*\](.*)')
_ENTRY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)")


def hook_folders(tree: Path, git_dirs: list[Path]) -> list[Path]:
    """The folders that the configuration of a work tree names for hooks, as written and where they really are."""
    found: list[Path] = []
    for git_dir in git_dirs:
        for name in ("config", "config.worktree"):
            for value in _values(git_dir / name):
                place = Path(os.path.normpath(tree / value))
                found += (place, Path(os.path.realpath(place)))
    return list(dict.fromkeys(found))


def _values(config: Path) -> Iterator[str]:
    waiting, read = [config], set[Path]()
    while waiting and len(read) < _MAX_INCLUDES:
        file = waiting.pop(0)
        if file in read:
            continue
        read.add(file)
        for section, name, value in _entries(file):
            if (section, name) == ("core", "hookspath"):
                yield value
            elif (section, name) == ("include", "path"):
                waiting.append(Path(os.path.normpath(file.parent / value)))


def _entries(file: Path) -> Iterator[tuple[str, str, str]]:
    try:
        with file.open("rb") as opened:
            text = opened.read(_MAX_BYTES).decode(errors="surrogateescape")
    except (OSError, ValueError):
        return
    section = ""
    for given in text.replace("\\\n", "").splitlines():
        line = given
        if head := _SECTION.match(line):
            section, line = head[1].lower(), head[2]
        if (entry := _ENTRY.match(line)) and (value := _value(entry[2])) and "\0" not in value:
            yield section, entry[1].lower(), value


def _value(text: str) -> str:
    """The value without quotes, escapes and a comment behind it; one in the home folder is none of ours."""
    value, quoted, escaped = "", False, False
    for c in text:
        if escaped:
            value, escaped = value + c, False
        elif c == "\\":
            escaped = True
        elif c == '"':
            quoted = not quoted
        elif c in ";#" and not quoted:
            break
        else:
            value += c
    value = value.strip()
    return "" if value.startswith("~") else value
