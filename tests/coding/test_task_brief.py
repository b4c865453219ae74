from __future__ import annotations

from regreen.model import StopReason, TaskOutcome
from regreen.session.task_brief import hint_for


def test_only_changes_of_the_task_are_offered_to_be_brought_again() -> None:
    taken_back = TaskOutcome(StopReason.STUCK, restored=True, put_back="txn-1")
    assert hint_for(taken_back, "job-1", changed=True).endswith("restore(txn-1) brings the changes again.")
    assert "txn-1" not in hint_for(taken_back, "job-1", changed=False), "these were what its tests had left"


def test_what_is_kept_can_be_undone_by_the_job() -> None:
    kept = TaskOutcome(StopReason.FIXED, fixed=True, verified=True, kept=True, kept_files=("a.py",))
    assert hint_for(kept, "job-1", changed=True).endswith("restore(job-1) undoes the changes.")
