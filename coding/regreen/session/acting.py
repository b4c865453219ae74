"""What messages from other processes do to the jobs of this one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from regreen.errors import UsageError
from regreen.session.mailbox import Accepted, RunMessage
from regreen.session.recording import proposal_of
from regreen.wire import Json, to_json

if TYPE_CHECKING:
    from regreen.session.engine import Engine
    from regreen.session.fixing import FixJob


@dataclass(frozen=True, slots=True)
class Submitted:
    """A fix that was handed in. Its result is the attempt, once that is judged; nothing where the run ended before."""

    fix_job: FixJob
    number: int

    def result(self) -> dict[str, Json] | None:
        done = self.fix_job.job.state == "done"  # asked first: what it has judged until then is told
        attempt = self.fix_job.attempt(self.number)
        if attempt is not None:
            return {"attempt": to_json(attempt)}
        return {} if done else None


def act(engine: Engine, message: RunMessage) -> Accepted | None:
    """Do what a message says. Returns at once; raises RegreenError where the job does not take it."""
    match message.kind:
        case "fix":
            fix_job = engine.fix_job(message.run_id)
            if fix_job is None:
                raise UsageError("invalid_arguments", f"{message.run_id} takes no fixes", "start fix_tests")
            return Submitted(fix_job, fix_job.submit(proposal_of(message.body)))
        case "message":
            engine.steer(message.run_id, str(message.body["text"]))
            return None
        case "cancel":
            job = engine.jobs.live(message.run_id)
            if job is not None:
                job.stop(0.0)  # the sender waits for the end by itself
            return None
