"""Jobs of other processes on the same state folder: looked at, waited for and sent messages to, as if they were ours.

Where the process of a job does not react in time, the message is taken back, and whoever sent it is told so (Busy).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from regreen.errors import Busy, RegreenError, UsageError
from regreen.jobs import STOP_S
from regreen.sandbox import Cancel
from regreen.session.mailbox import REACT_S, MessageKind, delivered, result_of, send
from regreen.wire import Json, to_object

if TYPE_CHECKING:
    from regreen.model import Proposal
    from regreen.session.engine import Engine
    from regreen.session.handlers import Call

_LOOK_S = 0.2
_LIVE = ("running", "waiting_for_edits")


def recorded(call: Call, job_id: str) -> dict[str, Json]:
    """A job of another process. If that has died, what the job changed is put back first, as far as it is ours to."""
    call.engine.known_run(job_id)  # not one of a repository that is not served here
    data = call.engine.jobs.recorded(job_id)
    if data["state"] != "interrupted":
        return data
    call.engine.recovered |= call.session.recover()
    return call.engine.jobs.recorded(job_id)


def awaited(call: Call, job_id: str, wait_s: float) -> dict[str, Json]:
    """The job once it no longer runs, `wait_s` are over, or the call is cancelled; its progress is passed on."""
    end = time.monotonic() + wait_s
    cancel = call.cancel or Cancel()
    while (data := recorded(call, job_id))["state"] == "running" and time.monotonic() < end:
        if call.on_progress is not None:
            call.on_progress(str(data["progress"]))
        if cancel.wait(min(_LOOK_S, max(0.0, end - time.monotonic()))):
            break
    return data


def submit(call: Call, job_id: str, proposal: Proposal, wait_s: float) -> dict[str, Json]:
    """Hand a fix to a run that waits for it there; its data, and what came of the attempt if that is known in time."""
    message_id = _post(call.engine, job_id, "fix", to_object(proposal), call.cancel)
    if not message_id:
        recorded(call, job_id)
        raise UsageError("invalid_arguments", f"{job_id} takes no fixes (any more)", "start fix_tests again")
    data = awaited(call, job_id, wait_s)
    if call.cancel is not None and call.cancel.is_set():
        data = cancelled(call, job_id)
    return {**data, **_judged(call, message_id, ended=data["state"] != "running")}


def _judged(call: Call, message_id: str, *, ended: bool) -> dict[str, Json]:
    """What the owner tells of the attempt: a moment after it has been judged, if it has."""
    end = time.monotonic() + (REACT_S if ended else 0.0)
    while (told := result_of(call.engine.store, message_id)) is None and time.monotonic() < end:
        Cancel().wait(_LOOK_S / 4)
    return told or {}


def cancelled(call: Call, job_id: str) -> dict[str, Json]:
    """End a job that runs there, and wait for its end; the data of the job."""
    if recorded(call, job_id)["state"] in _LIVE and _post(call.engine, job_id, "cancel", {}):
        end = time.monotonic() + STOP_S
        while recorded(call, job_id)["state"] in _LIVE and time.monotonic() < end:
            Cancel().wait(_LOOK_S / 4)
    return recorded(call, job_id)


def steered(engine: Engine, job_id: str, words: str) -> dict[str, Json]:
    """Say something to the agent of a task that runs there; the job's data."""
    if not _post(engine, job_id, "message", {"text": words}):
        raise ended(job_id)
    return engine.jobs.recorded(job_id)


def ended(job_id: str) -> RegreenError:
    """The error for whoever speaks to a task that has ended."""
    return UsageError("invalid_arguments", f"{job_id} has ended: nobody hears the message",
                      "start a new task with what is still to be done")  # fmt: skip


def _post(engine: Engine, job_id: str, kind: MessageKind, body: dict[str, Json], cancel: Cancel | None = None) -> str:
    """Send, and wait until it is accepted; the message's id. "" where the job has ended, or its process has. Raises the
    owner's refusal, and Busy where the owner does not react."""
    run = engine.known_run(job_id)
    if not engine.jobs.owner(job_id):
        return ""
    message_id = send(engine.store, job_id, kind, body)
    if delivered(engine.store, message_id, alive=lambda: engine.jobs.owner(job_id) != 0, cancel=cancel):
        return message_id
    if pid := engine.jobs.owner(job_id):
        raise Busy(
            f"{job_id} runs in another process ({pid}), in {run.root or 'a repository unknown here'}, which does not "
            "react",
            f"try again, or end process {pid}: what the job changed is then put back",
        )
    return ""
