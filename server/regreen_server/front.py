"""The front of a stdio server: answers a client's first messages while the main thread still loads the SDK.

`begin` takes the standard pipes and starts a thread that reads them. The thread lets `Opening` answer what it can and
keeps the rest; `hand_over` gives all of that to the SDK, and from then on each line as it comes.

Rules: only the light part of the standard library is imported. Signals wait until the main thread can end the server
properly and says `Front.let_signals_in`.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable

from regreen_server import pipes
from regreen_server.opening import Opening

_DATA = os.path.join(os.path.dirname(__file__), "opening.json")  # noqa: PTH118, PTH120
_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_begun: list[Front] = []  # one at most: a process has one standard input


class Front:
    """The pipes, and who gets what comes in: first `opening`, then the SDK."""

    def __init__(self, opening: Opening, outbox: pipes.Outbox, wire_in: int) -> None:
        self.outbox = outbox
        self.wire_in = wire_in
        self._opening = opening
        self._lock = threading.Lock()
        self._ended = False
        self._take: Callable[[bytes], None] | None = None
        self._end: Callable[[], None] | None = None

    def start(self) -> None:
        threading.Thread(target=self._read, name="regreen-in", daemon=True).start()

    def hand_over(self, take: Callable[[bytes], None], end: Callable[[], None]) -> None:
        """Give `take` what was held and, from the reading thread, what comes; `end` is called at the end of input."""
        with self._lock:
            for line in self._opening.held:
                take(line)
            self._take, self._end = take, end
            if self._ended:
                end()

    def let_signals_in(self) -> None:
        """The signals that came in the meantime, and those to come, reach their handlers. For the main thread."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def _read(self) -> None:
        for line in pipes.lines(self.wire_in):
            with self._lock:
                if self._take:
                    self._take(line)
                elif answer := self._opening.take(line):
                    self.outbox.put(answer)
        with self._lock:
            self._ended = True
            if self._end:
                self._end()


def begin(core_only: bool, read_only: bool) -> Front:
    """The front of this process, begun now if it was not before. For the main thread."""
    if _begun:
        return _begun[0]
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # before a thread is started, which would get them
    wire_in, wire_out = pipes.claim()
    prefix = f"regreen-{os.urandom(8).hex()}-"
    with open(_DATA, "rb") as file:  # noqa: PTH123  (pathlib alone takes longer to load than all of this)
        data = json.load(file)
    outbox = pipes.Outbox(wire_out, unwanted=prefix)
    front = Front(Opening(data, offer_name(core_only, read_only), prefix), outbox, wire_in)
    front.start()
    _begun.append(front)
    return front


def offer_name(core_only: bool, read_only: bool) -> str:
    """How the data calls an offer."""
    return f"{'core' if core_only else 'all'}{' read-only' if read_only else ''}"
