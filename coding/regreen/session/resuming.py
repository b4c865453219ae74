"""Going on from a run that ended without a fix, or died: a new run with the old one's request and fresh counters.

What the old run had kept is handed in first, so that the work is not lost; its attempts are told to the proposer, so
that nothing is tried twice. The record of the old run stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regreen.errors import Busy, UsageError
from regreen.jobs import lives
from regreen.model import AttemptState, Proposal, Tried
from regreen.proposers.scripted import ScriptedProposer
from regreen.session.fixing import FixOptions, ProposerName
from regreen.session.recording import RecordedAttempt, RunRecord, find_run, not_a_fix, recorded_attempts, script_hash
from regreen.session.repository import Session
from regreen.store import Store

_MAX_TOLD = 20  # earlier tries
_MAX_DIFF_CHARS = 2_000  # of each
_OTHER = "name a script to go on with, or another proposer"
_NOTHING_LEFT = ("fixed", "already_green")


@dataclass(frozen=True, slots=True)
class Anew:
    """What shall be otherwise than in the old run. Zero and empty mean: as it was."""

    max_attempts: int = 0
    budget_s: float = 0.0
    proposer: ProposerName | None = None
    script: Path | None = None
    model: str = ""


def resumed(session: Session, run_id: str, anew: Anew, *, caller_present: bool = False) -> FixOptions:
    """The options of the run that goes on from `run_id`. Raises UsageError or Busy where that cannot be."""
    run = _resumable(session, run_id)
    attempts = recorded_attempts(session.store, run.id)
    asked = run.request
    proposer = _proposer(asked, anew, caller_present=caller_present)
    script, script_from = anew.script, 0
    if proposer == "scripted" and script is None:
        script, script_from = _rest(run, attempts)
    return FixOptions(
        selection=tuple(asked.get("selection", ())),
        proposer=proposer,
        model=anew.model or (asked.get("model", "") if proposer == asked.get("proposer") else ""),
        paths=tuple(asked.get("paths", ())),
        tests=asked.get("tests", "readonly"),
        max_attempts=anew.max_attempts or asked.get("max_attempts", 0),
        budget_s=anew.budget_s or asked.get("budget_s", 0.0),
        budget_cpu_s=asked.get("budget_cpu_s", 0.0),
        budget_tokens=asked.get("budget_tokens", 0),
        budget_usd=asked.get("budget_usd", 0.0),
        keep_partial=asked.get("keep_partial", False),
        script=script,
        script_from=script_from,
        first=_kept(session, run, attempts),
        history=_history(session.store, run),
        resumes=run.id,
        caller_present=caller_present,
    )


def _resumable(session: Session, run_id: str) -> RunRecord:
    """The run as it is recorded, after whatever it left behind has been put back."""
    run = find_run(session.store, run_id)
    if run.repo != session.key:
        raise UsageError("invalid_arguments", f"{run.id} was a run of {run.root or 'another repository'}",
                         "name that repository")  # fmt: skip
    if run.kind != "fix":
        raise UsageError("invalid_arguments", f"{run.id} {not_a_fix(run.kind)}", "start it again")
    if run.finished is None:
        if lives(run.pid, run.born):
            raise Busy(f"{run.id} still runs, in process {run.pid}", "wait for its end, or cancel it first")
        session.recover()
        run = find_run(session.store, run.id)
    if run.finished is None:
        raise Busy(f"what {run.id} changed is not put back yet, since {session.root} is in use", "try again later")
    if run.reason in _NOTHING_LEFT:
        raise UsageError("invalid_arguments", f"{run.id} ended as {run.reason}: nothing is left to do",
                         "start a new run")  # fmt: skip
    return run


def _proposer(asked: Mapping[str, Any], anew: Anew, *, caller_present: bool) -> ProposerName:
    if anew.script is not None:
        return "scripted"
    wanted: ProposerName = anew.proposer or asked.get("proposer", "auto")
    return "auto" if wanted == "sampling" or (wanted == "caller" and not caller_present) else wanted


def _kept(session: Session, run: RunRecord, attempts: tuple[RecordedAttempt, ...]) -> tuple[Proposal, ...]:
    """The proposals that made the old run's best tree; none where that tree was kept and still is there."""
    touched = session.journal.touched(run.id)
    left = {path: after for path, (before, after) in touched.items() if before != after}
    if left and all(session.workspace.image(path).sha256 == after for path, after in left.items()):
        return ()
    return _carried(session.store, run, attempts)


def _carried(store: Store, run: RunRecord, attempts: tuple[RecordedAttempt, ...]) -> tuple[Proposal, ...]:
    """What the run had kept, and of what it should have begun with, what it did not come to judge."""
    kept = tuple(proposal for proposal, attempt in attempts if attempt.get("kept"))
    left = run.request.get("first", 0) - len(attempts)
    if left <= 0 or (earlier := _resumed_by(store, run)) is None:
        return kept
    return (*kept, *_carried(store, earlier, recorded_attempts(store, earlier.id))[-left:])


def _resumed_by(store: Store, run: RunRecord) -> RunRecord | None:
    """The run that this one went on from, where it is still known."""
    earlier = run.request.get("resumes")
    return find_run(store, earlier) if earlier and store.rows("SELECT id FROM runs WHERE id = ?", earlier) else None


def _rest(run: RunRecord, attempts: tuple[RecordedAttempt, ...]) -> tuple[Path, int]:
    """The old run's script, and how many of its proposals have been judged: one that was in hand has not."""
    asked = run.request
    if not asked.get("script"):
        raise UsageError("invalid_arguments", f"{run.id} has no script to go on with", _OTHER)
    path = Path(asked["script"])
    try:
        script = ScriptedProposer.from_file(path).left
    except UsageError as e:
        raise UsageError(
            "invalid_arguments", f"the script of {run.id} cannot be read again: {e.message}", _OTHER
        ) from e
    if asked.get("script_hash", script_hash(script)) != script_hash(script):
        raise UsageError("invalid_arguments", f"{path}, the script of {run.id}, has changed since", _OTHER)
    judged = asked.get("script_from", 0) + max(0, len(attempts) - asked.get("first", 0))
    if judged >= len(script):
        raise UsageError("invalid_arguments", f"the script of {run.id} is used up: all {len(script)} of its proposals "
                         "were judged", _OTHER)  # fmt: skip
    return path, judged


def _history(store: Store, run: RunRecord) -> tuple[Tried, ...]:
    """What was tried, oldest first, also by the runs that the old one had itself resumed; numbered through."""
    chain = [run.id]
    while (earlier := _resumed_by(store, run)) is not None and earlier.id not in chain:
        chain.append(earlier.id)
        run = earlier
    attempts = [attempt for run_id in reversed(chain) for _, attempt in recorded_attempts(store, run_id)]
    told = [_tried(number, attempt) for number, attempt in enumerate(attempts, 1)]
    return tuple(told[-_MAX_TOLD:])


def _tried(number: int, attempt: Mapping[str, Any]) -> Tried:
    state = AttemptState(attempt["state"])
    diff = attempt.get("diff", "")
    if len(diff) > _MAX_DIFF_CHARS:
        diff = f"{diff[:_MAX_DIFF_CHARS]}\n... {len(diff) - _MAX_DIFF_CHARS} characters left out\n"
    return Tried(number, state, attempt.get("note", ""), diff, _result(attempt))


def _result(attempt: Mapping[str, Any]) -> str:
    return attempt.get("refusal_report") or attempt.get("message", "")
