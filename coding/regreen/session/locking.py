"""One writer a work tree: a lock that no state folder and no clean-up of lock files can get around.

Two locks are taken together. The file in the state folder works everywhere; the lock on the work tree's own folder
(POSIX) also holds between processes with other state folders, and cannot be deleted without the work tree.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from filelock import FileLock, Timeout

try:
    import fcntl
except ImportError:  # not POSIX: the file in the state folder is all there is
    fcntl = None

_POLL_S = 0.05


class TreeLock:
    """Held by one process (and one of its threads) at a time; the system releases it when the holder dies."""

    def __init__(self, file: FileLock, folder: Path) -> None:
        self._file = file
        self._folder = folder
        self._descriptor = -1

    def acquire(self, timeout_s: float) -> bool:
        """True if the lock is held now; waits for it at most so long."""
        end = time.monotonic() + timeout_s
        try:
            self._file.acquire(timeout=timeout_s)
        except Timeout:
            return False
        while not self._lock_folder():
            if time.monotonic() >= end:
                self._file.release()
                return False
            time.sleep(_POLL_S)
        return True

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._file.release()

    def _lock_folder(self) -> bool:
        if fcntl is None:
            return True
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError:  # a file system without locks: the other lock has to do
            os.close(descriptor)
            return True
        self._descriptor = descriptor
        return True


def is_alive(pid: int) -> bool:
    """Is there a process of this number, other than a dead one that nobody has waited for?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rsplit(")", 1)[-1].split()[0] != "Z"
    except (OSError, IndexError):
        return True
