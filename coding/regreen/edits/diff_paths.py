"""Which file a section of a diff is for: reads the names in its headers and decides what they say together.

Rule: prefixes are cut only where the headers prove or plainly follow the convention; names that do not agree are a
parse error, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from regreen.edits.parsed import Unreadable, quoted

NULL = "/dev/null"
Action: TypeAlias = Literal["modify", "create", "delete"]

_PREFIX = re.compile(r"[abciow12]/(?=.)", re.DOTALL)
_STAMP = re.compile(r" \d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?(?: ?[+-]\d\d:?\d\d| ?Z| ?UTC)? *$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_SAME = (
    "name the same file in all headers of a section: `--- a/path` and `+++ b/path`; to rename a file, begin its "
    "section with `diff --git a/old b/new`, `rename from old`, `rename to new`; then send the whole response again"
)


@dataclass(slots=True)
class Headers:
    """What the headers of one section say, as far as they are there. `line` is the number of the first one."""

    line: int
    git: tuple[str, str] | None = None
    old: str | None = None
    new: str | None = None
    renamed_from: str | None = None
    renamed_to: str | None = None
    created: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """What a section does, with which file; `to` is the new path of a file that is renamed."""

    action: Action
    path: str
    to: str = ""


def header_name(text: str, line: int) -> str:
    """The name in a `---`, `+++` or `rename` line (`text` is what stands behind that word), without time stamps."""
    if text.startswith('"'):
        name, rest = _unquoted(text, line)
        if rest and not rest.startswith((" ", "\t")):
            raise _unclear(line, f"there is more behind the quoted name {quoted(text)}")
        return name
    name, tab, _ = text.partition("\t")
    if tab:
        return name
    stamp = _STAMP.search(text)
    return (text[: stamp.start()] if stamp else text).rstrip(" ")


def git_names(text: str, line: int) -> tuple[str, str] | None:
    """Both names of a `diff --git` line; None if their border cannot be told (names with blanks that differ)."""
    if text.startswith('"'):
        first, rest = _unquoted(text, line)
        return (first, header_name(rest[1:], line)) if rest.startswith(" ") else None
    first, blank, rest = text.partition(' "')
    if blank and text.endswith('"'):
        return first, header_name('"' + rest, line)
    text = text.rstrip(" ")
    middle = len(text) // 2
    if text[middle : middle + 1] == " " and _common(text[:middle], text[middle + 1 :]):
        return text[:middle], text[middle + 1 :]
    words = text.split(" ")
    return (words[0], words[1]) if len(words) == 2 and all(words) else None


def subject_of(headers: Headers) -> Subject:
    """What the section is about. Raises Unreadable where its headers do not agree."""
    if headers.renamed_from is not None or headers.renamed_to is not None:
        return _renamed(headers)
    old, new = _sides(headers)
    creates, deletes = headers.created or old == NULL, headers.deleted or new == NULL
    if (creates and deletes) or (headers.created and old not in (None, NULL)):
        raise _unclear(headers.line, "the headers say in one place that the file is new, in another that it is not")
    if headers.deleted and new not in (None, NULL):
        raise _unclear(headers.line, "the headers say in one place that the file is deleted, in another that it is not")
    path = _path(headers, None if old == NULL else old, None if new == NULL else new)
    return Subject("create" if creates else "delete" if deletes else "modify", path)


def _sides(headers: Headers) -> tuple[str | None, str | None]:
    """The names on the old and the new side; the `diff --git` line may be the one that says that a side is missing."""
    git_old, git_new = headers.git or (None, None)
    old = NULL if headers.old is None and git_old == NULL else headers.old
    new = NULL if headers.new is None and git_new == NULL else headers.new
    if old == NULL and new == NULL:
        raise _unclear(headers.line, f"`{NULL}` stands on both sides, so no file is named")
    return old, new


def _path(headers: Headers, old: str | None, new: str | None) -> str:
    base = _git_path(headers)
    if old is not None and new is not None:
        path = _common(old, new)
        if not path:
            raise _different(headers.line, old, new)
    elif old is not None:
        path = _alone(old, base, "a/")
    elif new is not None:
        path = _alone(new, base, "b/")
    else:
        path = base
    if not path:
        raise _unclear(headers.line, "the headers do not tell which file is meant")
    if base and path != base:
        raise _different(headers.line, base, path)
    return path


def _git_path(headers: Headers) -> str:
    """The path that the `diff --git` line gives; empty if it gives none."""
    if headers.git is None:
        return ""
    old, new = headers.git
    if NULL in (old, new):
        return "" if old == new else _alone(new, "", "b/") if old == NULL else _alone(old, "", "a/")
    path = _common(old, new)
    if not path:
        raise _different(headers.line, old, new)
    return path


def _renamed(headers: Headers) -> Subject:
    old, new = headers.renamed_from, headers.renamed_to
    if not old or not new:
        raise _unclear(headers.line, "a rename needs both lines, `rename from` and `rename to`")
    if headers.created or headers.deleted or old == new:
        raise _unclear(headers.line, "the headers of the rename contradict each other")
    git_old, git_new = headers.git or (None, None)
    for name, path in ((git_old, old), (headers.old, old), (git_new, new), (headers.new, new)):
        if name is not None and not _names(name, path):
            raise _different(headers.line, name, path)
    return Subject("modify", old, new)


def _common(old: str, new: str) -> str:
    """The path that both sides name; empty if they differ."""
    if old == new:
        return old
    return old[2:] if _PREFIX.match(old) and _PREFIX.match(new) and old[2:] == new[2:] else ""


def _names(name: str, path: str) -> bool:
    return name == path or (name[2:] == path and _PREFIX.match(name) is not None)


def _alone(name: str, base: str, prefix: str) -> str:
    """The path of a name that has no other beside it but `base`, where that is known."""
    if base:
        return base if _names(name, base) else name
    return name[2:] if name.startswith(prefix) and len(name) > 2 else name


def _unquoted(text: str, line: int) -> tuple[str, str]:
    """The name in quotes that begins `text`, as git writes it, and what follows it."""
    found = _QUOTED.match(text)
    if found is None:
        raise _unclear(line, f"the quoted name does not end: {quoted(text)}")
    parts: list[bytes] = []
    at = 0
    try:
        for escape in _ESCAPE.finditer(found[1]):
            parts.append(found[1][at : escape.start()].encode("utf-8", "surrogateescape"))
            code = int(escape[1], 8) if len(escape[1]) == 3 else _LETTERS[escape[1]]
            parts.append(bytes((code,)))
            at = escape.end()
        parts.append(found[1][at:].encode("utf-8", "surrogateescape"))
    except (KeyError, UnicodeEncodeError):
        raise _unclear(line, f"the quoted name cannot be read: {quoted(text)}") from None
    return b"".join(parts).decode("utf-8", "surrogateescape"), text[found.end() :]


def _unclear(line: int, what: str) -> Unreadable:
    return Unreadable(f"the file section at line {line} of the response is not clear: {what}", _SAME)


def _different(line: int, one: str, other: str) -> Unreadable:
    return Unreadable(
        f"the file section at line {line} of the response names two different files, {quoted(one)} and "
        f"{quoted(other)}, without rename lines that say so",
        _SAME,
    )  # fmt: skip
