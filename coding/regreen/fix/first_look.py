"""A first look at a try where the whole scope takes long: only the files that hold goal tests. Pure.

Whole files, since tests of one file may lean on each other. What looks no better there is not run any further; what
looks better is judged by the whole scope, and nothing is ever kept on the word of a first look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regreen.fix.progress import Standing, Target, standing
from regreen.model import SuiteReport

_WORTH_IT_S = 4.0  # a scope that takes less is simply run
_SHARE = 0.5  # of the scope's time that the files may take


def first_files(target: Target, baseline: SuiteReport, selection: Sequence[str]) -> tuple[str, ...]:
    """The files to run first; none where the whole scope is as well run at once, or ids do not tell their files."""
    if baseline.duration_s < _WORTH_IT_S or any("::" in s for s in selection):
        return ()
    files = sorted({_file(i) for i in target.goal})
    if not all(files):
        return ()
    total_s = sum(baseline.durations_s.values())
    files_s = sum(s for i, s in baseline.durations_s.items() if _file(i) in files)
    return tuple(files) if files_s <= _SHARE * total_s else ()


def looks_no_better(
    target: Target, files: Sequence[str], best_report: SuiteReport, report: SuiteReport
) -> Standing | None:
    """Where the tree stands by these files alone, if it is no better there than the best; None if it may be better."""
    seen = replace(target, guard=frozenset(i for i in target.guard if _file(i) in files))
    now = standing(seen, report, best_report)
    return None if now.score > standing(seen, best_report).score else now


def _file(test_id: str) -> str:
    """The file that a pytest id starts with; "" for the ids of other runners."""
    path, mark, _ = test_id.partition("::")
    return path if mark or path.endswith(".py") else ""
