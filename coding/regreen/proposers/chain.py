"""Several proposers, one after the other: when the first gives up, the next is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from regreen.fix.proposer import Proposer
from regreen.model import Brief, Proposal


class ChainProposer:
    """Asks its proposers in order; one that gave up is not asked again. `on_next` hears the name of each new one.

    `why` is what those that gave up said of it.
    """

    def __init__(self, proposers: Sequence[Proposer], on_next: Callable[[str], None] | None = None) -> None:
        self._left = list(proposers)
        self._on_next = on_next
        self.why = ""

    @property
    def name(self) -> str:
        return self._left[0].name if self._left else "none"

    @property
    def costs_budget(self) -> bool:
        return bool(self._left) and self._left[0].costs_budget

    async def propose(self, brief: Brief) -> Proposal | None:
        while self._left:
            proposal = await self._left[0].propose(brief)
            if proposal is not None:
                return proposal
            self.why = f"{self.why} {self._left.pop(0).why}".strip()
            if self._left and self._on_next is not None:
                self._on_next(self._left[0].name)
        return None
