"""What the caller of a tool offers besides the call: its own model, a person who can be asked. Imports nothing heavy:
servers load it before their first call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regreen.agent.ask_user import AskUser
    from regreen.providers.sampling import SamplingAsk


@dataclass(frozen=True, slots=True)
class Offers:
    """None: not offered. A job that a call began may use them until its end."""

    sampling: SamplingAsk | None = None
    ask_user: AskUser | None = None


NOTHING = Offers()
