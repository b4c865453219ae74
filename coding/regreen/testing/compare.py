"""What changed between two test runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from regreen.model import CaseOutcome, Comparison, SuiteReport, SuiteStatus

MAX_IDS = 50
_BAD = ("failed", "error")


def compare(before: Mapping[str, CaseOutcome], after: SuiteReport) -> Comparison:
    """Compare outcomes by test id, at most `MAX_IDS` a list. Both runs must have been asked for the same tests.

    `vanished` is told only by a run that came to its end with everything loaded: what a broken run did not reach is
    not gone. What could not be loaded before has no tests that could vanish.
    """
    red_before = {i for i, o in before.items() if o in _BAD}
    red_after = {i for i, o in after.outcomes.items() if o in _BAD}
    whole = after.status in (SuiteStatus.PASSED, SuiteStatus.FAILED)
    now = after.outcomes
    return Comparison(
        new=tuple(i for i in now if i in red_after - red_before)[:MAX_IDS],
        fixed=tuple(i for i in now if i in red_before - red_after and now[i] in ("passed", "xpassed"))[:MAX_IDS],
        still=tuple(i for i in now if i in red_after & red_before)[:MAX_IDS],
        vanished=tuple(i for i, o in before.items() if whole and o != "error" and i not in now)[:MAX_IDS],
    )
