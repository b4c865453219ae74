"""Unified diffs from what a plan did, without searching for differences: linear on any input.

Rule: for text in UTF-8 the diff is one that `git apply` accepts, and applying it gives the planned bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from regreen.edits.lines import Block, Rows

_CONTEXT = 3
_NO_NEWLINE = "\\ No newline at end of file\n"


Hunk: TypeAlias = "tuple[Block, ...]"
_NO_LINES = Rows([], [])


@dataclass(frozen=True, slots=True)
class Diff:
    text: str
    added: int
    removed: int
    hunks: tuple[Hunk, ...] = ()


def diff(
    path: str,
    before: Rows | None,
    after: Rows | None,
    changed: Sequence[Block],
    *,
    mark: str = "",
    source: str = "",
    mode: int = 0o644,
) -> Diff:
    """The change of one file. `before` is None for a file that is created, `after` for one that is deleted.

    `changed` says which lines became which; the others are the same on both sides. `source` is the old path of a file
    that is renamed, `mark` a byte order mark to show, `mode` the permission bits.
    """
    old, new = (_NO_LINES if rows is None else _with_mark(rows, mark) for rows in (before, after))
    if not before or not after:  # all of the file; and a mark makes a line of nothing
        changed = [Block(0, len(old), 0, len(new))]
    elif mark:
        changed = _with_marked_line(changed)
    blocks = [block for block in (_trimmed(old, new, b) for b in changed) if block is not None]
    added, removed = sum(b.b2 - b.b1 for b in blocks), sum(b.a2 - b.a1 for b in blocks)
    name_a, name_b = _quoted("a/" + (source or path)), _quoted("b/" + path)
    head = [f"diff --git {name_a} {name_b}\n"]
    if before is None:
        head.append("new file mode 100644\n")
    elif after is None:
        head.append(f"deleted file mode {'100755' if mode & 0o111 else '100644'}\n")
    elif source:
        head.append(f"rename from {_quoted(source)}\nrename to {_quoted(path)}\n")
    if blocks:
        head.append(f"--- {'/dev/null' if before is None else _with_tab(name_a)}\n"
                    f"+++ {'/dev/null' if after is None else _with_tab(name_b)}\n")  # fmt: skip
    hunks = tuple(_hunks(blocks))
    text = "".join([*head, *(line for hunk in hunks for line in _printed(old, new, hunk))])
    return Diff(text.encode("utf-8", "backslashreplace").decode("utf-8"), added, removed, hunks)


def compose(old: Rows, new: Rows, hunks: Sequence[Hunk]) -> tuple[Rows, tuple[Block, ...]]:
    """`old` with the changes of some hunks of its way to `new`, and these changes as they stand in it."""
    made = Rows([], [])
    blocks: list[Block] = []
    at = 0
    for block in (block for hunk in hunks for block in hunk):
        made.put(len(made), len(made), old.part(at, block.a1))
        first = len(made)
        made.put(first, first, new.part(block.b1, block.b2))
        blocks.append(Block(block.a1, block.a2, first, len(made)))
        at = block.a2
    made.put(len(made), len(made), old.part(at, len(old)))
    return made, tuple(blocks)


def _with_mark(rows: Rows, mark: str) -> Rows:
    if not mark:
        return rows
    if not rows:
        return Rows([mark], [""])
    marked = rows.part(0, len(rows))
    marked.bodies[0] = mark + marked.bodies[0]
    return marked


def _with_marked_line(changed: Sequence[Block]) -> Sequence[Block]:
    """Where lines at the very beginning come or go, the byte order mark goes over to another line."""
    first = changed[0] if changed else None
    if first is None or first.b1 > 0 or (first.a2 > 0 and first.b2 > 0):
        return changed
    return [Block(0, first.a2 + 1, 0, first.b2 + 1), *changed[1:]]


def _trimmed(old: Rows, new: Rows, block: Block) -> Block | None:
    """The block without equal lines at its edges; None if nothing is left."""
    a1, a2, b1, b2 = block.a1, block.a2, block.b1, block.b2
    while a1 < a2 and b1 < b2 and _same(old, new, a1, b1):
        a1, b1 = a1 + 1, b1 + 1
    while a1 < a2 and b1 < b2 and _same(old, new, a2 - 1, b2 - 1):
        a2, b2 = a2 - 1, b2 - 1
    return Block(a1, a2, b1, b2) if a1 < a2 or b1 < b2 else None


def _same(old: Rows, new: Rows, a: int, b: int) -> bool:
    return old.bodies[a] == new.bodies[b] and old.eols[a] == new.eols[b]


def _hunks(blocks: Sequence[Block]) -> Iterator[Hunk]:
    hunk: list[Block] = []
    for block in blocks:
        if hunk and block.a1 - hunk[-1].a2 > 2 * _CONTEXT:
            yield tuple(hunk)
            hunk = []
        hunk.append(block)
    if hunk:
        yield tuple(hunk)


def _printed(old: Rows, new: Rows, hunk: Sequence[Block]) -> Iterator[str]:
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
