"""What to do next, for every way in which a run can end. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from regreen.fix.limits import Spent, StopRules
from regreen.model import StopReason
from regreen.wire import names

_NO_IDEA = "No further idea. "  # said where the proposer gives no reason of its own
HINTS: dict[StopReason, str] = {
    StopReason.FIXED: "Review the diff: all tests pass, which makes the fix plausible, not proven.",
    StopReason.ALREADY_GREEN: "Nothing to fix: every selected test passes.",
    StopReason.NO_PROGRESS: "The last tries changed nothing for the better. Look at where the failing values come "
                            "from, not only where they show; then run again with one test selected.",
    StopReason.REPEATED_FIX: "The same change was handed in again. Read what came of it in the attempts, and try "
                             "another cause; or narrow the selection to one failing test.",
    StopReason.OSCILLATION: "The tries go in a circle: compare the diffs of the attempts, and write a change that "
                            "meets both; if none can, the tests contradict each other.",
    StopReason.REGRESSION: "The last tries broke tests that passed (see `broken` of the attempts). Read what those "
                           "expect, and repair the cause without changing what they rely on.",
    StopReason.ATTEMPT_LIMIT: "Raise `max_attempts`, or narrow the selection to one failing test. What was repaired on "
                              "the way stays with `keep_partial`.",
    StopReason.BUDGET: "Raise the budget, or narrow the selection to one failing test.",
    StopReason.FLAKY: "The failing tests pass and fail without a change. Make them deterministic (seed, time, order).",
    StopReason.ENVIRONMENT: "Put the environment right (see the message), then run again.",
    StopReason.TAMPERED: "Test files and test settings are read-only in this run. Change the code under test; if a "
                         "test is wrong, change it by hand, or allow it with `tests`.",
    StopReason.NEEDS_TEST_CHANGE: "The tests contradict each other or the intent: a person must decide.",
    StopReason.PROPOSER_FAILED: f"{_NO_IDEA}Hand in a fix of your own (proposer=caller), or use another one.",
    StopReason.CANCELLED: "The run was cancelled; everything is as it was. Start it again when you are ready.",
    StopReason.REFUSED: "Policy did not allow the run: see the message for what to allow.",
}  # fmt: skip


_ELSEWHERE = frozenset({StopReason.NO_PROGRESS, StopReason.OSCILLATION})  # advise to look for another cause
_OF_TRIES = frozenset(
    {*_ELSEWHERE, StopReason.REPEATED_FIX, StopReason.ATTEMPT_LIMIT, StopReason.BUDGET, StopReason.PROPOSER_FAILED}
)


def with_gates(hint: str, reason: StopReason, gates: Sequence[str]) -> str:
    """The hint of a run whose last tries only these gates kept from being a fix."""
    if not gates or reason not in _OF_TRIES:
        return hint
    who = f"gate {gates[0]} objects" if len(gates) == 1 else f"gates {names(gates)} object"
    wrongly = "its settings if it objects wrongly" if len(gates) == 1 else "their settings if they object wrongly"
    said = (
        f"The tests pass with the last tries, but {who} to what these bring (see their messages). Write the same "
        f"repair so that nothing new is found, or correct {wrongly}."
    )
    return said if reason in _ELSEWHERE else f"{said} {hint}"


def with_reason(hint: str, why: str) -> str:
    """The hint behind what the proposer said of giving up."""
    return f"{why} {hint.removeprefix(_NO_IDEA)}" if why else hint


def hint_for(reason: StopReason, spent: Spent, rules: StopRules) -> str:
    """The next step after this reason. Of the budgets, those are named that are used up, with what was used."""
    names = spent.exhausted(rules)
    if reason is not StopReason.BUDGET or not names:
        return HINTS[reason]
    told = {
        "budget_s": f"{spent.work_s:.0f} of {rules.budget_s:g} s of work",
        "budget_cpu_s": f"{spent.test_cpu_s:.0f} of {rules.budget_cpu_s:g} s of the tests' processor time",
        "budget_tokens": f"{spent.tokens} of {rules.budget_tokens} tokens",
        "budget_usd": f"{spent.usd:.2f} of {rules.budget_usd:.2f} US dollars",
    }
    used = ", ".join(f"`{n}` ({told[n]})" for n in names)
    return f"Used up: {used}. Raise {'it' if len(names) == 1 else 'them'}, or narrow the selection to one failing test."
