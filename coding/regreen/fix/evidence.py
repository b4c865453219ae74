"""What the end of a run rests on, and what to do next. Pure."""

from __future__ import annotations

from regreen.fix.convergence import HINTS
from regreen.fix.progress import Target
from regreen.model import Evidence, StopReason, SuiteReport


def evidence(
    report: SuiteReport | None,
    target: Target,
    goal_runs: str,
    work_s: float,
    protected_files: int,
    side_effects: tuple[str, ...],
    uncovered: int,
) -> Evidence:
    """The evidence of a run whose best tree gave `report`; empty where no test ever ran."""
    if report is None:
        return Evidence()
    return Evidence(
        interpreter=report.interpreter,
        argv=report.argv,
        sandbox=report.sandbox,
        counts=report.counts,
        goal_runs=goal_runs,
        duration_s=round(work_s, 3),
        protected_files=protected_files,
        side_effects=side_effects,
        uncovered=uncovered,
        flaky=tuple(sorted(target.flaky)),
        pre_existing=tuple(sorted(target.pre_existing)),
    )


def hint(reason: StopReason, diagnosis: str, *, selected: bool) -> str:
    """The next step. Where the environment is at fault, what the baseline run said of it comes first."""
    if reason is StopReason.ENVIRONMENT and diagnosis:
        return diagnosis.rstrip() if diagnosis.endswith(".") else diagnosis.rstrip() + "."
    if reason is StopReason.FIXED and selected:
        return f"Only the selected tests were run: run all of them too. {HINTS[reason]}"
    return HINTS[reason]
