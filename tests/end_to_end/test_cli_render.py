"""How results look to a person: pure views of values."""

import io
import json
import os
import time

import pytest

from regreen.cli.diary import asked_of, asking_of, goal_of, refused_of
from regreen.cli.fix import Follower
from regreen.cli.fix_lines import attempt_lines, failing_tests
from regreen.cli.holders import explained, hint_for, waits_for_edits
from regreen.cli.lines import diff, harmless
from regreen.cli.render import render
from regreen.cli.run_lines import listing, replayed, shown
from regreen.cli.screen import Screen
from regreen.fix import HINTS
from regreen.model import StopReason

EVIDENCE = {"counts": {"passed": 12, "failed": 0, "errors": 0, "skipped": 1}, "goal_runs": "3/3", "protected_files": 4}
FIXED = {
    "reason": "fixed",
    "fixed": True,
    "fixed_tests": ["t.py::a", "t.py::b"],
    "diff": "--- a\n+++ b\n",
    "evidence": EVIDENCE,
}

OF_FIXES = list(StopReason)[: list(StopReason).index(StopReason.COMPLETED)]


def text(tool, data) -> str:
    return "\n".join(line.text for line in render(tool, data))


def test_fixed_says_plausible_and_the_counts():
    said = text("fix_tests", {"job_id": "job-1", "state": "done", "attempts": [], "outcome": FIXED})
    assert "2 tests went green\n  t.py::a\n  t.py::b" in said
    assert "12 passed, 0 failed, 1 skipped" in said and "3/3" in said and "4 protected files unchanged" in said
    assert "plausible, not proven" in said


@pytest.mark.parametrize("reason", [r for r in OF_FIXES[1:] if r != "environment"])
def test_every_other_end_is_told_in_words_and_with_its_hint(reason):
    data = {"outcome": {"reason": str(reason), "fixed": False, "restored": True, "hint": "do this"}, "attempts": []}
    said = text("fix_tests", data)
    assert f"not fixed: {reason}" not in said and "hint: do this" in said


@pytest.mark.parametrize(
    "hint, said",
    [
        ("matches no test: t/nope.py (no such file or folder).",
         ["nothing could be run: matches no test: t/nope.py (no such file or folder)"]),
        ("/w/p looks like the project. Name that folder (`repo`).\nno tests here",
         ["nothing could be run: /w/p looks like the project", "hint: Name that folder (`repo`).", "no tests here"]),
        ("node 20.1 is not here.", ["nothing could be run: node 20.1 is not here"]),
        (HINTS[StopReason.ENVIRONMENT],
         ["the tests cannot be run here", f"hint: {HINTS[StopReason.ENVIRONMENT]}"]),
    ],
    ids=["one sentence", "more", "a point within", "no cause known"],
)  # fmt: skip
def test_what_kept_the_tests_from_running_is_the_verdict(hint, said):
    assert text("fix_tests", {"outcome": {"reason": "environment", "hint": hint}}).splitlines() == said


@pytest.mark.parametrize("ran", [False, True])
def test_of_the_sandbox_is_only_spoken_where_something_was_run(ran):
    data = {"status": "no_tests", "runner": "pytest" if ran else "auto", "interpreter": "", "log": "",
            "sandbox": "bwrap" if ran else "", "network": "isolated" if ran else "", "message": "none"}  # fmt: skip
    said = text("run_tests", data).splitlines()
    how = ["runner pytest; sandbox bwrap; network isolated"] if ran else []
    assert said == ["none", "no_tests: no tests ran in 0.00 s", *how]


def test_one_error_is_no_errors():
    data = {"status": "error", "counts": {"errors": 1, "passed": 2}}
    assert "error: 1 error, 2 passed in" in text("run_tests", data)


@pytest.mark.parametrize("ok", [True, False])
def test_of_a_gate_is_told_what_it_came_to(ok):
    why = "passed" if ok else "not compared: it could not be run at the start (`mypy` is not here)"
    gates = [{"name": "types", "ok": ok, "argv": [], "new": [], "message": why, "compared": ok}]
    said = text("fix_tests", {"outcome": {**FIXED, "evidence": {**EVIDENCE, "gates": gates}}})
    assert f"gate types: {why}" in said.splitlines()


NOT_ASKED = (
    "Nothing was found. The model could not be asked: the key is not accepted (401).\n"
    "Check the key. Hand in a fix of your own (proposer=caller), or use another one."
)


def test_a_model_that_could_not_be_asked_is_the_verdict_and_its_remedy_the_only_hint():
    said = text("fix_tests", {"job_id": "job-1", "outcome": {"reason": "proposer_failed", "hint": NOT_ASKED}})
    assert said.splitlines() == [
        "not fixed: the model could not be asked: the key is not accepted (401)",
        "hint: Nothing was found. Check the key.",
        "run job-1",
    ]
    useless = NOT_ASKED.replace("The model could not be asked", "No usable answer came from the model")
    said = text("fix_tests", {"outcome": {"reason": "proposer_failed", "hint": useless}})
    assert said.startswith("not fixed: no usable answer came from the model: the key is")


def test_who_has_asked_no_model_is_told_of_one():
    hint = "Nothing was found. Hand in a fix of your own (proposer=caller), or use another one."
    data = {"outcome": {"reason": "proposer_failed", "hint": hint}}
    said = text("fix_tests", data)
    assert "not fixed: no further idea" in said and "--proposer anthropic" in said and "--script" in said
    said = text("fix_tests", data | {"asked": {"models": ["m"], "questions": 1}})
    assert "--proposer" not in said and "Try a fix of your own with --script" in said


@pytest.mark.parametrize(
    "usage, asked, line",
    [({"tokens": 12345, "usd": 0.25}, {"models": ["m1", "m2"], "questions": 3, "unpriced": False},
      "m1, m2: 3 questions, 12,345 tokens, $0.25"),
     ({"tokens": 9, "usd": 0.0}, {"models": ["m"], "questions": 1, "unpriced": True},
      "m: 1 question, 9 tokens, cost unknown"),
     ({"tokens": 9, "usd": 0.01}, {}, "proposals, 9 tokens, $0.0100")],
)  # fmt: skip
def test_what_models_have_cost_is_told_at_the_end_of_a_run_and_of_its_record(usage, asked, line):
    outcome = {**FIXED, "evidence": {**EVIDENCE, "usage": usage}}
    said = text("fix_tests", {"job_id": "job-1", "outcome": outcome, "asked": asked}).splitlines()
    assert said[-2:] == [line, "run job-1"]
    assert line in lines(shown({**RUN, "outcome": outcome, "asked": asked}))


def test_a_run_that_asked_no_model_says_nothing_of_cost():
    outcome = {**FIXED, "evidence": {**EVIDENCE, "usage": {"tokens": 0, "usd": 0.0}}}
    assert "tokens" not in text("fix_tests", {"outcome": outcome})


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


# --- what fails at the start ---------------------------------------------------------------------------


def failure(name, message, kind="AssertionError"):
    return {"id": name, "kind": kind, "message": message}


def lines(found) -> list[str]:
    return [line.text for line in found]


def test_tests_stand_before_what_they_said():
    known = [failure("t::d", "'ada'", "KeyError"), failure("t::b", "assert 1 == 2")]
    said = lines(failing_tests(known, ["t::b", "t::d"]))
    assert said == [
        "2 failing tests:", "  t::b", "      AssertionError: assert 1 == 2", "  t::d", "      KeyError: 'ada'",
    ]  # fmt: skip


def test_one_known_cause_is_that_of_all():
    said = lines(failing_tests([failure("t::b", "no", "ValueError")], ["t::a", "t::b", "t::c"]))
    assert said == ["3 failing tests:", "  t::a", "  t::b", "  t::c", "      ValueError: no"]


def test_tests_of_an_unknown_one_of_several_causes_do_not_seem_to_have_another():
    known = [failure("t::b", "x", "KeyError"), failure("t::c", "y", "KeyError")]
    said = lines(failing_tests(known, ["t::a", "t::b", "t::c"]))
    assert said[-2:] == ["  of the same causes:", "  t::a"]


def test_a_first_line_that_announces_the_second_is_shown_with_it():
    said = lines(failing_tests([failure("t", "Expected values to be strictly equal:\n\n5 !== 11\n")], ["t"]))
    assert said[-2:] == ["      AssertionError: Expected values to be strictly equal:", "      5 !== 11"]


def test_failing_tests_are_counted_whole_where_the_list_is_cut():
    said = lines(failing_tests([], [f"t::{n}" for n in range(50)], 80))
    assert said[0] == "80 failing tests:" and said[-1] == "  and 50 more"


class Stream(io.StringIO):
    """A stream that is no terminal and no file."""


def followed(*news, goal=(), asking=(), terminal=False) -> str:
    err = Stream()
    screen = Screen(Stream(), err, {}, as_json=False, ci=False)
    screen.logs = not terminal
    follower = Follower(screen, lambda _: list(goal), lambda _: asking)
    for data in news:
        follower({"job_id": "job-1", **data})
    return err.getvalue()


def test_failing_tests_of_a_run_that_was_over_at_the_first_look_are_told():
    attempts = [{"number": 1, "state": "passed", "message": "", "kept": True}]
    said = followed({"state": "done", "attempts": attempts, "outcome": {}}, goal=["t::a", "t::b"])
    assert "regreen: baseline done: 2 failing\n2 failing tests:\n  t::a\n  t::b\nregreen: attempt 1" in said


def test_a_brief_of_a_later_tree_does_not_pass_for_the_baseline():
    attempts = [{"number": 1, "state": "improved", "message": "", "kept": True}]
    said = followed({"state": "running", "attempts": attempts, "brief": {"failing": ["t::b"]}}, goal=["t::a", "t::b"])
    assert "baseline done: 2 failing" in said


def test_a_model_that_is_asked_is_told_before_the_attempt_that_comes_of_it():
    attempts = [{"number": n, "state": "same", "message": ""} for n in (1, 2)]
    news = ({"state": "running", "attempts": attempts[:1]}, {"state": "done", "attempts": attempts, "outcome": {}})
    asking = [(1, "m"), (2, "m")]
    assert followed(*news, asking=asking).splitlines()[1:] == [
        "regreen: attempt 1: asking m", "regreen: attempt 1: same", "regreen: attempt 2: asking m",
        "regreen: attempt 2: same",
    ]  # fmt: skip
    assert followed(*news, asking=asking, terminal=True) == "asking m\n"


def test_failing_tests_are_told_once_and_looked_for_quickly_until_then():
    follower = Follower(Screen(Stream(), Stream(), {}, as_json=False, ci=False))
    assert follower({"job_id": "job-1", "state": "running"}) < 0.5
    assert follower({"job_id": "job-1", "state": "running", "brief": {"failing": ["t"]}}) == 1.0
    brief = {"brief": {"failing": ["t"]}}
    assert followed(brief, brief).count("1 failing test:") == 1


def test_streams_that_end_in_one_place_are_known(tmp_path):
    with (tmp_path / "both").open("w") as out, (tmp_path / "both").open("a") as err, (tmp_path / "x").open("w") as x:
        assert Screen(out, err, {}, as_json=False, ci=False).together
        assert not Screen(out, x, {}, as_json=False, ci=False).together
    assert not Screen(Stream(), Stream(), {}, as_json=False, ci=False).together


def test_goal_is_read_from_the_diary(tmp_path):
    diary = tmp_path / "events.jsonl"
    assert goal_of(diary) == []
    diary.write_text('{"kind":"run_started"}\n{"kind":"baseline_taken","goal":["a","b"]}\n')
    assert goal_of(diary) == ["a", "b"]


def test_models_and_refusals_are_read_from_the_diary(tmp_path):
    diary = tmp_path / "events.jsonl"
    assert (asking_of(diary), asked_of(diary)["questions"], refused_of(diary)["calls"]) == ([], 0, 0)
    events = [
        {"kind": "turn_started", "attempt": 1, "model": "m1"}, {"kind": "model_response", "model": "m1", "usd": 0.1},
        {"kind": "model_response", "model": "m2"}, {"kind": "tool_result", "denied": True, "message": "plan mode"},
        {"kind": "tool_result", "denied": False},
    ]  # fmt: skip
    diary.write_text(
        "".join(json.dumps(e, separators=(",", ":")) + "\n" for e in events) + '{"kind":"tool_result","den'
    )
    assert asking_of(diary) == [(1, "m1")]
    assert asked_of(diary) == {"models": ["m1", "m2"], "questions": 2, "unpriced": True}
    assert refused_of(diary) == {"calls": 1, "message": "plan mode"}


# --- attempts and the end -------------------------------------------------------------------------------

ERROR = {"kind": "no_match", "message": "`a.py`: the SEARCH line does not stand there; the closest place is line 2",
         "hint": "copy SEARCH from the lines shown; send all edits of the response again",
         "closest": {"start": 2, "end": 2, "text": "2 | x = 1\n"}}  # fmt: skip
REFUSED = {"number": 1, "state": "refused", "message": f"{ERROR['message']}: {ERROR['hint']}"}


def test_a_refused_edit_is_told_with_the_lines_that_its_hint_speaks_of():
    said = lines(attempt_lines({**REFUSED, "edits": [{"index": 0, "path": "a.py", "error": ERROR}]}))
    assert said[0] == "attempt 1: refused: 1 edit did not fit, nothing was written"
    assert "    2 | x = 1" in said and said[-1] == "    hint: copy SEARCH from the lines shown"


def test_a_refusal_without_these_lines_does_not_speak_of_them():
    said = "\n".join(lines(attempt_lines(REFUSED)))
    assert "closest place is line 2" in said and "lines shown" not in said and "send" not in said


def test_a_long_place_is_cut_and_keeps_its_hint():
    long = {**ERROR, "closest": {"start": 1, "end": 30, "text": "x\n" * 30}}
    said = lines(attempt_lines({**REFUSED, "edits": [{"index": 0, "path": "a.py", "error": long}]}))
    assert len(said) < 20 and "hint: " in said[-1]


def test_notes_of_attempts_are_told():
    attempt = {
        "number": 1,
        "state": "passed",
        "message": "passed: all",
        "note": "1 competing patch passes",
        "kept": True,
    }
    assert lines(attempt_lines(attempt))[1] == "  note: 1 competing patch passes"
    assert "note: 1 competing patch passes" in text("fix_tests", {"attempts": [attempt], "outcome": FIXED})


def test_what_was_told_already_is_not_told_again():
    data = {"attempts": [{**REFUSED, "still": ["t::a"]}], "outcome": {"reason": "no_progress"}, "told": True}
    assert "attempt 1" not in text("fix_tests", data) and "still failing: t::a" in text("fix_tests", data)


def test_a_selection_that_is_green_is_not_taken_for_all():
    hint = (
        "Only the selected tests were run: run all of them too. Review the diff: all tests pass, which makes the fix "
    )
    data = {"attempts": [], "outcome": {**FIXED, "hint": f"{hint}plausible, not proven."}}
    said = text("fix_tests", data)
    assert "hint: Only the selected tests were run: run all of them too." in said and said.count("plausible") == 1


def test_progress_that_was_put_back_names_how_to_go_on():
    attempt = {"number": 2, "state": "improved", "message": "", "kept": True}
    data = {"job_id": "job-1", "attempts": [attempt], "outcome": {"reason": "no_progress", "restored": True}}
    said = text("fix_tests", data)
    assert "attempt 2 got furthest: `regreen runs resume job-1`" in said and "--keep-partial" in said
    data["outcome"] = {**data["outcome"], "kept": True, "kept_files": ["a.py"]}
    assert "got furthest" not in text("fix_tests", data)


def test_an_interrupted_run_names_how_to_go_on():
    hint = "The run was cancelled; everything is as it was. Start it again when you are ready."
    said = text("fix_tests", {"job_id": "job-1", "attempts": [], "outcome": {"reason": "cancelled", "hint": hint}})
    assert "hint: `regreen runs resume job-1` takes it up again" in said and "when you are ready" not in said


# --- recorded runs --------------------------------------------------------------------------------------

ATTEMPT = {
    "number": 1,
    "state": "passed",
    "message": "passed: all",
    "note": "plus",
    "kept": True,
    "diff": "--- a\n+y\n",
}
RUN = {"id": "job-1", "created": 0, "repo": "/r", "request": {}, "attempts": [ATTEMPT], "state": "done",
       "outcome": {**FIXED, "diff": ATTEMPT["diff"]}, "resumed_by": [], "events": "/e", "logs": ["/l1", "/l2"],
       "standing": True}  # fmt: skip


def test_a_recorded_run_shows_its_one_change_once_with_its_note_and_named_files():
    said = lines(shown(RUN))
    assert said.count("+y") == 1 and "  note: plus" in said and "asked: all tests" in said
    assert "`regreen restore job-1` takes it back" in "\n".join(said)
    assert {"diary: /e", "output of the last of 2 test runs: /l2"} <= set(said)


def test_a_recorded_run_that_was_taken_back_says_so():
    said = "\n".join(lines(shown({**RUN, "standing": False})))
    assert "was taken back since" in said and "takes it back" not in said


def test_a_recorded_refusal_shows_what_was_handed_in():
    attempt = {**REFUSED, "diff": "", "handed_in": "a.py\nSEARCH\nx = 2"}
    said = lines(shown({**RUN, "attempts": [attempt]}))
    assert "  what was handed in:" in said and "  x = 2" in said


def test_a_run_that_waits_for_edits_says_so():
    run = {**RUN, "state": "waiting_for_edits", "outcome": None, "attempts": []}
    assert "waits for edits" in lines(shown(run))
    row = {"id": "job-1", "created": 0, "state": "waiting_for_edits", "tried": 1, "selection": [], "reason": ""}
    assert lines(listing({"runs": [row]}, everywhere=False))[0].endswith("waits for edits, 1 attempt, all tests")


def test_what_can_be_done_with_a_fix_run_is_not_offered_for_tasks_alone():
    task = {"id": "job-1", "kind": "task", "created": 0, "state": "done", "reason": "completed", "task": "count"}
    fix = {"id": "job-2", "kind": "fix", "created": 0, "state": "done", "reason": "fixed", "tried": 1, "selection": []}
    assert "resume" not in lines(listing({"runs": [task]}, everywhere=False))[-1]
    assert "resume and replay take the id of a fix run" in lines(listing({"runs": [task, fix]}, everywhere=False))[-1]


def test_a_kept_replay_says_where_its_tree_is():
    data = {"run": "job-1", "attempts": [], "differences": [], "notes": [], "replayed": 1, "outcome": {}, "same": True,
            "kept": "/k"}  # fmt: skip
    assert lines(replayed(data))[-1] == "kept in /k; the tree is in /k/copy"


# --- who holds a work tree ------------------------------------------------------------------------------


def diary(folder, kind, ago_s=0.0):
    (folder / "events.jsonl").write_text(
        '{"kind":"run_started"}\n' + json.dumps({"kind": kind, "time": time.time() - ago_s})
    )


@pytest.mark.parametrize(
    "kind, proposer, ago_s, waits",
    [
        ("baseline_taken", "caller", 0, True),
        ("attempt_finished", "caller", 0, True),
        ("tests_started", "caller", 500, False),
        ("baseline_taken", "auto", 10, False),
        ("baseline_taken", "auto", 500, True),
        ("baseline_taken", "search", 500, False),
    ],
)
def test_a_run_waits_for_edits_when_its_last_step_is_done(tmp_path, kind, proposer, ago_s, waits):
    diary(tmp_path, kind, ago_s)
    assert waits_for_edits(tmp_path, proposer) is waits


def test_a_run_without_a_diary_waits_for_nothing(tmp_path):
    assert not waits_for_edits(tmp_path, "caller")


def test_a_holder_is_named_by_what_it_is():
    assert "waits for edits" in hint_for("serve", waits=True) and "job_cancel" in hint_for("serve", waits=False)
    assert "`regreen fix`" in hint_for("fix", waits=False)


def test_who_has_to_wait_is_not_told_to_kill_a_process(tmp_path):
    environ = {"REGREEN_STATE_DIR": str(tmp_path)}
    message, hint = f"job-1 (process {os.getpid()}) holds /r", f"wait until it has ended, or end process {os.getpid()}"
    assert "end process" not in explained(message, hint, environ)
    assert explained("something else", hint, environ) == hint
    assert explained(message, "another hint", environ) == "another hint"
