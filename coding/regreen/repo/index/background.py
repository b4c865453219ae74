"""The thread that brings an index up to date, and the callers that wait for it: some of the time, or to the end.

One process indexes at a time. Another that wants to waits for its turn, and then finds the work done.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping

from filelock import BaseFileLock, Timeout

from regreen.repo.index.database import DAMAGE, Database, Replaced
from regreen.repo.index.indexing import Order, Run
from regreen.repo.index.planning import compare
from regreen.repo.index.values import CancelLike, IndexLimits, Progress
from regreen.workspace import Stat, Workspace

_TELL_EVERY_S = 0.1
_TURN_S = 0.1
_WATCH_S = 0.3
_WATCH_SHARE = 10  # a look at another's work is followed by so many times its duration without one
_TRIES = 4


class Background:
    """At most one thread at work. `refresh` gives it orders."""

    def __init__(self, workspace: Workspace, database: Database, limits: IndexLimits) -> None:
        self._workspace = workspace
        self._database = database
        self._limits = limits
        self._changed = threading.Condition()
        self._order = Order(0, {}, ())
        self._served = 0
        self._progress = Progress(0, 0)
        self._result = Progress(0, 0)  # of the order that was served last; the next one may have begun
        self._thread: threading.Thread | None = None
        self._closing = False
        self._failure: BaseException | None = None
        self._watched_at = 0.0
        self.parsed = 0

    def refresh(
        self,
        stats: Mapping[str, Stat],
        first: tuple[str, ...],
        wait_s: float | None,
        on_progress: Callable[[str], None] | None,
        cancel: CancelLike | None,
    ) -> Progress:
        """See `Index.refresh`."""
        deadline = None if wait_s is None else time.monotonic() + wait_s
        number, progress = self._give(stats, first)
        if number == 0:
            return progress
        told = ""
        while True:
            left = _TELL_EVERY_S if deadline is None else min(_TELL_EVERY_S, deadline - time.monotonic())
            with self._changed:
                ended = self._changed.wait_for(lambda: self._is_served(number), max(0.0, left))
                progress = self._result if self._served >= number else self._progress
                if self._failure is not None:
                    raise self._failure
            if on_progress is not None and progress.total and progress.text != told:
                told = progress.text
                on_progress(told)
            if ended or left <= 0 or (cancel is not None and cancel.is_set()):
                return progress

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    # --- orders ------------------------------------------------------------------------------------

    def _give(self, stats: Mapping[str, Stat], first: tuple[str, ...]) -> tuple[int, Progress]:
        """Have somebody at work on this; returns the number of the order, 0 if nothing is to be done, and how far the
        index is."""
        with self._changed:
            if self._closing or (self._thread is None and self._is_current(stats)):
                return 0, self._progress
            order = self._order
            if self._thread is None or stats != order.stats or not set(first) <= set(order.first):
                self._order = order = Order(order.number + 1, stats, first)
            if self._thread is None:
                self._failure = None
                self._thread = threading.Thread(target=self._live, name="regreen-index", daemon=True)
                self._thread.start()
            return order.number, self._progress

    def _is_served(self, number: int) -> bool:
        return self._served >= number or self._closing or self._failure is not None

    def _is_current(self, stats: Mapping[str, Stat]) -> bool:
        """Whether the index agrees with the files. How far it does is the progress."""
        try:
            self._database.follow()
            known = self._database.known()
        except DAMAGE:  # for the thread to put right
            self._progress = Progress(0, len(stats))
            return False
        plan = compare(known, stats)
        self._progress = Progress(plan.total - len(plan.todo), plan.total)
        return not (plan.todo or plan.gone)

    def _later(self, order: Order) -> Order | None:
        return self._order if self._order.number > order.number else None

    def _tell(self, done: int, total: int) -> None:
        with self._changed:
            self._progress = Progress(done, total)
            self._changed.notify_all()

    # --- the thread --------------------------------------------------------------------------------

    def _live(self) -> None:
        try:
            while self._work():
                pass
        except BaseException as e:
            with self._changed:
                self._failure = e
                self._thread = None
                self._changed.notify_all()
            raise

    def _work(self) -> bool:
        """Carry out the latest order; False when there is none."""
        served = self._carry_out(self._order)
        with self._changed:
            if served is not None:
                self._served, self._result = served.number, self._progress
            if self._closing or (served is not None and self._later(served) is None):
                self._thread = None
                self._changed.notify_all()
                return False
            self._changed.notify_all()
            return True

    def _carry_out(self, order: Order) -> Order | None:
        for left in reversed(range(_TRIES)):
            identity = self._database.identity
            try:
                return self._in_turn(order)
            except Replaced:
                continue
            except (sqlite3.Error, *DAMAGE) as e:
                if not left or isinstance(e, sqlite3.ProgrammingError):
                    raise
                self._database.recover(e, identity)
        return None

    def _in_turn(self, order: Order) -> Order | None:
        """Do it when no other process is at work; None if it was stopped."""
        self._database.follow()
        turn = self._wait_for_turn()
        if self._closing:
            return None
        order = self._later(order) or order
        run = Run(self._workspace, self._database, self._limits, self._tell, lambda: self._closing, self._later)
        try:
            return run(order)
        finally:
            self.parsed += run.parsed
            if turn is not None:
                turn.release()

    def _wait_for_turn(self) -> BaseFileLock | None:
        """The lock, held; None where there is none, where its holder is stuck, and when all is to end."""
        turn = self._database.turn()
        last, since = 0, time.monotonic()
        while turn is not None and not self._closing:
            try:
                turn.acquire(timeout=min(_TURN_S, self._limits.stuck_s))
                return turn
            except Timeout:
                pass
            except OSError:
                return None
            changes, now = self._database.number("changes"), time.monotonic()
            if changes != last:
                last, since = changes, now
            elif now - since >= self._limits.stuck_s:
                return None
            self._watch()
        return None

    def _watch(self) -> None:
        """Tell now and then how far the process has come that is at work."""
        order = self._order
        now = time.monotonic()
        if now - self._watched_at > _WATCH_S:
            plan = compare(self._database.known(), order.stats)
            self._tell(plan.total - len(plan.todo), plan.total)
            self._watched_at = now + (time.monotonic() - now) * _WATCH_SHARE
