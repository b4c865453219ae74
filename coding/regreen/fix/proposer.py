"""What a proposer is: anything that, told what is known, hands in the next change to try."""

from __future__ import annotations

from typing import Protocol

from regreen.model import Brief, Proposal


class Proposer(Protocol):
    """A source of fixes. It decides nothing about the run: the run judges, keeps, rolls back and stops."""

    @property
    def name(self) -> str: ...

    @property
    def costs_budget(self) -> bool:
        """Is the time it takes charged to the run's budget? A person's or calling agent's is not."""
        ...

    @property
    def why(self) -> str:
        """After it gave up: why, in a sentence for the user; "" where there is nothing to say."""
        ...

    async def propose(self, brief: Brief) -> Proposal | None:
        """The next proposal, or None to give up. Must return soon after its `Cancel` (where it has one) is set. Raises
        BudgetSpent where a limit of the whole run is reached: no other proposer is asked then."""
        ...
