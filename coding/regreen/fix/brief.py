"""What the proposer is told, bounded in size: the task, what fails, where to look, what was tried. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from regreen.fix.progress import Standing
from regreen.model import Attempt, AttemptState, Brief, EditResult, SuiteReport, SuspiciousLine, TamperPolicy, Tried
from regreen.wire import counted, shortened

_MAX_IDS = 50
_MAX_FAILURES = 8
_MAX_SUSPICIOUS = 12
_MAX_SIGNATURES = 40
_MAX_TRIED = 6
_MAX_DIFF_CHARS = 2_000
_MAX_EDITS_TOLD = 4
_MAX_CLOSEST_CHARS = 1_500
_MAX_RESULT_CHARS = 6_000

EDIT_RULE = "Edits are SEARCH/REPLACE on whole lines; each SEARCH must occur once. "
"""What the task says of the form of edits; a proposer that is told another form leaves it out."""


@dataclass(frozen=True, slots=True)
class Insight:
    """What the repository itself says about the failure: suspicious lines, signatures of the code involved."""

    suspicious: tuple[SuspiciousLine, ...] = ()
    signatures: tuple[str, ...] = ()


def make_brief(
    failing: Iterable[str],
    report: SuiteReport,
    attempts: Sequence[Attempt],
    attempts_left: int,
    *,
    policy: TamperPolicy = "readonly",
    history: Sequence[Tried] = (),
) -> Brief:
    """The brief for the next proposal. `report` is that of the best tree so far, which is the tree on disk.

    `history` holds tries of an earlier run; the newest tries of both are told.
    """
    ids = sorted(failing)
    exemplars = {g.ids[0] for g in report.groups if g.ids}
    shown = [f for f in report.failures if f.id in exemplars and f.id in ids] or list(report.failures)
    tried = (*history, *(_tried(a) for a in attempts))
    return Brief(
        task=_task(len(ids), policy),
        failing=tuple(ids[:_MAX_IDS]),
        failing_total=len(ids),
        failures=tuple(shown[:_MAX_FAILURES]),
        suspicious=(),
        signatures=(),
        tried=tried[-_MAX_TRIED:],
        attempts_left=attempts_left,
    )


def with_insight(brief: Brief, insight: Insight) -> Brief:
    """The same brief, with what is known of the code."""
    return replace(
        brief, suspicious=insight.suspicious[:_MAX_SUSPICIOUS], signatures=insight.signatures[:_MAX_SIGNATURES]
    )


_TEST_RULES = {
    "readonly": "Change the code under test, not the tests",
    "additions_only": "Change the code under test; tests may be added, those that are there stay as they are",
    "editable": "Change the code under test; tests may be changed too, but not so that they check less",
}


def _task(n: int, policy: TamperPolicy) -> str:
    return (
        f"Make {counted(n, 'failing test')} pass without breaking a test that passes. {_TEST_RULES[policy]}; "
        f"fix the cause and only the cause. {EDIT_RULE}"
        "If no right code can pass these tests, say needs_test_change and why."
    )


def _tried(attempt: Attempt) -> Tried:
    diff = attempt.diff
    if len(diff) > _MAX_DIFF_CHARS:
        diff = diff[:_MAX_DIFF_CHARS] + f"\n... {len(diff) - _MAX_DIFF_CHARS} characters left out\n"
    return Tried(attempt.number, attempt.state, attempt.note, diff, refusal_report(attempt) or attempt.message)


def refusal_report(attempt: Attempt) -> str:
    """Of an attempt whose edits did not fit: what was wrong with each, and where it may have meant; "" for others."""
    return _refused_edits(attempt.edits) if attempt.state is AttemptState.REFUSED else ""


def _refused_edits(edits: Sequence[EditResult]) -> str:
    """Why edits could not be applied, with all that helps to write them right; "" where none was at fault."""
    failed = [e for e in edits if e.error is not None]
    told = [_refused_edit(e) for e in failed[:_MAX_EDITS_TOLD]]
    if len(failed) > len(told):
        told.append(f"... and {counted(len(failed) - len(told), 'more edit')} that cannot be applied")
    return shortened("\n".join(told), _MAX_RESULT_CHARS)


def _refused_edit(edit: EditResult) -> str:
    assert edit.error is not None
    error = edit.error
    lines = [f"edit {edit.index + 1}: {error.kind}: {shortened(error.message)}"]
    if error.candidates:
        lines.append(f"  it stands at lines {', '.join(map(str, error.candidates))}")
    if error.first_difference is not None:
        there = error.first_difference
        lines.append(f"  line {there.line}: sent {there.expected}, found {there.found}")
    if error.closest is not None:
        near = error.closest
        lines.append(f"  closest place, lines {near.start}-{near.end}:\n{shortened(near.text, _MAX_CLOSEST_CHARS)}")
    if error.hint:
        lines.append(f"  {shortened(error.hint)}")
    return "\n".join(lines)


def one_line(state: AttemptState, now: Standing, report: SuiteReport) -> str:
    """The verdict on an attempt in one line: what it repaired, broke and left."""
    parts = [f"{len(now.fixed)} of {len(now.fixed | now.still)} goal tests pass"]
    if now.broken:
        parts.append(f"broke {len(now.broken)}: {', '.join(sorted(now.broken)[:3])}")
    if now.further:
        parts.append(f"further: {', '.join(sorted(now.further)[:3])}")
    if now.strangers:
        parts.append(f"new failures: {', '.join(sorted(now.strangers)[:3])}")
    if report.message and state in (AttemptState.BROKEN, AttemptState.TIMEOUT):
        parts.append(report.message)
    return f"{state}: {'; '.join(parts)}"
