"""Files that cannot be parsed: the error itself and its place, taken out of what compilers and runners say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

_MAX_CHARS = 20_000
_BABEL = re.compile(
    r"^[ \t]{0,20}(?P<kind>\w{0,40}Error): (?P<path>/[^\n]{1,500}?): (?P<said>[^\n]{1,500} \((?P<line>\d+):\d+\))",
    re.MULTILINE,
)
_NODE = re.compile(
    r"^[ \t]{0,20}(?:Exception during run: )?(?:file://)?(?P<path>/[^\n]{1,500}):(?P<line>\d+)\n[^\n]*\n[ \t]*\^+[ \t]*"
    r"\n\s{0,20}(?P<kind>\w{0,40}Error)(?: \[\w+\])?: (?P<said>[^\n]+)",
    re.MULTILINE,
)
_BUNDLERS = (
    re.compile(r"╭─\[ ?(?P<path>[^\n]{1,500}?):(?P<line>\d+):\d+ ?\]"),  # oxc and rolldown
    re.compile(r"^[ \t]{0,20}(?P<path>[^\s:][^\n:]{0,500}):(?P<line>\d+):\d+: ERROR: ", re.MULTILINE),  # esbuild
    re.compile(r"^[ \t]{0,20}(?:At file|File): (?P<path>[^\n:]{1,500}):(?P<line>\d+):\d+", re.MULTILINE),  # rollup
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A place in a file that cannot be parsed. `kind` and `said` are empty where the message is good as it is."""

    path: str
    line: int
    kind: str = ""
    said: str = ""


def broken(message: str, trace: str = "", output: str = "") -> Broken | None:
    """The place that a failure to load a file tells of: in its message, its stack, or what its process printed."""
    for text in (message, trace, output):
        for pattern in (_BABEL, _NODE):
            match = pattern.search(text[:_MAX_CHARS])
            if match is not None:
                return Broken(unquote(match["path"]), int(match["line"]), match["kind"], match["said"])
    for pattern in _BUNDLERS:
        match = pattern.search(message[:_MAX_CHARS])
        if match is not None:
            return Broken(match["path"].strip(), int(match["line"]))
    return None
