"""What the caller of a tool offers besides the call: its own model, a person who can be asked. Imports nothing heavy:
servers load it before their first call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regreen.agent.approval import Approver
    from regreen.agent.ask_user import AskUser
    from regreen.providers.sampling import SamplingAsk


@dataclass(frozen=True, slots=True)
class Offers:
    """None: not offered. A job that a call began may use `sampling`, `ask_user` and `approve_in_jobs` until its end;
    `approve` is for the call itself, as long as it lasts."""

    sampling: SamplingAsk | None = None
    ask_user: AskUser | None = None
    approve: Approver | None = None
    approve_in_jobs: Approver | None = None


NOTHING = Offers()
