"""Writes a plan, exactly as it was worked out, through the journal; or nothing.

Rule: a file that is no longer what the plan was made for makes the whole commit `stale`. No second look, no merging.
"""

from __future__ import annotations

from dataclasses import replace

from regreen.edits.explain import WHOLE
from regreen.edits.planning import EditPlan
from regreen.model import EditError, EditReport
from regreen.workspace import Journal, StaleFile


def commit(plan: EditPlan, journal: Journal, *, label: str, run_id: str = "") -> EditReport:
    """Write all changes of `plan`, or none. A plan that is not ok is reported as it is; nothing is written then.

    A changed file is a report with `ok` false and kind `stale`. Raises EnvironmentFault (`io`) when the disk fails;
    the journal has put everything back by then.
    """
    if not plan.report.ok:
        return plan.report
    try:
        transaction = journal.commit(plan.changes, label=label, run_id=run_id)
    except StaleFile as e:
        return _stale(plan, e)
    edits = tuple(replace(r, status="applied") if r.status == "would_apply" else r for r in plan.report.edits)
    return replace(plan.report, edits=edits, transaction=transaction)


def _stale(plan: EditPlan, stale: StaleFile) -> EditReport:
    error = EditError("stale", stale.message, f"read it again and write the edits for it as it is now; {WHOLE}")
    results = zip(plan.report.edits, plan.reals, strict=True)
    edits = tuple(replace(r, status="failed", error=error) if real in stale.paths else r for r, real in results)
    said = f"NOTHING was applied: a file changed since the edits were planned. Send all {len(edits)} edits again."
    return EditReport(False, (), edits, (said, *plan.report.warnings))
