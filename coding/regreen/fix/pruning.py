"""Leaving out kept steps that a green tree does not need.

A step that repaired no test, and only let one get further, may have been a step beside the point. So when the scope
passes, the tree is also tried without each such step, in the order of the newest first; where it passes without, the
step is left out for good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from regreen.fix.applying import Applying
from regreen.fix.cold_runs import Ran
from regreen.fix.progress import Standing, Target, standing
from regreen.model import Proposal, SuiteReport


@dataclass(frozen=True, slots=True)
class Kept:
    """One step of the way to the best tree; step 0 is the baseline. `weak`: it repaired nothing by itself."""

    number: int
    transaction: str
    proposal: Proposal
    standing: Standing
    report: SuiteReport
    weak: bool = False


def prune(
    kept: Sequence[Kept],
    target: Target,
    ran: Ran,
    applying: Applying,
    rewind_to: Callable[[str], object],
    rerun: Callable[[], Ran],
) -> tuple[tuple[Kept, ...], Ran] | None:
    """The steps that are needed, and the last run of them; the tree is left as these steps make it.

    None: a step that fitted fits no more, since somebody has changed the files meanwhile.
    """
    steps = tuple(kept)
    for weak in [s for s in reversed(kept[:-1]) if s.weak]:
        at = [s.number for s in steps].index(weak.number)
        without = apply_from(steps[:at], steps[at + 1 :], applying, rewind_to)
        again = rerun() if without else None
        if again is not None and standing(target, again.report).green:
            steps, ran = without, again
        else:
            steps = apply_from(steps[:at], steps[at:], applying, rewind_to)
            if not steps:
                return None
    return steps, ran


def apply_from(
    before: tuple[Kept, ...], after: tuple[Kept, ...], applying: Applying, rewind_to: Callable[[str], object]
) -> tuple[Kept, ...]:
    """Go back to the step before and apply the later ones; empty where one does not fit."""
    rewind_to(before[-1].transaction)
    steps = list(before)
    for step in after:
        transaction = applying.apply_again(step.number, step.proposal)
        if not transaction:
            return ()
        steps.append(replace(step, transaction=transaction))
    return tuple(steps)
