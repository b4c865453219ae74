"""Long work with a handle: a job runs in a thread of its own, can be waited for, watched, and cancelled.

A job is recorded in the store when it begins and when it ends, so that its result survives the process. What a job
does is handed in; here is only its life: `running` -> (`waiting_for_edits` <-> `running`) -> `done`.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from regreen.errors import RegreenError, UsageError
from regreen.sandbox import Cancel
from regreen.store import Store
from regreen.wire import Json

JobState: TypeAlias = Literal["running", "waiting_for_edits", "done"]
JobKind: TypeAlias = Literal["fix", "test"]
View: TypeAlias = Callable[[], dict[str, Json]]

_log = logging.getLogger(__name__)
STOP_S = 15.0
"""How long the end of a job is waited for: its processes die at once, restoring takes the rest."""
_POLL_S = 0.25  # how often a waiting caller looks for progress to pass on


class Job:
    """One job. `view` gives its result so far, as JSON data; it is called from other threads than the work's."""

    def __init__(self, job_id: str, kind: JobKind, repo: str, store: Store, request: Mapping[str, Json]) -> None:
        self.id = job_id
        self.kind: JobKind = kind
        self.repo = repo
        self.cancel = Cancel()
        self.error: RegreenError | None = None
        self._store = store
        self._changed = threading.Condition()
        self._state: JobState = "running"
        self._progress = "starting"
        self._view: View = dict
        self._on_cancel: Callable[[], None] = lambda: None
        self._settled: Callable[[], bool] = lambda: True
        self._thread: threading.Thread | None = None
        with store.transaction() as db:
            db.execute(
                "INSERT INTO runs (id, repo, kind, state, created, pid, request) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (job_id, repo, kind, "running", time.time(), os.getpid(), json.dumps(request)),
            )

    @property
    def state(self) -> JobState:
        return self._state

    @property
    def progress(self) -> str:
        return self._progress

    def start(
        self,
        work: Callable[[], None],
        view: View,
        *,
        on_cancel: Callable[[], None] = lambda: None,
        settled: Callable[[], bool] = lambda: True,
    ) -> None:
        """Run `work` in a thread. `on_cancel` wakes work that waits for something, once `cancel` is set.

        A job whose work ends without being `settled` (it could not restore) stays unfinished in the store, so that
        the next opening of the repository recovers it.
        """
        self._view, self._on_cancel, self._settled = view, on_cancel, settled
        # A daemon: the process may have to end while a job restores; the journal finishes that at the next start.
        self._thread = threading.Thread(target=self._run, args=(work,), name=self.id, daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except RegreenError as e:
            self.error = e
        except Exception:  # noqa: BLE001  (outermost call of this thread: a fault of ours, logged with its traceback)
            _log.exception("job %s failed", self.id)
            self.error = RegreenError(
                "internal",
                f"job {self.id} failed by a fault of regreen; its log has the cause",
                "report it; the files are restored at the next start",
            )
        finally:
            self._record_end()
            self.set_state("done")

    def _record_end(self) -> None:
        if not self._settled():
            return
        try:
            with self._store.transaction() as db:
                db.execute(
                    "UPDATE runs SET state = 'done', finished = ?, result = ? WHERE id = ?",
                    (time.time(), json.dumps(self.data(done=True)), self.id),
                )
        except RegreenError:
            _log.exception("job %s: its end could not be recorded", self.id)

    def data(self, *, done: bool = False) -> dict[str, Json]:
        """State and result so far, as every tool that speaks of a job shows it."""
        state = "done" if done else self._state
        head: dict[str, Json] = {"job_id": self.id, "state": state}
        if self.error is not None:
            return {**head, **self.error.as_json()}  # type: ignore[dict-item]
        progress: dict[str, Json] = {} if state == "done" else {"progress": self._progress}
        return {**head, **progress, **self._view()}

    def set_state(self, state: JobState) -> None:
        with self._changed:
            self._state = state
            self._changed.notify_all()

    def set_progress(self, text: str) -> None:
        with self._changed:
            self._progress = text
            self._changed.notify_all()

    def resume(self) -> bool:
        """`waiting_for_edits` -> `running`, for exactly one caller; False where it was not waiting."""
        with self._changed:
            if self._state != "waiting_for_edits":
                return False
            self._state = "running"
            return True

    def wait(
        self, seconds: float, *, on_progress: Callable[[str], None] | None = None, cancel: Cancel | None = None
    ) -> JobState:
        """Wait until the job no longer runs, `seconds` are over or `cancel` is set; pass progress on meanwhile."""
        end = time.monotonic() + seconds
        told = ""
        while True:
            with self._changed:
                left = end - time.monotonic()
                if self._state == "running" and left > 0 and not (cancel and cancel.is_set()):
                    self._changed.wait(min(left, _POLL_S))
                state, progress = self._state, self._progress
            if on_progress is not None and progress != told:
                told = progress
                on_progress(progress)
            if state != "running" or time.monotonic() >= end or (cancel is not None and cancel.is_set()):
                return state

    def stop(self, timeout_s: float) -> bool:
        """Cancel and wait for the end. True if it ended (and so restored what it changed) in time."""
        self.cancel.set()
        self._on_cancel()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)
            return not self._thread.is_alive()
        return True


class Jobs:
    """The jobs of this process, and the recorded ones of others."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._live: dict[str, Job] = {}
        self._lock = threading.Lock()

    def add(self, job: Job) -> None:
        with self._lock:
            self._live[job.id] = job

    def live(self, job_id: str) -> Job | None:
        return self._live.get(job_id)

    def recorded(self, job_id: str) -> dict[str, Json]:
        """What is known of a job of another or an earlier process. Raises UsageError (`not_found`)."""
        rows = self._store.rows("SELECT state, result FROM runs WHERE id = ?", job_id)
        if not rows:
            raise UsageError(
                "not_found", f"there is no job {job_id!r}", "give a job_id that fix_tests or run_tests told"
            )
        if rows[0]["state"] == "done":
            result: dict[str, Json] = json.loads(rows[0]["result"])
            return {"job_id": job_id, "state": "done", **result}
        return {"job_id": job_id, "state": "running", "progress": "runs in another process", "attempts": []}

    def stop_all(self, timeout_s: float) -> None:
        """Cancel every job of this process and wait for their ends, `timeout_s` in all."""
        end = time.monotonic() + timeout_s
        jobs = [j for j in self._live.values() if j.state != "done"]
        for job in jobs:
            job.cancel.set()
        for job in jobs:
            job.stop(max(0.0, end - time.monotonic()))
