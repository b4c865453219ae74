"""Guard tests that newly fail: broken by the change, or flaky? Decided by running the same selection again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from regreen.fix.progress import Standing, Target, passes, standing
from regreen.model import SuiteReport

_RERUNS = 2
_MAX_DOUBTFUL = 20


def without_flakes(
    target: Target, best: Standing, best_report: SuiteReport, report: SuiteReport, run_again: Callable[[], SuiteReport]
) -> tuple[Target, Standing]:
    """Where this report stands, with guard tests that fail here and pass in a rerun taken out of the measure.

    Run by itself a test may pass because what breaks it has not run; so it is always the whole selection. The reruns
    are spent only on a tree that would otherwise be kept.
    """
    now = standing(target, report, best_report)
    would_help = len(now.fixed) > len(best.fixed) or now.uncollected < best.uncollected
    doubtful = now.broken & frozenset(report.outcomes)
    if not now.ran or not would_help or not doubtful or len(doubtful) > _MAX_DOUBTFUL:
        return target, now
    for _ in range(_RERUNS):
        again = run_again()
        flaky = frozenset(i for i in doubtful if passes(i, again, target))
        if flaky:
            target = replace(target, guard=target.guard - flaky, flaky=target.flaky | flaky)
            return target, standing(target, report, best_report)
    return target, now
