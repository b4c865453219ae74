"""Which tests of the baseline are not run any more: gone, or skipped, or only expected to fail.

Ids are compared as they are, whatever the runner. The one exception are ids that hold an address, a UUID, a time or a
long hash, as those of parametrized tests may: of these as many must be there as before, whatever stands in them. An id
whose text comes from the code under test is not excepted, since the same code could so take cases away; cases that
change with the code have to be run again by somebody who looks.
"""

from __future__ import annotations

import re
from collections import Counter

from regreen.model import SuiteReport

_RUNNING = frozenset({"passed", "failed", "error", "xpassed"})
_VARYING = re.compile(
    r"0x[0-9a-fA-F]{4,}|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{32,64}\b|\b1[5-9]\d{8}(?:\d{3,9}|\.\d+)?\b|"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?|(?<=object at )\w+|/tmp/[\w./-]+"
)


def dropped_tests(baseline: SuiteReport, now: SuiteReport) -> tuple[str, ...]:
    """Ids that the baseline collected and `now` has not, or that ran there and are skipped or xfailed now.

    A file that could not be collected in the baseline is no test: it must have tests now, or be there itself.
    """
    spare = Counter(_stable(i) for i in now.outcomes if i not in baseline.outcomes)
    uncollected = _uncollected(baseline)
    return tuple(i for i in baseline.outcomes if not _is_there(i, baseline, now, spare, uncollected))


def _is_there(
    name: str, baseline: SuiteReport, now: SuiteReport, spare: Counter[str], uncollected: frozenset[str]
) -> bool:
    outcome = now.outcomes.get(name)
    if outcome is not None:
        return outcome in _RUNNING or baseline.outcomes[name] not in _RUNNING
    if name in uncollected:
        return any(_lies_in(i, name) for i, o in now.outcomes.items() if o in _RUNNING)
    stable = _stable(name)
    if stable != name and spare[stable] > 0:
        spare[stable] -= 1
        return True
    return False


def _stable(name: str) -> str:
    return _VARYING.sub("#", name)


def _uncollected(report: SuiteReport) -> frozenset[str]:
    """The files (or modules) among the ids, which stand for tests that could not be named."""
    told = {f.id for f in report.failures if f.kind == "collection"}
    files = {i for i, o in report.outcomes.items() if o == "error" and report.runner == "pytest" and "::" not in i}
    return frozenset(told | files)


def _lies_in(test: str, place: str) -> bool:
    """Is a test one of this file or module?"""
    module = place.removesuffix(".py").replace("/", ".")
    starts = (f"{place}::", f"{place} > ", f"{place}/", f"{place}.", f"{module}.", f"{module.rpartition('.')[2]}.")
    return test == place or test.startswith(starts)
