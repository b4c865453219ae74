"""Where a function of a Rust crate stands, by the path of its modules. Only reads the crate's files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

_MAX_FILES = 2000
_MAX_BYTES = 1024 * 1024


def function_place(source: Path, path: Sequence[str]) -> tuple[str, int]:
    """File and 0-based line of the function `path` (modules, then its name) of the crate whose main file is `source`;
    empty where it is not found, as for functions that macros make."""
    *modules, name = path
    pattern = re.compile(rf"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+{re.escape(name)}\s*[(<]", re.MULTILINE)
    files = islice(source.parent.rglob("*.rs"), _MAX_FILES)
    by_depth = [(len(inside), f) for f in files if (inside := _modules(f, source)) == modules[: len(inside)]]
    for _, file in sorted(by_depth, reverse=True):
        found = pattern.search(_text(file))
        if found:
            text = found.string
            return str(file), text.count("\n", 0, found.start() + len(found[0]))
    return "", 0


def _modules(file: Path, source: Path) -> list[str]:
    if file == source:
        return []
    parts = [*file.relative_to(source.parent).parts[:-1], file.stem]
    return parts[:-1] if parts[-1] == "mod" else parts


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
