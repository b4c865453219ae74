"""Our end of the line to a fork server: JSON lines, with descriptors where a run needs them."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, cast

from regreen.sandbox import Cancel
from regreen.testing.warm.values import GoCold

Message: TypeAlias = Mapping[str, Any]

_CHUNK_BYTES = 1 << 16
_POLL_S = 0.1
_SEND_S = 30.0


class Talk:
    """What is asked and answered. A line that ends raises GoCold."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._text = b""

    def fileno(self) -> int:
        return self._line.fileno()

    def say(self, message: Message, fds: Sequence[int] = ()) -> None:
        data = json.dumps(message).encode() + b"\n"
        try:
            self._line.settimeout(_SEND_S)
            if fds:
                sent = socket.send_fds(self._line, [data], list(fds))
                data = data[sent:]
            self._line.sendall(data)
        except OSError as e:
            raise GoCold(f"the fork server has ended ({e})", broken=True) from e

    def try_to_say(self, message: Message) -> None:
        """As `say`, where it does not matter if nobody listens any more."""
        with suppress(GoCold):
            self.say(message)

    def hear(self, timeout_s: float) -> list[Message]:
        """The lines that come within the time; none is no error."""
        try:
            self._line.settimeout(timeout_s)
            data = self._line.recv(_CHUNK_BYTES)
        except (TimeoutError, BlockingIOError):
            return []
        except OSError as e:
            raise GoCold(f"the fork server has ended ({e})", broken=True) from e
        if not data:
            raise GoCold("the fork server has ended", broken=True)
        *lines, self._text = (self._text + data).split(b"\n")
        try:
            return [cast("Message", json.loads(line)) for line in lines]
        except ValueError as e:
            raise GoCold("the fork server said something that cannot be understood", broken=True) from e

    def answer(self, timeout_s: float, cancel: Cancel) -> Message:
        """The next line."""
        deadline = time.monotonic() + timeout_s
        while not cancel.is_set() and time.monotonic() < deadline:
            lines = self.hear(_POLL_S)
            if lines:
                return lines[0]
        why = "the call was cancelled" if cancel.is_set() else "the fork server did not answer in time"
        raise GoCold(why, broken=True)
