"""Messages to a run, from any process on the same state folder: a table in the store.

Whoever sends writes a row and looks for the reply in it. The process that owns the run takes the row (once: what it
took and did not answer is never taken again), does what it says, and writes whether it was accepted. One thread a
process looks for rows, and only while the process has a job that has not ended.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from regreen.errors import Busy, RegreenError, UsageError
from regreen.jobs import Jobs
from regreen.sandbox import Cancel
from regreen.store import Store, new_id
from regreen.wire import Json

MessageKind: TypeAlias = Literal["fix", "message", "cancel"]

REACT_S = 5.0
"""How long an owner that lives may take to take a message; it looks several times a second."""
_POLL_S = 0.25
_LOOK_S = 0.1  # how often a sender looks for the reply
_STOP_S = 2.0
_MOST_WAITING = 32  # messages of one run that nobody has taken yet
_MAX_BODY = 8 << 20  # characters of one message as JSON

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunMessage:
    """A message, as the owner of the run gets it. What `body` holds depends on the kind."""

    id: str
    run_id: str
    kind: MessageKind
    body: Mapping[str, Any]


class Accepted(Protocol):
    """What becomes of a message: `result` gives None until there is something to tell the sender besides."""

    def result(self) -> dict[str, Json] | None: ...


Act: TypeAlias = Callable[[RunMessage], Accepted | None]
"""Does what a message says, without waiting for it to be done; None where nothing more will be told of it. Raises
RegreenError where it is refused."""


# --- the sender ------------------------------------------------------------------------------------------------------


def send(store: Store, run_id: str, kind: MessageKind, body: Mapping[str, Json]) -> str:
    """Write a message to a run; its id. Raises UsageError (`limit_exceeded`) for what is too large, and Busy where too
    many wait already."""
    text = json.dumps(body)
    if len(text) > _MAX_BODY:
        raise UsageError("limit_exceeded", f"a message of {len(text)} characters to {run_id}",
                         f"send at most {_MAX_BODY}: smaller edits, one after the other")  # fmt: skip
    message_id = new_id("msg")
    with store.transaction() as db:
        waiting = db.execute("SELECT COUNT(*) FROM messages WHERE run = ? AND taken IS NULL", (run_id,)).fetchone()[0]
        if waiting >= _MOST_WAITING:
            raise Busy(f"{waiting} messages to {run_id} wait to be taken", "wait until its process reacts")
        db.execute(
            "INSERT INTO messages (id, run, kind, body, sent) VALUES (?, ?, ?, ?, ?)",
            (message_id, run_id, kind, text, time.time()),
        )
    return message_id


def delivered(store: Store, message_id: str, *, alive: Callable[[], bool], cancel: Cancel | None = None) -> bool:
    """Wait until the owner has answered a message. True if it accepted it; False where it was taken back, since nobody
    took it in time, `alive` says that nobody can any more, or `cancel` is set. Raises the owner's refusal."""
    end = time.monotonic() + REACT_S
    wait = cancel or Cancel()
    while (reply := _reply(store, message_id)) is None:
        gives_up = time.monotonic() >= end or wait.is_set() or not alive()
        if gives_up and _taken_back(store, message_id):
            return False
        if gives_up and (not alive() or time.monotonic() >= end + REACT_S):
            return False  # taken by a process that ended, or hangs, before it said what became of it
        wait.wait(_LOOK_S)
    if "error" in reply:
        raise _refusal(reply["error"])
    return True


def result_of(store: Store, message_id: str) -> dict[str, Json] | None:
    """What the owner told besides of a message that it accepted; None while there is nothing."""
    rows = store.rows("SELECT result FROM messages WHERE id = ?", message_id)
    return json.loads(rows[0]["result"]) if rows and rows[0]["result"] else None


def _reply(store: Store, message_id: str) -> dict[str, Any] | None:
    rows = store.rows("SELECT reply FROM messages WHERE id = ?", message_id)
    return json.loads(rows[0]["reply"]) if rows and rows[0]["reply"] else None


def _taken_back(store: Store, message_id: str) -> bool:
    with store.transaction() as db:
        return db.execute("DELETE FROM messages WHERE id = ? AND taken IS NULL", (message_id,)).rowcount == 1


def _refusal(error: Mapping[str, str]) -> RegreenError:
    kind, message, hint = error["kind"], error["message"], error["hint"]
    return Busy(message, hint) if kind == "busy" else UsageError(kind, message, hint)


# --- the owner -------------------------------------------------------------------------------------------------------


class Mailbox:
    """Takes the messages to the jobs of this process, and answers them. `act` does what they say."""

    def __init__(self, store: Store, jobs: Jobs, act: Act) -> None:
        self._store = store
        self._jobs = jobs
        self._act = act
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._woken = threading.Event()
        self._closed = False
        self._open: dict[str, Accepted] = {}  # accepted; what came of them is still to be told
        jobs.watch(self._wake)

    def close(self) -> None:
        """Take no further messages. Returns once nothing is written any more."""
        with self._lock:
            self._closed, thread = True, self._thread
        self._woken.set()
        if thread is not None:
            thread.join(_STOP_S)

    def _wake(self, _job_id: str) -> None:
        with self._lock:
            if self._thread is None and not self._closed and self._has_work():
                self._thread = threading.Thread(target=self._run, name="regreen-mailbox", daemon=True)
                self._thread.start()
        self._woken.set()

    def _has_work(self) -> bool:
        return self._jobs.any_running() or bool(self._open)

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._closed or not self._has_work():
                    self._thread = None
                    return
            self._woken.clear()
            try:
                self._tell_results()
                self._take_all()
            except RegreenError as e:  # the state folder is not at hand; the next round may find it
                _log.warning("messages to runs: %s", e)
            except Exception:  # noqa: BLE001  (outermost call of this thread: a fault of ours is logged, messages go on)
                _log.exception("messages to runs")
            self._woken.wait(_POLL_S)

    def _take_all(self) -> None:
        for row in self._store.rows("SELECT id, run, kind, body FROM messages WHERE taken IS NULL ORDER BY sent"):
            if self._jobs.live(row["run"]) is not None and self._take(row["id"]):
                self._answer(RunMessage(row["id"], row["run"], row["kind"], json.loads(row["body"])))

    def _take(self, message_id: str) -> bool:
        with self._store.transaction() as db:
            taken = "UPDATE messages SET taken = ?, body = '' WHERE id = ? AND taken IS NULL"
            return db.execute(taken, (time.time(), message_id)).rowcount == 1

    def _answer(self, message: RunMessage) -> None:
        try:
            accepted = self._act(message)
            if accepted is not None:
                self._open[message.id] = accepted
            reply: dict[str, Json] = {"accepted": True}
        except RegreenError as e:
            reply = dict(e.as_json())  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001  (as there; the sender must not wait for an answer that never comes)
            _log.exception("message %s to %s", message.id, message.run_id)
            fault = RegreenError("internal", f"{message.run_id}: the message met a fault of regreen", "report it")
            reply = dict(fault.as_json())  # type: ignore[arg-type]
        self._write("reply", message.id, reply)

    def _tell_results(self) -> None:
        for message_id, accepted in list(self._open.items()):
            result = accepted.result()
            if result is not None:
                del self._open[message_id]
                self._write("result", message_id, result)

    def _write(self, column: Literal["reply", "result"], message_id: str, value: Mapping[str, Json]) -> None:
        with self._store.transaction() as db:
            db.execute(f"UPDATE messages SET {column} = ? WHERE id = ?", (json.dumps(value), message_id))
