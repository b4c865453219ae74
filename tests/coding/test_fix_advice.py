"""What a proposer is told before a run that leads nowhere ends."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from support.measuring import attempt, failure

from regreen.fix.advice import MAX_ADVICE
from regreen.fix.convergence import HINTS, Spent, StopRules, advice, stop_reason
from regreen.fix.hints import with_gates
from regreen.fix.limits import objecting
from regreen.model import Attempt, AttemptState, EditError, EditResult, StopReason

S = AttemptState
RULES = StopRules()
DIFF = """--- a/calc.py
+++ b/calc.py
@@ -1,3 +1,3 @@
 def total(prices, rate):
     s = sum(prices)
-    return s
+    return s * rate
"""
FAILS = failure("test_calc.py::test_total", "test_calc.py:5:test_total")


def tried(state: AttemptState, tree: str = "A", **fields: object) -> Attempt:
    made = attempt(state, tree)
    known: dict[str, object] = {
        "edits": (EditResult(1, "calc.py", "applied"),), "diff": DIFF, "failures": (FAILS,), **fields,
    }  # fmt: skip
    return replace(made, **known)  # type: ignore[arg-type]


def test_nothing_is_said_at_first_and_after_an_improvement() -> None:
    assert advice((), RULES) == ""
    assert advice((tried(S.SAME),), RULES) == ""
    assert advice((tried(S.SAME), tried(S.SAME, "B"), tried(S.IMPROVED, "C")), RULES) == ""
    assert advice((tried(S.IMPROVED), tried(S.SAME, "B")), RULES) == ""


def test_after_two_fruitless_tries_it_says_where_and_that_the_same_failures_remain() -> None:
    said = advice((tried(S.SAME), tried(S.SAME, "B")), RULES)
    assert said.startswith("2 tries in calc.py (total) in vain: the same failures remain (at test_calc.py:5).")
    assert "elsewhere" in said


def test_where_other_failures_came_it_does_not_say_the_same() -> None:
    other = failure("test_calc.py::test_total", "other.py:9:f", "KeyError", "'k'")
    said = advice((tried(S.SAME), tried(S.SAME, "B", failures=(other,))), RULES)
    assert "other failures came" in said
    assert "other.py:9" in said


def test_each_kind_of_failing_has_words_of_its_own() -> None:
    missed = EditResult(1, "calc.py", "failed", error=EditError("no_match", "SEARCH is not there"))
    broke = tried(S.WORSE, broken=("test_calc.py::test_zero",))
    unapplied = tried(S.REFUSED, "", refusal="no_match", edits=(missed,))
    outside = tried(S.REFUSED, "", refusal="path_out_of_scope", message="`b` is outside")
    texts = {
        "fruitless": advice((tried(S.SAME), tried(S.SAME, "B")), RULES),
        "protected": advice((tried(S.REFUSED, "", refusal="path_protected"),), RULES),
        "repeated": advice((replace(tried(S.SAME), number=1), tried(S.REPEATED)), RULES),
        "broke": advice((broke,), RULES),
        "unloaded": advice((tried(S.BROKEN),), RULES),
        "unapplied": advice((unapplied, unapplied), RULES),
        "outside": advice((tried(S.SAME), outside), RULES),
    }  # fmt: skip
    assert len(set(texts.values())) == len(texts)
    assert "" not in texts.values()
    assert "test_calc.py::test_zero" in texts["broke"]
    assert "attempt 1" in texts["repeated"]
    assert "no_match in calc.py" in texts["unapplied"]
    assert "read-only" in texts["protected"]
    assert "`b` is outside" in texts["outside"]
    assert "calc.py (total)" in texts["unloaded"]


def test_a_hunk_that_shows_no_function_names_the_file_alone() -> None:
    bare = "--- a/calc.py\n+++ b/calc.py\n@@ -9,1 +9,1 @@\n-    return s\n+    return 2\n"
    assert "in calc.py in vain" in advice((tried(S.SAME, diff=bare), tried(S.SAME, "B", diff=bare)), RULES)


def test_with_other_limits_it_still_comes_before_the_end() -> None:
    rules = StopRules(patience=5, max_attempts=20)
    made = tuple(tried(S.SAME, str(n)) for n in range(4))
    assert [bool(advice(made[:n], rules)) for n in range(5)] == [False, False, False, False, True]


TEXT = st.text(max_size=200)


def any_attempt(state: AttemptState, path: str, diff: str, refusal: str, ids: list[str], message: str) -> Attempt:
    return replace(
        attempt(state, path, broken=ids, refusal=refusal),
        diff=diff,
        message=message,
        edits=tuple(EditResult(n, p, "applied") for n, p in enumerate((path, *ids))),
        failures=tuple(failure(i, f"{path.replace(':', '')}:1:f") for i in ids),
    )


MADE = st.builds(
    any_attempt,
    st.sampled_from(list(S)),
    TEXT,
    st.one_of(st.just(DIFF), TEXT),
    st.sampled_from(("", "path_protected", "no_match", "path_out_of_scope")),
    st.lists(TEXT, max_size=5),
    TEXT,
)


@settings(max_examples=40)
@given(st.lists(MADE, max_size=4))
def test_it_is_short_whatever_happened(made: list[Attempt]) -> None:
    assert len(advice(made, RULES)) <= MAX_ADVICE


@given(st.lists(st.sampled_from((S.SAME, S.IMPROVED, S.TIMEOUT, S.REFUSED, S.WORSE)), max_size=10))
def test_no_run_ends_for_want_of_progress_without_a_word_before(states: list[AttemptState]) -> None:
    made = [tried(s, "" if s is S.REFUSED else str(n)) for n, s in enumerate(states)]
    for n in range(1, len(made) + 1):
        if stop_reason(made[:n], RULES, Spent()) in ("no_progress", "oscillation", "regression"):
            assert advice(made[: n - 1], RULES)
            return


def blocked(tree: str, *gates: str) -> Attempt:
    return tried(S.SAME, tree, gates=gates, message=f"gate `{gates[0]}`: 1 new finding: a.py: unused", failures=())


def test_where_only_a_gate_is_against_the_tries_the_advice_names_it_and_seeks_no_other_cause() -> None:
    said = advice((blocked("A", "lint"), blocked("B", "lint")), RULES)
    assert "only gate lint speaks against them" in said
    assert said.endswith("Last: gate `lint`: 1 new finding: a.py: unused")
    assert "elsewhere" in advice((tried(S.SAME), blocked("B", "lint")), RULES)


def test_gates_are_to_blame_only_where_they_alone_stood_against_every_try_that_was_run() -> None:
    refused = tried(S.REFUSED, "", refusal="no_match")
    assert objecting((tried(S.IMPROVED), blocked("A", "lint"), refused, blocked("B", "lint", "types"))) == (
        "lint",
        "types",
    )
    assert objecting((blocked("A", "lint"), tried(S.SAME, "B"))) == ()
    assert objecting((blocked("A", "lint"), tried(S.IMPROVED, "B"))) == ()
    assert objecting((refused,)) == ()


def test_the_hint_of_an_end_names_the_gates_that_led_to_it() -> None:
    for reason, hint in HINTS.items():
        said = with_gates(hint, reason, ("lint",))
        told = reason in {StopReason.NO_PROGRESS, StopReason.OSCILLATION, StopReason.REPEATED_FIX,
                          StopReason.ATTEMPT_LIMIT, StopReason.BUDGET, StopReason.PROPOSER_FAILED}  # fmt: skip
        assert ("gate lint objects" in said) == told
        assert with_gates(hint, reason, ()) == hint
    assert "values" not in with_gates(HINTS[StopReason.NO_PROGRESS], StopReason.NO_PROGRESS, ("lint",))
    assert "gates lint, types object " in with_gates("", StopReason.NO_PROGRESS, ("lint", "types"))
