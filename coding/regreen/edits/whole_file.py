"""The whole_file format: a path line and one code fence with the complete new content of the file.

    path/to/file.py
    ```python
    every line of the file
    ```

Rule: a fence ends at the first line that holds nothing but at least as many of its own characters; a response in
which some line could also be read as another fence is refused, since the reader would cut a file short there. A
content that holds fences itself needs a longer one around it. Prose may stand outside; a fence without a path may not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from posixpath import normpath

from regreen.edits.fences import Fence, fence_of
from regreen.edits.operations import ReplaceFile, is_blank
from regreen.edits.parsed import Format, Parsed, Unreadable, quoted, response_lines
from regreen.edits.paths import is_clear, names_a_file, path_above
from regreen.model import EditError

_MARKDOWN = re.compile(r"\.(?:md|mdx|mdc|markdown|mkd|qmd|rmd|rst|adoc)$", re.IGNORECASE)
_FILE_NAME = re.compile(r"\w[./\\]\w")
_EDIT = re.compile(r"<{7,} SEARCH[ \t]*$|[ \t]*\*\*\* Begin Patch[ \t]*$|diff --git ")
_DIFF_FILE = re.compile(r"\.(?:diff|patch)$", re.IGNORECASE)
_LONGER = (
    "if the content holds code fences itself, put a longer fence around the whole of it (four backticks, or more than "
    "any inside); then send the whole response again"
)
_NAMED = f"put a language behind the opening fence of each file, as in ```text; {_LONGER}"
_SHAPE = (
    "send the whole response again; for each file: its path alone on a line, then one code fence with its complete "
    "content, both fence lines in column 0"
)


@dataclass(slots=True)
class _Last:
    """The file read last, and its fence."""

    path: str
    fence: Fence

    def may_hold(self, fence: Fence, path: str) -> bool:
        """Whether a later fence, below `path`, may be the end of one inside this file, whose beginning cut it short.

        A fence that names a language is none, nor is a shorter one. Markdown holds fences; other files seldom do, and
        then the line above is hardly the name of a file.
        """
        if fence.info or not fence.rivals(self.fence):
            return False
        return bool(_MARKDOWN.search(self.path)) or " " in path or not _FILE_NAME.search(path)


@dataclass(slots=True)
class _Reader:
    lines: list[str]
    at: int = 0
    edits: list[ReplaceFile] = field(default_factory=list[ReplaceFile])
    rest: list[str] = field(default_factory=list[str])
    last: _Last | None = None
    _gap: int = 0  # where in `rest` the text after the last file begins
    _first: dict[str, int] = field(default_factory=dict[str, int])

    def read(self) -> None:
        """Read all files. Raises Unreadable at the first place that is not clear."""
        while self.at < len(self.lines):
            fence = fence_of(self.lines[self.at])
            if fence is None:
                self.rest.append(self.lines[self.at])
                self.at += 1
            else:
                self._file(fence)

    def _file(self, fence: Fence) -> None:
        opened = self.at + 1
        if fence.indent:
            raise Unreadable(f"line {opened} of the response is an indented code fence: it is not clear how far its "
                             "content is indented; wanted it in column 0", f"{_SHAPE}; {_LONGER}")  # fmt: skip
        path = self._path(fence, opened)
        self.at += 1
        body = self._body(fence, opened, path)
        self._check_content(path, body, opened)
        self._first[normpath(path)] = opened
        self.edits.append(ReplaceFile(path, "".join(line + "\n" for line in body)))
        self.last = _Last(path, fence)
        self._gap = len(self.rest)

    def _path(self, fence: Fence, opened: int) -> str:
        found = path_above([*self.rest[self._gap :], self.lines[opened - 1]])
        if not found.path:
            named = next((word for word in found.mentions if names_a_file(word)), "")
            said = f" (the text above mentions `{named}`)" if named else ""
            raise Unreadable(f"the code fence at line {opened} of the response has no path{said}; wanted the path, and "
                             "nothing else, on the line above", f"{_SHAPE}; {_LONGER}")  # fmt: skip
        if self.last is not None and self.last.may_hold(fence, found.path):
            raise Unreadable(f"it is not clear whether the code fence at line {opened} of the response begins the file "
                             f"`{found.path}` or belongs to `{self.last.path}`", _NAMED)  # fmt: skip
        if found.clash or not is_clear(found):
            other = f" or `{found.clash}`" if found.clash else ""
            raise Unreadable(
                f"it is not clear that the code fence at line {opened} of the response is `{found.path}`{other}",
                f"write its path alone on the line above, in backquotes; {_SHAPE}",
            )
        first = self._first.get(normpath(found.path), 0)
        if first:
            raise Unreadable(
                f"`{found.path}` stands twice in the response, in the code fences at lines {first} and {opened}; it is "
                "not clear which is meant",
                f"send each file once; {_LONGER}",
            )
        return found.path

    def _body(self, opened_by: Fence, opened: int, path: str) -> list[str]:
        body: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            fence = fence_of(line)
            if fence is not None and fence.rivals(opened_by) and not fence.deep:
                if not fence.info and not fence.indent:
                    self.at += 1
                    return body
                raise Unreadable(
                    f"line {self.at + 1} of the response, in the content of `{path}` that begins at line {opened}, "
                    f"looks like another code fence: {quoted(line)}",
                    _LONGER,
                )
            body.append(line)
            self.at += 1
        raise Unreadable(
            f"the code fence at line {opened} of the response, of `{path}`, does not end: no line "
            f"`{opened_by.mark}` after it",
            "the response may have been cut off; send all of its files again, complete",
        )

    def _check_content(self, path: str, body: list[str], opened: int) -> None:
        """Refuse edits of another format that stand where the file should."""
        start = next((n for n, line in enumerate(body) if not is_blank(line)), 0)
        head = body[start : start + 2]
        diff = len(head) == 2 and head[0].startswith("--- ") and head[1].startswith("+++ ")
        if head and (_EDIT.match(head[0]) or diff) and not _DIFF_FILE.search(path):
            raise Unreadable(
                f"the content of `{path}`, in the code fence at line {opened} of the response, is an edit, not a file: "
                f"{quoted(head[0])}",
                f"send the complete content of the file, or name the format that the edit has; {_SHAPE}",
            )


def parse_files(text: str) -> Parsed:
    """Read all whole files of a response. A response without any code fence is the problem `no_edits`."""
    reader = _Reader(response_lines(text.removeprefix("\ufeff")))
    problem: EditError | None = None
    try:
        reader.read()
    except Unreadable as e:
        problem = e.error
    edits = tuple(reader.edits)
    if problem is None and not edits:
        problem = EditError("no_edits", "the response holds no code fence with a file's content", _SHAPE)
    return Parsed(edits, problem, len(edits), "\n".join(reader.rest), "whole_file")


_PROMPT = """\
Answer with whole files. For each file that changes:

path/to/file.py
```python
every line of the file, from the first to the last
```

- The path, relative to the repository, stands alone on the line above the fence. Each file stands once.
- The content is complete and to the letter: what it leaves out is deleted. Never shorten with `...` or "rest of the \
code".
- Both fence lines begin in column 0. If the content holds fences itself, as Markdown does, use a longer fence: four \
backticks or more.
- Other code belongs in the prose, without a fence.
- All or none: if one file cannot be written, none is, and all must be sent again.
"""

WHOLE_FILE = Format("whole_file", "a whole file", None, parse_files, _PROMPT)
