"""Source lines around a place in the project, for frames that came without them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from regreen.errors import RegreenError
from regreen.testing.channel import Frame
from regreen.workspace import Workspace

MAX_FRAMES = 3
_AROUND = 1


def with_sources(frames: Iterable[Frame], workspace: Workspace) -> tuple[Frame, ...]:
    """The last frames that lie in the project, as paths below its root, with the lines around them.

    Frames come outermost first. A path may be absolute or relative to the root; what lies in dependency folders or
    outside is left out.
    """
    inside: list[Frame] = []
    for frame in frames:
        path = relative_to(frame.path, workspace.root)
        if path and "node_modules/" not in path and "site-packages/" not in path:
            inside.append(replace(frame, path=path))
    return tuple(_with_source(f, workspace) for f in inside[-MAX_FRAMES:])


def relative_to(path: str, root: Path) -> str:
    """`path` relative to the root, with forward slashes; "" where it lies outside."""
    if not path:
        return ""
    place = Path(path)
    if not place.is_absolute():
        return "" if ".." in place.parts else place.as_posix()
    for base in (root, root.resolve()):
        if place.is_relative_to(base):
            return place.relative_to(base).as_posix()
    return ""


def _with_source(frame: Frame, workspace: Workspace) -> Frame:
    if frame.lines or frame.line < 1:
        return frame
    first = max(1, frame.line - _AROUND)
    try:
        text = workspace.read_text(frame.path, first, frame.line + _AROUND).text
    except RegreenError:
        return frame
    return replace(frame, first=first, lines=tuple(text.splitlines()))
