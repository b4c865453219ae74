"""Keeping a report small whatever the tests did: five thousand failures are a few groups and a number. Pure.

The verdict, the counts and the outcomes are never cut; every cut is said.
"""

from __future__ import annotations

from dataclasses import replace

from regreen.model import Failure, SlowTest, SuiteReport
from regreen.wire import counted

MAX_FAILURES = 100
MAX_CHARS = 64_000
MAX_GROUPS = 50
MAX_IDS = 50
MAX_SLOWEST = 10
_SLOW_S = 0.05  # what is faster is not worth naming


def bounded(report: SuiteReport) -> SuiteReport:
    """The report with at most `MAX_FAILURES` failures, one of every group first, and at most `MAX_IDS` ids a list."""
    failures = _chosen(report)
    groups = tuple(
        replace(g, ids=g.ids[:MAX_IDS], more=max(0, len(g.ids) - MAX_IDS)) for g in report.groups[:MAX_GROUPS]
    )
    left = len(report.failures) - len(failures)
    cut = len(report.groups) - len(groups)
    notes = [f"{counted(left, 'failure is', 'failures are')} counted, and named by groups only"] if left else []
    notes += [f"{counted(cut, 'group of failures is', 'groups of failures are')} counted and not shown"] if cut else []
    return replace(
        report,
        failures=failures,
        groups=groups,
        notes=(*report.notes, *notes),
        slowest=slowest(report),
    )


def _chosen(report: SuiteReport) -> tuple[Failure, ...]:
    """One failure of every group first, then the others."""
    exemplars = {g.ids[0] for g in report.groups}
    wanted = sorted(report.failures, key=lambda f: f.id not in exemplars)[:MAX_FAILURES]
    room = MAX_CHARS
    kept: set[str] = set()
    for failure in wanted:
        room -= len(failure.excerpt) + len(failure.message) + 2 * len(failure.id) + 200
        if room < 0 and kept:
            break
        kept.add(failure.id)
    return tuple(f for f in wanted if f.id in kept)


def slowest(report: SuiteReport) -> tuple[SlowTest, ...]:
    """The tests that took longest, where that is worth telling."""
    slow = sorted(report.durations_s.items(), key=lambda item: -item[1])[:MAX_SLOWEST]
    return tuple(SlowTest(i, round(s, 3)) for i, s in slow if s >= _SLOW_S)
