"""Small unified diffs and what they are read as."""

from __future__ import annotations

from typing import Any

from regreen.edits.operations import Operation, ReplaceLines
from regreen.edits.parsed import Parsed
from regreen.edits.unified_diff import UNIFIED_DIFF

HEAD = "--- a/f\n+++ b/f\n"
DIFF = HEAD + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
GIT = "diff --git a/f b/f\n"
END = "\\ No newline at end of file\n"


def parse(text: str) -> Parsed:
    return UNIFIED_DIFF.parse(text)


def edits(text: str) -> list[Operation]:
    parsed = parse(text)
    assert parsed.problem is None, parsed.problem
    return list(parsed.edits)


def problem(text: str) -> str:
    parsed = parse(text)
    assert parsed.problem is not None, parsed.edits
    assert parsed.problem_at == len(parsed.edits)
    assert parsed.problem.hint
    return f"{parsed.problem.kind}: {parsed.problem.message}"


def change(search: str, replace: str, path: str = "f", **more: Any) -> ReplaceLines:
    """Lines are given with `|` between them; `~` stands for none at all."""
    old, new = (() if side == "~" else tuple(side.split("|")) for side in (search, replace))
    return ReplaceLines(path, old, new, as_on_disk=True, **more)


ABC = change("a|b", "a|c")
OTHER = "--- a/g\n+++ b/g\n@@ @@\n-x\n+y\n"
XY = change("x", "y", "g")
