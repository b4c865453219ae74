"""The parent of a program that is not ours to confine, but ours to end: run as a script by our own interpreter
(`-I -S`), never imported.

`keeper.py FIFO PROGRAM ARGUMENT...` starts the program with the standard streams and the environment that it has got,
and ends when the program does. The whole tree below it is killed then, and also on SIGTERM (after which the program may
first end by itself), on a `k` in the FIFO, and when nobody holds the FIFO open any more, because who started us died.
What a tree is, and how it is killed, is the supervisor's.
"""

from __future__ import annotations

import os
import select
import sys

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    import signal
    from typing import NoReturn

    from regreen.sandbox import census, supervisor
else:
    import _signal as signal  # `signal` itself imports `enum`, which would double our start-up time

    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (`pathlib` is slow to import)
    import census
    import supervisor

POLITE_S = 1.0  # shorter than who sends SIGTERM waits until SIGKILL, which cannot be handed on
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def opened(fifo: str) -> int:
    """The FIFO's end to read, which then has no name any more; -1 where nobody holds the other one, or wants us."""
    try:
        control = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.unlink(fifo)  # noqa: PTH108 (`pathlib` is slow to import)
        os.rmdir(os.path.dirname(fifo))  # noqa: PTH106, PTH120
    except OSError:
        return -1
    try:
        os.read(control, 64)
    except BlockingIOError:  # there is somebody, who has not said anything
        return control
    return -1


def start(argv: list[str]) -> int:
    """Fork and exec. A program that cannot be started says so itself, where its errors go."""
    keeper = os.getpid()
    pid = os.fork()
    if pid == 0:
        become(argv, keeper)
    return pid


def become(argv: list[str], keeper: int) -> NoReturn:
    try:
        os.setsid()
        supervisor.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(127)
        for name in (signal.SIGPIPE, signal.SIGXFSZ, *_ENDING):
            signal.signal(name, signal.SIG_DFL)
        os.execvp(argv[0], argv)
    except OSError as e:
        os.write(2, os.fsencode(f"it cannot be started: {e.strerror}: {argv[0]}\n"))
    os._exit(127)


def let_go() -> None:
    """The streams are the program's alone: their other ends then see when it closes them."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def watch(family: supervisor.Family, control: int, wake: int) -> bool:
    """Return when the program has ended, or is to be ended: True where it may first do so by itself."""
    while True:
        family.reap()
        if family.status is not None:
            return False
        ready, _, _ = select.select([control, wake], [], [])
        if wake in ready and set(supervisor.drain(wake)).intersection(_ENDING):
            return True
        if control in ready:  # whatever it is: a word, or the end
            return False


def keep(fifo: str, argv: list[str]) -> int:
    control = opened(fifo)
    if control < 0:
        return 1
    wake, waker = os.pipe()
    for fd in (wake, waker):
        os.set_blocking(fd, False)
    for name in (signal.SIGCHLD, *_ENDING):
        signal.signal(name, supervisor.heard)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    supervisor.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    main = start(argv)
    let_go()
    family = supervisor.Family(main, wake, census.Guard(0, 0), None)
    if watch(family, control, wake):
        os.kill(main, signal.SIGTERM)  # not waited for yet, so it is still this one's number
        family.settle(POLITE_S, kill=False)
    family.settle(supervisor.KILL_S, kill=True)
    return 1 if family.status is None else os.waitstatus_to_exitcode(family.status) & 0xFF


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1], sys.argv[2:]))
