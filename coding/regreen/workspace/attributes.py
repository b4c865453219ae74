"""What a file carries besides its bytes and mode: owner, POSIX access list, extended attributes.

A file that is replaced or moved keeps them. What this user may not set, or this file system cannot hold, is left
out: the bytes are what was asked for. A full disk is not such a case: it is raised.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import stat
import sys
from dataclasses import dataclass

from regreen.workspace.beneath import Folder

_NOT_OURS = frozenset({errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENODATA,
                       errno.EINVAL, errno.E2BIG})  # fmt: skip
_GONE = frozenset({errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EACCES, errno.EPERM})
_OF_OLD_BYTES = frozenset({"security.capability", "security.ima", "security.evm"})  # the system drops them on a write
_ACCESS_LIST = "system.posix_acl_access"


@dataclass(frozen=True, slots=True)
class Attributes:
    """Owner, group, and extended attributes (the access list is one of them)."""

    uid: int
    gid: int
    extended: tuple[tuple[str, bytes], ...] = ()

    def give(self, fd: int) -> None:
        """Give them to an open file. Set its mode afterwards: a change of owner or access list changes it."""
        info = os.fstat(fd)
        if (self.uid, self.gid) != (info.st_uid, info.st_gid):
            with contextlib.suppress(PermissionError):  # only root may give a file away; ours is still readable
                os.fchown(fd, self.uid, self.gid)
        _extend(fd, self.extended)

    def packed(self) -> bytes:
        """As bytes, for the store."""
        rows = [[name, base64.b64encode(value).decode("ascii")] for name, value in self.extended]
        return json.dumps([self.uid, self.gid, rows]).encode("ascii")

    @classmethod
    def unpacked(cls, data: bytes) -> Attributes:
        uid, gid, rows = json.loads(data)
        return cls(uid, gid, tuple((name, base64.b64decode(value)) for name, value in rows))


def attributes_of(folder: Folder, name: str) -> Attributes | None:
    """Those of the file at `name`; None if there is none."""
    try:
        info = folder.stat(name)
        if not stat.S_ISREG(info.st_mode):
            return Attributes(info.st_uid, info.st_gid)
        fd = folder.open(name, os.O_RDONLY)
    except OSError as e:
        if e.errno in _GONE:  # or changed meanwhile, which is noticed later
            return None
        raise
    try:
        info = os.fstat(fd)
        return Attributes(info.st_uid, info.st_gid, _extended(fd) if stat.S_ISREG(info.st_mode) else ())
    finally:
        os.close(fd)


if sys.platform == "linux":

    def _extended(fd: int) -> tuple[tuple[str, bytes], ...]:
        found: list[tuple[str, bytes]] = []
        for name in _names(fd):
            try:
                found.append((name, os.getxattr(fd, name)))
            except OSError as e:
                if e.errno not in _NOT_OURS:
                    raise
        return tuple(found)

    def _extend(fd: int, extended: tuple[tuple[str, bytes], ...]) -> None:
        if _ACCESS_LIST not in dict(extended) and _ACCESS_LIST in _names(fd):  # from the folder's default list
            os.removexattr(fd, _ACCESS_LIST)
        for name, value in extended:
            try:
                os.setxattr(fd, name, value)
            except OSError as e:
                if e.errno not in _NOT_OURS:
                    raise

    def _names(fd: int) -> list[str]:
        try:
            return [name for name in os.listxattr(fd) if name not in _OF_OLD_BYTES]
        except OSError as e:
            if e.errno in _NOT_OURS:
                return []
            raise

else:

    def _extended(fd: int) -> tuple[tuple[str, bytes], ...]:  # noqa: ARG001 - other systems have other calls
        return ()

    def _extend(fd: int, extended: tuple[tuple[str, bytes], ...]) -> None:
        pass
