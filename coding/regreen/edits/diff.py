"""Unified diffs from what a plan did, line by line, without searching for differences: linear on any input.

Rule: for text in UTF-8 the diff is one that `git apply` accepts, and applying it gives the planned bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regreen.edits.lines import Rows

_CONTEXT = 3
_STRIDES = (512, 32)  # lines compared at once
_NO_NEWLINE = "\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Diff:
    text: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines a1..a2 of the old text become b1..b2 of the new one."""

    a1: int
    a2: int
    b1: int
    b2: int


def diff(path: str, before: Rows | None, after: Rows, *, mark: str = "") -> Diff:
    """The change of one file. `before` is None for a file that is created. `mark` is a byte order mark to show."""
    old, new = Rows([], [], []) if before is None else _with_mark(before, mark), _with_mark(after, mark)
    blocks = [block for block in (_trimmed(old, new, b) for b in _blocks(old, new)) if block is not None]
    added, removed = sum(b.b2 - b.b1 for b in blocks), sum(b.a2 - b.a1 for b in blocks)
    name_a, name_b = _quoted("a/" + path), _quoted("b/" + path)
    head = [f"diff --git {name_a} {name_b}\n"]
    if before is None:
        head.append("new file mode 100644\n")
    if blocks:
        head.append(f"--- {'/dev/null' if before is None else _with_tab(name_a)}\n+++ {_with_tab(name_b)}\n")
    text = "".join([*head, *(line for hunk in _hunks(blocks) for line in _printed(old, new, hunk))])
    return Diff(text.encode("utf-8", "backslashreplace").decode("utf-8"), added, removed)


def _with_mark(rows: Rows, mark: str) -> Rows:
    if not mark:
        return rows
    if not rows:
        return Rows([mark], [""], [0])
    marked = rows.part(0, len(rows))
    marked.bodies[0] = mark + marked.bodies[0]
    return marked


def _blocks(old: Rows, new: Rows) -> Iterator[_Block]:
    """Runs that are not the same, in order. New lines know which old line they are."""
    a = b = position = 0
    while position < len(new):
        at = new.origins[position] - 1
        run = _run(old, new, at, position) if at >= 0 else 0
        if run and (at > a or position > b):
            yield _Block(a, at, b, position)
        if run:
            a, b = at + run, position + run
        position += run or 1
    if a < len(old) or b < len(new):
        yield _Block(a, len(old), b, len(new))


def _run(old: Rows, new: Rows, a: int, b: int) -> int:
    """How many lines are the same lines from there on, as far as one stride tells; 0 if not even the first is."""
    if not _same(old, new, a, b):
        return 0
    for size in _STRIDES:
        after = new.part(b, b + size)
        if after.origins == list(range(a + 1, a + 1 + size)) and after.same_text(old.part(a, a + size)):
            return size
    return 1


def _trimmed(old: Rows, new: Rows, block: _Block) -> _Block | None:
    """The block without equal lines at its edges; None if nothing is left."""
    a1, a2, b1, b2 = block.a1, block.a2, block.b1, block.b2
    while a1 < a2 and b1 < b2 and _same(old, new, a1, b1):
        a1, b1 = a1 + 1, b1 + 1
    while a1 < a2 and b1 < b2 and _same(old, new, a2 - 1, b2 - 1):
        a2, b2 = a2 - 1, b2 - 1
    return _Block(a1, a2, b1, b2) if a1 < a2 or b1 < b2 else None


def _same(old: Rows, new: Rows, a: int, b: int) -> bool:
    return old.bodies[a] == new.bodies[b] and old.eols[a] == new.eols[b]


def _hunks(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    hunk: list[_Block] = []
    for block in blocks:
        if hunk and block.a1 - hunk[-1].a2 > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _printed(old: Rows, new: Rows, hunk: Sequence[_Block]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    lead = min(_CONTEXT, first.a1)
    trail = min(_CONTEXT, len(old) - last.a2)
    before = _range(first.a1 - lead, last.a2 + trail)
    yield f"@@ -{before} +{_range(first.b1 - lead, last.b2 + trail)} @@\n"
    at = first.a1 - lead
    for block in hunk:
        yield from _lines(" ", old.part(at, block.a1))
        yield from _lines("-", old.part(block.a1, block.a2))
        yield from _lines("+", new.part(block.b1, block.b2))
        at = block.a2
    yield from _lines(" ", old.part(at, at + trail))


def _lines(sign: str, rows: Rows) -> Iterator[str]:
    for body, eol in zip(rows.bodies, rows.eols, strict=True):
        yield sign + body + (eol or "\n" + _NO_NEWLINE)


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}" if count != 1 else str(start + 1)


def _with_tab(name: str) -> str:
    """A name with a blank in it needs a tab behind, so that its end can be told."""
    return name + "\t" if " " in name and not name.startswith('"') else name


def _quoted(name: str) -> str:
    """The name as git prints it: in quotes, with octal bytes, where it holds anything unusual."""
    if all(" " <= c <= "~" and c not in '"\\' for c in name):
        return name
    raw = name.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:03o}" for b in raw) + '"'
