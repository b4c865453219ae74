"""How a coding task looks while it runs and at its end: pure views of events and results, bounded in size."""

import io
import json

import pytest

from regreen.agent.texts import text as text_for_models
from regreen.cli.do import Teller
from regreen.cli.do_lines import (
    Known,
    Spent,
    Turn,
    doing_after,
    event_lines,
    main_argument,
    running_line,
    spent_line,
    turn_line,
)
from regreen.cli.end_lines import ended, for_people, usage_line
from regreen.cli.event_file import EventFile
from regreen.cli.screen import Screen
from regreen.events import Event
from regreen.model import StopReason
from regreen.redact import Redactor

USAGE = {"calls": 3, "tokens": 12345, "usd": 0.25, "unpriced": False, "input": 9000, "output": 345, "cache_read": 3000,
         "cache_write": 0}  # fmt: skip
OUTCOME = {"reason": "completed", "fixed": False, "verified": False, "answer": "I counted 3 lines.", "turns": 3,
           "kept": True, "kept_files": ["summary.txt"], "restored": False,
           "hint": "`regreen restore job-1` undoes the changes."}  # fmt: skip
DIFF = "diff --git a/summary.txt b/summary.txt\n--- /dev/null\n+++ b/summary.txt\n@@ -0,0 +1 @@\n+3 lines\n"
SECRET = "correct-horse-battery"


def said(**outcome) -> str:
    data = {"job_id": "job-1", "state": "done", "outcome": OUTCOME | outcome, "diff": DIFF, "usage": USAGE}
    return "\n".join(line.text for line in ended(data))


def one(kind, **data) -> list[str]:
    return [line.text for line in event_lines(kind, data)]


def told(*events, watched=False) -> list[str]:
    """What is said of events that follow each other."""
    known, lines = Known(watched=watched), []
    for kind, data in events:
        lines += [line.text for line in event_lines(kind, data, known)]
        known = known.after(kind, data)
    return lines


# --- the end ---------------------------------------------------------------------------------------------


def test_end_has_answer_files_diff_and_usage_and_last_the_verdict_and_what_to_type():
    lines = said().splitlines()
    wanted = ["I counted 3 lines.", "changed: summary.txt", "+3 lines",
              "3 turns, 3 model calls, 12,345 tokens (345 out, 3,000 from the cache), $0.25",
              "completed: the model says that it is done", "not verified: no tests were named"]  # fmt: skip
    places = [lines.index(text) for text in wanted]
    assert places == sorted(places)
    assert lines[-3:] == [wanted[-1], "hint: `regreen restore job-1` undoes the changes.", "run job-1"]


def test_fixed_is_told_with_the_counts_of_the_cold_run():
    tests = {"status": "passed", "counts": {"passed": 5}, "failing": []}
    text = said(reason="fixed", fixed=True, verified=True, tests=tests)
    assert "fixed: the named tests failed and pass now\nverified by a cold run: passed: 5 passed\n" in text


def test_tests_that_still_fail_are_named_and_nothing_is_called_verified():
    tests = {"status": "failed", "counts": {"failed": 1, "passed": 2}, "failing": ["t.py::a"]}
    lines = said(reason="stuck", tests=tests, kept=False, kept_files=[], restored=True).splitlines()
    assert "not verified: failed: 1 failed, 2 passed" in lines and "  t.py::a" in lines
    assert "everything is as it was before" in lines


def test_a_task_whose_changes_were_taken_back_since_says_so_and_gives_no_hint():
    data = {"job_id": "job-1", "outcome": OUTCOME, "diff": DIFF, "usage": USAGE, "standing": False}
    lines = [line.text for line in ended(data)]
    assert "changed: summary.txt; taken back since" in lines and not any("hint:" in line for line in lines)


def test_named_tests_that_were_not_run_are_not_told_as_failed():
    lines = said(reason="cancelled", tests={"status": "not_run", "counts": {}, "failing": []}).splitlines()
    assert "not verified: the named tests were not run" in lines


def test_a_diff_that_was_taken_back_says_so_above_it():
    lines = said(reason="no_progress", kept=False, kept_files=[], restored=True, put_back="txn-1").splitlines()
    heading = lines.index("taken back (`regreen restore txn-1` brings it again):")
    assert lines[heading - 1] == "everything is as it was before" and lines[heading + 1].startswith("diff --git")


@pytest.mark.parametrize("message", ["the mode is plan: nothing is changed", ""])
def test_refused_calls_explain_why_no_file_was_changed(message):
    data = {"outcome": OUTCOME | {"kept_files": []}, "refused": {"calls": 2, "message": message}, "usage": USAGE}
    lines = [line.text for line in ended(data)]
    at = lines.index("no file was changed")
    assert lines[at + 1] == f"2 calls were refused: {message or 'by the mode, or nobody approved'}"
    assert not any("refused" in line.text for line in ended(data | {"diff": DIFF}))


OF_TASKS = ["max_turns", "stuck", "needs_user", "context_overflow", "no_progress", "model_error", "budget", "refused",
            "hook_stopped", "tampered", "cancelled", "environment"]  # fmt: skip


@pytest.mark.parametrize("reason", OF_TASKS)
def test_every_other_end_is_told_in_words_with_its_cause_and_hint(reason):
    assert StopReason(reason)
    text = said(reason=reason, why="because of that", hint="do this", kept=False, restored=True)
    assert f"not done: {reason}" not in text
    assert "hint: do this" in text
    assert "because of that" in text or reason == "needs_user"  # there, the question says it


def test_open_question_is_shown_once_with_its_options():
    asked = "Which of the two?\n1. this\n2. that"
    text = said(reason="needs_user", question=asked, hint=f"Answer it in the task, and start again: {asked}")
    assert "  Which of the two?\n  1. this\n  2. that\n" in text and text.count("Which") == 1
    assert "hint: Answer it in the task, and start again.\n" in text


def test_a_cause_of_many_lines_is_shown_in_a_few_without_its_fence():
    why = "```\nfailed: 1 failed\n\nt.py::a\n```\n" + "more\n" * 20
    lines = said(reason="no_progress", why=why).splitlines()
    assert lines[(at := lines.index("  failed: 1 failed")) + 1] == "  t.py::a" and "```" not in "".join(lines)
    assert lines[at + 6] == "  and 16 more"


@pytest.mark.parametrize("rule", ["same", "circles", "empty", "failing", "polling"])
def test_what_the_model_was_told_of_its_circles_is_said_for_people(rule):
    why = for_people(f"{text_for_models(f'stuck_{rule}', tools='`read_file`')}; there is no final answer")
    assert why.startswith("it") and why.endswith("`read_file`; there is no final answer")
    assert "you" not in why.lower() and "run ends" not in why
    assert "it is told so" in one("stuck", rule=rule, is_final=False)[0]
    assert one("stuck", rule=rule, is_final=True)[0].startswith("no way forward: the model")


def test_an_answer_that_cannot_be_used_is_not_told_as_a_model_that_cannot_be_asked():
    text = said(reason="model_error", why="the answer was cut off 4 times in a row")
    assert "not done: no usable answer from the model\n  the answer was cut off 4 times in a row\n" in text


def test_a_long_answer_and_a_long_diff_are_cut_and_say_so():
    data = {"outcome": OUTCOME | {"answer": "word\n" * 1000}, "diff": DIFF + "+x\n" * 5000, "usage": USAGE}
    lines = [line.text for line in ended(data)]
    assert len(lines) < 300
    assert "  and 800 more" in lines and "... 4945 more lines: --json has them" in lines
    lines = [line.text for line in ended(data | {"job_id": "job-1"})]
    assert "... 4945 more lines: regreen changes --since job-1" in lines
    data["outcome"] = OUTCOME | {"kept_files": [], "restored": True}
    assert "regreen runs show job-1 --json" in "\n".join(line.text for line in ended(data | {"job_id": "job-1"}))


def test_an_answer_that_was_shown_while_it_came_is_not_shown_again():
    data = {"outcome": OUTCOME, "told": True, "usage": USAGE}
    assert not any("I counted" in line.text for line in ended(data))


def test_price_that_is_not_known_is_not_told_as_the_whole_price():
    data = {"outcome": OUTCOME, "usage": USAGE | {"unpriced": True}}
    assert any("more than $0.25: a price is not known" in line.text for line in ended(data))
    assert usage_line(3, USAGE | {"unpriced": True, "usd": 0.0}).endswith("), cost unknown")


# --- while it runs ---------------------------------------------------------------------------------------


def test_a_call_and_its_result_are_one_short_line_each():
    assert one("tool_call", tool="read_file", arguments={"start_line": 1, "path": "a.py"}) == ["-> read_file a.py"]
    assert one("tool_result", tool="read_file", chars=1, duration_s=0.04) == ["<- read_file: ok, 1 character in 0.0 s"]
    assert "error, 20 characters" in one("tool_result", tool="x", is_error=True, chars=20, duration_s=0.0)[0]
    assert one("tool_result", tool="x", denied=True, is_error=True, chars=20) == ["<- x: denied"]


def test_a_call_that_failed_says_why_where_that_is_known():
    assert one("tool_result", tool="x", denied=True, message="plan mode\nonly reads") == [
        "<- x: denied: plan mode only reads"
    ]
    assert one("tool_result", tool="x", is_error=True, message="no match") == ["<- x: error: no match"]


def test_time_in_which_a_person_thought_is_not_told_as_the_tools():
    call, result = ("tool_call", {"tool": "t"}), ("tool_result", {"tool": "t", "chars": 5, "duration_s": 7.0})
    asked = ("permission", {"action": "edit", "allowed": True})
    assert told(call, asked, result, watched=True)[-1] == "<- t: ok, 5 characters"
    assert told(call, asked, result)[-1].endswith("in 7.0 s")
    assert told(call, asked, result, call, result, watched=True)[-1].endswith("in 7.0 s")
    assert told(call, ("permission", {"tool": "t", "allowed": True}), result)[-1] == "<- t: ok, 5 characters"
    question = ("tool_call", {"tool": "ask_user", "arguments": {"question": "Which?"}})
    assert told(question, ("tool_result", {"tool": "ask_user", "chars": 5, "duration_s": 7.0})) == [
        "-> ask_user", "<- ask_user: ok, 5 characters",
    ]  # fmt: skip


def test_which_model_is_asked_is_told_at_the_start_and_where_it_changes():
    assert one("run_started", request={"provider": "anthropic", "model": "m1"}) == ["regreen: asking m1 (anthropic)"]
    assert one("run_started", request={"provider": "scripted", "model": "scripted"}) == ["regreen: asking scripted"]
    full = ("model_retry", {"model": "m1", "error": "model_overloaded", "wait_s": 0.0})
    assert told(full, ("model_request", {"model": "m2"})) == ["asking m2 instead: overloaded"]
    assert told(full, ("model_request", {"model": "m1"})) == ["the model is asked again: overloaded"]
    assert told(("model_request", {"model": "m2"})) == []
    lost = {"model": "m1", "error": "model_connection_lost", "message": "cut off", "wait_s": 1.5}
    assert one("model_retry", **lost) == ["the model is asked again in 1.5 s: connection lost: cut off"]


def test_of_runs_of_tests_only_the_one_before_the_task_is_told_and_says_that_it_is():
    ran = ("tests_finished", {"status": "failed", "counts": {"failed": 1, "passed": 2}})
    assert told(ran, ("turn_started", {"turn": 1}), ran) == [
        "the named tests, before the task: failed: 1 failed, 2 passed"
    ]


@pytest.mark.parametrize(
    "arguments, shown",
    [({}, ""), ({"focus": ["a", "b"]}, "a, b"), ({"text": "one\ntwo  three"}, "one two three"), ({"n": 3}, "3"),
     ({"replacements": [{"path": "a.py"}, {"path": "b.py"}, {"path": "a.py"}]}, "a.py (2 edits), b.py"),
     ({"replacements": '[{"path": "a.py", "search": "x"}, {"path": "b.py", "sea… 900 characters more'},
      "a.py, b.py, ...")],
)  # fmt: skip
def test_the_main_argument_is_shown_in_one_line(arguments, shown):
    assert main_argument(arguments) == shown


def test_a_huge_argument_or_edit_makes_no_wall_of_text():
    assert len(one("tool_call", tool="t", arguments={"text": "x" * 10_000})[0]) < 150
    lines = one(
        "edit_applied", files=[{"path": "a", "action": "modified", "added": 9, "removed": 1}], diff="+x\n" * 999
    )
    assert lines[0] == "modified a +9 -1" and len(lines) < 50 and lines[-1] == "  and 959 more"


def test_a_diff_that_a_person_has_just_approved_is_not_shown_again():
    data = {"files": [{"path": "a", "action": "modified", "added": 1, "removed": 0}], "diff": "+x\n"}
    assert [line.text for line in event_lines("edit_applied", data, Known(watched=True))] == ["modified a +1 -0"]


def test_the_verdict_on_an_answer_is_one_line():
    assert one("verified", ok=True) == ["the named tests pass"]
    assert one("verified", ok=False, message="1 failed\nt.py::a") == ["not there yet: 1 failed t.py::a"]
    assert one("verified", ok=False, message="", counts={"failed": 1}) == ["not there yet: 1 failed"]
    assert one("verified", ok=False) == ["not there yet: the named tests do not pass"]


def test_the_running_line_counts_turns_tokens_money_and_seconds():
    spent = Spent(max_turns=30)
    spent = spent.after("run_started", 100.0, {}).after("turn_started", 101.0, {"turn": 1})
    spent = spent.after("model_response", 103.4, {"usage": {"input": 900, "output": 100}, "usd": 0.004})
    assert spent_line(spent) == "turn 1/30, 1,000 tokens, $0.0040, 3 s"
    assert running_line(spent, "asking the model") == "turn 1/30, 1,000 tokens, $0.0040: asking the model"
    assert spent.after("budget", 104.0, {"tokens": 1500, "usd": 0.5}).tokens == 1500


def test_a_price_that_is_not_known_is_no_price_of_nothing():
    spent = Spent(turn=2, max_turns=30, started=100.0).after("model_response", 101.0, {"usage": {"input": 900}})
    assert spent_line(spent) == "turn 2/30, 900 tokens, 1 s"
    assert running_line(spent, "") == "turn 2/30, 900 tokens, cost unknown"


def test_what_is_being_done_is_told_in_a_few_words():
    assert doing_after("tool_call", {"tool": "read_file", "arguments": {"path": "a.py"}}) == "read_file a.py"
    assert doing_after("turn_started", {"turn": 1}) == "asking the model"
    assert doing_after("model_response", {}) is None


def test_a_turn_in_one_line():
    turn = Turn(3, "next_turn").called("read_file", {"path": "a.py"})
    assert turn_line(turn).text == '[turn 3] transition=next_turn tool=read_file args={"path": "a.py"}'
    two = turn.called("search_text", {"pattern": "x"})
    assert turn_line(two).text.endswith('tool=read_file,search_text args={"path": "a.py"} {"pattern": "x"}')
    assert turn_line(Turn(4, "final_answer")).text == "[turn 4] transition=final_answer tool=- args={}"


# --- telling it ------------------------------------------------------------------------------------------


class Told:
    """A task told to two streams that are kept, and to a file of events."""

    def __init__(self, **options):
        self.err, self.events = io.StringIO(), io.StringIO()
        screen = Screen(io.StringIO(), self.err, {}, as_json=False, ci=False)
        redact = Redactor([SECRET])
        events = EventFile(self.events, "events.jsonl", redact, screen)
        self.teller = Teller(screen, redact, events, max_turns=30, verbose=options.get("verbose", False), watched=False)
        self.seq = 0

    def hear(self, kind, **data) -> None:
        self.seq += 1
        self.teller.hear(Event(self.seq, 100.0 + self.seq, "job-1", kind, data))

    @property
    def lines(self) -> list[str]:
        return self.err.getvalue().splitlines()

    @property
    def rows(self) -> list[dict]:
        return [json.loads(line) for line in self.events.getvalue().splitlines()]


def test_what_the_model_says_comes_line_by_line_and_a_secret_in_two_pieces_is_masked():
    told = Told()
    told.hear("turn_started", turn=1, transition="start")
    for piece in ("The key is correct-", "horse-battery.\nAnd ", "then"):
        told.hear("text_delta", text=piece)
    assert told.lines[-1] == "The key is [redacted:known]."
    told.hear("tool_call", id="1", tool="read_file", arguments={"path": "a.py"})
    assert told.lines[-2:] == ["And then", "-> read_file a.py"]
    texts = [row["text"] for row in told.rows if row["kind"] == "text_delta"]
    assert texts == ["The key is [redacted:known].\n", "And then"]
    assert SECRET not in told.events.getvalue() + told.err.getvalue()


def test_every_event_is_written_as_it_happens():
    told = Told()
    told.hear("run_started", repo="r")
    assert told.rows == [{"seq": 1, "time": 101.0, "run_id": "job-1", "kind": "run_started", "repo": "r"}]


def test_verbose_tells_each_turn_once_at_its_end():
    told = Told(verbose=True)
    told.hear("turn_started", turn=1, transition="start")
    told.hear("tool_call", id="1", tool="read_file", arguments={"path": "a.py"})
    assert not any(line.startswith("[turn") for line in told.lines)
    told.hear("step", step_id=1, is_final=False, transition="next_turn")
    told.hear("turn_started", turn=2, transition="next_turn")
    told.teller.finish()
    told.teller.finish()
    assert [line for line in told.lines if line.startswith("[turn")] == [
        '[turn 1] transition=next_turn tool=read_file args={"path": "a.py"}',
        "[turn 2] transition=next_turn tool=- args={}",
    ]


def test_a_flood_of_text_is_shown_in_part_and_then_not_taken_for_shown():
    told = Told()
    told.hear("turn_started", turn=1, transition="start")
    told.hear("text_delta", text="word\n" * 500)
    told.teller.finish()
    assert len(told.lines) < 70 and told.lines[-1] == "..."
    assert not told.teller.told({"outcome": {"answer": "word\n" * 500}})


def test_a_short_answer_counts_as_shown():
    told = Told()
    told.hear("turn_started", turn=1, transition="start")
    told.hear("text_delta", text="All is ")
    told.hear("text_delta", text="well.")
    told.teller.finish()
    assert told.teller.told({"outcome": {"answer": "All is well."}})
    assert not told.teller.told({"outcome": {"answer": "Nothing is well."}})


def test_calls_that_were_not_allowed_are_counted():
    told = Told()
    for message in ("first", "last"):
        told.hear("tool_call", id="1", tool="apply_edits", arguments={})
        told.hear("tool_result", id="1", tool="apply_edits", is_error=True, denied=True, message=message)
    assert told.teller.refused == {"calls": 2, "message": "last"}
    assert told.lines[-1] == "<- apply_edits: denied: last"
