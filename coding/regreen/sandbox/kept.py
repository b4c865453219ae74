"""Programs that are started by others' code, which knows no more than an argv, and whose whole tree ends with us.

They run as the user wants them, unconfined: only their end is ours. On Windows nothing stands between: there a
program's starter has to hold it in a job object.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from regreen.sandbox.sweep import VARIABLE, new_mark, sweep
from regreen.settings import own_interpreter

_KEEPER = Path(__file__).with_name("keeper.py")


@dataclass(slots=True)
class Kept:
    """What to start instead, with which variables besides. `end` kills all that came of it, at once."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    _control: int = -1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self) -> None:
        """From any thread; also where it has not been started, or has ended."""
        with self._lock, suppress(OSError):
            if self._control >= 0:
                os.write(self._control, b"k")

    def close(self) -> None:
        with self._lock:
            if self._control >= 0:
                os.close(self._control)
            self._control = -1


@contextmanager
def kept(argv: Sequence[str]) -> Generator[Kept]:
    """The program under its keeper. Nothing that came of it lives when the block is left, or when we die."""
    if sys.platform == "win32":
        yield Kept(tuple(argv), {})
        return
    mark = new_mark()
    with TemporaryDirectory(prefix="regreen-") as folder:  # the keeper removes it
        fifo = Path(folder) / "control"
        os.mkfifo(fifo, 0o600)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a word is kept for who reads later
        control = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        started = Kept((own_interpreter(), "-I", "-S", str(_KEEPER), str(fifo), *argv), {VARIABLE: mark}, control)
        try:
            yield started
        finally:
            started.close()
            os.close(reader)
            sweep(mark)
