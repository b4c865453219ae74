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
from regreen.workspace.attributes import Attributes, attributes_of
from regreen.workspace.beneath import Folder
from regreen.workspace.looking import LINK_MARK, look

OnStep: TypeAlias = Callable[[str], None]
_Which: TypeAlias = tuple[int, int, int]

_CHUNK = 1 << 20
_RACES = 50
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
    """What shall stand at a path. `mode` None: what the system gives a new file. `mtime_ns` None: now.

    `attributes` None: those of the file that stands there.
    """

    data: bytes | None  # None: nothing shall stand there
    mode: int | None = None
    mtime_ns: int | None = None
    attributes: Attributes | None = None

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
    in_place: int = 0,
    keep_old: bool = False,
    on_step: OnStep = no_step,
) -> None:
    """Make `name` hold `content`, where it now has the hash `expected` ("" = must be absent). Else StaleFile.

    `in_place` is the inode of a file with several names: it is written into instead of replaced. With `keep_old`
    the old file stays under `temp.whole`; who removes it there must then make the folder durable.
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
            _overwrite(folder, name, temp.whole, content, expected, in_place, on_step)
        else:
            _swap(folder, name, temp.whole, expected, on_step)
    if not keep_old:
        discard(folder, temp.whole)
        folder.sync()
    on_step("placed")


def bring_back(folder: Folder, name: str, temp: str, landed: str) -> None:
    """Give a file that was kept its name again, where now stands what took its place (hash `landed`, "" = nothing).

    StaleFile: something else stands there; it stays, and the kept file goes.
    """
    if landed:
        _swap(folder, name, temp, landed, no_step)
        discard(folder, temp)
    else:
        _appear(folder, name, temp)
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
            carried = content.attributes or attributes_of(folder, name)
            if carried is not None:
                carried.give(fd)
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


def _overwrite(
    folder: Folder, name: str, temp: str, content: Content, expected: str, inode: int, on_step: OnStep
) -> None:
    if sha_at(folder, name) != expected:
        folder.unlink(temp)
        raise StaleFile(name)
    write_into(folder, name, content, inode, on_step)
    folder.unlink(temp)


def write_into(folder: Folder, name: str, content: Content, inode: int, on_step: OnStep = no_step) -> None:
    """Write over an existing file's bytes, keeping the file itself. A crash leaves it torn; see `is_torn`.

    StaleFile: another file stands there than the one with this inode.
    """
    fd = folder.open(name, os.O_WRONLY)
    try:
        if os.fstat(fd).st_ino != inode:
            raise StaleFile(name)
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
    ours = _which(folder, temp)
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
        _swap_back(folder, name, temp, ours)
        raise StaleFile(name)


def _which(folder: Folder, name: str) -> _Which:
    """Tells one file from another; an inode alone may have been used again."""
    info = folder.stat(name)
    return info.st_ino, info.st_mtime_ns, info.st_size


def _swap_back(folder: Folder, name: str, temp: str, ours: _Which) -> None:
    """Give what was taken out its name again, and end with what was written last if somebody writes meanwhile."""
    put_in = ours
    with contextlib.suppress(FileNotFoundError):  # deleted meanwhile: so be it
        for _ in range(_RACES):
            going_in = _which(folder, temp)
            folder.exchange(temp, name)
            if _which(folder, temp) == put_in:
                break
            put_in = going_in
    discard(folder, temp)


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
