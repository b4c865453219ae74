"""The parent of every child process: run as a script by our own interpreter (`-I -S`), never imported for its effect.

It holds one end of a control socket. The whole tree below it is killed when the main child has ended, when we ask,
or when the other end closes because we died. Nothing it started outlives it: on Linux it is a child subreaper, so
double-forked and `setsid`ed processes fall back to it; elsewhere the child's process group is what can be reached.
Small and quick to start: standard library only, no imports of regreen.

From us: a length, a marshalled job, then single bytes: `k` kill, `d` deliver the dump signal to the main child.
To us, one line each: `started PID`, `failed ERRNO WHAT`, `ended STATUS LEFT_PROCESSES CPU_US STILL_ALIVE`.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import sys

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    import signal
    from typing import NoReturn, TypedDict

    class Job(TypedDict):
        """What to start. Paths and words are bytes; `limits` are pairs of an rlimit number and its value."""

        argv: list[bytes]
        env: dict[bytes, bytes]
        cwd: bytes
        output: int
        keep: list[int]
        limits: list[tuple[int, int]]
        scrap: bytes  # a folder to remove if we are left alone
else:
    import _signal as signal  # `signal` itself imports `enum`, which would double our start-up time


LINUX = sys.platform.startswith("linux")
GRACE_S = 0.1  # what a helper process may take to notice that its parent has ended, before it counts as left
KILL_S = 5.0
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def prctl(option: int, value: int) -> None:
    """Linux `prctl`; does nothing elsewhere."""
    if LINUX:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def read_job(control: int) -> Job | None:
    """The job, or None where the sender has died."""
    head = _read(control, 4)
    body = _read(control, int.from_bytes(head, "big")) if len(head) == 4 else b""
    return marshal.loads(body) if body else None


def _read(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = os.read(fd, size - len(data))
        if not part:
            return b""
        data += part
    return data


def start(job: Job) -> tuple[int, int, str]:
    """Fork and exec. Returns (pid, 0, "") or (0, errno, what)."""
    told, tell = os.pipe()
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        become(job, tell, supervisor)
    os.close(tell)
    problem = os.read(told, 4096).decode(errors="replace")
    os.close(told)
    if not problem:
        return pid, 0, ""
    os.waitpid(pid, 0)
    number, _, what = problem.partition(" ")
    return 0, int(number), what


def become(job: Job, tell: int, supervisor: int) -> NoReturn:
    """Turn the forked child into the program; the pipe `tell` closes on success and carries the error otherwise."""
    what = "setsid"
    try:
        os.setsid()
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(127)
        for name in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_DFL)
        what = "rlimit"
        for number, value in job["limits"]:
            lower(number, value)
        what = "working folder"
        os.chdir(job["cwd"])
        what = "standard streams"
        null = os.open(os.devnull, os.O_RDONLY)
        for fd, target in ((null, 0), (job["output"], 1), (job["output"], 2)):
            os.dup2(fd, target)
        for fd in job["keep"]:
            os.set_inheritable(fd, True)
        prefer_as_victim()
        what = "program"
        os.execve(job["argv"][0], job["argv"], job["env"])
    except OSError as e:
        os.write(tell, f"{e.errno or 0} {what}".encode())
    os._exit(127)


def lower(number: int, value: int) -> None:
    """Set a limit, never above the hard limit that already holds."""
    hard = resource.getrlimit(number)[1]
    if hard not in (resource.RLIM_INFINITY, -1):
        value = min(value, hard)
    resource.setrlimit(number, (value, value))


def prefer_as_victim() -> None:
    """Where memory runs out, the kernel should end the tests rather than the program that watches them."""
    if LINUX:
        try:
            fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        except OSError:
            return
        try:
            os.write(fd, b"500")
        except OSError:
            pass
        finally:
            os.close(fd)


def descendants() -> list[int]:
    """Every live process below this one, by one look at the process table (Linux)."""
    children: dict[int, list[int]] = {}
    with os.scandir("/proc") as entries:
        names = [e.name for e in entries]
    for name in names:
        if name.isdigit():
            try:
                fd = os.open(f"/proc/{name}/stat", os.O_RDONLY)
            except OSError:
                continue
            try:
                stat = os.read(fd, 4096).rpartition(b")")[2].split()
            except OSError:
                continue
            finally:
                os.close(fd)
            if len(stat) > 1 and stat[0] != b"Z":
                children.setdefault(int(stat[1]), []).append(int(name))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


class Family:
    """The main child and everything that came of it."""

    def __init__(self, main: int, wake: int) -> None:
        self.main = main
        self.status: int | None = None
        self._wake = wake

    def reap(self) -> bool:
        """Collect the ended. True while any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return self._group_alive()
            if pid == 0:
                return True
            if pid == self.main:
                self.status = status

    def _group_alive(self) -> bool:
        if LINUX:
            return False
        try:
            os.killpg(self.main, 0)
        except OSError:
            return False
        return True

    def settle(self, seconds: float, *, kill: bool) -> bool:
        """Wait until nobody is left, killing over and over if asked. True if somebody still is."""
        for _ in range(max(1, int(seconds / 0.01))):
            if kill:
                self._kill()
            if not self.reap():
                return False
            select.select([self._wake], [], [], 0.01)
            drain(self._wake)
        return self.reap()

    def _kill(self) -> None:
        try:
            below = descendants() if LINUX else [-self.main]
        except OSError:  # no /proc
            below = [-self.main]
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


def drain(fd: int) -> bytes:
    """What lies in a non-blocking pipe."""
    try:
        return os.read(fd, 4096)
    except BlockingIOError:
        return b""


def watch(family: Family, control: int, wake: int) -> bool:
    """Return when the main child has ended or must be ended. False: we have been left alone."""
    while True:
        family.reap()
        if family.status is not None:
            return True
        ready, _, _ = select.select([control, wake], [], [])
        if wake in ready and any(n in drain(wake) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)):
            return True
        if control in ready:
            word = os.read(control, 64)
            if not word:
                return False
            if b"k" in word:
                return True
            if b"d" in word and family.status is None:
                os.kill(family.main, signal.SIGXCPU)


def heard(_number: int, _frame: object) -> None:
    """Signals are read from the wake-up pipe; without a handler they would not come there."""


def remove(folder: bytes) -> None:
    """Remove a private folder for somebody who no longer can."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def supervise(control: int) -> int:
    wake, waker = os.pipe()
    for fd in (wake, waker):
        os.set_blocking(fd, False)
    for name in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, heard)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    job = read_job(control)
    if job is None:
        return 1
    for fd in (control, job["output"], *job["keep"]):
        os.set_inheritable(fd, False)
    pid, number, what = start(job)
    for fd in (job["output"], *job["keep"]):
        os.close(fd)
    if not pid:
        os.write(control, f"failed {number} {what}\n".encode())
        return 1
    return _oversee(Family(pid, wake), control, wake, job["scrap"])


def _oversee(family: Family, control: int, wake: int, scrap: bytes) -> int:
    try:
        os.write(control, f"started {family.main}\n".encode())
        together = watch(family, control, wake)
    except OSError:
        together = False
    by_itself = family.status is not None
    left = by_itself and family.settle(GRACE_S, kill=False)
    alive = family.settle(KILL_S, kill=True)
    if not together:
        if scrap:
            remove(scrap)
        return 1
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_us = int((usage.ru_utime + usage.ru_stime) * 1e6)
    status = -1 if family.status is None else family.status
    try:
        os.write(control, f"ended {status} {int(left)} {cpu_us} {int(alive)}\n".encode())
    except OSError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(supervise(int(sys.argv[1])))
