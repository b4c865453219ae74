"""The private copy of the project that candidates are tried in: the listed files, and nothing else of the user's."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from regreen.errors import RegreenError
from regreen.workspace import Workspace

MAX_FILES = 20_000
MAX_COPY_BYTES = 256 * 1024 * 1024


class TooLarge(RegreenError):
    """The project is too large to be copied for the search."""


def copy_tree(workspace: Workspace, paths: Iterable[str], target: Path) -> None:
    """Copy files and in-root links, with their execute bits. Raises TooLarge; unreadable files are left out."""
    total = 0
    for number, path in enumerate(paths):
        if number >= MAX_FILES:
            raise TooLarge("limit_exceeded", f"more than {MAX_FILES} files", "limit the project by .gitignore")
        try:
            image = workspace.image(path, follow=False)
        except RegreenError:
            continue
        total += len(image.data)
        if total > MAX_COPY_BYTES:
            raise TooLarge("limit_exceeded", f"more than {MAX_COPY_BYTES >> 20} MiB of files", "ignore generated files")
        place = target.joinpath(*path.split("/"))
        if image.kind == "file":
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(image.data)
            if image.mode & stat.S_IXUSR:
                place.chmod(0o755)
        elif image.kind == "symlink" and _stays_inside(path, image.target):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(image.target)


def _stays_inside(path: str, target: str) -> bool:
    joined = os.path.normpath(os.path.join(os.path.dirname(path), target))  # noqa: PTH118, PTH120 (no disk access)
    return not target.startswith("/") and joined != ".." and not joined.startswith("../")
