"""Long work with a handle: a job runs in a thread of its own, can be waited for, watched, and cancelled.

A job is recorded in the store when it begins and when it ends, so that its result survives the process. What a job
does is handed in; here is only its life: `running` -> (`waiting_for_edits` <-> `running`) -> `done`. Seen from another
process it is as it has shown itself last while its own process lives, `interrupted` when that has died and nobody has
put back yet what the job changed, and `done` after that.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from sqlite3 import Row
from typing import Any, Literal, TypeAlias

from regreen.errors import RegreenError, UsageError
from regreen.events import EventLog
from regreen.model import Counts, SuiteReport, SuiteStatus
from regreen.sandbox import Cancel
from regreen.store import Store, no_room
from regreen.wire import Json, to_object

JobState: TypeAlias = Literal["running", "waiting_for_edits", "done"]
JobKind: TypeAlias = Literal["fix", "test", "task"]
View: TypeAlias = Callable[[], dict[str, Json]]

_log = logging.getLogger(__name__)
STOP_S = 15.0
"""How long the end of a job is waited for: its processes die at once, restoring takes the rest."""
_LONG_S = 3600.0
_POLL_S = 0.25  # how often a waiting caller looks for progress to pass on
_TOLD_EVERY_S = 0.5  # how often progress is written down for other processes
_PROGRESS = "progress"  # the file in the run's folder that holds the latest
_MAX_PROGRESS_BYTES = 1000
_KEPT = 20  # ended jobs that are held in memory; of older ones the record tells
_ATTEMPT_DETAILS = ("failures", "edits", "tree", "refusal_report")


def born(pid: int) -> str | None:
    """What tells this process from a later one of the same number: boot and start time. "" where the system does not
    say; None where there is no such process, or only a dead one that nobody has waited for."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rsplit(")", 1)[-1].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
        return None if fields[0] in "ZX" else f"{boot} {fields[19]}"
    except (OSError, IndexError):
        return ""


def lives(pid: int, was_born: str) -> bool:
    """Does the process live that had this number, and was born so ("" = not known)?"""
    now = born(pid)
    return now is not None and (not was_born or not now or now == was_born)


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
        self._showing = threading.Lock()
        self._state: JobState = "running"
        self._progress = "starting"
        self._view: View = dict
        self.log: EventLog | None = None
        """The diary of a run."""
        self._on_cancel: Callable[[], None] = lambda: None
        self._settled: Callable[[], bool] = lambda: True
        self._thread: threading.Thread | None = None
        self.on_change: Callable[[], None] = lambda: None
        """Called, from any thread, when state or progress have changed."""
        self._told_at = -_TOLD_EVERY_S
        pid = os.getpid()
        with store.transaction() as db:
            db.execute(
                "INSERT INTO runs (id, repo, kind, state, created, pid, born, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (job_id, repo, kind, "running", time.time(), pid, born(pid) or "", json.dumps(request)),
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
            self.error = self._ended(e)
        except Exception as e:  # noqa: BLE001  (outermost call of this thread: a fault of ours, logged with its traceback)
            fault = no_room(e) if isinstance(e, OSError) else None
            if fault is None:
                _log.exception("job %s failed", self.id)
                said = f"job {self.id} failed by a fault of regreen; its log has the cause"
                fault = RegreenError("internal", said, "report it")
            self.error = self._ended(fault)
        finally:
            self._record_end()
            self.set_state("done")

    def _ended(self, error: RegreenError) -> RegreenError:
        """The error by which the job ended; where it could not restore, it says what becomes of that."""
        if not self._settled():
            once = ", once there is room" if error.kind == "io" else ""
            left = (
                f"what the job may have changed is still there, and is put back when the repository is used next{once}"
            )
            error.hint = f"{error.hint}; {left}" if error.hint else left
        return error

    def _record_end(self) -> None:
        if not self._settled():
            return
        try:
            with self._store.transaction() as db:
                db.execute(
                    "UPDATE runs SET state = 'done', finished = ?, result = ?, shown = '' WHERE id = ?",
                    (time.time(), json.dumps(self.data(done=True)), self.id),
                )
        except RegreenError as e:
            _log.warning("job %s: its end could not be recorded: %s", self.id, e)

    def data(self, *, done: bool = False) -> dict[str, Json]:
        """State and result so far, as every tool that speaks of a job shows it."""
        state = "done" if done else self._state
        head: dict[str, Json] = {"job_id": self.id, "state": state}
        if self.error is not None:
            return {**head, **self.error.as_json()}  # type: ignore[dict-item]
        progress: dict[str, Json] = {} if state == "done" else {"progress": self._progress}
        return {**head, **progress, **self._view()}

    def show(self) -> None:
        """Write down what `data` says now, for those who ask in another process."""
        with self._showing:
            told = json.dumps(self.data())
            try:
                with self._store.transaction() as db:
                    db.execute("UPDATE runs SET shown = ? WHERE id = ? AND finished IS NULL", (told, self.id))
            except RegreenError as e:  # only a service: the run goes on, and its end is recorded anyway
                _log.warning("job %s: its state could not be written down: %s", self.id, e)

    def set_state(self, state: JobState) -> None:
        with self._changed:
            before, self._state = self._state, state
            self._changed.notify_all()
        if state not in ("done", before):
            self.show()
        self.on_change()

    def set_progress(self, text: str) -> None:
        with self._changed:
            self._progress = text
            self._changed.notify_all()
            now = time.monotonic()
            tell = now - self._told_at >= _TOLD_EVERY_S
            self._told_at = now if tell else self._told_at
        if tell:
            with suppress(OSError):  # only a service to those who ask from elsewhere
                (self._store.run_folder(self.id) / _PROGRESS).write_text(text, "utf-8", "backslashreplace")
            self.on_change()

    def resume(self) -> bool:
        """`waiting_for_edits` -> `running`, for exactly one caller; False where it was not waiting."""
        with self._changed:
            if self._state != "waiting_for_edits":
                return False
            self._state = "running"
        self.show()  # before what it is to do is handed in: nothing older can be written after it
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

    def wait_for_end(self, *, on_progress: Callable[[str], None] | None = None) -> None:
        """Wait until the job is done, however long it takes. Raises its error, where it has one."""
        while self.wait(_LONG_S, on_progress=on_progress) != "done":
            pass
        if self.error is not None:
            raise self.error

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
        self._watchers: tuple[Callable[[str], None], ...] = ()

    def watch(self, watcher: Callable[[str], None]) -> None:
        """Let `watcher` hear the id of each job whose state or progress has changed, from any thread."""
        with self._lock:
            self._watchers = (*self._watchers, watcher)

    def add(self, job: Job) -> None:
        job.on_change = lambda: self._tell(job.id)
        with self._lock:
            self._live[job.id] = job
            ended = [j.id for j in self._live.values() if j.state == "done"]
            for job_id in ended[: max(0, len(ended) - _KEPT)]:
                del self._live[job_id]
        self._tell(job.id)

    def _tell(self, job_id: str) -> None:
        for watcher in self._watchers:
            watcher(job_id)

    def live(self, job_id: str) -> Job | None:
        return self._live.get(job_id)

    def any_running(self) -> bool:
        """Whether a job of this process has not ended."""
        return any(job.state != "done" for job in list(self._live.values()))

    def recorded(self, job_id: str) -> dict[str, Json]:
        """What is known of a job of another or an earlier process. Raises UsageError (`not_found`)."""
        row = self._row(job_id)
        if row["finished"] is None and not lives(row["pid"], row["born"]) and row["kind"] == "test":
            self._close_test(row)
            row = self._row(job_id)
        if row["finished"] is not None:
            return self._ended(row)
        if lives(row["pid"], row["born"]):
            return self._shown(row)
        progress = f"interrupted: process {row['pid']} ended in the middle of it; what it changed is put back when "
        progress += f"{row['root'] or 'its repository'} is used next"
        return {"job_id": job_id, "state": "interrupted", "progress": progress, "attempts": self._attempts(job_id)}

    def owner(self, job_id: str) -> int:
        """The number of the living process that a job of elsewhere runs in, 0 where it has ended, or its process has.
        Raises UsageError (`not_found`)."""
        row = self._row(job_id)
        return row["pid"] if row["finished"] is None and lives(row["pid"], row["born"]) else 0

    def tidy(self) -> None:
        """Close test runs whose process has died; a fix run is closed by whoever puts back what it changed."""
        for row in self._store.rows("SELECT * FROM runs WHERE finished IS NULL AND kind = 'test'"):
            if not lives(row["pid"], row["born"]):
                self._close_test(row)

    def _row(self, job_id: str) -> Row:
        rows = self._store.rows(
            "SELECT runs.*, repos.root FROM runs LEFT JOIN repos ON repos.key = runs.repo WHERE runs.id = ?", job_id
        )
        if not rows:
            raise UsageError(
                "not_found",
                f"there is no job {job_id!r}",
                "give a job_id that fix_tests, run_tests or coding_task told",
            )
        return rows[0]

    def _ended(self, row: Row) -> dict[str, Json]:
        result: dict[str, Json] = json.loads(row["result"])
        if row["kind"] == "fix" and not result.get("attempts"):  # closed by another process than its own
            result["attempts"] = self._attempts(row["id"])
        return {"job_id": row["id"], "state": "done", **result}

    def _shown(self, row: Row) -> dict[str, Json]:
        """A job that runs in another process, as it would say itself there."""
        shown: dict[str, Json] = json.loads(row["shown"]) if row["shown"] else {}
        if not shown and row["kind"] == "test":
            shown = {"status": "running"}
        if not shown and row["kind"] == "fix":
            shown = {"attempts": self._attempts(row["id"])}
        state = shown.get("state", "running")
        return {**shown, "job_id": row["id"], "state": state, "progress": self._told(row["id"])}

    def _attempts(self, job_id: str) -> list[Json]:
        rows = self._store.rows("SELECT attempt FROM attempts WHERE run = ? ORDER BY number", job_id)
        attempts: list[dict[str, Any]] = [json.loads(r["attempt"]) for r in rows]
        return [{k: v for k, v in a.items() if k not in _ATTEMPT_DETAILS} for a in attempts]

    def _told(self, job_id: str) -> str:
        try:
            with (self._store.folder / "runs" / job_id / _PROGRESS).open("rb") as file:
                return file.read(_MAX_PROGRESS_BYTES).decode("utf-8", "replace") or "running"
        except OSError:
            return "running"

    def _close_test(self, row: Row) -> None:
        died = SuiteReport(
            SuiteStatus.CANCELLED, "", (), "", "", Counts(), (), (), 0.0,
            message=f"process {row['pid']}, which ran these tests, ended before they did; run them again",
        )  # fmt: skip
        with self._store.transaction() as db:
            db.execute(
                "UPDATE runs SET state = 'done', finished = ?, result = ? WHERE id = ? AND finished IS NULL",
                (time.time(), json.dumps(to_object(died)), row["id"]),
            )

    def stop_all(self, timeout_s: float) -> None:
        """Cancel every job of this process and wait for their ends, also in the eyes of those who watch: `timeout_s`
        in all."""
        end = time.monotonic() + timeout_s
        jobs = list(self._live.values())
        for job in jobs:
            if job.state != "done":
                job.cancel.set()
        for job in jobs:
            job.stop(max(0.0, end - time.monotonic()))
