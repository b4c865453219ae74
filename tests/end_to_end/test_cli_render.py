"""How results look to a person: pure views of values."""

import pytest

from regreen.cli.lines import diff, harmless
from regreen.cli.render import failing_tests, render
from regreen.model import StopReason

EVIDENCE = {"counts": {"passed": 12, "failed": 0, "errors": 0, "skipped": 1}, "goal_runs": "3/3", "protected_files": 4}
FIXED = {
    "reason": "fixed",
    "fixed": True,
    "fixed_tests": ["t.py::a", "t.py::b"],
    "diff": "--- a\n+++ b\n",
    "evidence": EVIDENCE,
}


def text(tool, data) -> str:
    return "\n".join(line.text for line in render(tool, data))


def test_fixed_says_plausible_and_the_counts():
    said = text("fix_tests", {"job_id": "job-1", "state": "done", "attempts": [], "outcome": FIXED})
    assert "2 tests went green\n  t.py::a\n  t.py::b" in said
    assert "12 passed, 0 failed, 1 skipped" in said and "3/3" in said and "4 test files unchanged" in said
    assert "plausible, not proven" in said


@pytest.mark.parametrize("reason", [r for r in StopReason if r is not StopReason.FIXED])
def test_every_other_end_is_told_in_words_and_with_its_hint(reason):
    data = {"outcome": {"reason": str(reason), "fixed": False, "restored": True, "hint": "do this"}, "attempts": []}
    said = text("fix_tests", data)
    assert f"not fixed: {reason}" not in said and "hint: do this" in said


def test_attempts_of_a_run_that_failed_are_listed():
    attempts = [{"number": 1, "state": "same", "message": "still red\nmore"}]
    said = text("fix_tests", {"attempts": attempts, "outcome": {"reason": "no_progress", "fixed": False}})
    assert "attempt 1: same: still red" in said and "more" not in said


def test_conflicts_of_a_restore_are_told():
    conflicts = [{"path": "a.py", "reason": "changed since"}]
    assert "left as it is: a.py: changed since" in text("restore", {"conflicts": conflicts})


def test_an_error_has_no_lines():
    assert text("read_file", {"error": {"kind": "not_found", "message": "", "hint": ""}}) == ""


def test_long_lists_are_cut_and_say_so():
    lines = [line.text for line in failing_tests([], [f"t.py::{n}" for n in range(100)])]
    assert lines[0] == "100 failing tests:" and lines[-1].strip() == "and 70 more"


def test_diff_is_styled_by_its_markers():
    styles = [line.style for line in diff("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n")]
    assert styles == ["strong", "strong", "hunk", "removed", "added", ""]


@pytest.mark.parametrize(
    "raw, shown", [("\x1b[31m", "\\x1b[31m"), ("a\tb", "a\tb"), ("\u202e", "\\u202e"), ("\r", "\\x0d")]
)
def test_control_characters_are_written_out(raw, shown):
    assert harmless(raw) == shown
