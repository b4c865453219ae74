"""What changed between two test runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from regreen.model import CaseOutcome, Comparison

_BAD = ("failed", "error")


def compare(before: Mapping[str, CaseOutcome], after: Mapping[str, CaseOutcome]) -> Comparison:
    """Compare outcomes by test id. `vanished` are tests of the earlier run that this one does not know, so the two
    runs must have been asked for the same tests."""
    red_before = {i for i, o in before.items() if o in _BAD}
    red_after = {i for i, o in after.items() if o in _BAD}
    return Comparison(
        new=tuple(i for i in after if i in red_after - red_before),
        fixed=tuple(i for i in after if i in red_before - red_after and after[i] in ("passed", "xpassed")),
        still=tuple(i for i in after if i in red_after & red_before),
        vanished=tuple(i for i in before if i not in after),
    )
