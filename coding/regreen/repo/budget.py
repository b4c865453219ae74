"""Sizes of text in tokens, and the cursors that carry a reader from one page to the next.

The rule for tokens: UTF-8 bytes divided by 3.5, rounded up. It errs on the high side for code and English.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from regreen.errors import UsageError

BYTES_PER_TOKEN = 3.5


def estimate_tokens(text: str) -> int:
    """How many tokens `text` takes at most, as a rule: its UTF-8 bytes / 3.5, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) * 2 // 7)


class Page:
    """Lines that together stay within a budget. The first one always fits, so that every page gets on."""

    def __init__(self, max_tokens: int) -> None:
        if max_tokens < 1:
            raise UsageError("invalid_arguments", f"max_tokens is {max_tokens}", "give a number of at least 1")
        self.lines: list[str] = []
        self._left_bytes = int(max_tokens * BYTES_PER_TOKEN)

    def add(self, *lines: str) -> bool:
        """Add these lines, all or none; False if they do not fit any more."""
        size = sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
        if size > self._left_bytes + 1 and self.lines:  # the last line has no end
            return False
        self._left_bytes -= size
        self.lines.extend(lines)
        return True

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def write_cursor(*numbers: int, path: str) -> str:
    """A cursor of plain ASCII."""
    return ":".join([*map(str, numbers), quote(path)])


def read_cursor(cursor: str, numbers: int) -> tuple[tuple[int, ...], str]:
    """What `write_cursor` was given. UsageError for anything else."""
    parts = cursor.split(":", numbers)
    if len(parts) != numbers + 1 or not all(p.isascii() and p.isdigit() and len(p) < 10 for p in parts[:-1]):
        raise UsageError("invalid_arguments", f"{cursor[:80]!r} is no cursor of this tool",
                         "pass the cursor of the last answer unchanged, or none for the first page")  # fmt: skip
    return tuple(map(int, parts[:-1])), unquote(parts[-1])
