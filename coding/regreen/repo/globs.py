"""Glob patterns, name by name: `*` and `?` stay within a name, `**` stands for any number of folders.

Linear in the length of what is matched, whatever the pattern: patterns come from callers and from ignore files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

Parts: TypeAlias = Sequence["re.Pattern[str] | None"]
"""What stands between the slashes of a pattern; None for `**`."""

_CLASS = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r" \t-\r",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f", "cntrl": r"\x00-\x1f\x7f",
    "print": r"\x20-\x7e", "graph": r"\x21-\x7e",
}  # fmt: skip
_NEVER = re.compile(r"(?!)")


def matches(parts: Parts, path: str) -> bool:
    """Whether the whole path matches. All ways are followed at once."""
    at = _reach(parts, {0})
    for name in path.split("/"):
        on: set[int] = set()
        for i in at:
            if i < len(parts):
                part = parts[i]
                if part is None:
                    on.add(i)
                elif part.match(name):
                    on.add(i + 1)
        if not on:
            return False
        at = _reach(parts, on)
    return len(parts) in at


def _reach(parts: Parts, at: set[int]) -> set[int]:
    reached = set(at)
    for i in sorted(at):
        while i < len(parts) and parts[i] is None:
            i += 1
            reached.add(i)
    return reached


def names_of(glob: str) -> list[str]:
    """What stands between the slashes of a pattern. One that is in brackets or escaped parts nothing."""
    names, begin, at = [""], 0, 0
    while at < len(glob):
        if glob[at] == "[":
            at = _bracket(glob, at + 1)[1]
        elif glob[at] == "/":
            names[-1] = glob[begin:at]
            names.append("")
            begin = at = at + 1
        else:
            at += 1 + (glob[at] == "\\")
    names[-1] = glob[begin:]
    return names


def name_regex(glob: str) -> str:
    """A regular expression for a name, as git reads a pattern: with `\\` to escape and classes like `[[:alpha:]]`."""
    pieces = [""]  # what stands between the stars
    at = 0
    while at < len(glob):
        c = glob[at]
        at += 1
        if c == "*":
            pieces.append("")
        elif c == "?":
            pieces[-1] += "."
        elif c == "[":
            piece, at = _bracket(glob, at)
            pieces[-1] += piece
        elif c == "\\":
            if at == len(glob):
                return r"(?!)"
            pieces[-1] += re.escape(glob[at])
            at += 1
        else:
            pieces[-1] += re.escape(c)
    first, *others = pieces
    if not others:
        return first + r"\Z"
    # The first place where a piece fits is the best one: no other needs to be tried.
    middle = "".join([f"(?>.*?{piece})" for piece in others[:-1] if piece])
    return f"{first}{middle}.*{others[-1]}\\Z"


@lru_cache(maxsize=4096)
def name_pattern(glob: str) -> re.Pattern[str]:
    try:
        return re.compile(name_regex(glob), re.DOTALL)
    except re.error:  # a range that runs backwards
        return _NEVER


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """The set that begins behind `[` at `at`, and where it ends. One without an end matches nothing."""
    inverted = glob[at : at + 1] in ("!", "^")
    begin = at = at + inverted
    chosen = ""
    while at < len(glob):
        c = glob[at]
        if c == "]" and at > begin:
            return (f"[^{chosen}]" if inverted else f"[{chosen}]"), at + 1
        if glob.startswith("[:", at) and (end := glob.find(":]", at)) > 0:
            chosen += _CLASS.get(glob[at + 2 : end], "")
            at = end + 2
            continue
        if c == "\\" and at + 1 < len(glob):
            at += 1
            c = glob[at]
        chosen += "-" if c == "-" and begin < at and glob[at + 1 : at + 2] not in ("]", "") else re.escape(c)
        at += 1
    return "(?!)", len(glob)
