"""What a Rust test leaves when it fails: a panic with its place and trace, an error that it returned. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from regreen.testing.channel import Frame

_NEW = re.compile(
    r"^thread '(?P<thread>[^\n]*?)' (?:\(\d+\) )?panicked at (?P<file>[^\n]+?):(?P<line>\d+):\d+:\n"
    r"(?P<message>.*?)(?=^stack backtrace:|^note: |^thread '|\Z)",
    re.MULTILINE | re.DOTALL,
)
_OLD = re.compile(
    r"^thread '(?P<thread>[^\n]*?)' panicked at '(?P<message>.*?)', (?P<file>[^\n']+?):(?P<line>\d+):\d+$",
    re.MULTILINE | re.DOTALL,
)
_FRAME = re.compile(r"^ +\d+: (?P<name>[^\n]+)\n +at (?P<file>[^\n]+?):(?P<line>\d+)(?::\d+)?$", re.MULTILINE)
_RETURNED = re.compile(r"^Error: (?P<message>.+)", re.MULTILINE)
_HASH = re.compile(r"::h[0-9a-f]{16}$")
_MAX_TEXT = 60_000


@dataclass(frozen=True, slots=True)
class Panic:
    """`frames` come outermost first, as the text names them: relative to the package, or absolute."""

    kind: str
    message: str
    file: str = ""
    line: int = 0
    frames: tuple[Frame, ...] = ()


def panic_in(text: str, test: str) -> Panic | None:
    """The panic of the thread that the test's name (a path such as `tests::adds`) is that of; else the first."""
    text = text[-_MAX_TEXT:]
    found = list(_NEW.finditer(text)) or list(_OLD.finditer(text))
    if not found:
        returned = _RETURNED.search(text)
        return Panic("Error", returned["message"].strip()) if returned else None
    chosen = next((m for m in found if m["thread"] == test), found[0])
    after = text[chosen.end() :]
    ends = re.search(r"^thread '", after, re.MULTILINE)
    frames = _frames(after[: ends.start()] if ends else after)
    return Panic("panic", chosen["message"].strip(), chosen["file"], int(chosen["line"]), frames)


def _frames(trace: str) -> tuple[Frame, ...]:
    found = [Frame(m["file"], int(m["line"]), _HASH.sub("", m["name"])) for m in _FRAME.finditer(trace)]
    own = [f for f in found if not f.path.startswith("/rustc/") and "/.cargo/registry/" not in f.path]
    own = [f for f in own if "/rustlib/src/rust/" not in f.path]
    if len(own) > 1 and own[-1].name.startswith(f"{own[-2].name}::{{{{closure}}}}"):
        own.pop()  # the harness's call of the test
    return tuple(reversed(own))
