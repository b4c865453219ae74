"""The agent's state machine: what each answer leads to, each way to end, and the promise that it always ends whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.agent_runs import READ_ONLY, TOOLS, Recorded, call, result

from regreen.agent.rules import AgentRules, agent_rules, step_limit, turn_limit
from regreen.agent.run import AgentRun
from regreen.agent.state import Act, Ask, Check, Checked, Ended, Executed, Transition, Turn
from regreen.agent.system_prompt import read_own, system_prompt
from regreen.errors import Busy, ConfigError, EnvironmentFault, RegreenError
from regreen.model import StopReason
from regreen.providers.conversation import check
from regreen.providers.errors import BudgetSpent, ContextOverflow, Unauthorized
from regreen.providers.messages import (
    Block,
    Message,
    ModelResponse,
    Text,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolOutput,
    said,
)
from regreen.settings import AgentSettings, ModelSettings, Settings
from regreen.wire import to_json

R = StopReason


# --- the way of a turn -----------------------------------------------------------------------------------------------


def test_a_run_begins_with_the_task_and_offers_its_tools():
    asked = Recorded("count the lines").asked
    assert asked.messages == (said("user", "count the lines"),)
    assert (asked.system, asked.tools, asked.tool_choice, asked.max_tokens) == ("be good", TOOLS, "auto", 8192)


def test_all_calls_of_an_answer_are_run_in_one_go_and_each_gets_its_output_behind_the_answer():
    r = Recorded().says("Let me see.", call("read_file", {"path": "a"}, "one"), call("search", {"q": "b"}, "TWO"))
    step = r.run.step
    assert isinstance(step, Act) and [c.id for c in step.calls] == ["one", "TWO"]
    r.run.acted([result(step.calls[1], "second"), result(step.calls[0], "first")])
    assert [m.role for m in r.asked.messages] == ["user", "assistant", "user"]
    assert r.asked.messages[1].text == "Let me see."
    assert r.asked.messages[2].outputs == (ToolOutput("one", "first"), ToolOutput("TWO", "second"))


def test_words_without_calls_are_checked_and_complete_the_run():
    r = Recorded().uses().says("12 lines.")
    assert r.run.step == Check("12 lines.")
    assert r.finds().end.reason is R.COMPLETED
    assert (r.end.answer, r.end.why, r.end.turns) == ("12 lines.", "", 2)


@pytest.mark.parametrize(
    ("how", "transition"),
    [({}, "next_turn"), ({"denied": True}, "tool_denied"), ({"is_error": True}, "tool_failed")],
)
def test_each_turn_says_why_it_was_begun(how, transition):
    r = Recorded().uses(**how)
    assert r.transitions == ["started", transition]


def test_turns_are_told_as_events_the_last_one_as_final():
    r = Recorded().uses().says("12 lines.").finds()
    assert [(kind, *data.values()) for kind, data in r.events] == [
        ("turn_started", 1, "started", 20),
        ("step", 1, False, "next_turn"),
        ("turn_started", 2, "next_turn", 20),
        ("step", 2, True, "completed"),
    ]


def test_a_state_is_replaced_and_never_changed():
    r = Recorded()
    before = r.run.state
    kept = repr(before)
    r.uses()
    assert repr(before) == kept and r.run.state is not before


def test_a_state_is_plain_data():
    r = Recorded().uses(is_error=True).says("done").finds()
    data = json.loads(json.dumps(to_json(r.run.state)))
    assert data["end"]["reason"] == "completed" and data["turns"][0]["calls"][0]["failed"] is True


# --- repairs ---------------------------------------------------------------------------------------------------------


def test_calls_without_an_id_or_with_one_that_was_there_get_their_own():
    r = Recorded().says("", call(given="x"), call(given="x"), call(given="")).acts()
    r.says("", call(given="x")).acts()
    ids = [c.id for m in r.messages for c in m.calls]
    assert ids[0] == "x" and len(set(ids)) == 4 and "" not in ids
    assert check(r.messages) == ""


def test_results_are_paired_whatever_is_handed_in():
    r = Recorded().says("", call(given="a"), call(given="b"), call(given="c"))
    a, b, _ = r.run.step.calls
    foreign = call(given="z")
    wrong = Executed(b, ToolOutput("other", "of b"))
    r.run.acted([result(foreign, "?"), wrong, result(a, "of a"), result(a, "again"), result(b, "late")])
    texts = {o.call_id: (o.text[:9], o.is_error) for o in r.messages[-1].outputs}
    assert texts == {"a": ("of a", False), "b": ("of b", False), "c": ("no result", True)}
    assert r.transitions[-1] == "tool_failed"


def test_a_result_without_text_says_that_there_was_none():
    assert Recorded().uses(text=" \n").messages[-1].outputs[0].text == "(no output)"


def test_a_call_that_cannot_be_read_is_answered_with_its_fault_and_only_the_others_run():
    r = Recorded().says("", call(given="bad", fault="the arguments are not JSON: x"), call(given="good"))
    assert [c.id for c in r.run.step.calls] == ["good"]
    r.acts("fine")
    bad, good = r.messages[-1].outputs
    assert bad.is_error and bad.text == "`read_file`: the arguments are not JSON: x" and good.text == "fine"
    assert [(d["id"], d["is_error"]) for d in r.told("tool_result")] == [("bad", True)]


def test_where_no_call_can_be_read_nothing_is_run():
    r = Recorded().says("", call(given="bad", fault="not JSON"))
    assert isinstance(r.run.step, Ask) and r.transitions == ["started", "tool_failed"]
    assert [d["id"] for d in r.told("tool_call")] == ["bad"]


def test_blank_text_is_left_out_and_thinking_is_kept():
    thinking = Thinking("hm", "signed")
    r = Recorded()
    message = Message("assistant", (thinking, Text(" \n"), call(given="a")))
    r.run.answered(ModelResponse(message, "tool_use", "tool_use", TokenUsage(), "m"))
    assert r.messages[1].blocks == (thinking, call(given="a"))


# --- answers that are not whole --------------------------------------------------------------------------------------


def test_calls_of_an_answer_that_was_cut_off_never_run_and_it_is_asked_again_with_twice_the_room():
    r = Recorded().says("I write", call("write_file"), stop="truncated")
    assert (r.asked.max_tokens, r.asked.messages) == (16384, (said("user", "count the lines"),))
    assert r.transitions == ["started", "truncated_output"]


def test_the_room_falls_back_after_a_good_answer():
    r = Recorded().says("I", stop="truncated").uses()
    assert r.asked.max_tokens == 8192


def test_words_that_are_cut_off_at_the_largest_room_are_gone_on_with_and_put_together():
    r = Recorded(max_tokens=16384).uses().says("It was the best of ", stop="truncated")
    assert "exactly where you stopped" in r.asked.messages[-1].text
    r.says("times, it was ", stop="truncated").says("the worst.")
    assert r.run.step == Check("It was the best of times, it was the worst.")
    assert check(r.messages) == ""


def test_calls_that_are_cut_off_at_the_largest_room_are_asked_for_in_smaller_ones():
    r = Recorded(max_tokens=16384).says("", call("write_file"), stop="truncated")
    assert "smaller calls" in r.asked.messages[-1].text and "16384" in r.asked.messages[-1].text
    assert [m.role for m in r.messages] == ["user"]


def test_thinking_that_is_cut_off_leaves_nothing_unsigned_behind():
    r = Recorded(max_tokens=16384)
    blocks = (Thinking("half a th"), Text("Well"))
    r.run.answered(ModelResponse(Message("assistant", blocks), "truncated", "length", TokenUsage(), "m"))
    assert r.messages[1].blocks == (Text("Well"),)
    r.run.answered(ModelResponse(Message("assistant", (Thinking("half"),)), "truncated", "length", TokenUsage(), "m"))
    assert "Think less" in r.messages[-1].text


def test_the_fourth_cut_in_a_row_ends_the_run_and_says_why():
    r = Recorded()
    for _ in range(4):
        r.says("on and on ", stop="truncated")
    assert r.end.reason is R.MODEL_ERROR and "cut off 4 times in a row" in r.end.why
    assert r.end.answer == "on and on on and on on and on "


def test_a_good_turn_between_makes_room_for_further_recoveries():
    r = Recorded()
    for _ in range(3):
        r.says("x", stop="truncated")
    r.uses()
    for _ in range(3):
        r.says("x", stop="truncated")
    assert isinstance(r.run.step, Ask)


def test_a_pause_asks_the_same_again_and_both_parts_are_one_answer():
    r = Recorded().uses().says("First. ", stop="pause")
    assert r.asked.messages[-1] == said("assistant", "First. ") and r.transitions[-1] == "paused"
    r.says("Second.")
    assert r.run.step == Check("First. Second.") and check(r.messages) == ""


def test_a_provider_that_only_pauses_ends_the_run():
    r = Recorded()
    for _ in range(6):
        r.says("", stop="pause")
    assert r.end.reason is R.MODEL_ERROR and "paused 6 times" in r.end.why


def test_an_answer_of_nothing_is_nudged_once_and_then_ends_the_run():
    r = Recorded().says("")
    assert "empty" in r.asked.messages[-1].text and r.transitions[-1] == "nudged"
    assert r.says(" ").end.reason is R.MODEL_ERROR


def test_a_model_that_has_nothing_to_say_after_its_work_is_done():
    r = Recorded().uses("write_file").says("").says("")
    assert r.run.step == Check("") and r.finds().end.reason is R.COMPLETED


# --- ends ------------------------------------------------------------------------------------------------------------


def test_the_last_turn_asks_for_an_answer_in_words_and_ends_with_it():
    r = Recorded(max_turns=3).uses().uses(arguments={"n": 1})
    assert (r.asked.tool_choice, r.asked.tools, r.transitions[-1]) == ("none", TOOLS, "final_answer")
    assert r.asked.messages[-1].outputs and "last turn" in r.asked.messages[-1].text
    r.says("As far as I came.")
    assert (r.end.reason, r.end.answer, r.end.turns) == (R.MAX_TURNS, "As far as I came.", 3)
    assert r.end.why == "all 3 turns are used"
    assert r.messages[-1].text == "As far as I came." and len(r.run.state.turns) == 3  # nothing of the run is lost


def test_calls_in_the_last_turn_are_not_run():
    r = Recorded(max_turns=2).uses().says("One more:", call("write_file"))
    assert (r.end.reason, r.end.answer) == (R.MAX_TURNS, "One more:")
    assert r.messages[-1] == said("assistant", "One more:") and check(r.messages) == ""


def test_a_last_turn_without_words_says_so():
    r = Recorded(max_turns=2).uses().says("", call("write_file"))
    assert r.end.answer == "" and "there is no final answer" in r.end.why


def test_a_last_turn_that_is_cut_off_keeps_what_there_is_and_says_so():
    r = Recorded(max_turns=2).uses().says("So far", call("write_file"), stop="truncated")
    assert r.end.answer == "So far" and r.end.why.endswith("the final answer was cut off")


def test_a_run_of_one_turn_is_asked_for_words_at_once():
    r = Recorded(max_turns=1)
    assert r.asked.tool_choice == "none" and check(r.asked.messages) == ""
    assert r.says("So.").end.reason is R.MAX_TURNS


def test_a_conversation_that_is_too_long_ends_before_it_is_sent():
    r = Recorded(max_input_tokens=200).uses(text="x" * 2000)
    assert r.end.reason is R.CONTEXT_OVERFLOW and "200 are allowed" in r.end.why and r.end.turns == 1
    assert r.messages[-1].outputs[0].text == "x" * 2000
    assert Recorded("y" * 2000, max_input_tokens=200).end.turns == 0


@pytest.mark.parametrize(
    ("stop", "raw", "reason"),
    [
        ("refusal", "refusal", R.REFUSED),
        ("context_overflow", "model_context_window_exceeded", R.CONTEXT_OVERFLOW),
        ("unknown", "cosmic_rays", R.MODEL_ERROR),
    ],
)
def test_other_reasons_of_the_model_to_stop_are_told_by_name_and_nothing_is_run(stop, raw, reason):
    r = Recorded().says("Hm.", call("write_file"), stop=stop, raw_stop=raw)
    assert r.end.reason is reason and f"`{raw}`" in r.end.why and r.end.answer == "Hm."
    assert check(r.messages) == "" and not any(m.calls for m in r.messages)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ContextOverflow("too long"), R.CONTEXT_OVERFLOW),
        (BudgetSpent(("budget_usd",), "spent", "raise --budget-usd"), R.BUDGET),
        (Unauthorized("no key", "set ANTHROPIC_API_KEY"), R.MODEL_ERROR),
        (Busy("held"), R.REFUSED),
        (EnvironmentFault("io", "disk full"), R.ENVIRONMENT),
    ],
)
def test_errors_end_the_run_each_with_its_reason(error, reason):
    r = Recorded().uses()
    r.run.failed(error)
    assert r.end.reason is reason and error.message in r.end.why and error.hint in r.end.why
    assert r.told("step")[-1]["is_final"] is True


@pytest.mark.parametrize("reason", [R.HOOK_STOPPED, R.CANCELLED])
def test_a_run_that_is_stopped_while_tools_run_gives_their_calls_an_output(reason):
    r = Recorded().says("", call(given="a"), call(given="b", fault="not JSON"))
    r.run.stop(reason, "enough")
    assert r.end.reason is reason and check(r.messages) == ""
    assert [o.text.split(":")[0] for o in r.messages[-1].outputs] == ["not run, or not to its end", "`read_file`"]


def test_a_run_that_has_ended_stays_as_it_ended():
    r = Recorded().uses().says("done").finds()
    state = r.run.state
    r.run.stop(R.CANCELLED, "late")
    r.run.failed(Unauthorized("later"))
    assert r.run.state is state


def test_a_question_that_nobody_can_answer_ends_the_run_with_it():
    r = Recorded().says("", call(given="a"), call("search", given="b"))
    a, b = r.run.step.calls
    r.run.acted([replace(result(a), question="Delete it?"), result(b, "found")])
    assert (r.end.reason, r.end.question) == (R.NEEDS_USER, "Delete it?")
    assert [o.text for o in r.messages[-1].outputs] == ["ok", "found"]


def test_an_answer_that_does_not_hold_goes_back_to_the_model_twice():
    r = Recorded().uses().says("done").finds(ok=False, message="2 tests fail")
    assert r.transitions[-1] == "not_verified" and "2 tests fail" in r.asked.messages[-1].text
    r.says("done now").finds(ok=False, message="1 test fails").says("I give up").finds(ok=False, message="1 fails")
    assert (r.end.reason, r.end.answer, r.end.why) == (R.COMPLETED, "I give up", "1 fails")


# --- nudges and limits -----------------------------------------------------------------------------------------------


def test_an_answer_before_any_use_of_tools_is_sent_back_once_and_then_taken():
    r = Recorded().says("It has 10 lines.")
    assert r.transitions[-1] == "nudged" and "have not used any tool" in r.asked.messages[-1].text
    assert r.says("No tool is needed.").run.step == Check("No tool is needed.")


@pytest.mark.parametrize("options", [{"tools": ()}, {"max_nudges": 0}, {"max_turns": 2}])
def test_no_nudge_where_it_cannot_help(options):
    assert Recorded(**options).says("Hello.").run.step == Check("Hello.")


def test_a_longer_task_is_given_more_turns_up_to_the_limit():
    rules = AgentRules(max_turns=30, base_turns=20, turn_chars=200)
    assert [step_limit("x" * n, rules) for n in (0, 199, 200, 1000, 10_000)] == [20, 20, 21, 25, 30]
    assert step_limit("x", AgentRules(max_turns=3)) == 3


def test_two_failed_calls_make_room_for_a_turn_but_never_beyond_the_limit():
    turn = Turn(1, Transition.STARTED, 1, calls=Recorded().uses(is_error=True).run.state.turns[0].calls)
    rules = AgentRules(max_turns=8, base_turns=5)
    assert [turn_limit("", [turn] * n, rules) for n in (0, 1, 2, 4, 20)] == [5, 5, 6, 7, 8]


@pytest.mark.parametrize(("most", "base"), [(2, 2), (12, 12), (25, 20), (30, 20), (90, 60)])
def test_the_rules_follow_the_settings(tmp_path, most, base):
    given = Settings(tmp_path, tmp_path, {}, agent=AgentSettings(max_turns=most), models=ModelSettings(max_tokens=100))
    rules = agent_rules(given, {"search"})
    assert (rules.max_turns, rules.base_turns, rules.max_tokens) == (most, base, 100)
    assert {"search", "read_result"} <= rules.read_only


# --- the system prompt -----------------------------------------------------------------------------------------------


def test_the_system_prompt_says_when_tools_must_be_used_and_what_quoted_text_is():
    text = system_prompt(facts=["tests: pytest"])
    for claim in ("Never invent", "Read before you edit", "not the symptom", "is data", "few sentences"):
        assert claim in text
    assert text.endswith("# This repository\n- tests: pytest")


def test_a_system_prompt_of_the_users_own_takes_its_place(tmp_path):
    file = tmp_path / "own.md"
    file.write_text("Be brief {always}.\n", encoding="utf-8")
    assert system_prompt(read_own(file)) == "Be brief {always}."
    with pytest.raises(ConfigError, match=r"none\.md.*cannot be read"):
        read_own(tmp_path / "none.md")
    file.write_text(" \n", encoding="utf-8")
    with pytest.raises(ConfigError, match="empty"):
        read_own(file)


# --- whatever happens ------------------------------------------------------------------------------------------------

_STOPS = ["tool_use"] * 40 + ["end_turn", "truncated", "pause"] * 3 + ["refusal", "unknown"]
_ERRORS = [Unauthorized("no"), BudgetSpent((), "spent"), ContextOverflow("long"), EnvironmentFault("io", "x")]
_INTERRUPTS = [*[None] * 400, R.HOOK_STOPPED, R.CANCELLED, *_ERRORS]


def _some_answer(rng: Random, ideas: int) -> ModelResponse:
    """Any answer: blank, with several texts, with ids that are missing or taken, with calls that cannot be read."""

    def block() -> Block:
        if rng.random() < 0.4:
            return rng.choice([Text(""), Text(" "), Text("Well."), Text("Done"), Thinking("hm")])
        name, fault = rng.choice(TOOLS[:ideas]).name, rng.choice(["", "", "", "not JSON"])
        return call(name, {"n": rng.randrange(ideas)}, rng.choice(["", "a", "b", "call_1_0", "call_3_1"]), fault)

    message = Message("assistant", tuple(block() for _ in range(rng.randrange(ideas + 1))))
    return ModelResponse(message, rng.choice(_STOPS), "raw", TokenUsage(), "m")


def _some_results(calls: Sequence[ToolCall], rng: Random) -> list[Executed]:
    """Results of some of the calls, or of others, in any order, some of them twice."""
    chosen = rng.choices([*calls, call(given="foreign")], k=rng.randrange(6))
    how = ("is_error", "denied", "empty")
    made = [result(c, rng.choice(["", "one", "x" * 900]), **{h: rng.random() < 0.2 for h in how}) for c in chosen]
    return [replace(e, question="Shall I?") if rng.random() < 0.01 else e for e in made]


def _one_move(run: AgentRun, rng: Random, ideas: int) -> None:
    interrupt = rng.choice(_INTERRUPTS)
    if isinstance(interrupt, RegreenError):
        return run.failed(interrupt)
    if interrupt is not None:
        return run.stop(interrupt, "so")
    match run.step:
        case Ask():
            run.answered(_some_answer(rng, ideas))
        case Act(calls):
            assert calls and not any(c.fault for c in calls)
            run.acted(_some_results(calls, rng))
        case Check():
            run.checked(Checked(rng.random() < 0.2, "no"))
        case Ended():
            raise AssertionError
    return None


@given(st.randoms(use_true_random=True))
@settings(max_examples=200)
def test_a_run_always_ends_within_its_turns_and_is_a_valid_conversation_at_every_step(rng):
    most, base, ideas = rng.choice([1, 2, 5, 12, 30, 30]), rng.choice([3, 30, 30]), rng.choice([1, 2, 4])
    rules = AgentRules(max_turns=most, base_turns=base, max_input_tokens=3_000, read_only=READ_ONLY)
    events: list[tuple[str, Mapping[str, object]]] = []
    run = AgentRun("s", "do it", TOOLS, rules, lambda kind, fields: events.append((kind, fields)))
    moves = 0
    while not isinstance(run.step, Ended):
        assert moves < 3 * most, "it does not end"
        assert isinstance(run.step, Act) or check(run.state.messages) == ""
        _one_move(run, rng, ideas)
        moves += 1
    assert check(run.state.messages) == ""
    numbers = [t.number for t in run.state.turns]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) <= most
    begun = [fields["turn"] for kind, fields in events if kind == "turn_started"]
    finals = [fields for kind, fields in events if kind == "step" and fields["is_final"]]
    assert begun == numbers and len(finals) == 1
    calls = [c.id for m in run.state.messages for c in m.calls]
    outputs = [o.call_id for m in run.state.messages for o in m.outputs]
    assert calls == outputs and len(set(calls)) == len(calls)
    json.dumps(to_json(run.state))
