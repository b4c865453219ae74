"""The rows of Python's unittest, as a list of names or by discovery."""

from __future__ import annotations

from pathlib import Path

from regreen.commands.grammar import Row, Schema
from regreen.commands.validators import expression, number, pattern, relative_path

_DOTTED = pattern(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", "a dotted name such as tests.test_a.TestA.test_b, or a path,")
_FILES = pattern(r"[\w*?.\[\]][\w*?.\[\]\-]{0,99}", "a pattern of file names such as test_*.py")


def _target(value: str, root: Path) -> str:
    return relative_path(value, root) if "/" in value else _DOTTED(value, root)


_SWITCHES = frozenset((
    *("-v", "--verbose", "-q", "--quiet", "-f", "--failfast", "-b", "--buffer", "-c", "--catch", "--locals"),
))  # fmt: skip
_NAMED = Schema(
    switches=_SWITCHES,
    options={"-k": expression, "--durations": number(0, 1000)},
    glued="k",
    bundle="vqfbc",
    positional=_target,
)
_DISCOVERED = Schema(
    switches=_SWITCHES,
    options={
        **_NAMED.options,
        "-s": relative_path,
        "--start-directory": relative_path,
        "-p": _FILES,
        "--pattern": _FILES,
        "-t": relative_path,
        "--top-level-directory": relative_path,
    },
    glued="k",
    bundle="vqfbc",
    positional=relative_path,
)

ROWS = tuple(
    Row((python, "-m", "unittest", *discover), "unittest", _DISCOVERED if discover else _NAMED)
    for python in ("python", "python3")
    for discover in ((), ("discover",))
)
