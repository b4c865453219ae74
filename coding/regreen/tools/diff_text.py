"""Diffs cut to what is read. Pure."""

from __future__ import annotations

_MAX_CHARS = 12_000
_MAX_LINES = 400


def shown_diff(diff: str) -> tuple[str, str]:
    """As many whole lines from the beginning of a diff of many files as are read, and the count of what is left."""
    lines = diff.splitlines(keepends=True)  # only counted and joined again
    size = taken = 0
    while taken < len(lines) and taken < _MAX_LINES and size + len(lines[taken]) <= _MAX_CHARS:
        size += len(lines[taken])
        taken += 1
    if taken == len(lines):
        return diff, ""
    files = sum(line.startswith("diff --git ") for line in lines[taken:])
    more = f"{_more(len(lines) - taken)} of the diff" + (f", of {files} more files" if files else "")
    return diff[:size], more


def cut(text: str, limit: int) -> str:
    """The text, cut at a line's end where it is too long, saying how much is left out."""
    if len(text) <= limit:
        return text
    kept = text[:limit].rsplit("\n", 1)[0]
    return f"{kept}\n... {len(text) - len(kept)} characters left out (show_changes has the rest)"


def _more(lines: int) -> str:
    return f"{lines} more line" if lines == 1 else f"{lines} more lines"
