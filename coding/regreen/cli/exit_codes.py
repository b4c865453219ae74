"""What the shell is told: a pure function from a result to an exit status.

0 done, green, applied; 1 red, not applicable, not fixed; 2 usage or configuration; 3 the environment is at fault;
4 budget spent; 5 refused by policy; 130 interrupted; 70 a fault of our own.
"""

from __future__ import annotations

from collections.abc import Mapping

from regreen.wire import Json

OK, RED, USAGE, ENVIRONMENT, BUDGET, REFUSED, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 5, 70, 130

_STATUS = {"passed": OK, "failed": RED, "error": RED, "timeout": RED, "no_tests": ENVIRONMENT,
           "crashed": ENVIRONMENT, "environment": ENVIRONMENT, "denied": REFUSED,
           "cancelled": INTERRUPTED}  # fmt: skip
_REASON = {"fixed": OK, "already_green": OK, "no_progress": RED, "repeated_fix": RED, "oscillation": RED,
           "regression": RED, "attempt_limit": RED, "flaky": RED, "needs_test_change": RED, "proposer_failed": RED,
           "environment": ENVIRONMENT, "budget": BUDGET, "refused": REFUSED, "tampered": REFUSED,
           "cancelled": INTERRUPTED,
           # of coding tasks only
           "completed": OK, "max_turns": RED, "stuck": RED, "needs_user": RED, "context_overflow": RED,
           "model_error": ENVIRONMENT, "hook_stopped": REFUSED}  # fmt: skip
_KIND = {
    **dict.fromkeys(("environment", "io", "timeout"), ENVIRONMENT),
    **dict.fromkeys(
        ("model_error", "model_rate_limited", "model_overloaded", "model_server_fault", "model_connection_lost",
         "model_timeout", "model_bad_reply", "model_unauthorized", "model_quota_spent", "model_not_found",
         "model_context_overflow", "model_request_refused", "model_unavailable"), ENVIRONMENT),
    "budget": BUDGET,
    **dict.fromkeys(
        ("path_outside_workspace", "path_out_of_scope", "path_protected", "not_regular_file", "command_not_allowed",
         "argument_not_allowed", "argument_value_invalid", "needs_approval", "denied_by_mode", "untrusted_workspace",
         "sandbox_required", "busy", "host_forbidden", "origin_forbidden", "unauthorized"), REFUSED),
    "internal": INTERNAL,
    "cancelled": INTERRUPTED,
}  # fmt: skip


def of_error(kind: str) -> int:
    """The status for an error of this kind; kinds that are not listed are faults of the call."""
    return _KIND.get(kind, USAGE)


def of_result(tool: str, data: Mapping[str, Json]) -> int:
    """The status for the structured result of a tool, an error document included."""
    match data:
        case {"error": {"kind": str(kind)}}:
            return of_error(kind)
        case {"status": str(status)} if tool == "run_tests":
            return _STATUS.get(status, ENVIRONMENT)
        case {"outcome": {"reason": str(reason)}} if tool in ("fix_tests", "coding_task"):
            return _REASON.get(reason, RED)
        case {"ok": bool(ok)} if tool == "apply_edits":
            return OK if ok else RED
        case {"conflicts": [_, *_]} if tool == "restore":
            return RED
        case _:
            return ENVIRONMENT if tool in ("run_tests", "fix_tests", "coding_task") else OK
