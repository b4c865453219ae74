"""What a value on a command line may be. Each check takes the value and the workspace root and returns what is wrong.

Paths stay inside the root, also through links; nothing starts like an option, a response file or a home folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Validator: TypeAlias = Callable[[str, Path], str]
"""Returns "" for a good value, else what was wanted, as the end of a sentence."""

MAX_EXPRESSION = 500
MAX_PATH = 1024
MAX_NODE_ID = 2000
_DRIVE = re.compile(r"[A-Za-z]:")


def printable(value: str, limit: int) -> str:
    if len(value) > limit:
        return f"at most {limit} characters are allowed"
    if any(ord(c) < 32 or ord(c) == 127 for c in value):
        return "control characters are not allowed"
    return ""


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
        return "the path leads out of the project"
    return ""


def node_id(value: str, root: Path) -> str:
    """A path below the root, with or without a `::test` behind it."""
    return printable(value, MAX_NODE_ID) or relative_path(value.partition("::")[0], root)


def number(low: int, high: int) -> Validator:
    def check(value: str, _root: Path) -> str:
        good = re.fullmatch(r"[0-9]{1,9}", value) and low <= int(value) <= high
        return "" if good else f"a number from {low} to {high} is wanted"

    return check


def pattern(regex: str, wanted: str) -> Validator:
    compiled = re.compile(regex, re.ASCII)

    def check(value: str, _root: Path) -> str:
        return "" if compiled.fullmatch(value) else f"{wanted} is wanted"

    return check


def one_of(*words: str) -> Validator:
    def check(value: str, _root: Path) -> str:
        return "" if value in words else f"one of {', '.join(words)} is wanted"

    return check
