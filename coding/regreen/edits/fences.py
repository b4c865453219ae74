"""Code fences of Markdown, as far as edit formats need them: a line that opens one, a line that closes it.

Rule: a fence ends at the first line that holds nothing but at least as many of its own characters. An opening line
may name a language or a path; a closing one says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from regreen.edits.operations import BLANKS

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)$")
_TAB = 4
_DEEP = 4  # columns; from here on an indented line is no fence to Markdown


@dataclass(frozen=True, slots=True)
class Fence:
    """A line that is a fence. `mark` is its run of backticks or tildes, `info` what stands behind it."""

    indent: str
    mark: str
    info: str

    @property
    def deep(self) -> bool:
        """Indented so far that Markdown takes the line for text."""
        return len(self.indent.expandtabs(_TAB)) >= _DEEP

    def rivals(self, opened: Fence) -> bool:
        """Whether this line is of the kind and length that could end `opened`, whatever else it holds."""
        return self.mark.startswith(opened.mark)


def fence_of(line: str) -> Fence | None:
    """The fence that `line` is, at any indentation. Backticks with more backticks behind them are inline code."""
    found = _FENCE.match(line)
    if found is None:
        return None
    indent, mark, info = found.groups()
    if mark[0] == "`" and "`" in info:
        return None
    return Fence(indent, mark, info.strip(BLANKS))
