"""`regreen fix` and `regreen test`, typed: what ends green stays, everything else is put back, an interrupt too."""

import json
import re
import signal
from typing import Any

import pytest
from support.cli import Shell
from support.gitrepos import make_repo, whole_state
from support.mcp_clients import allow_writing, processes_with, until

from regreen.cli import parser
from regreen.errors import UsageError

CODE = "def total(prices, shipping):\n    return sum(prices) - shipping\n"
TESTS = """from shop import total


def test_total():
    assert total([10, 20], 5) == 35


def test_no_shipping():
    assert total([10, 20], 0) == 30
"""
RIGHT = {"replacements": [{"path": "shop.py", "search": "    return sum(prices) - shipping",
                           "replace": "    return sum(prices) + shipping"}], "note": "plus"}  # fmt: skip
WRONG = {"replacements": [{"path": "shop.py", "search": "    return sum(prices) - shipping",
                           "replace": "    return sum(prices) * shipping"}]}  # fmt: skip
HANGING = """import os, pathlib, time


def test_hangs():
    pathlib.Path(os.environ["HOME"], "seen", "started").touch()
    pathlib.Path("made_by_test.txt").write_text("x")
    while True:
        time.sleep(0.05)
"""
HANGING_ONCE_EDITED = """import os, pathlib, time


def test_hangs():
    while "*" in pathlib.Path("shop.py").read_text():
        pathlib.Path(os.environ["HOME"], "seen", "started").touch()
        time.sleep(0.05)
"""


@pytest.fixture
def shell(tmp_path):
    repo = make_repo(tmp_path / "repo", {"shop.py": CODE, "test_shop.py": TESTS, ".gitignore": "__pycache__/\n"})
    (repo / "notes.txt").write_text("mine\n")
    (tmp_path / "home").mkdir()
    allow_writing(tmp_path / "home", tmp_path / "home" / "seen")
    return Shell(tmp_path, repo)


def script(shell, *proposals) -> str:
    file = shell.base / "script.jsonl"
    file.write_text("".join(json.dumps(p) + "\n" for p in proposals))
    return str(file)


def test_red_tests_are_told_with_status_1(shell):
    done = shell.run("test")
    assert done.code == 1
    assert "test_shop.py::test_total" in done.out and "1 failed, 1 passed" in done.out


def test_selection_that_passes_is_status_0(shell):
    data = shell.run("test", "test_shop.py::test_no_shipping", "--json")
    assert (data.code, data.document["status"], data.document["counts"]["total"]) == (0, "passed", 1)


def test_selection_that_matches_nothing_is_status_3_and_names_it(shell):
    done = shell.run("test", "test_nowhere.py")
    assert done.code == 3 and "test_nowhere.py" in done.out


def test_last_failed_runs_only_what_failed(shell):
    shell.run("test")
    assert shell.run("test", "--last-failed", "--json").document["counts"]["total"] == 1


def test_fix_that_works_is_kept_and_told_and_can_be_undone(shell):
    done = shell.run("fix", "--script", script(shell, WRONG, RIGHT))
    assert done.code == 0
    assert "+    return sum(prices) + shipping" in done.out
    assert "1 test went green\n  test_shop.py::test_total" in done.out
    assert "2 passed, 0 failed" in done.out and "plausible" in done.out
    assert (shell.cwd / "shop.py").read_text() == CODE.replace("-", "+")
    assert (shell.cwd / "notes.txt").read_text() == "mine\n"
    assert shell.run("undo").code == 0
    assert (shell.cwd / "shop.py").read_text() == CODE


def test_fix_as_json_is_one_document_and_its_job_can_be_restored(shell):
    done = shell.run("fix", "--script", script(shell, RIGHT), "--json")
    outcome = done.document["outcome"]
    assert (done.code, done.document["state"]) == (0, "done")
    assert (outcome["reason"], outcome["fixed"], outcome["verified"]) == ("fixed", True, True)
    assert outcome["fixed_tests"] == ["test_shop.py::test_total"]
    listed = shell.run("restore", "--json").document["restorable"]
    assert [(r["id"], r["what"], r["files"]) for r in listed] == [(done.document["job_id"], "fix: fixed", ["shop.py"])]
    assert shell.run("restore", done.document["job_id"]).code == 0
    assert (shell.cwd / "shop.py").read_text() == CODE
    back = shell.run("restore", "--json").document["restorable"]
    assert [(r["what"], r["files"]) for r in back] == [(f"restore of {done.document['job_id']}", ["shop.py"])]
    assert shell.run("restore", back[0]["id"]).code == 0
    assert (shell.cwd / "shop.py").read_text() == CODE.replace("-", "+")
    assert shell.run("restore", "--json").document["restorable"][0]["id"] == done.document["job_id"]


def test_fix_that_fails_puts_everything_back_and_ci_logs_plain_lines(shell):
    before = whole_state(shell.cwd)
    done = shell.run("fix", "--ci", "--script", script(shell, WRONG))
    assert done.code == 1
    assert "not fixed" in done.out and "everything is as it was" in done.out
    assert any(line.startswith("regreen: attempt 1") for line in done.err.splitlines())
    assert "\x1b" not in done.err + done.out
    assert whole_state(shell.cwd) == before


def test_log_of_a_fix_shows_each_stage_in_a_plain_line(shell):
    lines = shell.run("fix", "--script", script(shell, WRONG, RIGHT)).err.splitlines()
    said = [line for line in lines if line.startswith("regreen: ")]
    assert said[:2] == ["regreen: baseline: running the tests", "regreen: baseline done: 1 failing"]
    assert [line.split(": ")[1] for line in said[2:] if "note" not in line] == ["attempt 1", "attempt 2"]
    assert said[-1] == "regreen:   note: plus"
    assert lines.index("1 failing test:") < lines.index(said[2])


def test_a_run_that_is_over_at_once_tells_its_failing_tests_and_why_its_edit_did_not_fit(shell):
    unfit = {"replacements": [{"path": "shop.py", "search": "    return sum(price) - shipping", "replace": "x"}]}
    done = shell.run("fix", "--script", script(shell, unfit), "--json")
    edit = done.document["attempts"][0]["edits"][0]
    assert edit["error"]["closest"]["text"].strip() == "2|     return sum(prices) - shipping"
    told = shell.run("fix", "--script", script(shell, unfit))
    assert "1 failing test:\n  test_shop.py::test_total\n      AssertionError: assert 25 == 35" in told.err
    assert "2|     return sum(prices) - shipping" in told.out and "lines shown" in told.out
    shown = shell.run("runs", "show", told.out.split()[-1]).out
    assert "what was handed in:" in shown and "lines shown" not in shown


def test_hint_of_plan_mode_names_what_fix_has(shell):
    assert "--dry-run" not in shell.run("fix", "--mode", "plan").err
    assert "--dry-run" in shell.run("restore", "job-1", "--mode", "plan").err


def test_json_has_nothing_but_its_document(shell):
    assert shell.run("fix", "--script", script(shell, RIGHT), "--json").err == ""


def test_killed_run_is_put_back_by_the_next_command_which_says_so(shell):
    (shell.cwd / "test_hang.py").write_text(HANGING_ONCE_EDITED)
    before = whole_state(shell.cwd)
    with shell.started("fix", "--script", script(shell, WRONG)) as process:
        until((shell.base / "home" / "seen" / "started").exists, "the edited code is being tested", limit_s=60)
        process.kill()
        process.communicate(timeout=60)
    until(lambda: not processes_with(str(shell.base)), "no process is left")
    done = shell.run("skeleton", "--json")
    assert done.document["files"]
    assert re.search(r"^job-[0-9a-f]+ had been killed; put back: shop.py$", done.err, re.MULTILINE)
    assert whole_state(shell.cwd) == before
    assert shell.run("skeleton").err == ""


def test_nothing_to_fix_is_status_0(shell):
    done = shell.run("fix", "--tests", "test_shop.py::test_no_shipping", "--json")
    assert (done.code, done.document["outcome"]["reason"]) == (0, "already_green")


def test_paths_limit_what_may_be_edited(shell):
    (shell.cwd / "other").mkdir()
    (shell.cwd / "other" / "a.py").write_text("x = 1\n")
    before = whole_state(shell.cwd)
    done = shell.run("fix", "--script", script(shell, RIGHT), "--paths", "other/*.py", "--json")
    assert done.code in (1, 5) and not done.document["outcome"]["fixed"]
    assert whole_state(shell.cwd) == before


@pytest.mark.parametrize(
    "args", [("--proposer", "scripted"), ("--proposer", "search", "--script", "x.jsonl"), ("--script", "missing.jsonl")]
)
def test_script_and_proposer_must_fit(shell, args):
    done = shell.run("fix", *args, "--json")
    assert done.code == 2 and done.document["error"]["message"]


def test_a_model_that_nobody_would_ask_is_refused_before_anything_happens(shell):
    done = shell.run("fix", "--model", "some-model")
    assert done.code == 2 and done.err.startswith(
        "regreen: no model is configured\nhint: type `export ANTHROPIC_API_KEY="
    )
    assert shell.run("runs", "list", "--json").document == {"runs": []}


@pytest.mark.parametrize(
    "command, typed, meant", [("do", "--proposer", "--provider"), ("fix", "--provider", "--proposer")]
)
def test_an_option_of_another_command_is_told_with_the_one_that_is_meant(command, typed, meant):
    with pytest.raises(UsageError) as e:
        parser.parse([command, "x", f"{typed}=anthropic"])
    assert e.value.hint == f"did you mean {meant}? see `regreen {command} --help`"


def test_plan_mode_refuses_to_fix(shell):
    done = shell.run("fix", "--mode", "plan", "--json")
    assert (done.code, done.document["error"]["kind"]) == (5, "denied_by_mode")


def test_demanded_sandbox_that_is_not_there_is_refused(shell):
    done = shell.run("test", "--sandbox", "required", "--json", extra={"REGREEN_SANDBOX_LEVEL": "none"})
    assert (done.code, done.document["error"]["kind"]) == (5, "sandbox_required")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_fix_puts_everything_back_and_leaves_no_process(shell, number):
    (shell.cwd / "test_hang.py").write_text(HANGING)
    before = whole_state(shell.cwd)
    document = interrupted(shell, number, "fix", "--json")
    assert document["outcome"]["reason"] == "cancelled"
    assert whole_state(shell.cwd) == before


def test_interrupted_test_run_is_one_document_too(shell):
    (shell.cwd / "test_hang.py").write_text(HANGING)
    assert interrupted(shell, signal.SIGINT, "test", "test_hang.py", "--json")


def interrupted(shell, number, *args) -> dict[str, Any]:
    """Interrupt a command once the hanging test runs: it ends with 130, leaves no process, and tells its result."""
    with shell.started(*args) as process:
        until((shell.base / "home" / "seen" / "started").exists, "the hanging test has started", limit_s=60)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    until(lambda: not processes_with(str(shell.base)), "no process is left")
    return json.loads(out)
