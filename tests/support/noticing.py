"""A folder with a notice on it, what a walk finds there, and operations on files that tests draw from."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from regreen.snapshots.noticing import Notice
from regreen.workspace import Stat, Workspace
from regreen.workspace.beneath import Folder


class Noticed:
    """Walks `root` and looks at it again."""

    def __init__(self, root: Path, **settings: object) -> None:
        self.root = root
        self.workspace = Workspace(root)
        self.notice = Notice(self.workspace, **settings)  # type: ignore[arg-type]

    def __enter__(self) -> Noticed:
        return self

    def __exit__(self, *_: object) -> None:
        self.notice.close()
        self.workspace.close()

    def walk(self) -> dict[str, Stat]:
        def walk(notice: Notice) -> tuple[dict[str, Stat], Collection[str]]:
            def enter(path: str, folder: Folder) -> bool:
                notice.enter(path, folder)
                return True

            return self.workspace.scan(skip=lambda _: False, enter=enter), ()

        return self.notice.walked("walk", walk)

    def look(self) -> dict[str, Stat] | None:
        return self.notice.look("walk")

    def everything(self) -> dict[str, Stat]:
        return self.workspace.scan(skip=lambda _: False)


def operate(root: Path, operation: str, one: str, other: str) -> None:
    """Do something to the path `one` (and `other`), if it can be done there."""
    with suppress(OSError):
        _OPERATIONS[operation](root / one, root / other)


def _write(path: Path, _: Path) -> None:
    size = path.stat().st_size + 1 if path.is_file() else 1
    at_once = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK  # a pipe that nobody reads is not waited for
    with os.fdopen(os.open(path, at_once, 0o666), "wb") as file:
        file.write(b"x" * size)


def _same_size(path: Path, _: Path) -> None:
    size = path.lstat().st_size
    with path.open("r+b") as file:
        file.write(os.urandom(size))


def _replace(path: Path, _: Path) -> None:
    temporary = path.with_name("temporary")
    temporary.write_bytes(b"new")
    temporary.replace(path)


_OPERATIONS: dict[str, Callable[[Path, Path], object]] = {
    "write": _write,
    "same size": _same_size,
    "truncate": lambda path, _: os.truncate(path, 0),
    "chmod": lambda path, _: path.chmod(stat.S_IMODE(path.stat().st_mode) ^ 0o111),
    "utime": lambda path, _: os.utime(path, ns=(1, path.lstat().st_mtime_ns + 1)),
    "rename": lambda path, other: path.rename(other),
    "replace": _replace,
    "delete": lambda path, _: path.unlink(),
    "symlink": lambda path, other: path.symlink_to(other),
    "fifo": lambda path, _: os.mkfifo(path),
    "link": lambda path, other: os.link(path, other),
    "folder": lambda path, _: path.mkdir(),
    "remove folder": lambda path, _: path.rmdir(),
}
ON_FOLDERS = ("link", "folder", "remove folder")
ON_FILES = tuple(name for name in _OPERATIONS if name not in ON_FOLDERS)
