"""What stands under a name in an open folder: its kind, stat and content. No link is followed, nothing blocks."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from typing import BinaryIO, Literal, NamedTuple, TypeAlias, cast

from regreen.workspace.beneath import Folder

Kind: TypeAlias = Literal["file", "absent", "symlink", "directory", "other"]

_CHUNK = 1 << 20
_RACES = 50
_CHANGED_KIND = frozenset({errno.ELOOP, errno.EINVAL, errno.ENXIO})  # a link now, none any more, a socket now
LINK_MARK = b"symlink\0"  # before a link's target, so that its hash is not that of a file with the same bytes

_FORMAT = 0o170000  # the bits of a mode that tell the kind
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


class Stat(NamedTuple):
    """One row of a walk. Equal rows mean: not touched, as far as the system tells."""

    size: int
    mtime_ns: int
    ctime_ns: int
    ino: int
    mode: int
    kind: Kind


# What Stat's own constructor does, in half the time: it is done for every file of a project.
_make = cast("Callable[[type[Stat], tuple[int, int, int, int, int, Kind]], Stat]", tuple.__new__)  # pyright: ignore[reportUnknownMemberType]


class Seen(NamedTuple):
    """What a look into an open folder found under a name."""

    kind: Kind
    content: bytes
    info: os.stat_result | None

    @property
    def sha(self) -> str:
        return hashlib.sha256(self.content).hexdigest() if self.kind in ("file", "symlink") else ""


def kind_of(info: os.stat_result | None) -> Kind:
    """The kind of thing that a stat (not following links) speaks of."""
    if info is None:
        return "absent"
    return _KINDS.get(stat.S_IFMT(info.st_mode), "other")


def look(folder: Folder, name: str, limit: int) -> Seen | None:
    """What `name` is, with its content if it is a regular file or a link. None: over `limit` bytes."""
    for left in reversed(range(_RACES)):
        try:
            return _look(folder, name, limit)
        except FileNotFoundError:
            return Seen("absent", b"", None)
        except OSError as e:
            if not left or e.errno not in _CHANGED_KIND:
                raise
    raise AssertionError("unreachable")


def _look(folder: Folder, name: str, limit: int) -> Seen | None:
    info = folder.stat(name)
    kind = kind_of(info)
    if kind == "symlink":
        return Seen(kind, LINK_MARK + os.fsencode(folder.readlink(name)), info)
    if kind != "file":
        return Seen(kind, b"", info)
    fd = folder.open(name, os.O_RDONLY)
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return Seen("other", b"", info)
        data = b"" if info.st_size > limit else _read(file, info.st_size, limit)
    return None if info.st_size > limit or len(data) > limit else Seen("file", data, info)


def _read(file: BinaryIO, size: int, limit: int) -> bytes:
    """All of it, though it may grow meanwhile, but not much more than `limit`."""
    data = file.read(size + 1)
    while len(data) > size and len(data) <= limit and (more := file.read(_CHUNK)):
        data += more
    return data


def list_folder(folder: Folder, prefix: str, found: dict[str, Stat], skip: Callable[[str], bool]) -> list[str]:
    """Add the rows of one open folder to `found`; returns the folders in it that are to be entered."""
    below: list[str] = []
    complete = folder.fd is not None
    for entry in folder.entries():
        name = entry.name
        if name[0] == "." and name.casefold() == ".git":
            continue
        try:
            info = entry.stat(follow_symlinks=False) if complete else folder.stat(name)
        except OSError:  # removed meanwhile
            continue
        mode = info.st_mode
        kind = _KINDS.get(mode & _FORMAT, "other")
        path = prefix + name
        if kind == "directory":
            if skip(path):
                continue
            below.append(path)
        found[path] = _make(Stat, (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, mode, kind))
    return below
