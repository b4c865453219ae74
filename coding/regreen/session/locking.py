"""One writer a work tree: a lock that no state folder and no clean-up of lock files can get around.

Two locks are taken together. The file in the state folder works everywhere; the lock on the work tree's own folder
(POSIX) also holds between processes with other state folders, and cannot be deleted without the work tree. Who holds
them is written beside the first; of a holder with another state folder the system tells the process (Linux).
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from regreen.jobs import born, lives

try:
    import fcntl
except ImportError:  # not POSIX: the file in the state folder is all there is
    fcntl = None

_POLL_S = 0.05
_MAX_NOTE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a work tree. `pid` 0 and `since` 0 (seconds since 1970): not known. `elsewhere`: its state folder is
    another one, and `since` is when its process started. `job` is the id of the run that it holds the tree for."""

    pid: int = 0
    since: float = 0.0
    job: str = ""
    elsewhere: bool = False

    def __str__(self) -> str:
        process = f"process {self.pid}" if self.pid else "another process"
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since)) if self.since else ""
        if self.elsewhere:
            return f"{process} (with another state folder{f', started {at}' if at else ''})"
        if self.job:
            return f"{self.job} ({process}{f', since {at}' if at else ''})"
        return f"{process} (since {at})" if at else process


class TreeLock:
    """Held by one process (and one of its threads) at a time; the system releases it when the holder dies."""

    def __init__(self, file: FileLock, folder: Path) -> None:
        self._file = file
        self._folder = folder
        self._note = Path(file.lock_file).with_suffix(".holder")
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
        self._write_note()
        return True

    def release(self) -> None:
        with suppress(OSError):
            self._note.unlink(missing_ok=True)  # while it is ours
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._file.release()

    def holder(self) -> Holder:
        """Who holds it, as far as that can be known. For a lock that could not be taken."""
        return self._noted() or _of_system(self._folder) or Holder()

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

    def _write_note(self) -> None:
        with suppress(OSError):  # without it the lock holds all the same
            pid, new = os.getpid(), self._note.with_suffix(".new")
            new.write_text(json.dumps({"pid": pid, "born": born(pid) or "", "since": time.time()}), "utf-8")
            new.replace(self._note)

    def _noted(self) -> Holder | None:
        """The holder that wrote the note; None where that one is dead, or there is no note that can be read."""
        try:
            with self._note.open("rb") as file:
                said = json.loads(file.read(_MAX_NOTE_BYTES))
            holder, was_born = Holder(int(said["pid"]), float(said["since"])), str(said["born"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return holder if holder.pid > 0 and lives(holder.pid, was_born) else None


def _of_system(folder: Path) -> Holder | None:
    """The process that the system says holds the lock on a folder."""
    try:
        info = folder.stat()
        table = Path("/proc/locks").read_text("ascii", "replace")
    except OSError:
        return None
    found: dict[bool, int] = {}
    for line in table.splitlines():
        words = line.split()
        place = words[5].split(":") if len(words) > 5 and words[1] == "FLOCK" else []
        if len(place) == 3 and place[2] == str(info.st_ino) and words[4].isdigit():
            device = os.makedev(int(place[0], 16), int(place[1], 16))
            found.setdefault(device == info.st_dev, int(words[4]))
    pid = found.get(True, found.get(False, 0))  # some file systems show another device
    return Holder(pid, _started(pid), elsewhere=True) if pid > 0 else None


def _started(pid: int) -> float:
    """When a process started, in seconds since 1970; 0 where that is not told."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rsplit(")", 1)[-1].split()[19])
        boot = next(r for r in Path("/proc/stat").read_text("ascii", "replace").splitlines() if r.startswith("btime "))
        return int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return 0.0
