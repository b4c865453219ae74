"""The loop: a proposer drives a run to its end."""

from __future__ import annotations

import time

from regreen.fix.proposer import Proposer
from regreen.fix.run import FixRun
from regreen.model import Outcome


async def drive(run: FixRun, proposer: Proposer) -> Outcome:
    """Drive a started run to its end with one proposer. Its working time is charged to the run's budget."""
    while run.outcome is None:
        begin = time.monotonic()
        proposal = await proposer.propose(run.brief)
        if proposer.costs_budget:
            run.spend(time.monotonic() - begin)
        if proposal is None:
            run.give_up(proposer.why)
        else:
            run.submit(proposal)
    return run.outcome
