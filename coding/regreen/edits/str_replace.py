"""The str_replace format: reads a JSON list of text editor calls.

    [{"command": "str_replace", "path": "a.py", "old_str": "x = 1", "new_str": "x = 2"}]

Rule: a call says everything it needs, in the type it needs, once; whatever is missing, unknown, twice or of another
type is a parse error, since half of a call is what a cut-off response leaves. Nothing is filled in: a text is
deleted only by an explicit `"new_str": ""`. A field that is `null` counts as absent.

The list may be the whole response, or stand in code fences with prose around them. Read too, since they have one
meaning: `old_string`, `new_string`, `file_path` for `old_str`, `new_str`, `path`; `new_str` for the `insert_text` of
an insert; a call without `command` that has an old and a new text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from regreen.edits.fences import Fence, fence_of
from regreen.edits.operations import CreateFile, InsertLines, Operation, ReplaceText
from regreen.edits.parsed import Format, Parsed, Unreadable, quoted, response_lines
from regreen.model import EditError

_KEY = r"""(?:"command"|["']?(?:old_str|new_str|old_string|new_string|insert_line|insert_text|file_text)["']?)\s*+:"""
_CALLISH = re.compile(_KEY)
_LEFT_OVER = re.compile(rf"[{{,]\s*+{_KEY}")
_JSON = re.compile(r"\s*+(?:\[\s*+(?:[\]{]|\Z)|\{\s*+(?:[\"}]|\Z))")
_FIRST_FIELDS = r'(?:"(?:path|file_path|insert_line|replace_all)"\s*+:\s*+(?:"[^"\n]{0,500}"|\w{1,20})\s*+,\s*+){0,3}'
_MARKS = re.compile(
    r"(?:\A\ufeff?\s*+|^[ \t]{0,3}(?:`{3,}+|~{3,}+)[ \t]*+(?:json\w{0,2})?[ \t]*+\r?\n\s*+)(?:\[\s*+)?+\{\s*+"
    + _FIRST_FIELDS
    + r'(?:"command"\s*+:\s*+"(?:str_replace|insert|create|view|undo_edit)"|"old_str(?:ing)?"\s*+:\s*+")',
    re.MULTILINE,
)

_SHAPE = (
    'send all calls again as one JSON list, for example [{"command": "str_replace", "path": "a.py", "old_str": '
    '"x = 1", "new_str": "x = 2"}]; inside of strings write \\n for a line end, \\" for a quote, \\\\ for a backslash'
)
_CUT_OFF = "the response may have been cut off; send all of its calls again, complete"


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object as it was written: a key may occur twice."""

    pairs: tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class _NotJson:
    """A word that Python's reader lets pass and JSON does not have."""

    word: str


@dataclass(frozen=True, slots=True)
class _Call:
    number: int
    command: str
    fields: Mapping[str, object]

    def text(self, name: str) -> str:
        value = self._needed(name)
        if not isinstance(value, str):
            raise self.wrong(name, value, "a text")
        return value

    def path(self) -> str:
        path = self.text("path")
        if not path:
            raise Unreadable(f"call {self.number} ({self.command}): `path` is empty; wanted a file's path", _SHAPE)
        return path

    def line(self, name: str) -> int:
        value = self._needed(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(name, value, "a whole number")
        if value < 0:
            raise self.wrong(name, value, "0 (the top of the file) or a line number")
        return value

    def flag(self, name: str) -> bool:
        value = self.fields.get(name, False)
        if not isinstance(value, bool):
            raise self.wrong(name, value, "true or false")
        return value

    def _needed(self, name: str) -> object:
        if name in self.fields:
            return self.fields[name]
        why = ', or ""' if name == "new_str" else ""
        raise Unreadable(f"call {self.number} ({self.command}): `{name}` is missing; wanted every field of the call",
                         f"give `{name}`{why}; if you did, {_CUT_OFF}")  # fmt: skip

    def wrong(self, name: str, value: object, wanted: str) -> Unreadable:
        return Unreadable(f"call {self.number} ({self.command}): `{name}` is {_shown(value)}; wanted {wanted}", _SHAPE)


@dataclass(frozen=True, slots=True)
class _Command:
    fields: tuple[str, ...]  # beside `command` and `path`
    build: Callable[[_Call], Operation]


def _replace(call: _Call) -> ReplaceText:
    return ReplaceText(call.path(), call.text("old_str"), call.text("new_str"), call.flag("replace_all"))


def _insert(call: _Call) -> InsertLines:
    return InsertLines(call.path(), call.line("insert_line"), call.text("insert_text"))


def _create(call: _Call) -> CreateFile:
    return CreateFile(call.path(), call.text("file_text"))


_COMMANDS = {
    "str_replace": _Command(("old_str", "new_str", "replace_all"), _replace),
    "insert": _Command(("insert_line", "insert_text"), _insert),
    "create": _Command(("file_text",), _create),
}
_NOT_HERE = ("view", "undo_edit")
_ALIASES = {"old_string": "old_str", "new_string": "new_str", "file_path": "path"}
_KNOWN = {"command", "path", "view_range", *_ALIASES, *(name for c in _COMMANDS.values() for name in c.fields)}


def parse_calls(text: str) -> Parsed:
    """Read all calls of a response. An empty list, or none at all, is the problem `no_edits`."""
    edits: list[Operation] = []
    found = _find(text.removeprefix("\ufeff"))
    problem: EditError | None = None
    try:
        for source, line in found.sources:
            for item in _items(_decoded(source, line)):
                edits.append(_operation(len(edits) + 1, item))
        _check_rest(found.rest)
        _check_end(found)
    except Unreadable as e:
        problem = e.error
    if problem is None and not edits:
        what = "the list of calls is empty" if found.sources else "the response holds no str_replace calls"
        problem = EditError("no_edits", what, _SHAPE)
    return Parsed(tuple(edits), problem, len(edits), found.rest, "str_replace")


@dataclass(slots=True)
class _Found:
    """The JSON texts of a response, each with the line it begins at, and what stands around them.

    `open_fence` is the line of a code fence that begins behind them and does not end; 0 if there is none.
    """

    sources: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    rest: str = ""
    open_fence: int = 0


def _find(text: str) -> _Found:
    """The whole text, if it looks like JSON; else the code fences that hold calls."""
    if _JSON.match(text):
        return _Found([(text, 1)])
    lines = response_lines(text)
    fences, is_open = _fenced(lines)
    sources = [("\n".join(lines[start:end]), start, end) for start, end in fences]
    sources = [source for source in sources if _JSON.match(source[0])]
    chosen = [source for source in sources if _CALLISH.search(source[0])] or sources[:1]
    rest: list[str] = []
    done = 0
    for _, start, end in chosen:
        rest += lines[done : start - 1]
        done = end + 1
    rest += lines[done:]
    cut = bool(chosen) and is_open and chosen[-1][1] != fences[-1][0]
    return _Found([(source, start + 1) for source, start, _ in chosen], "\n".join(rest), fences[-1][0] if cut else 0)


def _fenced(lines: list[str]) -> tuple[list[tuple[int, int]], bool]:
    """First line and end of the content of each code fence; and whether the last is unclosed: it goes to the end."""
    found: list[tuple[int, int]] = []
    opened: Fence | None = None
    start = 0
    for at, line in enumerate(lines):
        fence = fence_of(line)
        if fence is None:
            continue
        if opened is None:
            opened, start = fence, at + 1
        elif fence.rivals(opened) and not fence.info:
            found.append((start, at))
            opened = None
    if opened is not None:
        found.append((start, len(lines)))
    return found, opened is not None


def _check_rest(rest: str) -> None:
    left = _LEFT_OVER.search(rest)
    if left is not None:
        line = rest.count("\n", 0, left.start())
        raise Unreadable(
            f"calls stand outside of what could be read as calls: {quoted(rest.split(chr(10))[line].strip())}; wanted "
            "one JSON list that is the whole response, or stands in a ```json fence",
            _SHAPE,
        )


def _check_end(found: _Found) -> None:
    if found.open_fence:
        raise Unreadable(f"the code fence at line {found.open_fence} of the response, behind the calls, does not end",
                         f"{_CUT_OFF}; {_SHAPE}")  # fmt: skip


def _decoded(source: str, line: int) -> object:
    """The value of a JSON text that begins at that line of the response. Raises Unreadable for anything else."""
    try:
        value: object = json.loads(source, object_pairs_hook=_object, parse_constant=_NotJson)
    except json.JSONDecodeError as e:
        raise _not_json(source, line, e) from None
    except RecursionError:
        raise Unreadable("the JSON is nested too deeply; wanted a list of objects", _SHAPE) from None
    except ValueError:  # a number with more digits than Python converts
        raise Unreadable("the JSON holds a number that is too long; wanted line numbers", _SHAPE) from None
    return value


def _object(pairs: list[tuple[str, object]]) -> _Object:
    return _Object(tuple(pairs))


def _not_json(source: str, line: int, error: json.JSONDecodeError) -> Unreadable:
    said = error.msg.removesuffix(" at")
    where = f"line {line + error.lineno - 1}, column {error.colno} of the response"
    if error.msg == "Extra data":
        near = quoted(source[error.pos : error.pos + 80].split("\n")[0])
        return Unreadable(f"more text follows the JSON value at {where}: {near}; wanted one list", _SHAPE)
    if error.msg.startswith("Unterminated") or error.pos >= len(source.rstrip()):
        return Unreadable(f"the JSON of the calls does not end: {said} at {where}", f"{_CUT_OFF}; {_SHAPE}")
    near = quoted(source[max(0, error.pos - 20) : error.pos + 20])
    return Unreadable(f"the calls are not valid JSON: {said} at {where}, near {near}", _SHAPE)


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _operation(number: int, item: object) -> Operation:
    if not isinstance(item, _Object):
        raise Unreadable(f"call {number} is {_shown(item)}; wanted an object with `command` and `path`", _SHAPE)
    fields = _fields(number, item)
    name = _command(number, fields)
    if name == "insert" and "insert_text" not in fields and "new_str" in fields:
        fields["insert_text"] = fields.pop("new_str")
    command = _COMMANDS[name]
    foreign = next((key for key in fields if key not in ("command", "path", *command.fields)), None)
    if foreign is not None:
        raise Unreadable(f"call {number} ({name}): `{foreign}` does not belong to it; wanted `path`, "
                         f"{_listed(command.fields)}", _SHAPE)  # fmt: skip
    return command.build(_Call(number, name, fields))


def _fields(number: int, item: _Object) -> dict[str, object]:
    """The fields under their own names, without those that are null."""
    seen: set[str] = set()
    fields: dict[str, object] = {}
    for key, value in item.pairs:
        name = _ALIASES.get(key, key)
        if name in seen:
            raise Unreadable(f"call {number}: `{name}` is given twice; it is not clear which is meant", _SHAPE)
        if key not in _KNOWN:
            raise Unreadable(f"call {number}: unknown field {quoted(key)}; wanted `command`, `path` and what the "
                             f"command takes: {_commands()}", _SHAPE)  # fmt: skip
        seen.add(name)
        if value is not None:
            fields[name] = value
    return fields


def _command(number: int, fields: Mapping[str, object]) -> str:
    name = fields.get("command")
    if name is None and "old_str" in fields and "new_str" in fields:
        return "str_replace"
    if name is None:
        raise Unreadable(f"call {number}: `command` is missing; wanted one of {_commands()}", f"{_SHAPE}; {_CUT_OFF}")
    if isinstance(name, str) and name in _COMMANDS:
        return name
    if name in _NOT_HERE:
        raise Unreadable(f"call {number}: `{name}` is no edit and cannot be done here; wanted one of {_commands()}",
                         f"leave it out and send the other calls again; {_SHAPE}", kind="unsupported")  # fmt: skip
    raise Unreadable(f"call {number}: unknown command {_shown(name)}; wanted one of {_commands()}", _SHAPE)


def _commands() -> str:
    return "; ".join(f"`{name}` ({_listed(command.fields)})" for name, command in _COMMANDS.items())


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _shown(value: object) -> str:
    """A JSON value as a message shows it: what it is, and how it begins."""
    if isinstance(value, _Object):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, _NotJson):
        return f"{value.word}, which JSON does not have"
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"the number {str(value)[:20]}" if isinstance(value, (int, float)) else "null"


_PROMPT = """\
Answer with one JSON list of calls, and nothing else:

```json
[
  {"command": "str_replace", "path": "path/to/file.py", "old_str": "return a + b", "new_str": "return a * b"},
  {"command": "insert", "path": "path/to/file.py", "insert_line": 0, "insert_text": "import math\\n"},
  {"command": "create", "path": "path/to/new.py", "file_text": "VALUE = 1\\n"}
]
```

- Paths are relative to the repository. Inside of strings write \\n for a line end, \\" for a quote, \\\\ for a \
backslash.
- `old_str` is text of the file, to the letter, indentation too, without line numbers. It must occur exactly once and \
not begin or end inside a word; take more text around it until it does. `"replace_all": true` changes all places.
- An empty `new_str` deletes the text; it is never left out.
- `insert` puts lines behind line `insert_line`, counted in the file as it is before any of the calls; 0 is the top.
- `create` makes a file that does not exist; it never overwrites.
- Line ends are kept as the file has them. Never shorten with `...` or "rest of the code".
- All or none: if one call does not fit, nothing is written and all must be sent again.
"""

STR_REPLACE = Format("str_replace", "str_replace calls", _MARKS, parse_calls, _PROMPT)
