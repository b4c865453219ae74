"""Putting one file in place, or away, in one step: the only calls that change a project's files.

New bytes are complete and synchronised before their name is. What stood there before is checked after it was taken
out, where the system can swap two names in one step; so a change that someone else made in the last instant is
noticed and put back, never overwritten.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from regreen.errors import RegreenError
from regreen.workspace.beneath import Folder
from regreen.workspace.looking import LINK_MARK, look

OnStep: TypeAlias = Callable[[str], None]

_CHUNK = 1 << 20
MAX_OURS = 1 << 28  # bytes; whatever is larger was not written by us


def no_step(_: str) -> None:
    """The hook between steps, when nobody listens."""


class StaleFile(RegreenError):
    """Files are not what the change was made for; nothing was written. `paths` names them."""

    exit_code = 1

    def __init__(self, *paths: str) -> None:
        self.paths = paths
        names = ", ".join(f"`{p}`" for p in paths)
        super().__init__("stale", f"changed since they were read: {names}", "read them again and redo the change")


@dataclass(frozen=True, slots=True)
class Content:
    """What shall stand at a path. `mode` None: what the system gives a new file. `mtime_ns` None: now."""

    data: bytes | None  # None: nothing shall stand there
    mode: int | None = None
    mtime_ns: int | None = None

    @property
    def is_link(self) -> bool:
        return self.mode is not None and stat.S_ISLNK(self.mode)


def sha_at(folder: Folder, name: str) -> str:
    """The hash of what stands there; "" for nothing, "?" for a folder or what else is not ours."""
    seen = look(folder, name, MAX_OURS)
    if seen is None or seen.kind in ("directory", "other"):
        return "?"
    return seen.sha


@dataclass(frozen=True, slots=True)
class Temp:
    """The two temporary names of one change: `part` while it is written, `whole` from then on.

    So a `part` is always rubbish, and a `whole` that holds neither the old nor the new bytes is somebody's work that
    was swapped out in the instant of a crash.
    """

    part: str
    whole: str

    @classmethod
    def of(cls, txn: str, seq: int, stage: str) -> Temp:
        return cls(f".regreen-{txn}-{seq}-{stage}.part", f".regreen-{txn}-{seq}-{stage}.whole")


def place(
    folder: Folder,
    name: str,
    temp: Temp,
    content: Content,
    expected: str,
    *,
    in_place: bool = False,
    on_step: OnStep = no_step,
) -> None:
    """Make `name` hold `content`, where it now has the hash `expected` ("" = must be absent). Else StaleFile.

    `in_place` writes into the existing file instead of replacing it, for a file with several names.
    """
    if content.data is None:
        _take_away(folder, name, temp.whole, expected, on_step)
    else:
        _make(folder, name, temp.part, content, content.data)
        on_step("written")
        folder.replace(temp.part, temp.whole)
        if not expected:
            _appear(folder, name, temp.whole)
        elif in_place:
            _overwrite(folder, name, temp.whole, content, expected, on_step)
        else:
            _swap(folder, name, temp.whole, expected, on_step)
    on_step("placed")
    folder.sync()


def change_mode(folder: Folder, name: str, content: Content) -> None:
    """Only mode and mtime, for a file or link whose content stays."""
    if content.mode is not None and not content.is_link and hasattr(os, "fchmod"):
        fd = folder.open(name, os.O_RDONLY)
        try:
            os.fchmod(fd, stat.S_IMODE(content.mode))
        finally:
            os.close(fd)
    if content.mtime_ns is not None:
        folder.utime(name, content.mtime_ns)


def discard(folder: Folder, name: str) -> None:
    """Remove a name that may be gone already."""
    with contextlib.suppress(FileNotFoundError):
        folder.unlink(name)


def _make(folder: Folder, name: str, temp: str, content: Content, data: bytes) -> None:
    if content.is_link:
        folder.symlink(os.fsdecode(data.removeprefix(LINK_MARK)), temp)
        if content.mtime_ns is not None:
            folder.utime(temp, content.mtime_ns)
        return
    first = 0o666 if content.mode is None else 0o600  # a new file gets what the umask leaves
    fd = folder.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, first)
    try:
        _write(fd, data)
        if content.mode is not None and hasattr(os, "fchmod"):
            _keep_owner(folder, name, fd)
            os.fchmod(fd, stat.S_IMODE(content.mode))
        if content.mtime_ns is not None:
            folder.utime(temp, content.mtime_ns)
        os.fsync(fd)
    finally:
        os.close(fd)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view[:_CHUNK]) :]


def _keep_owner(folder: Folder, name: str, fd: int) -> None:
    try:
        old = folder.stat(name)
    except FileNotFoundError:
        return
    new = os.fstat(fd)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with contextlib.suppress(PermissionError):  # only root may give a file away; ours is still readable
            os.fchown(fd, old.st_uid, old.st_gid)


def _overwrite(folder: Folder, name: str, temp: str, content: Content, expected: str, on_step: OnStep) -> None:
    if sha_at(folder, name) != expected:
        folder.unlink(temp)
        raise StaleFile(name)
    write_into(folder, name, content, on_step)
    folder.unlink(temp)


def write_into(folder: Folder, name: str, content: Content, on_step: OnStep = no_step) -> None:
    """Write over an existing file's bytes, keeping the file itself. A crash leaves it torn; see `is_torn`."""
    fd = folder.open(name, os.O_WRONLY)
    try:
        data = content.data or b""
        half = len(data) // 2
        _write(fd, data[:half])
        on_step("torn")
        _write(fd, data[half:])
        os.ftruncate(fd, len(data))
        os.fsync(fd)
    finally:
        os.close(fd)
    change_mode(folder, name, content)


def is_torn(found: bytes, old: bytes, new: bytes) -> bool:
    """Whether `found` is what an interrupted `write_into` of `new` over `old` leaves."""
    shorter = min(len(found), len(new))
    same = next((i for i in range(shorter) if found[i] != new[i]), shorter)
    return found[same:] == old[same:] and len(found) == max(len(old), same)


def _swap(folder: Folder, name: str, temp: str, expected: str, on_step: OnStep) -> None:
    try:
        swapped = folder.exchange(temp, name)
    except FileNotFoundError as e:
        folder.unlink(temp)
        raise StaleFile(name) from e
    if not swapped:
        if sha_at(folder, name) != expected:
            folder.unlink(temp)
            raise StaleFile(name)
        folder.replace(temp, name)
        return
    on_step("swapped")
    if sha_at(folder, temp) != expected:
        folder.exchange(temp, name)
        folder.unlink(temp)
        raise StaleFile(name)
    folder.unlink(temp)


def _appear(folder: Folder, name: str, temp: str) -> None:
    try:
        folder.link(temp, name)
    except FileExistsError as e:
        folder.unlink(temp)
        raise StaleFile(name) from e
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        if sha_at(folder, name):  # no hard links on this file system
            folder.unlink(temp)
            raise StaleFile(name) from e
        folder.replace(temp, name)
        return
    folder.unlink(temp)


def _take_away(folder: Folder, name: str, temp: str, expected: str, on_step: OnStep) -> None:
    if sha_at(folder, name) != expected:
        raise StaleFile(name)
    folder.replace(name, temp)
    on_step("aside")
    if sha_at(folder, temp) != expected:
        _appear(folder, name, temp)
        raise StaleFile(name)
    folder.unlink(temp)
