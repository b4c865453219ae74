"""Which paths go back to what, and which stay because somebody else changed them: pure decisions over journal rows."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from regreen.workspace.files import FileImage
from regreen.workspace.looking import LINK_MARK
from regreen.workspace.records import Entry, Version
from regreen.workspace.writing import Content


@dataclass(frozen=True, slots=True)
class Goal:
    """A path to be put back to `target`, if it now has one of the hashes `ours`."""

    path: str
    target: Version
    ours: frozenset[str]
    mode: int | None = None  # the mode that we left it with; another one is the user's, and stays
    data: bytes | None = None  # the target's bytes; None: they are in the store
    note: str = ""  # a conflict to report although the path goes back as far as it can


def by_path(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Each path's entries, oldest first."""
    chains: dict[str, list[Entry]] = {}
    for entry in entries:
        chains.setdefault(entry.path, []).append(entry)
    return chains


def goal_of(chain: list[Entry], ours: Collection[str]) -> Goal:
    """Back to what was before the whole chain, or to the last state that somebody else wrote in between."""
    start = len(chain) - 1
    while start and (chain[start].before.sha == chain[start - 1].after.sha or chain[start].before.sha in ours):
        start -= 1
    note = "was changed by somebody else during the run; put back to that state" if start else ""
    written = {entry.after.sha for entry in chain[start:]}
    return Goal(chain[0].path, chain[start].before, frozenset({*written, *ours}), chain[-1].after.mode, note=note)


def version_of(image: FileImage | None) -> Version:
    """The version that an image shows."""
    if image is None or image.kind not in ("file", "symlink"):
        return Version("")
    return Version(image.sha256, image.mode, image.mtime_ns)


def image_of(path: str, version: Version, content: Content) -> FileImage:
    """The image of a version that the journal kept."""
    if content.data is None:
        return FileImage(path, "absent", real=path)
    mode, mtime_ns = version.mode or 0, version.mtime_ns or 0
    if content.is_link:
        target = os.fsdecode(content.data.removeprefix(LINK_MARK))
        return FileImage(path, "symlink", b"", mode, mtime_ns, version.sha, target, path)
    return FileImage(path, "file", content.data, mode, mtime_ns, version.sha, real=path)


def mode_to_restore(image: FileImage, goal: Goal) -> int | None:
    """The target's mode, unless the user has given the file another one since."""
    target = goal.target.mode
    if target is None or image.kind != "file" or not stat.S_ISREG(target):
        return target
    return target if goal.mode is None or image.mode == goal.mode else image.mode


def conflict_of(image: FileImage, goal: Goal) -> str:
    """Why this path must not be put back; "" if it may be."""
    if image.kind in ("directory", "other"):
        return f"is a {image.kind} now" if image.kind == "directory" else "is not a regular file now"
    if image.sha256 == goal.target.sha or image.sha256 in goal.ours:
        return ""
    return "was changed since" if image.sha256 else "was deleted since"
