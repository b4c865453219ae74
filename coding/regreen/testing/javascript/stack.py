"""Stack traces as V8 writes them, read into frames."""

from __future__ import annotations

import re
from urllib.parse import unquote

from regreen.testing.channel import Frame

MAX_LINES = 200
_AT = re.compile(r"^\s+at (?:(?P<name>.+?) \()?(?P<place>[^()]+|.+?):(?P<line>\d+):\d+\)?$")
_WORDS = ("async ", "new ")
_CALLERS = ("TestContext.", "SuiteContext.", "Context.", "Object.", "Proxy.", "Module.")


def frames(stack: str) -> tuple[Frame, ...]:
    """The frames of a trace, outermost first. Node's own are left out."""
    found: list[Frame] = []
    for line in stack.splitlines()[-MAX_LINES:]:
        match = _AT.match(line[:2000])
        if match is None:
            continue
        path = _path(match["place"])
        if path:
            found.append(Frame(path, int(match["line"]), _name(match["name"] or "")))
    return tuple(reversed(found))


def _path(place: str) -> str:
    place = place.removeprefix("async ")
    if place.startswith(("node:", "internal/", "eval at ", "<anonymous>", "native", "webpack:")):
        return ""
    if place.startswith("file://"):
        place = unquote(place.removeprefix("file://"))
    return place.partition("?")[0]


def _name(name: str) -> str:
    for word in _WORDS:
        name = name.removeprefix(word)
    for caller in _CALLERS:
        name = name.removeprefix(caller)
    return name.partition(" [as ")[0] or "<anonymous>"
