"""The loop: a proposer drives a run to its end."""

from __future__ import annotations

import time

from regreen.fix.proposer import Proposer
from regreen.fix.run import FixRun
from regreen.model import Outcome, Proposal, StopReason
from regreen.providers.errors import BudgetSpent


async def drive(run: FixRun, proposer: Proposer) -> Outcome:
    """Drive a started run to its end with one proposer. Its working time is charged to the run's budget; where it finds
    a limit of the run reached, the run ends `budget`."""
    while run.outcome is None:
        begin = time.monotonic()
        proposal: Proposal | None = None
        spent: BudgetSpent | None = None
        try:
            proposal = await proposer.propose(run.brief)
        except BudgetSpent as e:
            spent = e
        if proposer.costs_budget:
            run.spend(time.monotonic() - begin)
        if spent is not None:
            run.stop(StopReason.BUDGET, " ".join(map(_sentence, (spent.message, spent.hint))).strip())
        elif proposal is None:
            run.give_up(proposer.why)
        else:
            run.submit(proposal)
    return run.outcome


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""
