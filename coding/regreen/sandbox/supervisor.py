"""The parent of every child process: run as a script by our own interpreter (`-I -S`), never imported for its effect.

It holds one end of a control socket. The whole tree below it is killed when the main child has ended, when we ask,
or when the other end closes because we died. Nothing it started outlives it: on Linux it is a child subreaper, so
double-forked and `setsid`ed processes fall back to it; elsewhere the child's process group is what can be reached.
Small and quick to start: standard library only, no imports of regreen.

From us: a length, a marshalled job, then single bytes: `k` kill, `d` deliver the dump signal to the main child.
To us, one line each: `started PID`, `failed ERRNO WHAT`, `ended STATUS LEFT_PROCESSES CPU_US STILL_ALIVE WHY`, where
WHY is the limit that the tree was ended for, `unboxed` where bubblewrap could not start the program, or `-`.
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

    from regreen.sandbox import boxed, census, closing
    from regreen.sandbox.closing import Closing

    class Job(TypedDict):
        """What to start. Paths and words are bytes; `limits` are rlimits: number, soft, hard."""

        argv: list[bytes]
        env: dict[bytes, bytes]
        cwd: bytes
        output: int
        keep: list[int]
        limits: list[tuple[int, int, int]]
        scrap: bytes  # a folder to remove if we are left alone
        processes: int  # the most that may live at once; 0 = any number
        memory: int  # the most bytes that they may hold together; 0 = any
        box: bool  # the argv starts the program by bubblewrap
        filter: bytes  # the filter of system calls that bubblewrap is to apply
        closing: Closing | None  # what the child does to itself
        farewell: list[bytes]  # what to start if we are left alone, to end what is not below us
else:
    import _signal as signal  # `signal` itself imports `enum`, which would double our start-up time

    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (`pathlib` is slow to import)
    import census


LINUX = sys.platform.startswith("linux")
GRACE_S = 0.1  # what a helper process may take to notice that its parent has ended, before it counts as left
KILL_S = 5.0
_ROUNDS = 200
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
        for number, soft, hard in job["limits"]:
            lower(number, soft, hard)
        what = "working folder"
        os.chdir(job["cwd"])
        what = "standard streams"
        null = os.open(os.devnull, os.O_RDONLY)
        for fd, target in ((null, 0), (job["output"], 1), (job["output"], 2)):
            os.dup2(fd, target)
        for fd in job["keep"]:
            os.set_inheritable(fd, True)
        prefer_as_victim()
        if job["closing"]:
            what = "sandbox"
            closing.close(job["closing"])
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a change of rights may have cleared it
        what = "program"
        os.execve(job["argv"][0], job["argv"], job["env"])
    except OSError as e:
        os.write(tell, f"{e.errno or 0} {what}".encode())
    os._exit(127)


def lower(number: int, soft: int, hard: int) -> None:
    """Set a limit, never above the hard limit that already holds."""
    ceiling = resource.getrlimit(number)[1]
    if ceiling not in (resource.RLIM_INFINITY, -1):
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(number, (soft, hard))


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


def come_first() -> None:
    """Run before the tree that we watch, which may be thousands of processes; a right of root's, who needs it most:
    nothing else bounds the number of his processes. What we start has the usual turn."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:
        try:
            os.nice(-10)
        except OSError:
            return


class Family:
    """The main child and everything that came of it. `limit` is what it was ended for, if it was."""

    def __init__(self, main: int, wake: int, guard: census.Guard, box: boxed.Box | None) -> None:
        self.main = main
        self.status: int | None = None
        self.limit = ""
        self.guard = guard
        self.box = box
        self.wake = wake

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

    def dump(self) -> None:
        """Ask the program itself to say where it stands; not what stands in front of it."""
        if self.box:
            self.box.find()
        program = self.box.program if self.box else self.main
        if program and self.status is None:
            try:
                os.kill(program, signal.SIGXCPU)
            except OSError:  # it has just ended
                return

    def settle(self, seconds: float, *, kill: bool) -> bool:
        """Wait until nobody is left, killing over and over if asked. True if somebody still is."""
        for _ in range(max(1, int(seconds / 0.01))):
            if not self.reap():
                return False
            if kill:
                self._kill()
            select.select([self.wake], [], [], 0.01)
            drain(self.wake)
        return self.reap()

    def _kill(self) -> None:
        """Kill everybody, and at once whoever came in the meantime: a tree that grows is given no time to."""
        killed: set[int] = set()
        for _ in range(_ROUNDS):
            try:
                below = list(census.descendants(os.getpid())) if LINUX else [-self.main]
            except OSError:  # no /proc
                below = [-self.main]
            new = [pid for pid in below if pid not in killed]
            if self.box:  # with the first process of the namespace all of it goes at one blow
                new.sort(key=self.box.first.__ne__)
            for pid in new:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    continue
            if not new:
                return
            killed.update(new)


def drain(fd: int) -> bytes:
    """What lies in a non-blocking pipe."""
    try:
        return os.read(fd, 4096)
    except BlockingIOError:
        return b""


def watch(family: Family, control: int, wake: int) -> bool:
    """Return when the main child has ended or must be ended. False: we have been left alone."""
    box = family.box
    while True:
        family.reap()
        if family.status is not None or (box and box.look()):
            return True
        family.limit = family.guard.exceeded()
        if family.limit:
            return True
        waits = [w for w in (family.guard.wait_s(), box.wait_s() if box else None) if w is not None]
        more = box.descriptors() if box else []
        ready, _, _ = select.select([control, wake, *more], [], [], min(waits, default=None))
        if wake in ready and {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} & set(drain(wake)):
            return True
        if control in ready:
            word = os.read(control, 64)
            if not word:
                return False
            if b"k" in word:
                return True
            if b"d" in word:
                family.dump()


def heard(_number: int, _frame: object) -> None:
    """Signals are read from the wake-up pipe; without a handler they would not come there."""


def remove(folder: bytes) -> None:
    """Remove a private folder for somebody who no longer can, in our turn."""
    import shutil

    if LINUX:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    shutil.rmtree(folder, ignore_errors=True)


def leave(argv: list[bytes], env: dict[bytes, bytes]) -> None:
    """Start the last word to somebody outside of the tree."""
    import subprocess

    subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def supervise(control: int) -> int:
    wake, waker = os.pipe()
    for fd in (wake, waker):
        os.set_blocking(fd, False)
    for name in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, heard)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    if LINUX and os.geteuid() == 0:
        come_first()
    job = read_job(control)
    if job is None:
        return 1
    load(job)
    for fd in (control, job["output"], *job["keep"]):
        os.set_inheritable(fd, False)
    told = -1
    if job["box"]:
        told, more = boxed.prepare(job["argv"], job["filter"])
        job["keep"] += more
    pid, number, what = start(job)
    for fd in (job["output"], *job["keep"]):
        os.close(fd)
    if not pid:
        os.write(control, f"failed {number} {what}\n".encode())
        return 1
    guard = census.Guard(job["processes"], job["memory"])
    return _oversee(Family(pid, wake, guard, boxed.Box(pid, told) if job["box"] else None), control, wake, job)


def load(job: Job) -> None:
    """The further parts that this job needs, looked up beside this file, before the fork."""
    if TYPE_CHECKING:
        return
    global boxed, closing
    if job["box"]:
        import boxed
    if job["closing"]:
        import closing


def _oversee(family: Family, control: int, wake: int, job: Job) -> int:
    try:
        os.write(control, f"started {family.main}\n".encode())
        together = watch(family, control, wake)
    except OSError:
        together = False
    left = _ended_by_itself(family)
    alive = family.settle(KILL_S, kill=True)
    if not together:
        if job["scrap"]:
            remove(job["scrap"])
        if job["farewell"]:
            leave(job["farewell"], job["env"])
        return 1
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_us = int((usage.ru_utime + usage.ru_stime) * 1e6)
    status, why = _how(family)
    try:
        os.write(control, f"ended {status} {int(left)} {cpu_us} {int(alive)} {why}\n".encode())
    except OSError:
        return 1
    return 0


def _ended_by_itself(family: Family) -> bool:
    """Whether the main child did, and others were still there some moments later."""
    box = family.box
    if box and family.status is None and not family.limit and box.look():
        left = box.others(GRACE_S)
        box.let_go()
        for _ in range(500):
            if family.status is not None or not family.reap():
                break
            select.select([family.wake], [], [], 0.01)
            drain(family.wake)
        return left
    return family.status is not None and family.settle(GRACE_S, kill=False)


def _how(family: Family) -> tuple[int, str]:
    """How the program ended, as a wait status or -1, and why where that was not of itself."""
    if family.status is None or family.limit:
        return -1, family.limit or "-"
    if family.box:
        status, started = family.box.status(family.status)
        return status, "-" if started else "unboxed"
    return family.status, "-"


if __name__ == "__main__":
    sys.exit(supervise(int(sys.argv[1])))
