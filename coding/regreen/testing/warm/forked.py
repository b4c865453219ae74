"""One forked run: its output spooled and capped, its private channel heard, its time limited, its end waited for.

It is the server that ends what came of the run; we only ask for it, and give the server up should it not answer.
"""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from regreen.sandbox import Cancel, Command, Completed
from regreen.sandbox.streams import CHUNK_BYTES, Reader, Spool
from regreen.testing.warm.talk import Message, Talk
from regreen.testing.warm.values import GoCold

_DUMP_S = 0.25  # time for the run to write where it stands
_KILL_S = 10.0  # after this the server itself is given up
_LAST_DRAIN_BYTES = 16 * 1024 * 1024
_FOREVER_S = 3600.0


class Forked:
    """A run that has been asked for. Used once, as a context manager."""

    def __init__(self, talk: Talk, number: int, command: Command) -> None:
        self._talk = talk
        self._number = number
        self._command = command
        self._answer: Message | None = None
        self._stopping_since = 0.0
        self._close = ExitStack()

    def __enter__(self) -> Forked:
        with ExitStack() as undo:
            self.channel, theirs = socket.socketpair()
            undo.callback(self.channel.close)
            self._output, output = os.pipe()
            undo.callback(os.close, self._output)
            self._woken, self._waker = os.pipe()
            undo.callback(os.close, self._woken)
            undo.callback(os.close, self._waker)
            self._spool = Spool(self._command)
            undo.callback(self._spool.close)
            for fd in (self._output, self._woken, self._waker):
                os.set_blocking(fd, False)
            self._theirs = (theirs.detach(), output)
            self._close = undo.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._close.close()

    def start(self, order: Message, first_words: bytes) -> None:
        self._started = time.monotonic()
        try:
            self._talk.say({**order, "do": "run", "run": self._number}, self._theirs)
        finally:
            for fd in self._theirs:
                os.close(fd)
        with suppress(OSError):  # it did not come to a run: the answer says why
            self.channel.sendall(first_words)

    def follow(self, cancel: Cancel, on_channel: Callable[[bytes], None], watch: Callable[[], float]) -> Completed:
        """Wait for the end. Raises GoCold where how it ended cannot be known."""
        reader = Reader(self.channel, on_channel)
        with selectors.DefaultSelector() as selector, cancel.waking(self._wake):
            selector.register(self._output, selectors.EVENT_READ, self._spool.take)
            selector.register(self._woken, selectors.EVENT_READ, self._discard)
            selector.register(self.channel, selectors.EVENT_READ, reader.take)
            selector.register(self._talk, selectors.EVENT_READ, self._hear)
            timed_out, cancelled = self._loop(selector, cancel, watch)
        for _ in range(_LAST_DRAIN_BYTES // CHUNK_BYTES):
            if not self._spool.take(self._output, only_if_any=True):
                break
        self.channel.setblocking(False)
        while reader.take(0):
            pass
        return self._completed(timed_out=timed_out, cancelled=cancelled)

    def _loop(self, selector: selectors.BaseSelector, cancel: Cancel, watch: Callable[[], float]) -> tuple[bool, bool]:
        deadline = self._started + self._command.timeout_s
        kill_at = 0.0
        timed_out = cancelled = False
        while self._answer is None:
            now = time.monotonic()
            if cancel.is_set() and not cancelled:
                cancelled = not timed_out
                self._kill(now)
            elif not timed_out and not cancelled and now >= min(deadline, watch()):
                timed_out, kill_at = True, now + _DUMP_S
                self._talk.try_to_say({"do": "dump", "run": self._number})
            elif kill_at and now >= kill_at:
                kill_at = 0.0
                self._kill(now)
            if self._stopping_since and now > self._stopping_since + _KILL_S:
                raise GoCold("the fork server did not end the run", broken=True)
            until = kill_at or (self._stopping_since + _KILL_S if self._stopping_since else min(deadline, watch()))
            for key, _ in selector.select(max(0.0, min(until - time.monotonic(), _FOREVER_S))):
                if not key.data(key.fd):
                    selector.unregister(key.fileobj)
        return timed_out, cancelled

    def _kill(self, now: float) -> None:
        self._stopping_since = self._stopping_since or now
        self._talk.try_to_say({"do": "kill", "run": self._number})

    def _hear(self, _fd: int) -> bool:
        for message in self._talk.hear(0.0):
            if message.get("run") == self._number:
                self._answer = message
        return True

    def _wake(self) -> None:
        os.write(self._waker, b".")

    def _discard(self, fd: int) -> bool:
        os.read(fd, 4096)
        return True

    def _completed(self, *, timed_out: bool, cancelled: bool) -> Completed:
        assert self._answer is not None
        if "refused" in self._answer:
            raise GoCold(str(self._answer["refused"]), broken=True)
        if self._answer["alive"]:
            raise GoCold("processes of the run could not be ended", broken=True)
        status: int | None = self._answer["status"]
        exited = status is not None and os.WIFEXITED(status)
        signalled = status is not None and os.WIFSIGNALED(status)
        return Completed(
            returncode=os.WEXITSTATUS(status) if exited and status is not None else None,
            signal=os.WTERMSIG(status) if signalled and status is not None else 0,
            timed_out=timed_out,
            cancelled=cancelled,
            left_processes=bool(self._answer["left"]),
            output_path=self._command.output_path,
            output_bytes=self._spool.seen,
            output_cut=self._spool.cut,
            duration_s=time.monotonic() - self._started,
            cpu_s=self._answer["cpu_us"] / 1e6,
            output_head=bytes(self._spool.head),
        )


def spool_command(log: Path, timeout_s: float, max_output_bytes: int, folder: Path) -> Command:
    """The limits of one run, in the words of the sandbox."""
    return Command((), folder, {}, timeout_s, output_path=log, max_output_bytes=max_output_bytes)
