"""What a value on a command line may be. Each check takes the value and the workspace root and returns what is wrong.

Paths stay inside the root, also through links; nothing starts like an option, a response file or a home folder.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Validator: TypeAlias = Callable[[str, Path], str]
"""Returns "" for a good value, else what was wanted, as the end of a sentence."""

MAX_EXPRESSION = 500
MAX_PATH = 1024
MAX_NODE_ID = 2000
OUTSIDE = "the path leads out of the project"
_DRIVE = re.compile(r"[A-Za-z]:")
_GLOB = frozenset("*?[]{}()!+")
_UNPRINTABLE = frozenset(("Cc", "Zl", "Zp"))
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # show text in another order


def printable(value: str, limit: int) -> str:
    """No control characters, nothing that turns the order of what is shown, nothing that cannot be written down."""
    if len(value) > limit:
        return f"at most {limit} characters are allowed"
    if any(unicodedata.category(c) in _UNPRINTABLE or c in _DIRECTIONS for c in value):
        return "control characters are not allowed"
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    return ""


def starts_with_other_dash(word: str) -> bool:
    """Whether a word begins with a dash that is not `-`, as text copied from a web page does."""
    return word[:1] != "-" and (unicodedata.category(word[:1] or " ") == "Pd" or word[:1] in "\u2212\u2043\u00ad")


def plain_in_a_shell(value: str) -> bool:
    """Whether a word stays one word, and itself, between double quotes of a shell: older package managers put what
    they hand on to a script between those, and escape the double quotes in it only."""
    return re.search(r"""`|\$[\w({@*#?!$\-'"]|\\["\\$`]|\\$""", value) is None


def expression(value: str, _root: Path) -> str:
    """A filter such as `not slow`: any printable text."""
    return printable(value, MAX_EXPRESSION)


def relative_path(value: str, root: Path) -> str:
    """A path below the root, written relative to it."""
    problem = printable(value, MAX_PATH)
    if problem:
        return problem
    if not value or value[0] in "-@~" or Path(value).is_absolute() or "\\" in value or _DRIVE.match(value):
        return "a path relative to the project is wanted, with forward slashes"
    real_root = os.path.realpath(root)
    if not Path(os.path.realpath(Path(real_root) / value)).is_relative_to(real_root):
        return OUTSIDE
    return ""


def path_pattern(value: str, root: Path) -> str:
    """A path below the root that the program may take as a pattern, such as `test/**/*.test.js`."""
    if ".." in value and not _GLOB.isdisjoint(value):
        return "`..` is not allowed in a pattern"
    return relative_path(value, root)


def path_behind_dashes(value: str, root: Path) -> str:
    """A path below the root, where what begins with `-` is a path too; `:` begins git's own words for paths."""
    if value.startswith(":"):
        return "a plain path is wanted, not one that begins with `:`"
    if Path(value).is_absolute():
        return OUTSIDE
    return relative_path(f"./{value}" if value[:1] in ("-", "@", "~") else value, root)


def node_id(value: str, root: Path) -> str:
    """A path below the root, with or without a `::test` behind it."""
    return printable(value, MAX_NODE_ID) or relative_path(value.partition("::")[0], root)


def number(low: int, high: int) -> Validator:
    def check(value: str, _root: Path) -> str:
        good = re.fullmatch(r"[0-9]{1,9}", value) and low <= int(value) <= high
        return "" if good else f"a number from {low} to {high} is wanted"

    return check


def pattern(regex: str, wanted: str) -> Validator:
    def check(value: str, _root: Path) -> str:
        return "" if re.fullmatch(regex, value, re.ASCII) else f"{wanted} is wanted"

    return check


def one_of(*words: str) -> Validator:
    def check(value: str, _root: Path) -> str:
        return "" if value in words else f"one of {', '.join(words)} is wanted"

    return check


def either(one: Validator, other: Validator) -> Validator:
    """Good if one of two is; what is wrong is told in the words of the first."""

    def check(value: str, root: Path) -> str:
        problem = one(value, root)
        return "" if not problem or not other(value, root) else problem

    return check
