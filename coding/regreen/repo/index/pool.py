"""Processes that parse: started by us, fed through pipes, replaced when a file is too much for one.

A file that takes too long or crashes the parser costs that file only. The processes die with ours, whatever ends it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import IO, NamedTuple

from regreen.repo.index.parsing import Packed, unread
from regreen.repo.index.values import IndexLimits
from regreen.repo.index.worker import COUNT, REQUEST, RESPONSE

TOO_SLOW = "could not be parsed in time"
CRASHED = "crashed the parser"

_SCRIPT = Path(__file__).with_name("worker.py")
_READ_BYTES = 1 << 20


class Task(NamedTuple):
    """One file to parse. `key` comes back with the result."""

    key: bytes
    path: str
    data: bytes


class Result(NamedTuple):
    """`packed` is None where no process could be started: parse it here."""

    task: Task
    packed: Packed | None


class Pool:
    """Takes chunks of tasks and gives results, in any order. Close it: that ends all processes at once."""

    def __init__(self, count: int, limits: IndexLimits) -> None:
        self.results: SimpleQueue[Result] = SimpleQueue()
        self._chunks: SimpleQueue[Sequence[Task] | None] = SimpleQueue()
        self._limits = limits
        self._closing = False
        self._unable = False  # to start any process
        self._guard = threading.Lock()
        self._processes: set[_Process] = set()
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, chunk: Sequence[Task]) -> None:
        self._chunks.put(chunk)

    def close(self) -> None:
        with self._guard:
            self._closing = True
            for process in self._processes:
                process.kill()
        for _ in self._threads:
            self._chunks.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        """The life of one thread, with at most one process at a time, which dies with the thread."""
        process: _Process | None = None
        tried: set[Task] = set()
        while (chunk := self._chunks.get()) is not None and not self._closing:
            rest = list(chunk)
            while rest and not self._closing:
                process = process or self._start()
                if process is None:
                    break
                for answered in process.ask(rest):
                    self.results.put(Result(rest.pop(0), answered))
                if rest:
                    failure = self._end(process)
                    process = None
                    again = failure == CRASHED and rest[0] not in tried  # it may have been killed for another's fault
                    tried.add(rest[0])
                    if not again and not self._closing:
                        self.results.put(Result(rest.pop(0), unread(failure)))
            if not self._closing:
                for task in rest:
                    self.results.put(Result(task, None))
        if process is not None:
            self._end(process)

    def _start(self) -> _Process | None:
        if self._unable:
            return None
        try:
            process = _Process(self._limits)
        except OSError:
            self._unable = True
            return None
        with self._guard:
            self._processes.add(process)
            if self._closing:
                process.kill()
        if process.wait_ready():
            return process
        self._end(process)
        self._unable = True
        return None

    def _end(self, process: _Process) -> str:
        with self._guard:
            self._processes.discard(process)
        return process.end()


class _Process:
    """One parsing process. Not safe for several threads, but `kill` may come from any."""

    def __init__(self, limits: IndexLimits) -> None:
        self._limits = limits
        self._late = False
        self._child = subprocess.Popen(
            [sys.executable, "-I", str(_SCRIPT), str(os.getpid()), str(limits.parse_s), str(limits.memory_bytes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            env={}, cwd=os.path.abspath(os.sep),  # noqa: PTH100
        )  # fmt: skip
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self._waiting = bytearray()

    @property
    def _out(self) -> IO[bytes]:
        assert self._child.stdout is not None
        return self._child.stdout

    def wait_ready(self) -> bool:
        return self._answer(self._limits.start_s) is not None

    def ask(self, tasks: Sequence[Task]) -> Iterator[Packed]:
        """The results of the first of `tasks`: fewer than there are if the process has died over one."""
        request = [COUNT.pack(len(tasks))]
        for task in tasks:
            path = task.path.encode()
            request += [REQUEST.pack(len(path), len(task.data)), path, task.data]
        if not self._send(b"".join(request)):
            return
        for _ in range(len(tasks)):
            packed = self._answer(self._limits.answer_s)
            if packed is None:
                return
            yield packed

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._child.kill()

    def end(self) -> str:
        """End it, if it has not ended; returns what is to be said of the file it was busy with."""
        self.kill()
        code = self._child.wait()
        self._selector.close()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return TOO_SLOW if self._late or code == -_cpu_limit_signal() else CRASHED

    def _send(self, data: bytes) -> bool:
        assert self._child.stdin is not None
        view = memoryview(data)
        try:
            while view:
                view = view[self._child.stdin.write(view) :]
        except OSError:
            return False
        return True

    def _answer(self, limit_s: float) -> Packed | None:
        deadline = time.monotonic() + limit_s
        head = self._read(RESPONSE.size, deadline)
        if head is None:
            return None
        lengths = RESPONSE.unpack(head)
        body = self._read(sum(lengths), deadline)
        if body is None:
            return None
        parts: list[bytes] = []
        for length in lengths:
            parts.append(body[:length])
            body = body[length:]
        return Packed(*parts)

    def _read(self, size: int, deadline: float) -> bytes | None:
        while len(self._waiting) < size:
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                self._late = True
                return None
            data = self._out.read(_READ_BYTES)
            if not data:
                return None
            self._waiting += data
        found = bytes(self._waiting[:size])
        del self._waiting[:size]
        return found


def _cpu_limit_signal() -> int:
    import signal

    return signal.SIGPROF


def worker_count(limits: IndexLimits, cores: Callable[[], int | None] = os.cpu_count) -> int:
    """One for each core that we may use, within the limit."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores() or 1
    return max(1, min(usable, limits.processes))
