"""Fixes from whoever called: each submission is handed over to the run's thread, which hands back when it is judged."""

from __future__ import annotations

import queue
from collections.abc import Callable

from regreen.model import Brief, Proposal


class CallerProposer:
    """An inbox. `propose` waits for the next submission; after `silence_s` without one it calls `on_silence`.

    `on_wait(True/False)` tells when the run begins and ends to wait for the caller.
    """

    name = "caller"
    costs_budget = False
    why = ""

    def __init__(self, *, silence_s: float, on_wait: Callable[[bool], None], on_silence: Callable[[], None]) -> None:
        self._inbox: queue.Queue[Proposal | None] = queue.Queue()
        self._silence_s = silence_s
        self._on_wait = on_wait
        self._on_silence = on_silence

    def put(self, proposal: Proposal) -> None:
        """Hand in a proposal. Returns at once."""
        self._inbox.put(proposal)

    def close(self) -> None:
        """Let a waiting `propose` return None."""
        self._inbox.put(None)

    async def propose(self, brief: Brief) -> Proposal | None:  # noqa: ARG002 (the caller was sent it)
        # Blocks its thread: a run has one of its own, and nothing else to do there.
        self._on_wait(True)
        try:
            return self._inbox.get(timeout=self._silence_s)
        except queue.Empty:
            self._on_silence()
            return None
        finally:
            self._on_wait(False)
