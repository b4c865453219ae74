"""The SEARCH/REPLACE format: reads blocks out of a response.

    path/to/file.py
    <<<<<<< SEARCH
    lines as they are in the file
    =======
    lines as they shall be
    >>>>>>> REPLACE

Rule: a block has three markers of equal length (7 or more), each alone on its line; between them everything is
content, to the letter. Whatever looks like a marker and is none, or could be read in two ways, is a parse error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from dataclasses import replace as replace_value

from regreen.edits.operations import FillFile, Operation, operation_of
from regreen.edits.parsed import EDIT_WAS_HERE, Format, Parsed, Unreadable, quoted, response_lines
from regreen.edits.paths import is_clear, path_above
from regreen.model import EditError, Replacement

_HEAD = re.compile(r"(<{7,}) SEARCH[ \t]*$")
_LOOSE_HEAD = re.compile(r"\s*(<{5,})\s*(?:search\b|$)", re.IGNORECASE)
_LOOSE_TAIL = re.compile(r"\s*(>{5,})\s*(?:replace\b|$)", re.IGNORECASE)
_CONFLICT = re.compile(r"(?:<{7,}|>{7,})(?:[ \t]|$)")
_ESCAPED = re.compile(r"\\([<=>])\1{6,}(?: SEARCH| REPLACE)?[ \t]*$")

_LONGER = (
    "if the text itself holds such a line, use longer markers for the whole block: nine `<`, nine `=`, nine `>`, "
    "or more; all three of the same length"
)
_SHAPE = (
    "send the whole response again; a block is: the path alone on a line, `<<<<<<< SEARCH`, the lines as they are "
    "in the file, `=======`, the new lines, `>>>>>>> REPLACE`, each marker alone on its line"
)


@dataclass(slots=True)
class _Reader:
    lines: list[str]
    at: int = 0
    edits: list[Operation] = field(default_factory=list[Operation])
    rest: list[str] = field(default_factory=list[str])
    path: str = ""
    clear: bool = True  # whether it can be nothing but a path
    mentions: tuple[str, ...] = ()  # names in the text above a block that does not give its path again

    def read(self) -> None:
        """Read all blocks. Raises Unreadable at the first place that is not clear."""
        gap = 0  # where in `rest` the text after the last block begins
        while self.at < len(self.lines):
            line = self.lines[self.at]
            head = _HEAD.match(line)
            if head is None:
                self._check_outside(line)
                self.rest.append(line)
                self.at += 1
                continue
            self._settle_path(self.rest[gap:])
            self.rest.append(EDIT_WAS_HERE)
            gap = len(self.rest)
            self._block(len(head[1]))

    def _check_outside(self, line: str) -> None:
        if _LOOSE_HEAD.match(line) or _LOOSE_TAIL.match(line) or _CONFLICT.match(line):
            raise Unreadable(
                f"line {self.at + 1} of the response looks like a marker but is not one: {quoted(line)}; wanted "
                "`<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`, each alone on its line, in this order",
                _SHAPE,
            )

    def _settle_path(self, above: list[str]) -> None:
        found = path_above(above)
        where = f"line {self.at + 1} of the response"
        if found.path and not found.clash:
            self.path, self.clear, self.mentions = found.path, is_clear(found), ()
            return
        if not self.path and not found.path:
            raise Unreadable(
                f"the block at {where} has no path", "put the path, and nothing else, on the line above "
                "`<<<<<<< SEARCH` (or above its code fence); then send the whole response again",
            )  # fmt: skip
        used = found.path or self.path
        if found.clash and not f"/{used}".endswith(f"/{found.clash.removeprefix('./')}"):
            raise Unreadable(
                f"it is not clear which file the block at {where} is for: the text above names `{found.clash}` as well "
                f"as `{used}`",
                "put the path alone on the line above each block; then send the whole response again",
            )
        self.mentions = found.mentions

    def _block(self, length: int) -> None:
        start = self.at + 1
        self.at += 1
        search = self._until("=" * length, length, start, "SEARCH")
        replace = self._until(">" * length + " REPLACE", length, start, "REPLACE")
        edit = operation_of(Replacement(self.path, _text(search), _text(replace)))
        if isinstance(edit, FillFile) and not self.clear:
            raise Unreadable(
                f"the block at line {start} of the response would make a file, but it is not clear that "
                f"`{self.path}` above it is a path",
                f"if it is one, write it as `./{self.path}` in backquotes, alone on the line; then send the whole "
                "response again",
            )
        self.edits.append(replace_value(edit, mentions=self.mentions))

    def _until(self, marker: str, length: int, start: int, part: str) -> list[str]:
        """Content lines up to `marker`, which is consumed."""
        content: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.rstrip(" \t") == marker:
                self.at += 1
                return content
            self._check_inside(line, length, start, part)
            content.append(line)
            self.at += 1
        raise Unreadable(
            f"the block that begins at line {start} of the response does not end: no line `{marker}` after its {part} "
            f"marker (all three markers of a block have the same length, here {length})",
            "the response may have been cut off; send all of its blocks again, complete",
        )

    def _check_inside(self, line: str, length: int, start: int, part: str) -> None:
        where = f"line {self.at + 1} of the response: "
        block = f"the block that begins at line {start}"
        head, tail = _LOOSE_HEAD.match(line), _LOOSE_TAIL.match(line)
        escaped = _ESCAPED.match(line)
        if line.startswith("<" * length) and head and len(head[1]) == length:
            raise Unreadable(f"{where}{block} is not closed before another one begins: {quoted(line)}", _SHAPE)
        if line.startswith(">" * length) and tail and len(tail[1]) == length:
            missing = (
                f"has no divider `{'=' * length}` before" if part == "SEARCH" else "has an end marker with more on"
            )
            raise Unreadable(f"{where}{block} {missing} the line {quoted(line)}", _SHAPE)
        if part == "REPLACE" and line.rstrip(" \t") == "=" * length:
            raise Unreadable(f"{where}{block} has a second divider `{'=' * length}`", _LONGER)
        if escaped and line.rstrip().count(escaped[1]) == length:
            raise Unreadable(f"{where}a backslash does not escape a marker: {quoted(line)}", _LONGER)


def parse_blocks(text: str) -> Parsed:
    """Read all SEARCH/REPLACE blocks of a response. A response without any is the problem `no_edits`."""
    reader = _Reader(response_lines(text))
    problem: EditError | None = None
    try:
        reader.read()
    except Unreadable as e:
        problem = e.error
    edits = tuple(reader.edits)
    if problem is None and not edits:
        problem = EditError("no_edits", "the response holds no SEARCH/REPLACE block", _SHAPE)
    return Parsed(edits, problem, len(edits), "\n".join(reader.rest))


def _text(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


_PROMPT = """\
Answer with SEARCH/REPLACE blocks. For each change:

path/to/file.py
```
<<<<<<< SEARCH
whole lines, exactly as they are in the file now
=======
the lines that take their place
>>>>>>> REPLACE
```

- The path, relative to the repository, stands alone on the line above the block.
- SEARCH is whole lines with their indentation, and must occur exactly once in the file; add lines around it until \
it does.
- Keep blocks small: only the lines that change, and as many around them as make the place unique.
- Blocks are applied in order, all or none. If one does not fit, nothing is written and all must be sent again.
- An empty SEARCH creates a file that does not exist. An empty REPLACE deletes the SEARCH lines.
- Never shorten with `...` or "rest of the code": what REPLACE leaves out is deleted.
- If the text itself holds a line like `=======`, use longer markers (nine or more characters), all three of the same \
length.
"""

SEARCH_REPLACE = Format(
    "search_replace",
    "SEARCH/REPLACE blocks",
    re.compile(r"^<{7,} SEARCH[ \t]*\r?$|^>{7,} REPLACE[ \t]*\r?$", re.MULTILINE),
    parse_blocks,
    _PROMPT,
)
