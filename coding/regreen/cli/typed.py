"""Paths as a person types them, turned into what the engine takes: relative to the repository's root. Pure but for
looking whether something is there.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path, PurePath


def from_root(typed: str, cwd: Path, root: Path) -> str:
    """A path, glob or test id as seen from `root`.

    What exists as seen from the working folder, and lies in the repository, is meant so; else it counts from the root.
    """
    path, colons, test = typed.partition(" > ") if " > " in typed else typed.partition("::")
    if not path or "\0" in path or (cwd == root and not PurePath(path).is_absolute()):
        return typed
    real = os.path.normpath(cwd / path)
    if not Path(real).is_relative_to(root) or not _is_there(path, cwd):
        return typed
    return PurePath(real).relative_to(root).as_posix() + colons + test


def _is_there(path: str, cwd: Path) -> bool:
    if os.path.lexists(cwd / path):
        return True
    # Not Path.glob: it takes no `..` and raises on what is no pattern.
    return glob.has_magic(path) and any(True for _ in glob.iglob(path, root_dir=cwd, recursive=True))  # noqa: PTH207
