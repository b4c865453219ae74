"""Folders opened below a root, never through a symbolic link; all further calls go through the open folder.

Three ways to open, the best one taken: `openat2` (one race-free call), a walk component by component with
O_NOFOLLOW, and plain paths where the system has no folder handles (Windows; not race-free).
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeAlias

from regreen.workspace import kernel

Backend: TypeAlias = Literal["openat2", "walk", "plain"]

_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FILE_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | _NOFOLLOW
_HAS_DIR_FD = os.open in os.supports_dir_fd


class Folder:
    """An open folder. Names are single components; a name that is a link is never followed."""

    def __init__(self, path: Path, fd: int | None) -> None:
        self._path = path  # of use where there is no handle
        self._fd = fd

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @property
    def fd(self) -> int | None:
        """Its handle, which it closes itself; None where the system has none."""
        return self._fd

    def again(self) -> Folder:
        """The same folder, open a second time."""
        return Folder(self._path, None if self._fd is None else os.dup(self._fd))

    def _at(self, name: str) -> str:
        return name if self._fd is not None else str(self._path / name)

    def stat(self, name: str) -> os.stat_result:
        return os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False)

    def readlink(self, name: str) -> str:
        return os.readlink(self._at(name), dir_fd=self._fd)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        return os.open(self._at(name), flags | _FILE_FLAGS, mode, dir_fd=self._fd)

    def link(self, name: str, new: str) -> None:
        """A second name for a file; FileExistsError if `new` is there already."""
        if self._fd is None:
            os.link(self._at(name), self._at(new))
        else:
            os.link(name, new, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)

    def replace(self, name: str, new: str) -> None:
        os.replace(self._at(name), self._at(new), src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def exchange(self, one: str, two: str) -> bool:
        """Swap two names in one step; False where that cannot be done."""
        return self._fd is not None and kernel.exchange(self._fd, one, two)

    def symlink(self, target: str, name: str) -> None:
        os.symlink(target, self._at(name), dir_fd=self._fd)

    def unlink(self, name: str) -> None:
        os.unlink(self._at(name), dir_fd=self._fd)

    def mkdir(self, name: str) -> None:
        os.mkdir(self._at(name), dir_fd=self._fd)

    def rmdir(self, name: str) -> None:
        os.rmdir(self._at(name), dir_fd=self._fd)

    def utime(self, name: str, mtime_ns: int) -> None:
        follow = os.utime not in os.supports_follow_symlinks
        os.utime(self._at(name), ns=(mtime_ns, mtime_ns), dir_fd=self._fd, follow_symlinks=follow)

    def sync(self) -> None:
        """Make renames in this folder durable."""
        if self._fd is not None:
            os.fsync(self._fd)

    def entries(self) -> list[os.DirEntry[str]]:
        """What is in it. Without a handle, an entry's own stat is not complete."""
        with os.scandir(self._fd if self._fd is not None else self._path) as found:
            return list(found)


class Root:
    """The root folder, held open, so that renaming or replacing its path cannot redirect us."""

    def __init__(self, path: Path, backend: Backend | None = None) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | _DIRECTORY | getattr(os, "O_CLOEXEC", 0)) if _HAS_DIR_FD else None
        self.backend: Backend = backend or self._best()

    def _best(self) -> Backend:
        if self._fd is None:
            return "plain"
        return "openat2" if kernel.has_openat2(self._fd) else "walk"

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def folder(self, path: str) -> Folder:
        """Open the folder `path` ("" = the root). A link on the way is OSError ELOOP, whatever it points to."""
        if self.backend == "plain":
            return self._plain(self.path / path)
        if self._fd is None:
            raise ValueError("the workspace is closed")
        if self.backend == "openat2":
            return Folder(self.path, kernel.openat2(self._fd, path or ".", os.O_RDONLY | _DIRECTORY))
        return Folder(self.path, self._walk(self._fd, path))

    def _walk(self, root_fd: int, path: str) -> int:
        flags = os.O_RDONLY | _DIRECTORY | _NOFOLLOW | os.O_CLOEXEC
        here = os.open(".", flags, dir_fd=root_fd)
        for name in filter(None, path.split("/")):
            try:
                below = os.open(name, flags, dir_fd=here)
            except NotADirectoryError as e:  # Linux says so of a link too; and a folder now was a link just then
                now = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
                if stat.S_ISLNK(now) or stat.S_ISDIR(now):
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path) from e
                raise
            finally:
                os.close(here)
            here = below
        return here

    def _plain(self, full: Path) -> Folder:
        real = Path(os.path.realpath(full))
        if real != full and real.exists():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(full))
        if not stat.S_ISDIR(real.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(full))
        return Folder(full, None)
