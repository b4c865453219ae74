"""Which paths changed since the last walk, told by the kernel (inotify), so that most looks need no walk at all.

On any doubt there is no answer, and the caller walks: another system, a file system that others may write, too many
folders, too many events, a folder that came, went or changed, a mount, a file with several names, an error. Not seen at
all are writes through a mapping that outlives its file's closing, and through a name outside of the tree: hence the
callers walk at every decisive moment. No thread runs, nothing holds up the end of the process, and children inherit
nothing.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from regreen.workspace import Stat, Workspace
from regreen.workspace.beneath import Folder
from regreen.workspace.looking import kind_of

_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 2, 4, 8, 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
_ISDIR = 0x40000000
_ONLYDIR = 0x01000000
_CHANGES = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_ASKED = _CHANGES | _DELETE_SELF | _MOVE_SELF | _ONLYDIR
_GONE = _DELETE_SELF | _MOVE_SELF | _UNMOUNT
_EVENT = struct.Struct("iIII")
_BUFFER = 1 << 16

_LOCAL = frozenset({  # only this kernel writes them, so it knows of every write
    "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs",
})  # fmt: skip
MOUNTS = Path("/proc/self/mountinfo")
MOST_FOLDERS = 20_000
MOST_PATHS = 2_000  # looked at one by one; a walk is as quick for more
_NAMES = "a file has several names"
_FOLDERS = "a folder came, went or changed"

_libc: ctypes.CDLL | None = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class _Doubt(Exception):
    """Why only a walk can tell."""


class Notice:
    """What the kernel tells of one workspace. Safe for several threads; close it, or let go of it."""

    def __init__(self, workspace: Workspace, *, most_folders: int = MOST_FOLDERS, mounts: Path = MOUNTS) -> None:
        self.doubt = "nothing has been walked"  # why the last look had no answer; "" = it had one
        self._workspace = workspace
        self._most_folders = most_folders
        self._mounts = mounts
        self._guard = threading.RLock()
        self._handle: _Handle | None = None
        self._hopeless = ""  # why it is not tried again
        self._subject = ""
        self._folders: dict[int, str] = {}
        self._rows: Mapping[str, Stat] = {}
        self._hidden: frozenset[str] = frozenset()
        self._shared: frozenset[int] = frozenset()

    def close(self) -> None:
        with self._guard:
            self._forget("closed")
            if self._handle is not None:
                self._handle.close()
                self._handle = None

    def walked(
        self, subject: str, walk: Callable[[Notice], tuple[dict[str, Stat], Collection[str]]]
    ) -> dict[str, Stat]:
        """Do a walk, and notice what changes from its beginning on. `subject` tells it from walks by other rules.

        The walk tells `enter` of each folder; it returns its rows, and the paths among them in folders not entered.
        """
        with self._guard:
            self._forget(self._hopeless or "a walk was broken off")
            try:
                if not self._hopeless:
                    self._begin()
                    self.doubt = ""
            except (_Doubt, OSError) as e:
                self.doubt = self._hopeless = str(e)
            rows, hidden = walk(self)
            if not self.doubt:
                inodes = {row.ino for row in rows.values()}
                self._shared = frozenset() if len(inodes) == len(rows) else _repeated(rows.values())
                self._subject, self._rows, self._hidden = subject, rows, frozenset(hidden)
            return rows

    def enter(self, path: str, folder: Folder) -> None:
        """Watch one folder, open, that is about to be read."""
        if self.doubt or self._handle is None:
            return
        if len(self._folders) >= self._most_folders or folder.fd is None:
            self.doubt = self._hopeless = "too many folders"
            return
        try:
            self._folders[self._handle.watch(folder.fd)] = path
        except OSError as e:
            self.doubt = self._hopeless = f"a folder cannot be watched: {e.strerror}"

    def look(self, subject: str) -> dict[str, Stat] | None:
        """What a walk would find now; None: only a walk can tell."""
        with self._guard:
            if self.doubt or subject != self._subject:
                return None
            try:
                rows = self._look()
            except (_Doubt, OSError) as e:
                self._forget(str(e))
                return None
            self._rows = rows
            return dict(rows)

    # --- how ---------------------------------------------------------------------------------------

    def _forget(self, why: str) -> None:
        self.doubt, self._subject = why, ""
        self._rows, self._folders = {}, {}

    def _begin(self) -> None:
        if self._handle is not None and self._handle.pid != os.getpid():
            self._handle = None  # the parent's, who reads from it too
        if self._handle is None:
            self._handle = _Handle(self._mounts)
        self._handle.mounts_changed()  # up to here nothing has been looked at
        _check_mounts(self._mounts, self._workspace.root)
        self._handle.events()

    def _look(self) -> dict[str, Stat]:
        handle = self._handle
        if handle is None or handle.pid != os.getpid():
            self._handle = None
            raise _Doubt("another process")
        if handle.mounts_changed():
            raise _Doubt("something was mounted or unmounted")
        paths, folders = self._told(handle.events())
        if len(paths) + len(self._hidden) > MOST_PATHS:
            raise _Doubt("too many paths")
        rows = dict(self._rows)
        for path, (row, names) in self._now({*paths, *self._hidden, *folders}).items():
            before = rows.pop(path, None)
            _check(before, row, names, self._shared)
            if row is not None:
                rows[path] = row
        return rows

    def _told(self, events: Iterable[tuple[int, int, bytes]]) -> tuple[set[str], set[str]]:
        """The paths that something happened to, and the folders that they are in."""
        paths: set[str] = set()
        folders: set[str] = set()
        for watch, mask, name in events:
            if mask & _OVERFLOW:
                raise _Doubt("too many events")
            folder = self._folders.get(watch)
            if folder is None:  # of an earlier walk
                continue
            folders.add(folder)
            if name.lower() == b".git" and mask & _ISDIR:  # which no walk lists; a file may be a second name
                continue
            if name.lower() == b".git" or mask & (_ISDIR | _GONE | _IGNORED) or not name:
                raise _Doubt(_FOLDERS)
            text = os.fsdecode(name)
            paths.add(f"{folder}/{text}" if folder else text)
        return paths, folders - {""}

    def _now(self, paths: Iterable[str]) -> dict[str, tuple[Stat | None, int]]:
        """The row of each path, None for none, and how many names the file has."""
        found: dict[str, tuple[Stat | None, int]] = {}
        by_folder: dict[str, list[str]] = {}
        for path in paths:
            by_folder.setdefault(path.rpartition("/")[0], []).append(path)
        for parent, inside in by_folder.items():
            with self._workspace.tree.folder(parent) as folder:
                for path in inside:
                    found[path] = _row(folder, path.rpartition("/")[2])
        return found


class _Handle:
    """One inotify instance, and an eye on the table of mounts. Closed with its last reference at the latest."""

    def __init__(self, table: Path) -> None:
        if _libc is None or not hasattr(_libc, "inotify_init1"):
            raise _Doubt("not on this system")
        fd = int(_libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
        if fd < 0:
            raise _failed("inotify_init1")
        try:
            mounts = os.open(table, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(fd)
            raise
        self.pid = os.getpid()
        self._fd = fd
        self._mounts = select.poll()
        self._mounts.register(mounts, select.POLLPRI | select.POLLERR)
        self.close = weakref.finalize(self, _close, fd, mounts)
        self.close.atexit = False

    def watch(self, folder_fd: int) -> int:
        """Watch an open folder; returns its number, the same one for the same folder."""
        assert _libc is not None
        path = ctypes.c_char_p(b"/proc/self/fd/%d" % folder_fd)
        number = int(_libc.inotify_add_watch(self._fd, path, ctypes.c_uint32(_ASKED)))
        if number < 0:
            raise _failed("inotify_add_watch")
        return number

    def mounts_changed(self) -> bool:
        """Whether anything was mounted or unmounted since this was asked last."""
        return bool(self._mounts.poll(0))

    def events(self) -> list[tuple[int, int, bytes]]:
        """All that has happened and not been told yet: watch number, what, the name in the folder."""
        found: list[tuple[int, int, bytes]] = []
        while True:
            try:
                data = os.read(self._fd, _BUFFER)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                found.append((watch, mask, data[at - length : at].rstrip(b"\0")))


def _close(*fds: int) -> None:
    for fd in fds:
        os.close(fd)


def _failed(call: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code), call)


def _check_mounts(table: Path, root: Path) -> None:
    """Raises where the tree is not on one file system that only this kernel writes."""
    here = os.fsencode(root)
    kind, longest = b"", -1
    for line in table.read_bytes().splitlines():
        fields = line.split(b" ")
        point = _unescaped(fields[4])
        if point.startswith(here.rstrip(b"/") + b"/"):
            raise _Doubt("a file system is mounted in the tree")
        if (here == point or here.startswith(point.rstrip(b"/") + b"/")) and len(point) >= longest:
            kind, longest = fields[fields.index(b"-", 6) + 1], len(point)
    if kind.decode("ascii", "replace") not in _LOCAL:
        raise _Doubt(f"a file system that others may write: {kind.decode('ascii', 'replace')}")


def _unescaped(field: bytes) -> bytes:
    for code, byte in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        field = field.replace(code, byte)
    return field


def _repeated(rows: Iterable[Stat]) -> frozenset[int]:
    seen: set[int] = set()
    twice: set[int] = set()
    for row in rows:
        (twice if row.ino in seen else seen).add(row.ino)
    return frozenset(twice)


def _check(before: Stat | None, now: Stat | None, names: int, shared: Collection[int]) -> None:
    """Raises where other rows may have changed with this one."""
    folders = [row is not None and row.kind == "directory" for row in (before, now)]
    if any(folders):
        if before is None or now is None or not all(folders) or (before.ino, before.mode) != (now.ino, now.mode):
            raise _Doubt(_FOLDERS)
        return
    if (now is not None and names > 1) or (before is not None and before.ino in shared):
        raise _Doubt(_NAMES)


def _row(folder: Folder, name: str) -> tuple[Stat | None, int]:
    try:
        info = folder.stat(name)
    except FileNotFoundError:
        return None, 0
    row = Stat(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_mode, kind_of(info))
    return row, info.st_nlink
