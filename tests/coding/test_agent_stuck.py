"""When the agent is told that it runs in circles, when that ends it, and what is no circle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.agent_runs import READ_ONLY, Recorded, call, result

from regreen.agent.rules import AgentRules
from regreen.agent.state import Ask
from regreen.agent.stuck import trace
from regreen.fix.repetition import circles, in_a_row, row
from regreen.model import StopReason

RULES = AgentRules(read_only=READ_ONLY)


def recorded(**limits: object) -> Recorded:
    return Recorded(**{"max_turns": 60, "base_turns": 60, **limits})


def told(r: Recorded) -> list[tuple[object, object]]:
    return [(data["rule"], data["is_final"]) for data in r.told("stuck")]


def reads(r: Recorded, *names: str, text: str = "ok") -> Recorded:
    for name in names:
        r.uses("read_file", text, arguments={"path": name})
    return r


def test_the_same_call_with_the_same_result_is_told_after_the_second_and_ends_the_run_at_the_third():
    r = reads(recorded(), "a", "a")
    assert told(r) == [("same", False)] and r.transitions[-1] == "stuck_warning"
    assert "The same call gave the same result (`read_file`)" in r.asked.messages[-1].text
    reads(r, "a")
    assert told(r)[-1] == ("same", True) and r.asked.tool_choice == "none"
    r.says("I could not find it.")
    assert (r.end.reason, r.end.answer) == (StopReason.STUCK, "I could not find it.")
    assert "The same call" in r.end.why


def test_a_model_that_does_something_else_after_it_was_told_goes_on():
    r = reads(recorded(), "a", "a", "b", "c", "d", "e")
    assert r.transitions[-1] == "next_turn"


def test_it_is_told_of_a_rule_only_once_while_nothing_is_achieved():
    r = reads(recorded(), "a", "a", "b", "b", "c", "c")
    assert told(r) == [("same", False)]
    assert told(reads(r, "c"))[-1] == ("same", True)


@pytest.mark.parametrize("circle", ["ab", "abc"])
def test_a_circle_is_told_when_it_has_closed_twice_and_ends_the_run_at_the_third_round(circle):
    r = reads(recorded(), *circle * 2)
    assert told(r) == [("circles", False)]
    reads(r, *circle[:-1])
    assert isinstance(r.run.step, Ask) and r.asked.tool_choice == "auto"
    assert told(reads(r, circle[-1]))[-1] == ("circles", True)


def test_results_that_differ_are_no_repetition():
    r = recorded()
    for n in range(8):
        reads(r, "a", text=f"version {n}")
    assert told(r) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 passed in 0.12s", "3 passed in 1.40 s"),
        ("undo it with txn-5f0c9a1e2b7d", "undo it with txn-0b1c2d3e4f5a"),
        ("took 12 ms", "took 9 ms"),
    ],
)
def test_results_that_differ_in_times_and_ids_alone_are_the_same(one, other):
    assert trace(result(call(), one), RULES) == trace(result(call(), other), RULES)


@pytest.mark.parametrize(
    ("one", "other"), [("12 lines", "13 lines"), ("3 passed", "4 passed"), ("feedback", "decades")]
)
def test_results_that_differ_in_what_they_say_are_not_the_same(one, other):
    assert trace(result(call(), one), RULES) != trace(result(call(), other), RULES)


def test_arguments_in_another_order_are_the_same_call():
    one, other = call(arguments={"a": 1, "b": 2}), call(arguments={"b": 2, "a": 1})
    assert trace(result(one), RULES).call == trace(result(other), RULES).call


def test_nothing_found_twice_in_a_row_is_told_and_twice_more_ends_the_run():
    r = recorded()
    for n in range(4):
        r.uses("search", "no match", arguments={"q": n}, empty=True)
        assert told(r) == [[], [("empty", False)], [("empty", False)], [("empty", False), ("empty", True)]][n]
    assert r.says("Nothing.").end.reason is StopReason.STUCK


def test_one_search_that_finds_something_begins_the_count_anew():
    r = recorded()
    for n in range(8):
        r.uses("search", f"found {n}", arguments={"q": n}, empty=bool(n % 2))
    assert told(r) == []


def test_a_tool_that_fails_five_times_whatever_is_read_between_is_told_and_three_more_end_the_run():
    r = recorded()
    for n in range(8):
        reads(r, f"{n}").uses("write_file", f"no match {n}", arguments={"n": n}, is_error=True)
        assert len(told(r)) == (n >= 4) + (n >= 7)
        if n == 4:
            assert "`write_file` has failed" in r.asked.messages[-1].text
    assert told(r) == [("failing", False), ("failing", True)]


def test_many_failures_at_once_are_told_before_they_end_anything():
    r = recorded().says("", *(call("write_file", {"n": n}) for n in range(9))).acts("bad", is_error=True)
    assert told(r) == [("failing", False)]
    r.says("", *(call("write_file", {"m": n}) for n in range(9))).acts("bad", is_error=True)
    assert told(r)[-1] == ("failing", True)


def test_a_change_that_went_in_is_progress_and_begins_every_count_anew():
    r = reads(recorded(), "a", "a").uses("write_file", arguments={"n": 1})
    reads(r, "a", "a")
    assert told(r) == [("same", False)] * 2 and r.asked.tool_choice == "auto"


def test_tests_that_are_run_again_without_a_change_between_are_no_progress():
    r = recorded()
    for seconds in ("0.12", "0.34", "0.56"):
        r.uses("run_tests", f"1 failed in {seconds}s")
    assert told(r) == [("same", False), ("same", True)]


def test_the_same_change_again_is_no_progress():
    r = recorded()
    for _ in range(3):
        r.uses("write_file", arguments={"n": 1}).uses("write_file", arguments={"n": 2})
    assert told(r)[-1][0] == "circles"


def test_a_tool_that_writes_and_says_nothing_has_not_found_nothing():
    r = recorded()
    for n in range(6):
        r.uses("write_file", "", arguments={"n": n}, empty=True)
    assert told(r) == []


def test_looking_at_a_job_that_runs_is_no_circle():
    r = recorded()
    for _ in range(9):
        r.uses("job_status", "running")
    assert told(r) == []
    for _ in range(11):
        r.uses("job_status", "running")
    assert told(r) == [("polling", False), ("polling", True)]


def test_a_call_that_is_refused_again_and_again_ends_the_run():
    r = recorded()
    for _ in range(3):
        r.uses("write_file", "not allowed", denied=True)
    assert told(r) == [("same", False), ("same", True)]


def test_a_warning_in_front_of_the_last_turn_keeps_both_words():
    r = reads(Recorded(max_turns=3), "a", "a")
    assert "same result" in r.asked.messages[-1].text and "last turn" in r.asked.messages[-1].text
    assert told(r) == [("same", False)] and r.says("So.").end.reason is StopReason.MAX_TURNS


# --- sequences -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "twice", "thrice"),
    [
        ("", False, False), ("abab", True, False), ("xabab", True, False), ("ababab", True, True),
        ("abcabc", True, False), ("abcabcabc", True, True), ("aaaaaa", False, False), ("aba", False, False),
        ("aabaab", True, False), ("abcdabcd", False, False),
    ],
)  # fmt: skip
def test_circles(items, twice, thrice):
    assert (circles(items), circles(items, 3)) == (twice, thrice)


_LETTERS = st.sampled_from("abc")


@given(st.lists(_LETTERS, max_size=6), st.lists(_LETTERS, min_size=2, max_size=3), st.sampled_from([2, 3, 4]))
def test_a_circle_is_found_whatever_stands_before_it(before, circle, times):
    assert circles(before + circle * times, times) == (len(set(circle)) > 1)


@given(st.lists(st.booleans(), max_size=8), st.sampled_from([1, 2, 3, 5]))
def test_a_row_is_as_long_as_it_says(items, n):
    length = row(items, bool)
    assert all(items[len(items) - length :]) and (length == len(items) or not items[len(items) - length - 1])
    assert in_a_row(items, n, bool) == (length >= n)
