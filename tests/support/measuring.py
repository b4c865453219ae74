"""Made-up reports and attempts, for the rules that judge them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regreen.model import (
    Attempt,
    AttemptState,
    CaseOutcome,
    Counts,
    Failure,
    FailureGroup,
    SuiteReport,
    SuiteStatus,
)


def failure(test: str, place: str = "", kind: str = "AssertionError", message: str = "assert 1 == 2") -> Failure:
    """A failure at `file:line:function`, with a signature as real ones have it."""
    file, _, rest = place.partition(":")
    line, _, function = rest.partition(":")
    mark = f"{hash(message) & 0xFFFFFFFF:08x}"
    where = test if kind == "timeout" else f"{file}:{function}"
    return Failure(test, file, int(line or 0), kind, message, "", f"{kind} {where} {mark}")


def report(
    outcomes: Mapping[str, CaseOutcome],
    failures: Sequence[Failure] = (),
    *,
    status: SuiteStatus | None = None,
    runner: str = "pytest",
    groups: Sequence[FailureGroup] = (),
    message: str = "",
    project: str = "",
) -> SuiteReport:
    """A report with these outcomes; its status follows from them unless it is given."""
    told = set(outcomes.values())
    status = status or (SuiteStatus.FAILED if told & {"failed", "error"} else SuiteStatus.PASSED)
    return SuiteReport(
        status,
        runner,
        (),
        "python",
        "none",
        Counts(),
        tuple(failures),
        tuple(groups),
        0.1,
        message=message,
        project=project,
        outcomes=dict(outcomes),
    )


def attempt(
    state: AttemptState,
    tree: str = "",
    *,
    still: Sequence[str] = ("t.py::a",),
    broken: Sequence[str] = (),
    refusal: str = "",
) -> Attempt:
    """An attempt that came to this; number 0."""
    ran = state not in (AttemptState.REFUSED, AttemptState.REPEATED)
    return Attempt(
        0,
        state,
        kept=state in (AttemptState.IMPROVED, AttemptState.PASSED),
        tree=tree,
        still=tuple(still) if ran else (),
        broken=tuple(broken) if ran else (),
        refusal=refusal,
    )
