"""Which paths go back to what, and which stay because somebody else changed them: pure decisions over journal rows."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from typing import TypeAlias

from regreen.workspace.files import FileImage
from regreen.workspace.looking import LINK_MARK
from regreen.workspace.merging import is_plain
from regreen.workspace.records import Entry, Version
from regreen.workspace.writing import Content

Blend: TypeAlias = Callable[[Version, Version, Version, "bytes | None"], "bytes | None"]
"""What we left, what somebody made of it, what it shall go back to (with its bytes, if the store has them not): the
somebody's change upon the latter, or None."""
_PUT_BACK = "was changed by somebody else during the run; put back to that state"
_LEFT = "was changed by somebody else during the run; left as it is"


@dataclass(frozen=True, slots=True)
class Goal:
    """A path to be put back to `target`, if it now has one of the hashes `ours`.

    If it has another one it may be merged: `left` is what we left there. `merged` tells that `target` is made so.
    """

    path: str
    target: Version
    ours: frozenset[str]
    mode: int | None = None  # the mode that we left it with; another one is the user's, and stays
    made: frozenset[str] = frozenset()  # those of `ours` that tests left: their mode is nobody's wish
    data: bytes | None = None  # the target's bytes; None: they are in the store
    note: str = ""  # a conflict to report although the path goes back as far as it can
    left: Version | None = None
    merged: bool = False
    since: str = ""  # the run or transaction that is undone, for people


def by_path(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Each path's entries, oldest first."""
    chains: dict[str, list[Entry]] = {}
    for entry in entries:
        chains.setdefault(entry.path, []).append(entry)
    return chains


def goal_of(chain: list[Entry], ours: Collection[str], blend: Blend) -> Goal:
    """Back to what was before the whole chain, with what somebody else changed in between, be it only the mode.

    Where that does not merge, back to the last state that somebody else wrote.
    """
    target, data, note, merged = chain[0].before, None, "", False
    written = {chain[0].after.sha}
    seen = {chain[0].before.sha, chain[0].after.sha}
    for last, entry in pairwise(chain):
        plainly_back = entry.undoes and entry.after.sha in seen  # over what counted as ours then
        if entry.before.sha not in (last.after.sha, *ours) and not plainly_back:
            data = blend(last.after, entry.before, target, data)
            if data is not None:
                target = Version(sha256(data).hexdigest(), _mode_of_merged(last.after, entry.before, target))
                merged = merged or target.sha != entry.before.sha  # else there was nothing of ours in it
            else:  # a merge that cannot be made again is what it was
                target, note = (entry.after, _LEFT) if entry.undoes else (entry.before, _PUT_BACK)
            written = set[str]()
        elif _is_mode_given(last.after, entry, ours):
            target = replace(target, mode=entry.before.mode)
        written.add(entry.after.sha)
        seen.add(entry.after.sha)
    left = chain[-1].after
    if chain[-1].undoes or left.sha != target.sha:  # a file that is back already, is so by somebody else or in full
        written.discard(target.sha)
    return Goal(
        chain[0].path,
        target,
        frozenset({*written, *ours}),
        left.mode,
        frozenset(ours),
        data,
        note,
        left,
        merged=merged and not note,
    )


def _is_mode_given(left: Version, entry: Entry, made: Collection[str]) -> bool:
    """Whether somebody gave the file another mode than we `left`, which `entry` then kept."""
    before, after = entry.before, entry.after
    if left.mode is None or before.mode in (None, left.mode) or not (is_plain(left) and is_plain(before)):
        return False
    kept = not after.sha or after.mode == before.mode  # if not, tests had changed it, which was known then
    return before.sha not in made and kept


def _mode_of_merged(left: Version, now: Version, target: Version) -> int | None:
    """The target's mode, or the one that somebody gave the file."""
    return target.mode if left.mode is None or now.mode in (None, left.mode) else now.mode


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
    if goal.mode is None or image.mode == goal.mode or image.sha256 in goal.made:
        return target
    return image.mode


def conflict_of(image: FileImage, goal: Goal) -> str:
    """Why this path must not be put back; "" if it may be."""
    if image.kind in ("directory", "other"):
        return f"is a {image.kind} now" if image.kind == "directory" else "is not a regular file now"
    if image.sha256 == goal.target.sha or image.sha256 in goal.ours:
        return ""
    return "was changed since" if image.sha256 else "was deleted since"
