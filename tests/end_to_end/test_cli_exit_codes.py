"""Every word that a result can end with has its exit status."""

import pytest

from regreen import errors
from regreen.cli.exit_codes import of_error, of_result
from regreen.model import StopReason, SuiteStatus
from regreen.providers import errors as provider_errors

REASONS = {
    "fixed": 0, "already_green": 0,
    "no_progress": 1, "repeated_fix": 1, "oscillation": 1, "regression": 1, "attempt_limit": 1, "flaky": 1,
    "needs_test_change": 1, "proposer_failed": 1,
    "environment": 3, "budget": 4, "refused": 5, "tampered": 5, "cancelled": 130,
    # of coding tasks only
    "completed": 0, "max_turns": 1, "stuck": 1, "needs_user": 1, "context_overflow": 1, "model_error": 3,
    "hook_stopped": 5,
}  # fmt: skip
STATUSES = {"passed": 0, "failed": 1, "error": 1, "timeout": 1, "no_tests": 3, "crashed": 3, "environment": 3,
            "denied": 5, "cancelled": 130}  # fmt: skip
KINDS = {
    "invalid_arguments": 2, "unknown_argument": 2, "not_found": 2, "limit_exceeded": 2, "config_refused": 2,
    "session_unknown": 2, "path_invalid": 2, "bad_request": 2,
    "environment": 3, "io": 3, "timeout": 3,
    "path_outside_workspace": 5, "path_out_of_scope": 5, "path_protected": 5, "not_regular_file": 5,
    "command_not_allowed": 5, "argument_not_allowed": 5, "argument_value_invalid": 5, "needs_approval": 5,
    "denied_by_mode": 5, "untrusted_workspace": 5, "sandbox_required": 5, "busy": 5, "host_forbidden": 5,
    "origin_forbidden": 5, "unauthorized": 5,
    "internal": 70,
    "cancelled": 130,
}  # fmt: skip


def test_tables_name_every_word_there_is():
    assert set(REASONS) == {str(r) for r in StopReason}
    assert set(STATUSES) == {str(s) for s in SuiteStatus}


@pytest.mark.parametrize("reason, code", REASONS.items())
@pytest.mark.parametrize("tool", ["fix_tests", "coding_task"])
def test_status_by_reason(reason, code, tool):
    assert of_result(tool, {"outcome": {"reason": reason}}) == code


@pytest.mark.parametrize("status, code", STATUSES.items())
def test_status_by_result_of_a_test_run(status, code):
    assert of_result("run_tests", {"status": status}) == code


@pytest.mark.parametrize("kind, code", KINDS.items())
def test_status_by_kind_of_error_whatever_the_command(kind, code):
    assert of_error(kind) == code
    for tool in ("fix_tests", "coding_task", "run_tests", "restore", "read_file"):
        assert of_result(tool, {"job_id": "job-1", "error": {"kind": kind, "message": "", "hint": ""}}) == code


@pytest.mark.parametrize(
    "tool, data, code",
    [
        ("apply_edits", {"ok": True}, 0),
        ("apply_edits", {"ok": False}, 1),
        ("restore", {"restored": [], "conflicts": []}, 0),
        ("restore", {"conflicts": [{"path": "a", "reason": "changed"}]}, 1),
        ("read_file", {"text": ""}, 0),
        ("fix_tests", {}, 3),
        ("coding_task", {}, 3),
        ("run_tests", {"status": "unheard of"}, 3),
    ],
)
def test_status_of_other_results(tool, data, code):
    assert of_result(tool, data) == code


def test_errors_raised_by_the_engine_have_the_status_of_their_class():
    for error in (errors.EnvironmentFault("environment", ""), errors.Refused("path_protected", ""), errors.Busy("")):
        assert of_error(error.kind) == error.exit_code


def test_errors_of_models_have_the_status_of_their_class():
    kinds = [provider_errors.ProviderError, *provider_errors.ProviderError.__subclasses__()]
    assert len(kinds) > 10
    for error in [kind("") for kind in kinds] + [provider_errors.BudgetSpent(("budget_usd",), "")]:
        assert of_error(error.kind) == error.exit_code, error.kind
