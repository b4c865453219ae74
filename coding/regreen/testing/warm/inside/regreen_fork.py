"""The fork server: runs in the project's interpreter, with pytest and other people's modules imported, and forks.

Standalone as `regreen_inside`: standard library and pytest only, Python 3.8 or newer; regreen never imports it. The
rule: nothing of the project is imported in this process. Each run is a child in a session of its own; when it ends,
whatever came of it (this process adopts what it leaves behind) is ended before the next one starts.

From us: JSON lines, `{"do": "preload" | "run" | "kill" | "dump", ...}`; with `run` come two descriptors, the private
socket of the run and the pipe for its output. To us, a line each: hello, the answer to a preload, the end of a run.
"""

# ruff: noqa: PTH123, PTH208, BLE001
from __future__ import annotations

import array
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from regreen.testing.inside import regreen_inside as inside
    from regreen.testing.warm.inside import regreen_preload as preloading
    from regreen.testing.warm.inside import regreen_ready as ready
    from regreen.testing.warm.inside import regreen_session as session
else:
    import regreen_inside as inside
    import regreen_preload as preloading
    import regreen_ready as ready
    import regreen_session as session

MAX_FDS = 2
GRACE_S = 0.1  # what a process may take to notice that the tests have ended, before it counts as left
KILL_S = 5.0
SLACK_S = 2.0  # past its time limit a run is ended here, should nobody have asked for that
PR_SET_CHILD_SUBREAPER = 36


class Line:
    """JSON lines over a socket, and the descriptors that come with them."""

    def __init__(self, fd: int) -> None:
        self.socket = socket.socket(fileno=fd)
        self.socket.set_inheritable(False)
        self.ended = False
        self._text = b""
        self._fds: list[int] = []

    def say(self, **message: Any) -> None:
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> Iterator[dict[str, Any]]:
        """Wait for one portion and hand out the lines that it completes. `ended` at the end of the line."""
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        data, extra, _, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(4 * MAX_FDS), flags)
        for level, kind, body in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                numbers = array.array("i")
                numbers.frombytes(body[: len(body) - len(body) % numbers.itemsize])
                self._fds += numbers
        self.ended = not data
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            yield json.loads(line)

    def descriptors(self) -> list[int]:
        fds, self._fds = self._fds, []
        return fds


class Brood:
    """A run's main process and everything that came of it: all that descends from this process."""

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
                return False
            if pid == 0:
                return True
            if pid == self.main:
                self.status = status

    def settle(self, seconds: float, *, kill: bool) -> bool:
        """Wait until nobody is left, killing over and over if asked. True if somebody still is."""
        end = time.monotonic() + seconds
        while True:
            if kill:
                self.kill()
            if not self.reap():
                return False
            if time.monotonic() >= end:
                return True
            select.select([self._wake], [], [], 0.01)
            drain(self._wake)

    def kill(self) -> None:
        for send, target in [(os.killpg, self.main), *((os.kill, pid) for pid in descendants())]:
            try:
                send(target, signal.SIGKILL)
            except OSError:
                continue

    def dump(self) -> None:
        if self.status is None:
            os.kill(self.main, signal.SIGXCPU)


def descendants() -> list[int]:
    """Every live process below this one, by one look at the process table; nobody where there is none."""
    parents: dict[int, list[int]] = {}
    try:
        names = [n for n in os.listdir("/proc") if n.isdigit()]
    except OSError:
        return []
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if len(fields) > 1 and fields[0] != b"Z":
            parents.setdefault(int(fields[1]), []).append(int(name))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return found


def drain(fd: int) -> None:
    try:
        while os.read(fd, 4096):
            pass
    except BlockingIOError:
        return


def heard(_number: int, _frame: object) -> None:
    """SIGCHLD is read from the wake-up pipe; without a handler it would not come there."""


def adopt() -> bool:
    """Become the parent of what the descendants leave behind. False where that cannot be had."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    return ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


class Server:
    """Answers until the line ends; `serve` returns only in a forked child, with what that has to run."""

    def __init__(self, fd: int) -> None:
        self.line = Line(fd)
        self.wake, self.waker = os.pipe()
        for pipe in (self.wake, self.waker):
            os.set_blocking(pipe, False)
        signal.signal(signal.SIGCHLD, heard)
        signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)
        self.environ = dict(os.environ)
        self.zygote = preloading.Zygote(sys.path, {fd, self.wake, self.waker})
        self.brood: Brood | None = None

    def serve(self) -> dict[str, Any]:
        adopts = adopt()
        ready.prepare()
        self.zygote.settle()
        site = [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]  # noqa: PTH119
        self.line.say(hello=1, adopts=adopts, site=site, trouble=self.zygote.trouble())
        while True:
            for message in self.line.receive():
                if message["do"] == "preload":
                    self.line.say(**self.zygote.preload(message))
                elif message["do"] == "run":
                    order = self.run(message)
                    if order is not None:
                        return order
            if self.line.ended:
                os._exit(0)

    def run(self, order: dict[str, Any]) -> dict[str, Any] | None:
        """Fork; the child returns with its order, this process when the run has ended."""
        fds = self.line.descriptors()
        trouble = "" if len(fds) == MAX_FDS else "the descriptors of the run did not arrive"
        trouble = trouble or self.zygote.trouble(fds)
        if trouble:
            close(fds)
            self.line.say(run=order["run"], refused=trouble)
            return None
        before = cpu_s()
        try:
            pid = os.fork()
        except OSError as e:
            close(fds)
            self.line.say(run=order["run"], refused=f"cannot fork: {e.strerror}")
            return None
        if pid == 0:
            self.forget()
            own = {k: v for k, v in self.environ.items() if k not in order["given"]}  # of the sandbox, the interpreter
            return {**order, "fds": fds, "environ": {**own, **order["environ"]}}
        close(fds)
        self.watch(Brood(pid, self.wake), order, before)
        return None

    def watch(self, brood: Brood, order: dict[str, Any], before: float) -> None:
        """Until the main process has ended or is to be ended; then end what is left, and tell."""
        deadline = time.monotonic() + order["timeout_s"] + SLACK_S
        stop = False
        while brood.reap() and brood.status is None and not stop:
            left_s = deadline - time.monotonic()
            seen = select.select([self.line.socket, self.wake], [], [], max(0.0, left_s))[0]
            drain(self.wake)
            stop = left_s <= 0
            if self.line.socket in seen:
                stop = self.words(brood, order["run"]) or stop
        left = brood.status is not None and brood.settle(GRACE_S, kill=False)
        alive = brood.settle(KILL_S, kill=True)
        if self.line.ended:
            os._exit(0)
        used_us = int((cpu_s() - before) * 1e6)
        self.line.say(run=order["run"], status=brood.status, left=left, alive=alive, cpu_us=used_us)

    def words(self, brood: Brood, run: int) -> bool:
        """Take what was said during a run. True if it is to be ended."""
        stop = False
        for message in self.line.receive():
            if message.get("run") == run and message["do"] == "kill":
                stop = True
            elif message.get("run") == run and message["do"] == "dump":
                brood.dump()
        return stop or self.line.ended

    def forget(self) -> None:
        """In the child: nothing of the server is left."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self.wake)
        os.close(self.waker)
        self.line.socket.close()


def close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def become(order: dict[str, Any], zygote: preloading.Zygote) -> int:
    """Make this child what a freshly started interpreter would be. Returns the descriptor of the private socket."""
    channel, output = order["fds"]
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    limit_cpu(int(order["cpu_s"]))
    os.environ.clear()
    os.environ.update({**order["environ"], **zygote.mutated})
    os.chdir(order["cwd"])
    zygote.reset_path()
    tempfile.tempdir = None  # where temporary files go was found out with another environment
    reseed()
    return channel


def limit_cpu(seconds: int) -> None:
    """The first signal only makes the process say where it stands; the second ends it."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard == resource.RLIM_INFINITY or hard > seconds + 1:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def reseed() -> None:
    """Random numbers begin anew, as they do when their modules are imported. (`random` does that on fork by itself.)"""
    numpy: Any = sys.modules.get("numpy.random")
    if numpy is not None:
        try:
            numpy.seed()
        except Exception:
            return


def leave(code: int) -> NoReturn:
    """End as `sys.exit` would, up to the point where only memory would be given back."""
    import atexit
    import threading

    shut: Any = getattr(threading, "_shutdown", None)
    if shut is not None:
        shut()
    run: Any = getattr(atexit, "_run_exitfuncs", None)
    if run is not None:
        try:
            run()
        except BaseException:
            sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue
    os._exit(code)


def main(fd: int) -> int:
    server = Server(fd)
    order = server.serve()
    zygote = server.zygote
    del server
    channel = become(order, zygote)
    gc.enable()
    code = inside.serve(channel, order["arguments"], lambda told, job: session.plugins(told, job, zygote))
    leave(code)
