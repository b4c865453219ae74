"""The rows of RSpec."""

from __future__ import annotations

import re
from pathlib import Path

from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import LOADS, RUNS, WAITS, WRITES, because
from regreen.commands.validators import expression, number, one_of, path_pattern, pattern

_PLACE = re.compile(r"(:[0-9]+)+$|\[[0-9:,]+\]$", re.ASCII)
_FORMAT = one_of("d", "documentation", "p", "progress", "j", "json", "f", "failures")
_TAG = pattern(r"~?[A-Za-z_]\w{0,60}(:[\w\-]{1,60})?", "a tag such as slow or ~slow")
_ORDER = pattern(r"defined|(rand|random)(:[0-9]{1,9})?|recently-modified", "defined, rand or rand:SEED")


def _spec(value: str, root: Path) -> str:
    return path_pattern(_PLACE.sub("", value), root)


_SCHEMA = Schema(
    switches=frozenset(
        (
            *("--fail-fast", "--no-fail-fast", "--no-color", "--color", "--no-colour", "--colour", "--force-color"),
            *(
                "-b",
                "--backtrace",
                "--only-failures",
                "--next-failure",
                "-n",
                "--warnings",
                "--dry-run",
                "--no-profile",
            ),
            "--profile",
        )
    ),
    options={
        "-e": expression,
        "--example": expression,
        "-E": expression,
        "--example-matches": expression,
        "-f": _FORMAT,
        "--format": _FORMAT,
        "-t": _TAG,
        "--tag": _TAG,
        "--order": _ORDER,
        "--seed": number(0, 999_999_999),
        "--exclude-pattern": path_pattern,
        "-P": path_pattern,
        "--pattern": path_pattern,
    },
    attached={"--fail-fast": number(1, 10000), "--profile": number(1, 1000)},
    glued="f",
    positional=_spec,
    refused=because(LOADS, "-r*", "--require", "-I*", "-O", "--options", "--default-path", "-f*")
    | because(WRITES, "-o", "--out", "--init", "--deprecation-out")
    | because(RUNS, "-X", "--drb*", "--bisect*")
    | because(WAITS, "--drb-port"),
)

ROWS = (Row(("rspec",), "rspec", _SCHEMA), Row(("bundle", "exec", "rspec"), "rspec", _SCHEMA))
