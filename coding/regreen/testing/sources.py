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
_FOREIGN = frozenset({"node_modules", "site-packages", "vendor"})  # other people's code inside the project
_MAX_LINE = 1000  # far more than is shown: what is secret in a line is masked before it is cut short


class Sources:
    """The texts of a project's files as one report needs them: each file is read once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._texts: dict[str, list[str]] = {}

    def around(self, frames: Iterable[Frame]) -> tuple[Frame, ...]:
        """The last frames that lie in the project, as paths below its root, with the lines around them.

        Frames come outermost first. A path may be absolute or relative to the root; what lies in dependency folders
        or outside is left out.
        """
        inside: list[Frame] = []
        for frame in frames:
            path = relative_to(frame.path, self._workspace.root)
            if path and not _FOREIGN.intersection(path.split("/")):
                inside.append(replace(frame, path=path))
        return tuple(self._with_source(f) for f in inside[-MAX_FRAMES:])

    def look(self, frames: Iterable[Frame]) -> None:
        """Read the files of frames that came with their lines: what a whole file shows to be secret is masked in any
        of its lines from then on."""
        for frame in frames:
            if path := relative_to(frame.path, self._workspace.root):
                self._lines(path)

    def _with_source(self, frame: Frame) -> Frame:
        lines = self._lines(frame.path)
        if frame.lines or not 1 <= frame.line <= len(lines):
            return frame
        first = max(1, frame.line - _AROUND)
        shown = lines[first - 1 : frame.line + _AROUND]
        return replace(frame, first=first, lines=tuple(line[:_MAX_LINE] for line in shown))

    def _lines(self, path: str) -> list[str]:
        if path not in self._texts:
            try:
                self._texts[path] = self._workspace.read_text(path).text.replace("\r\n", "\n").split("\n")
            except RegreenError:
                self._texts[path] = []
        return self._texts[path]


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
