"""Running one argv under the supervisor: its output spooled and capped, its time limited, its whole tree ended.

The output pipe is never read to its end: a process that outlives the main child may hold it open. What ends the
wait is the supervisor's word that the tree is gone. Where it ends without that word, because something killed it, we
end ourselves what can be found of the tree.
"""

from __future__ import annotations

import marshal
import os
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import cast

from regreen.errors import EnvironmentFault
from regreen.sandbox.confining import confined, exceeded, farewell, limits
from regreen.sandbox.streams import CHUNK_BYTES, Lines, Reader, Spool, start_fault, unboxed_fault
from regreen.sandbox.sweep import VARIABLE, new_mark, sweep
from regreen.sandbox.values import Cancel, Command, Completed
from regreen.settings import own_interpreter

CHANNEL = "{channel}"  # stands for the number of the child's end of the private channel: a word, or a variable's value
_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_LAST_DRAIN_BYTES = 16 * 1024 * 1024
_DUMP_S = 0.25  # time for the child to write where it stands
_KILL_S = 10.0  # after this the supervisor itself is given up
_FOREVER_S = 3600.0


def run(
    command: Command,
    *,
    cancel: Cancel,
    on_channel: Callable[[bytes], None] | None = None,
    first_words: bytes = b"",
    watch: Callable[[], float] | None = None,
    dump: bool = False,
) -> Completed:
    """Run `command` to its end in this thread. Raises EnvironmentFault where it cannot be started.

    `on_channel` gets what the child writes to its private socket, whose number replaces `{channel}` in the argv;
    `first_words` are sent down it. `watch` may name an earlier end than `timeout_s` (a `time.monotonic()` value),
    and is asked again after every event. `dump`: before a timeout kills, the main child is sent SIGXCPU so that it
    can say where it stands.
    """
    process = Process(command, channel=on_channel is not None)
    with process, cancel.waking(process.wake):
        if process.channel is not None and first_words:
            process.channel.sendall(first_words)
        return process.follow(cancel, on_channel=on_channel, watch=watch or _never, dump=dump)


class Child:
    """A child that is talked to over `channel`, a socket. It ends with `kill`, its time limit, or with us."""

    def __init__(self, command: Command, cancel: Cancel) -> None:
        self._process = Process(command, channel=True)
        assert self._process.channel is not None
        self.channel: socket.socket = self._process.channel
        self.channel.setblocking(True)
        self._stop = Cancel()
        self._outer = cancel
        self._result: Completed | None = None
        self._fault: EnvironmentFault | None = None
        self._thread = threading.Thread(target=self._follow, name="regreen-child", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        try:
            with self._process, self._outer.waking(self._stop.set), self._stop.waking(self._process.wake):
                self._result = self._process.follow(self._stop, on_channel=None, watch=_never, dump=False)
        except EnvironmentFault as e:
            self._fault = e

    def wait(self, timeout_s: float | None = None) -> Completed | None:
        """How it ended, or None while it still runs. Raises EnvironmentFault if it could not be started."""
        self._thread.join(timeout_s)
        if self._fault is not None:
            raise self._fault
        return self._result

    def kill(self) -> Completed | None:
        """End it and everything that came of it; idempotent. `channel` is closed."""
        self._stop.set()
        result = self.wait()
        self.channel.close()
        return result


def spawn(command: Command, *, cancel: Cancel) -> Child:
    """Start `command` and return at once. Its argv gets its end of the channel for `{channel}`."""
    return Child(command, cancel)


class Process:
    """One supervised process tree and the descriptors to it. Leaving the block ends the tree, whatever happened."""

    def __init__(self, command: Command, *, channel: bool) -> None:
        self._command = command
        self._main = 0
        self._mark = new_mark()
        self._swept = False
        self._stopping_since = 0.0
        self.channel: socket.socket | None = None
        with ExitStack() as undo, ExitStack() as theirs:
            self._output, output = os.pipe()
            undo.callback(os.close, self._output)
            theirs.callback(os.close, output)
            self._control, control = socket.socketpair()
            undo.callback(self._control.close)
            theirs.callback(control.close)
            self._woken, self._waker = os.pipe()
            undo.callback(os.close, self._woken)
            undo.callback(os.close, self._waker)
            keep = list(command.pass_fds)
            if channel:
                self.channel, child_end = socket.socketpair()
                undo.callback(self.channel.close)
                theirs.callback(child_end.close)
                keep.append(child_end.fileno())
            for fd in (self._output, self._woken, self._waker):
                os.set_blocking(fd, False)
            self._spool = Spool(command)
            undo.callback(self._spool.close)
            self._supervisor = _start_supervisor(control.fileno(), (output, *keep))
            try:  # while it starts
                parts = confined(command)
                self._argv = cast("tuple[str, ...]", parts["argv"])
                job = _job(command, parts, self._mark, output, keep, str(keep[-1]) if channel else "")
            except BaseException:
                self._control.close()
                self._supervisor.wait()
                raise
            self._undo = undo.pop_all()
            self._control.sendall(job)
        self._started = time.monotonic()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *exc: object) -> None:
        self._control.close()
        try:
            lost = self._supervisor.wait(_KILL_S) < 0
        except subprocess.TimeoutExpired:
            lost = True
        if lost:
            self._give_up()
        farewell(self._command, self._argv)
        self._undo.close()

    def wake(self) -> None:
        """Make `follow` look at its cancel flag; from any thread."""
        with suppress(OSError):
            os.write(self._waker, b".")

    def follow(
        self,
        cancel: Cancel,
        *,
        on_channel: Callable[[bytes], None] | None,
        watch: Callable[[], float],
        dump: bool,
    ) -> Completed:
        """Wait for the end. Spools the output, hands on the channel, applies time limit and cancel."""
        with selectors.DefaultSelector() as selector:
            words = Lines(self._control)
            selector.register(self._output, selectors.EVENT_READ, self._spool.take)
            selector.register(self._control, selectors.EVENT_READ, words.take)
            selector.register(self._woken, selectors.EVENT_READ, _discard)
            if self.channel is not None and on_channel is not None:
                selector.register(self.channel, selectors.EVENT_READ, Reader(self.channel, on_channel).take)
            timed_out, cancelled = self._loop(selector, words, cancel, watch, dump)
            self._main = self._main or words.started()
            if not words.ended:
                self._give_up()
            self._last_words(on_channel)
        return self._completed(words.ended, timed_out=timed_out, cancelled=cancelled)

    def _loop(
        self,
        selector: selectors.BaseSelector,
        words: Lines,
        cancel: Cancel,
        watch: Callable[[], float],
        dump: bool,
    ) -> tuple[bool, bool]:
        deadline = self._started + self._command.timeout_s
        kill_at = 0.0
        timed_out = cancelled = False
        while not words.closed and not words.ended:
            self._main = self._main or words.started()
            now = time.monotonic()
            if cancel.is_set() and not cancelled:
                cancelled = not timed_out
                self._say(b"k")
            elif not timed_out and not cancelled and now >= min(deadline, watch()):
                timed_out = True
                kill_at = now + (_DUMP_S if dump else 0.0)
                self._say(b"d" if dump else b"k")
            elif kill_at and now >= kill_at:
                kill_at = 0.0
                self._say(b"k")
            if self._stopping_since and now > self._stopping_since + _KILL_S:
                break
            until = kill_at or (self._stopping_since + _KILL_S if self._stopping_since else min(deadline, watch()))
            for key, _ in selector.select(max(0.0, min(until - time.monotonic(), _FOREVER_S))):
                if not key.data(key.fd):
                    selector.unregister(key.fileobj)
        return timed_out, cancelled

    def _say(self, word: bytes) -> None:
        if word == b"k":
            self._stopping_since = self._stopping_since or time.monotonic()
        with suppress(OSError):
            self._control.send(word)

    def _last_words(self, on_channel: Callable[[bytes], None] | None) -> None:
        """What still lies in the pipes; bounded, since a process that we could not end may go on writing."""
        for _ in range(_LAST_DRAIN_BYTES // CHUNK_BYTES):
            if not self._spool.take(self._output, only_if_any=True):
                break
        if self.channel is not None and on_channel is not None:
            self.channel.setblocking(False)
            reader = Reader(self.channel, on_channel)
            while reader.take(0):
                pass

    def _give_up(self) -> None:
        """The supervisor is dead or does not answer: end it, and what of its tree can be found without it."""
        if self._swept:
            return
        self._swept = True
        self._supervisor.kill()
        self._supervisor.wait()
        if self._main:
            with suppress(OSError):
                os.killpg(self._main, 9)
        sweep(self._mark, self._command.scrap)

    def _completed(self, ended: list[bytes], *, timed_out: bool, cancelled: bool) -> Completed:
        status = left = cpu_us = None
        limit = ""
        if ended:
            status, left, cpu_us = (int(n) for n in ended[1:4])
            limit = ended[5].decode().replace("-", "")
        if limit == "unboxed":
            if not (timed_out or cancelled):
                raise unboxed_fault(bytes(self._spool.head))
            limit = ""
        exited = status is not None and status >= 0 and os.WIFEXITED(status)
        signalled = status is not None and status >= 0 and os.WIFSIGNALED(status)
        number = os.WTERMSIG(status) if signalled and status is not None else 0
        if number and not limit and not (timed_out or cancelled):
            limit = exceeded(self._command, number, (cpu_us or 0) / 1e6)
        return Completed(
            returncode=os.WEXITSTATUS(status) if exited and status is not None else None,
            signal=number,
            timed_out=timed_out,
            cancelled=cancelled,
            left_processes=bool(left),
            unsupervised=not ended,
            output_path=self._command.output_path,
            output_bytes=self._spool.seen,
            output_cut=self._spool.cut,
            duration_s=time.monotonic() - self._started,
            cpu_s=(cpu_us or 0) / 1e6,
            output_head=bytes(self._spool.head),
            limit=limit,
        )


def _discard(fd: int) -> bool:
    with suppress(BlockingIOError):
        os.read(fd, 4096)
    return True


def _never() -> float:
    return float("inf")


def _start_supervisor(control: int, others: tuple[int, ...]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [own_interpreter(), "-I", "-S", str(_SUPERVISOR), str(control)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(control, *others),
            start_new_session=True,
            cwd="/",
            env={},
        )
    except OSError as e:
        raise start_fault(e.errno or 0, "supervisor") from e


def _job(command: Command, parts: dict[str, object], mark: str, output: int, keep: list[int], channel: str) -> bytes:
    words = cast("tuple[str, ...]", parts["argv"])
    argv = [channel if channel and word == CHANNEL else word for word in words]
    env = {k: channel if channel and v == CHANNEL else v for k, v in command.env.items()}
    job: dict[str, object] = {
        **limits(command),
        **parts,
        "argv": [os.fsencode(w) for w in argv],
        "env": {os.fsencode(k): os.fsencode(v) for k, v in {**env, VARIABLE: mark}.items()},
        "cwd": os.fsencode(command.cwd),
        "output": output,
        "keep": keep,
        "scrap": os.fsencode(command.scrap) if command.scrap else b"",
    }
    body = marshal.dumps(job)
    return len(body).to_bytes(4, "big") + body
