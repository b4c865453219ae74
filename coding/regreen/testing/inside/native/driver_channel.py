"""The private channel's end inside a driver, and the log. A driver starts a build tool and test programs, and tells
what happens. Standalone: only the standard library, run as a script by the interpreter that runs regreen.

The nonce comes down the channel, never through the argv; what the driver starts inherits neither of them.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_HEAD = 10_000
_TAIL = 50_000
_PART = 32 * 1024
_SOON_S = 0.1


class Channel:
    """One JSON line a message, each with the nonce. May be used from several threads."""

    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)
        self._fd = fd
        self._lock = threading.Lock()
        self._nonce = self._first_line().decode("ascii")

    def _first_line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            part = os.read(self._fd, 1)
            if not part:
                sys.exit(1)
            line += part
        return line.strip()

    def send(self, kind: str, **fields: Any) -> None:
        data = json.dumps({"n": self._nonce, "k": kind, **fields}).encode() + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._fd, data) :]


class Log:
    """The readable output of the run, written in large parts, and soon in any case."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept = bytearray()
        atexit.register(self.flush)
        threading.Thread(target=self._now_and_then, daemon=True).start()

    def write(self, data: bytes) -> None:
        with self._lock:
            self._kept += data
        if len(self._kept) >= _PART:
            self.flush()

    def flush(self) -> None:
        """Write what is kept."""
        with self._lock:
            view = memoryview(bytes(self._kept))
            self._kept.clear()
            while view:
                view = view[os.write(1, view) :]

    def _now_and_then(self) -> None:
        while True:
            time.sleep(_SOON_S)
            self.flush()

    def line(self, text: str) -> None:
        self.write(text.encode("utf-8", "replace") + b"\n")


def load_job(path: str) -> Mapping[str, Any]:
    """What is to be done, as the runner wrote it."""
    return json.loads(Path(path).read_text("utf-8"))


def cut(text: str) -> str:
    """Beginning and end of a text that is too long to be told."""
    if len(text) <= _HEAD + _TAIL:
        return text
    return f"{text[:_HEAD]}\n[... {len(text) - _HEAD - _TAIL} characters left out ...]\n{text[-_TAIL:]}"
