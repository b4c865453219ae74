"""Reading many files of a listing one after the other, by the workspace's own open folders.

The same rules as `Workspace.read` (below the root, no link followed, regular files only, never blocking, a size limit)
at a third of its time: a folder stays open while its files are read, nothing is hashed. For files as they were listed;
one that somebody named goes through `Workspace.image`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import OrderedDict
from enum import StrEnum
from functools import lru_cache
from types import TracebackType

from regreen.workspace.beneath import Folder
from regreen.workspace.files import Workspace
from regreen.workspace.looking import look
from regreen.workspace.paths import is_secret

_FOLDERS = 16  # kept open
_CHUNK = 1 << 20


class Unread(StrEnum):
    """Why a file has no bytes to give. The words go after a number."""

    BINARY = "binary"
    ENCODING = "in no encoding that is known"
    LARGE = "too large"
    SECRET = "known to hold secrets"
    GONE = "no longer there"
    UNREADABLE = "not readable"
    ODD = "links or no regular files"


@lru_cache(maxsize=1 << 16)
def is_secret_name(name: str) -> bool:
    """`is_secret` of a path's last component, which alone decides it."""
    return is_secret(name)


class Reader:
    """Reads listed files. Not for several threads at once; use it in a `with`."""

    def __init__(self, workspace: Workspace, max_bytes: int = 0) -> None:
        self._workspace = workspace
        self._max_bytes = max_bytes or workspace.limits.max_file_bytes
        self._folders: OrderedDict[str, Folder] = OrderedDict()

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._folders:
            self._folders.popitem()[1].close()

    def read(self, path: str) -> bytes | Unread:
        """The bytes of a regular file that is not known to hold secrets."""
        parent, _, name = path.rpartition("/")
        if is_secret_name(name):
            return Unread.SECRET
        try:
            folder = self._folder(parent)
            return self._slow(folder, name) if folder.fd is None else self._fast(folder, name)
        except OSError as e:
            if e.errno in (errno.ENOENT, errno.ENOTDIR):
                return Unread.GONE
            return Unread.ODD if e.errno in (errno.ELOOP, errno.ENXIO, errno.EXDEV, errno.EISDIR) else Unread.UNREADABLE

    def _folder(self, path: str) -> Folder:
        folder = self._folders.get(path)
        if folder is None:
            folder = self._folders[path] = self._workspace.tree.folder(path)
            if len(self._folders) > _FOLDERS:
                self._folders.popitem(last=False)[1].close()
        else:
            self._folders.move_to_end(path)
        return folder

    def _slow(self, folder: Folder, name: str) -> bytes | Unread:
        """Where the system has no folder handles, so that opening might follow a link."""
        seen = look(folder, name, self._max_bytes)
        if seen is None:
            return Unread.LARGE
        if seen.kind == "absent":
            return Unread.GONE
        return seen.content if seen.kind == "file" else Unread.ODD

    def _fast(self, folder: Folder, name: str) -> bytes | Unread:
        fd = folder.open(name, os.O_RDONLY)
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return Unread.ODD
            if info.st_size > self._max_bytes:
                return Unread.LARGE
            data = os.read(fd, info.st_size + 1)
            if len(data) != info.st_size:  # it changes just now, or is no file of a usual kind
                while len(data) <= self._max_bytes and (more := os.read(fd, _CHUNK)):
                    data += more
            return data if len(data) <= self._max_bytes else Unread.LARGE
        finally:
            os.close(fd)
