"""`regreen do`, typed: a scripted model does real tasks in real repositories. Where nothing hangs on it, the command
line is called in this process: that is quicker."""

import json
import re
import signal
from typing import Any

import pytest
from support.cli import Done, Shell
from support.gitrepos import make_repo, whole_state
from support.mcp_clients import processes_with, until

from regreen.cli import main

COUNT = "count the lines of README.md and write summary.txt"
REFACTOR = "find all functions over 100 lines and write refactor_suggestions.md"
LONG = "def long(x):\n" + "    x += 1\n" * 110 + "    return x\n"
FILES = {"README.md": "# Shop\n\nIt sells.\n", "shop.py": f"def short():\n    return 1\n\n\n{LONG}"}
SUMMARY = "README.md has 3 lines.\n"
SUGGESTIONS = "# Refactoring\n\n- `long` in shop.py, lines 5-116: split it.\n"


def creating(path: str, text: str) -> dict[str, Any]:
    """A reply of the model that makes one new file."""
    return {"calls": [{"name": "apply_edits", "arguments": {"replacements": [
        {"path": path, "search": "", "replace": text}]}}]}  # fmt: skip


LOOK = {"text": "I look first.", "calls": [{"name": "read_file", "arguments": {"path": "README.md"}}]}
WRITE = creating("summary.txt", SUMMARY)
COUNTING = (LOOK, WRITE, {"text": "README.md has 3 lines; summary.txt says so."})
FINDING = (
    {"calls": [{"name": "extract_signatures", "arguments": {"paths": ["shop.py"]}},
               {"name": "read_file", "arguments": {"path": "shop.py", "start_line": 5, "end_line": 8}}]},
    creating("refactor_suggestions.md", SUGGESTIONS),
    {"text": "One function is too long."},
)  # fmt: skip


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path, make_repo(tmp_path / "repo", FILES))


@pytest.fixture
def typed(shell):
    """Types `regreen ARGS` in the shell's place, without a terminal."""
    return shell.typed


def script(shell, *replies) -> tuple[str, str]:
    file = shell.base / "script.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in replies))
    return "--script", str(file)


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def turns(done: Done) -> list[str]:
    return [line for line in done.err.splitlines() if line.startswith("[turn")]


def test_counting_lines_ends_with_the_right_file_and_each_turn_has_its_transition_in_the_log(shell):
    done_with_transitions(shell, shell.run, COUNT, COUNTING, "summary.txt", SUMMARY)


def test_finding_long_functions_ends_with_the_right_file_and_each_turn_has_its_transition(shell, typed):
    done_with_transitions(shell, typed, REFACTOR, FINDING, "refactor_suggestions.md", SUGGESTIONS)


def done_with_transitions(shell, run, task, replies, name, text) -> None:
    events = shell.base / "events.jsonl"
    events.write_text('{"kind": "of an earlier run"}\n')
    done = run("do", task, *script(shell, *replies), "--mode", "accept-edits", "-v", "--events", str(events))
    assert (done.code, (shell.cwd / name).read_text()) == (0, text)
    verdict = "completed: the model says that it is done\nnot verified: no tests were named\nhint: "
    assert verdict in done.out.partition("changed: ")[2]
    assert f"changed: {name}" in done.out and f"\n+{text.splitlines()[0]}\n" in done.out
    earlier, *told = rows(events.read_text())
    assert earlier == {"kind": "of an earlier run"}
    assert [r["seq"] for r in told] == sorted(r["seq"] for r in told) and len({r["run_id"] for r in told}) == 1
    begun = [(r["turn"], r["transition"]) for r in told if r["kind"] == "turn_started"]
    assert begun == [(1, "started"), (2, "next_turn"), (3, "next_turn")]
    assert [r["transition"] for r in told if r["kind"] == "step"] == ["next_turn", "next_turn", "completed"]
    calls = {r["id"] for r in told if r["kind"] == "tool_call"}
    assert calls == {r["id"] for r in told if r["kind"] == "tool_result"} and len(calls) >= 2
    responses = [r for r in told if r["kind"] == "model_response"]
    assert len(responses) == 3 and all(r["usage"]["input"] > 0 and r["latency_ms"] >= 0 for r in responses)
    assert all(r["duration_s"] >= 0 for r in told if r["kind"] == "tool_result")
    assert [(r["action"], r["allowed"]) for r in told if r["kind"] == "permission"] == [("edit", True)]
    assert told[-1]["kind"] == "run_finished" and told[-1]["outcome"]["kept_files"] == [name]
    assert [re.match(r"\[turn (\d)] transition=(\w+) tool=(\S+) args=", line)[2] for line in turns(done)] == [
        "next_turn", "next_turn", "completed",
    ]  # fmt: skip


def test_progress_is_plain_lines_and_the_work_can_be_taken_back(shell, typed):
    before = whole_state(shell.cwd)
    done = typed("do", COUNT, *script(shell, *COUNTING), "--mode", "accept-edits")
    lines = done.err.splitlines()
    assert lines[0] == "regreen: asking scripted"
    assert lines[1].startswith("regreen: turn 1/20, 0 tokens, $0.00, ") and "I look first." in lines
    wanted = ["-> read_file README.md", "create summary.txt +1 -0", "+README.md has 3 lines."]
    assert [lines.index(text) for text in wanted] == sorted(lines.index(text) for text in wanted)
    assert not turns(done) and "\x1b" not in done.err + done.out
    restore = re.search(r"`regreen (restore job-\w+)`", done.out)
    assert restore is not None and typed(*restore[1].split()).code == 0
    assert whole_state(shell.cwd) == before


def test_json_is_one_document_of_the_tools_shape_and_progress_goes_to_stderr(shell, typed):
    done = typed("do", COUNT, *script(shell, *COUNTING), "--mode", "accept-edits", "--json", "-v")
    assert set(done.document) >= {"job_id", "state", "outcome", "diff", "usage"}
    outcome = done.document["outcome"]
    assert (outcome["reason"], outcome["verified"], outcome["turns"]) == ("completed", False, 3)
    assert "+README.md has 3 lines." in done.document["diff"] and done.document["usage"]["calls"] == 3
    assert len(turns(done)) == 3 and "-> read_file README.md" in done.err.splitlines()


def test_named_tests_decide_whether_it_is_fixed(shell, typed):
    (shell.cwd / "test_shop.py").write_text("from shop import short\n\n\ndef test_short():\n    assert short() == 2\n")
    fix = {"path": "shop.py", "search": "    return 1\n", "replace": "    return 2\n"}
    replies = ({"calls": [{"name": "apply_edits", "arguments": {"replacements": [fix]}}]},
               {"text": "Now it is."})  # fmt: skip
    done = typed("do", "make it two", "--tests", "test_shop.py", *script(shell, *replies), "--mode", "accept-edits")
    assert done.code == 0, done.err
    assert "the named tests pass" in done.err.splitlines()
    assert "fixed: the named tests failed and pass now\nverified by a cold run: passed: 1 passed\n" in done.out


def test_ask_mode_is_the_default_and_without_a_terminal_says_so_and_refuses_edits(shell, typed):
    before = whole_state(shell.cwd)
    done = typed("do", COUNT, *script(shell, WRITE, {"text": "I may not write."}), "-v")
    assert "nobody is at a terminal" in done.err.splitlines()[0] and "--mode accept-edits" in done.err.splitlines()[0]
    assert any(line.startswith("<- apply_edits: denied: needs_approval: ask mode") for line in done.err.splitlines())
    assert turns(done)[0].startswith("[turn 1] transition=tool_denied tool=apply_edits ")
    assert "no file was changed" in done.out
    assert whole_state(shell.cwd) == before


ASKING = {"calls": [{"name": "ask_user", "arguments": {"question": "Which name?", "options": ["a.txt", "b.txt"]}}]}


def test_at_the_terminal_a_question_is_answered_and_a_change_shown_before_it_is_let_pass(shell):
    done = shell.on_terminal("do", COUNT, *script(shell, ASKING, *COUNTING), types="2\ny\n")
    asked, _, after = done.out.partition("[y/N]")
    assert done.code == 0 and "Which name?" in asked and "2. b.txt" in asked
    assert "\x1b[32m+README.md has 3 lines." in asked
    assert (shell.cwd / "summary.txt").read_text() == SUMMARY
    assert after.count("README.md has 3 lines; summary.txt says so.") == 1


def test_a_question_that_nobody_can_answer_ends_the_run_with_it(shell, typed):
    done = typed("do", COUNT, *script(shell, ASKING, {"text": "Thanks."}), "--mode", "accept-edits")
    assert done.code == 1 and "a question that nobody was there to answer" in done.out and "Which name?" in done.out


def test_events_on_standard_output_are_alone_there(shell, typed):
    done = typed("do", COUNT, *script(shell, *COUNTING), "--mode", "accept-edits", "--events", "-")
    told = rows(done.out)
    assert told[0]["kind"] == "run_started" and told[-1]["kind"] == "run_finished"
    assert "".join(r["text"] for r in told if r["kind"] == "text_delta").startswith("I look first.")
    assert "completed: the model says that it is done" in done.err


def test_all_turns_used_up_is_status_1_and_everything_is_put_back(shell, typed):
    before = whole_state(shell.cwd)
    done = typed("do", COUNT, *script(shell, WRITE, LOOK, LOOK, LOOK), "--mode", "accept-edits", "--max-turns", "2",
                     "--events", "run.jsonl")  # fmt: skip
    assert done.code == 1 and "all turns are used up" in done.out and "everything is as it was before" in done.out
    assert rows((shell.cwd / "run.jsonl").read_text())[-1]["outcome"]["reason"] == "max_turns"
    (shell.cwd / "run.jsonl").unlink()
    assert whole_state(shell.cwd) == before


def test_a_model_that_cannot_be_asked_is_status_3(shell, typed):
    done = typed("do", COUNT, *script(shell, {"error": "unauthorized"}), "--json")
    assert (done.code, done.document["outcome"]["reason"]) == (3, "model_error")


def test_a_budget_that_is_spent_is_status_4(shell, typed):
    done = typed("do", COUNT, *script(shell, LOOK, *COUNTING), "--budget-tokens", "3000", "--json")
    assert (done.code, done.document["outcome"]["reason"]) == (4, "budget"), done.err


def test_interrupted_task_puts_everything_back_and_leaves_no_process(shell):
    before = whole_state(shell.cwd)
    with shell.started(
        "do", COUNT, *script(shell, WRITE, {"hang": True}), "--mode", "accept-edits", "--json"
    ) as process:
        until((shell.cwd / "summary.txt").exists, "the edit is made", limit_s=60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["outcome"]["reason"] == "cancelled"
    until(lambda: not processes_with(str(shell.base)), "no process is left")
    assert whole_state(shell.cwd) == before


YES = {"calls": [{"name": "apply_edits", "arguments": {"replacements": [
    {"path": "README.md", "search": "# Shop\n", "replace": "# SHOP\n"}]}}]}  # fmt: skip


@pytest.mark.parametrize(
    "replies, shown, number",
    [
        ((WRITE, YES), "+# SHOP", signal.SIGINT),
        pytest.param((WRITE, YES), "+# SHOP", signal.SIGTERM, marks=pytest.mark.thorough),
        ((WRITE, ASKING), "2. b.txt", signal.SIGHUP),
    ],
)
def test_an_interrupt_is_no_answer_to_an_open_question(shell, replies, shown, number):
    before = whole_state(shell.cwd)
    with shell.at_terminal("do", COUNT, *script(shell, *replies, {"text": "All done."})) as terminal:
        terminal.until("+README.md has 3 lines.")
        terminal.type("y\n")
        terminal.until(shown)
        terminal.process.send_signal(number)
        done = terminal.end()
    assert done.code == 130 and "interrupted" in done.out and "All done." not in done.out
    assert whole_state(shell.cwd) == before


def test_a_long_change_says_what_is_not_shown_and_shows_it_before_it_is_let_pass(shell):
    text = "x = 1\n" * 1000 + "hidden()\n" + "y = 1\n" * 1000
    done = shell.on_terminal("do", "x", *script(shell, creating("new.py", text), {"text": "Done."}), types="d\na\ny\n")
    first, rest, last = done.out.split("Do it?")
    assert "NOT SHOWN: 1606 of 2006 lines of new.py" in first and "+hidden()" not in first
    assert "d shows the rest first" in rest and rest.count("+hidden()") == 1 and rest.count("+y = 1") == 1000
    assert rest.count("+x = 1") + first.count("+x = 1") == 1000 and "NOT SHOWN" not in rest
    assert last.startswith(" [y/N]") and done.code == 0 and (shell.cwd / "new.py").read_text() == text


def test_another_config_file_counts_in_place_of_the_users(shell, typed):
    config = shell.base / "task.toml"
    config.write_text('mode = "accept-edits"\n')
    done = typed("do", COUNT, *script(shell, *COUNTING), "--config", str(config))
    assert done.code == 0 and (shell.cwd / "summary.txt").read_text() == SUMMARY


# --- what is refused before anything happens ---------------------------------------------------------------


@pytest.mark.parametrize(
    "args, said",
    [
        (["do", " ", "--script", "s.jsonl"], "task is empty"),
        (["do", "x", "--provider", "scripted"], "--script"),
        (["do", "x", "--provider", "anthropic", "--script", "s.jsonl"], "--script"),
        (["do", "x", "--script", "missing.jsonl"], "missing.jsonl"),
        (["do", "x", "--script", "s.jsonl", "--system-prompt-file", "missing.md"], "missing.md"),
        (["do", "x", "--script", "s.jsonl", "--config", "missing.toml"], "missing.toml"),
        (["do", "x", "--script", "s.jsonl", "--events", "no/such/folder.jsonl"], "no/such/folder.jsonl"),
        (["do", "x", "--script", "s.jsonl", "--events", "-"], "--events -"),
    ],
)
def test_a_call_that_cannot_be_meant_is_status_2_and_says_why(tmp_path, monkeypatch, capsys, args, said):
    repo = make_repo(tmp_path / "repo", FILES)
    (repo / "s.jsonl").write_text(json.dumps({"text": "Done."}) + "\n")
    monkeypatch.chdir(repo)
    before = whole_state(repo)
    assert main([*args, "--json"]) == 2
    told = capsys.readouterr()
    assert said in json.loads(told.out)["error"]["message"] + json.loads(told.out)["error"]["hint"] and not told.err
    assert whole_state(repo) == before
