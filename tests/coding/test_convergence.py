"""When a run stops: the rules as a table, each reason within reach, and the promise that every run ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.measuring import attempt

from regreen.fix.convergence import HINTS, Spent, StopRules, hint_for, runs_spent, stop_reason
from regreen.model import Attempt, AttemptState, StopReason

S = AttemptState
R = StopReason
RULES = StopRules()
NOTHING = Spent()

_STATES = {
    "K": S.IMPROVED, "S": S.SAME, "W": S.WORSE, "B": S.BROKEN, "T": S.TIMEOUT, "R": S.REPEATED,
    "F": S.REFUSED, "P": S.REFUSED,
}  # fmt: skip


def history(text: str) -> tuple[Attempt, ...]:
    """Attempts by letters as in the table of the rules, `F` refused for another reason; `S(A)` has the tree A.

    `S/x` fails in the test x. Without a tree an attempt has one of its own.
    """
    made: list[Attempt] = []
    for n, word in enumerate(text.split()):
        letter, tree, failing = word[0], word[2] if word[1:2] == "(" else f"own{n}", word.partition("/")[2]
        one = attempt(
            _STATES[letter],
            "" if letter in "FP" else tree,
            still=(failing or "t.py::a",),
            refusal="path_protected" if letter == "P" else "no_match" if letter == "F" else "",
        )
        made.append(replace(one, number=n + 1))
    return tuple(made)


def first_stop(text: str, rules: StopRules = RULES) -> tuple[int, StopReason | None]:
    """After how many of the attempts the run stops, and why."""
    made = history(text)
    for n in range(len(made) + 1):
        if reason := stop_reason(made[:n], rules, NOTHING):
            return n, reason
    return len(made), None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", None),
        ("S S", None),
        ("S K S S", None),
        ("F F", None),
        ("R", None),
        ("W", None),
        ("P", None),
        ("W S", None),
        ("K K K K K", None),
        ("P P", R.TAMPERED),
        ("P S K P", R.TAMPERED),
        ("S(A) R(A) R(A)", R.REPEATED_FIX),
        ("K(A) R(A) R(A)", R.REPEATED_FIX),
        ("W W", R.REGRESSION),
        ("W B", R.REGRESSION),
        ("S S S", R.NO_PROGRESS),
        ("F F F", R.NO_PROGRESS),
        ("S F T", R.NO_PROGRESS),
        ("S(A) R(A) S(B)", R.NO_PROGRESS),
        ("S(A) S(B) R(B)", R.NO_PROGRESS),
        ("S/x S/y S/z", R.NO_PROGRESS),
        ("S/x S/x S/y", R.NO_PROGRESS),
        ("S(A) S(B) R(A)", R.OSCILLATION),
        ("S(A) W(B) R(A)", R.OSCILLATION),
        ("K(A) S(B) F R(A)", R.OSCILLATION),
        ("K(A) S(B) R(A) R(B)", R.OSCILLATION),
        ("S/x S/y S/x", R.OSCILLATION),
        ("S/x W/y S/x", R.OSCILLATION),
        ("K S K S K S K S K S", R.ATTEMPT_LIMIT),
        ("K K K K K K", R.ATTEMPT_LIMIT),
    ],
)
def test_the_history_gives_the_reason_and_not_before_its_last_attempt(text: str, reason: StopReason | None) -> None:
    stopped, why = first_stop(text)
    assert why is reason
    if reason is R.ATTEMPT_LIMIT:
        assert runs_spent(history(text)[:stopped]) == RULES.max_attempts
    else:
        assert stopped == len(text.split())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("S(A) S(B) R(A) R(B)", R.OSCILLATION),
        ("S(A) S(B) S(C) R(A) R(B) R(C)", R.OSCILLATION),
        ("S/x S/y S/x S/y", R.OSCILLATION),
        ("S/x S/y S/z S/x S/y S/z", R.OSCILLATION),
        ("S/x S/x S/x S/x S/x", None),
        ("S/x S/y S/z S/y S/x", None),
        ("S/x S/y K S/x S/y", None),
    ],
)
def test_with_more_patience_a_circle_that_closes_twice_is_seen(text: str, reason: StopReason | None) -> None:
    rules = StopRules(max_attempts=20, patience=10, repeats=4)
    stopped, why = first_stop(text, rules)
    assert why is reason
    assert stopped == len(text.split())


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("S(A) P P", (R.TAMPERED, R.NO_PROGRESS)),
        ("K(A) S(B) R(A) R(B)", (R.OSCILLATION, R.REPEATED_FIX)),
        ("S(A) R(A) R(A)", (R.REPEATED_FIX, R.NO_PROGRESS)),
        ("S W W", (R.REGRESSION, R.NO_PROGRESS)),
    ],
)
def test_where_several_rules_hold_the_first_of_the_table_counts(text: str, reasons: tuple[StopReason, ...]) -> None:
    assert first_stop(text)[1] is reasons[0]
    lenient = replace(RULES, tamperings=99, repeats=99, regressions=99)
    if reasons[0] is not R.OSCILLATION:
        assert stop_reason(history(text), lenient, NOTHING) is reasons[1]


@pytest.mark.parametrize(
    ("spent", "name"),
    [
        (Spent(work_s=300), "budget_s"),
        (Spent(test_cpu_s=60), "budget_cpu_s"),
        (Spent(tokens=1000), "budget_tokens"),
        (Spent(usd=2.5), "budget_usd"),
    ],
)
def test_each_budget_ends_the_run_and_is_named(spent: Spent, name: str) -> None:
    rules = StopRules(budget_cpu_s=60, budget_tokens=1000, budget_usd=2.5)
    assert stop_reason((), rules, spent) is R.BUDGET
    assert spent.exhausted(rules) == (name,)
    said = hint_for(R.BUDGET, spent, rules)
    assert f"`{name}`" in said
    assert said.count("`budget_") == 1


def test_a_budget_of_zero_is_no_limit_except_for_our_own_work() -> None:
    assert stop_reason((), RULES, Spent(0, 1e9, 10**9, 1e9)) is None
    assert stop_reason((), StopRules(budget_s=0), NOTHING) is R.BUDGET


def test_refused_and_repeated_attempts_cost_no_run() -> None:
    assert runs_spent(history("F S R K P")) == 2


def test_every_reason_has_a_next_step() -> None:
    of_tasks = {R.COMPLETED, R.MAX_TURNS, R.CONTEXT_OVERFLOW, R.HOOK_STOPPED, R.NEEDS_USER, R.STUCK, R.MODEL_ERROR}
    assert set(HINTS) == set(StopReason) - of_tasks
    assert all(len(hint) > 30 for hint in HINTS.values())
    assert all(hint_for(r, NOTHING, RULES) == HINTS[r] for r in HINTS)
    assert "`max_attempts`" in HINTS[R.ATTEMPT_LIMIT]


# --- whatever happens ----------------------------------------------------------------------------------

TREES = st.sampled_from("ABCD")
TESTS = st.frozensets(st.sampled_from(("x", "y", "z")), min_size=1)


@st.composite
def runs(draw: st.DrawFn, *, longest: int = 60) -> list[Attempt]:
    """Attempts as a run makes them: a tree that was there before is repeated, and nothing else is."""
    seen: set[str] = set()
    made: list[Attempt] = []
    for n in range(draw(st.integers(0, longest))):
        tree = draw(st.one_of(TREES, st.just(f"new{n}")))
        if draw(st.integers(0, 3)) == 0:
            made.append(attempt(S.REFUSED, refusal=draw(st.sampled_from(("no_match", "path_protected")))))
        elif tree in seen:
            made.append(attempt(S.REPEATED, tree, refusal="repeated"))
        else:
            state = draw(st.sampled_from((S.IMPROVED, S.SAME, S.WORSE, S.BROKEN, S.TIMEOUT)))
            made.append(attempt(state, tree, still=sorted(draw(TESTS))))
        seen.add(tree)
    return made


RULESETS = st.builds(
    StopRules,
    max_attempts=st.integers(1, 8),
    patience=st.integers(1, 6),
    repeats=st.integers(1, 6),
    regressions=st.integers(1, 6),
    tamperings=st.integers(1, 6),
)


@given(runs(), RULESETS)
def test_every_history_is_stopped_within_its_limits(made: list[Attempt], rules: StopRules) -> None:
    alive = next((n for n in range(len(made) + 1) if stop_reason(made[:n], rules, NOTHING)), len(made))
    assert runs_spent(made[:alive]) <= rules.max_attempts
    assert alive <= rules.max_attempts * rules.patience


@given(runs(longest=12), RULESETS)
def test_a_run_goes_on_only_while_no_limit_is_reached(made: list[Attempt], rules: StopRules) -> None:
    if stop_reason(made, rules, NOTHING) is None:
        assert runs_spent(made) < rules.max_attempts
        assert not made or any(a.kept for a in made[-rules.patience :]) or len(made) < rules.patience


@settings(max_examples=200)
@given(st.data())
def test_histories_that_make_progress_are_not_stopped_before_their_limit(data: st.DataObject) -> None:
    limit = data.draw(st.integers(1, 12))
    rules = StopRules(max_attempts=limit)
    made: list[Attempt] = []
    while runs_spent(made) < limit - 1:
        idle = data.draw(st.lists(st.sampled_from((S.SAME, S.TIMEOUT, S.REFUSED)), max_size=2))
        for state in (*idle, S.IMPROVED):
            failing = data.draw(TESTS)
            made.append(attempt(state, "" if state is S.REFUSED else f"t{len(made)}", still=sorted(failing)))
        if runs_spent(made) < limit:
            assert stop_reason(made, rules, NOTHING) is None


def test_each_reason_is_within_reach_under_the_default_rules() -> None:
    texts = ("P P", "S(A) S(B) R(A)", "S(A) R(A) R(A)", "W W", "S S S", "K K K K K K")
    found = {first_stop(t)[1] for t in texts} | {stop_reason((), RULES, Spent(work_s=301))}
    assert found == {
        R.TAMPERED, R.OSCILLATION, R.REPEATED_FIX, R.REGRESSION, R.NO_PROGRESS, R.ATTEMPT_LIMIT, R.BUDGET,
    }  # fmt: skip
