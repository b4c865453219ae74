"""Writes a plan, exactly as it was worked out, through the journal; or nothing.

Rule: a file that is no longer what the plan was made for makes the whole commit `stale`. Nothing is merged; the answer
shows the file as it is now.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from regreen.edits.closest import Neighbourhood, Work
from regreen.edits.explain import excerpt
from regreen.edits.planned import PlannedFile
from regreen.edits.planning import EditPlan
from regreen.errors import RegreenError
from regreen.model import ClosestPlace, EditError, EditReport, EditResult
from regreen.workspace import Journal, StaleFile, Text, Workspace


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
        return outdated(plan, e.paths, journal.workspace)
    edits = tuple(replace(r, status="applied") if r.status == "would_apply" else r for r in plan.report.edits)
    return replace(plan.report, edits=edits, transaction=transaction)


def outdated(plan: EditPlan, paths: Collection[str], workspace: Workspace) -> EditReport:
    """The answer when files are not any more what `plan` was made for: nothing applied, and what is there now."""
    by_path = {path: file for file in plan.files for path in (file.path, file.image.real)}
    edits: list[EditResult] = []
    for result, reals in zip(plan.report.edits, plan.reals, strict=True):
        changed = next((path for path in reals if path in paths), "")
        edits.append(_outdated(result, by_path[changed], workspace) if changed in by_path else result)
    said = f"NOTHING was applied: a file changed since the edits were planned. Send all {len(edits)} edits again."
    return EditReport(False, (), tuple(edits), (said,))


def _outdated(result: EditResult, file: PlannedFile, workspace: Workspace) -> EditResult:
    sha, now = _now(file.path, result, file, workspace)
    error = EditError(
        "stale",
        f"`{file.path}` changed since the plan was made: {f'now sha256 {sha}' if sha else 'it is gone'}",
        "a plan is for the very bytes it was made for: send the edits again, or make a new dry run and commit that",
        closest=now,
    )
    return replace(result, status="failed", error=error)


def _now(path: str, result: EditResult, file: PlannedFile, workspace: Workspace) -> tuple[str, ClosestPlace | None]:
    """The file's hash now ("" = it is gone), and its lines where the edit was to apply, if they can be told."""
    try:
        image = workspace.image(path)
    except RegreenError:
        return "", None
    text = Text.decode(image.data) if image.kind == "file" else None
    wanted = file.before.bodies[max(0, result.line_start - 1) : result.line_end]
    if not isinstance(text, Text) or not wanted:
        return image.sha256, None
    bodies = [line.body for line in text.lines]
    found = Neighbourhood(bodies).closest(wanted, Work())
    return image.sha256, excerpt(found[0], found[1], bodies[found[0] : found[1]]) if found else None
