"""Applying edits in a session: plan, remember a dry run's plan, commit it or some of its hunks.

Rule: what is committed is what was planned for the files as they are now. A plan is remembered by what was asked, in
the state folder, and made again when it is committed: the same id means the same bytes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from regreen.errors import UsageError
from regreen.model import EditReport, Proposal, Replacement
from regreen.session import asking, trust
from regreen.wire import to_json
from regreen.workspace import is_command_bearing

if TYPE_CHECKING:
    from regreen.edits import EditPlan
    from regreen.session.repository import Session

_PLANS_KEPT = 20
_RACES = 3


@dataclass(frozen=True, slots=True)
class EditRequest:
    """What was asked for. `before` is the hash of every file of a remembered plan when it was made."""

    proposal: Proposal
    hunks: tuple[int, ...] = ()
    expected: Mapping[str, str] = field(default_factory=dict[str, str])
    strict: bool = False
    before: Mapping[str, str] = field(default_factory=dict[str, str])


def apply(session: Session, request: EditRequest, *, commit: str = "", dry_run: bool = False) -> EditReport:
    """Apply edits, or with `dry_run` show and remember what they would do. `commit` names a plan of a dry run."""
    if commit and request.expected:
        raise UsageError(
            "invalid_arguments", "expected_sha256 is given with commit", "a plan has its own; leave it out"
        )
    if commit and not (request.proposal.text or request.proposal.replacements):
        return _commit_remembered(session, commit, request.hunks, dry_run=dry_run)
    plan = _plan(session, request)
    if commit and plan.report.ok and plan.id != commit:
        raise UsageError(
            "invalid_arguments",
            f"these edits give plan {plan.id}, not {commit}",
            "the files or the edits changed since: make a dry run again",
        )
    if not plan.report.ok:
        return plan.report
    if dry_run:
        _remember(session, request, plan)
        return plan.report
    return _write(session, plan) if commit else _commit(session, request, plan)  # a named plan is never made again


def _commit_remembered(session: Session, commit: str, hunks: tuple[int, ...], *, dry_run: bool) -> EditReport:
    from regreen.edits import outdated

    request = _remembered(session, commit)
    plan = _plan(session, replace(request, expected={**request.expected, **request.before}))
    if not plan.report.ok:
        return plan.report
    if plan.id != commit:
        now = {path for path, sha in request.before.items() if _sha(session, path) != sha}
        return outdated(plan, now or set(request.before), session.workspace)
    if hunks:
        plan = plan.only(hunks)
        request = replace(request, hunks=hunks)
    if dry_run:
        _remember(session, request, plan)
        return plan.report
    report = _write(session, plan)
    if report.ok:
        _forget(session, commit)
    return report


def _commit(session: Session, request: EditRequest, plan: EditPlan) -> EditReport:
    """Commit; where a file changes in the very moment, the edits are judged again by the file as it is then."""
    report = _write(session, plan)
    for _ in range(_RACES):
        if report.ok or request.hunks:  # the numbers of hunks are those of the very plan
            break
        plan = _plan(session, request)
        if not plan.report.ok:
            return plan.report
        report = _write(session, plan)
    return report


def _write(session: Session, plan: EditPlan) -> EditReport:
    from regreen import edits

    session.allow("edit", effect=asking.of_edits(plan.report.files))
    before = {c.path: c.before_sha for c in plan.changes if is_command_bearing(c.path)}
    with session.exclusive():
        report = edits.commit(plan, session.journal, label="apply_edits")
    if report.ok and before:
        trust.taint(session.store, session.key, before)
    return report


def _plan(session: Session, request: EditRequest) -> EditPlan:
    from regreen import edits

    plan = edits.plan(
        request.proposal,
        session.workspace,
        expected_sha256=request.expected,
        limits=session.settings.limits,
        strict=request.strict,
    )
    return plan.only(request.hunks) if request.hunks and plan.report.ok else plan


def _sha(session: Session, path: str) -> str:
    return session.workspace.image(path).sha256


# --- remembering -------------------------------------------------------------------------------------


def _remember(session: Session, request: EditRequest, plan: EditPlan) -> None:
    """Keep what was asked, so that another process can commit the plan too; only the newest few are kept."""
    before = {change.path: change.before_sha for change in plan.changes}
    kept = replace(request, before=before)
    row = (session.key, plan.id, time.time(), json.dumps(to_json(kept)))
    with session.store.transaction() as db:
        db.execute("INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?)", row)
        db.execute(
            "DELETE FROM plans WHERE repo = ? AND id NOT IN"
            " (SELECT id FROM plans WHERE repo = ? ORDER BY created DESC, rowid DESC LIMIT ?)",
            (session.key, session.key, _PLANS_KEPT),
        )


def _forget(session: Session, plan: str) -> None:
    with session.store.transaction() as db:
        db.execute("DELETE FROM plans WHERE repo = ? AND id = ?", (session.key, plan))


def _remembered(session: Session, plan: str) -> EditRequest:
    rows = session.store.rows("SELECT request FROM plans WHERE repo = ? AND id = ?", session.key, plan)
    if not rows:
        raise UsageError(
            "not_found",
            f"there is no plan {plan[:80]!r}",
            "a plan is committed once, in whole or in part: make a dry run of what is left, then commit its plan",
        )
    data = json.loads(rows[0]["request"])
    said = data["proposal"]
    replacements = tuple(Replacement(**r) for r in said["replacements"])
    proposal = Proposal(said["text"], replacements, said["format"], said["note"])
    return EditRequest(proposal, tuple(data["hunks"]), data["expected"], data["strict"], data["before"])
