"""What stands at a path, for comparing: no link is followed, also not one that stands where a folder was.

Nothing here raises for what a test may have made: a path too long, a folder without rights, a device.
"""

from __future__ import annotations

import errno
import os
import stat

from regreen.errors import RegreenError
from regreen.workspace import FileImage, Stat, Workspace
from regreen.workspace.looking import kind_of

UNKNOWN = "?"  # hash of what has none: too large to read, or not to be opened
FOLDER = "folder"
SPECIAL = "special"  # a FIFO, a socket, a device
NAMELESS = (UNKNOWN, FOLDER, SPECIAL)
_NO_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV)


def current(workspace: Workspace, path: str) -> FileImage | None:
    """What stands at `path`; None where that cannot be read. Behind a link there is nothing."""
    try:
        workspace.tree.folder(path.rpartition("/")[0]).close()
        return workspace.image(path, follow=False)
    except OSError as e:
        return FileImage(path, "absent", real=path) if e.errno in _NO_FOLDER else None
    except RegreenError:
        return None


def hash_of(image: FileImage | None) -> str:
    """The hash of what stands there: "" for nothing, or one of `NAMELESS`."""
    if image is None:
        return UNKNOWN
    if image.kind == "other":
        return SPECIAL
    return FOLDER if image.kind == "directory" else image.sha256


def is_blocked(workspace: Workspace, path: str) -> bool:
    """Whether a link or a file stands where a folder on the way to `path` has to be, or it cannot be told."""
    parent = path.rpartition("/")[0]
    while parent:
        try:
            workspace.tree.folder(parent).close()
        except FileNotFoundError:
            parent = parent.rpartition("/")[0]
            continue
        except OSError:
            return True
        return False
    return False


def can_be_opened(workspace: Workspace, folder: str) -> bool:
    """Whether a folder can be looked into; one with too long a path cannot."""
    try:
        workspace.tree.folder(folder).close()
    except OSError:
        return False
    return True


def stats_of(workspace: Workspace, paths: list[str]) -> dict[str, Stat]:
    """The rows of single paths; what is missing, or behind a link, has none."""
    found: dict[str, Stat] = {}
    by_folder: dict[str, list[str]] = {}
    for path in paths:
        by_folder.setdefault(path.rpartition("/")[0], []).append(path)
    for parent, names in by_folder.items():
        try:
            folder = workspace.tree.folder(parent)
        except OSError:
            continue
        with folder:
            for path in names:
                try:
                    s = folder.stat(path.rpartition("/")[2])
                except OSError:
                    continue
                found[path] = Stat(s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_mode, kind_of(s))
    return found


def name_of(mode: int) -> str:
    """What a mode speaks of, for a sentence."""
    names = {
        stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link", stat.S_IFREG: "a file", stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    }  # fmt: skip
    return names.get(stat.S_IFMT(mode), "something unknown")


def remove_special(workspace: Workspace, path: str) -> bool:
    """Take away a FIFO, a socket or a device; they hold no bytes. Anything else stays."""
    try:
        with workspace.spot(path, follow=False) as at:
            if at.folder is None or at.info is None or at.real != path or kind_of(at.info) != "other":
                return False
            at.folder.unlink(at.name)
            return True
    except (OSError, RegreenError):
        return False


def remove_folder(workspace: Workspace, path: str) -> bool:
    """Remove a folder if it is empty."""
    try:
        return not is_blocked(workspace, path) and workspace.remove_empty_folder(path)
    except RegreenError:  # a path too long
        return False


def make_folder(workspace: Workspace, path: str, mode: int) -> bool:
    """Make a folder that is missing (and what is missing above it), with its mode."""
    parent, _, name = path.rpartition("/")
    try:
        with workspace.tree.folder(parent) as folder:
            folder.mkdir(name)
    except FileNotFoundError:
        return bool(parent) and make_folder(workspace, parent, 0) and make_folder(workspace, path, mode)
    except OSError:
        return False
    return set_folder_mode(workspace, path, mode)


def set_folder_mode(workspace: Workspace, path: str, mode: int) -> bool:
    """Give a folder its mode; 0 = leave it."""
    parent, _, name = path.rpartition("/")
    try:
        with workspace.tree.folder(parent) as folder:
            fd = folder.open(name, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return False
    try:
        if mode and hasattr(os, "fchmod") and stat.S_ISDIR(os.fstat(fd).st_mode):
            os.fchmod(fd, stat.S_IMODE(mode))
    finally:
        os.close(fd)
    return True
