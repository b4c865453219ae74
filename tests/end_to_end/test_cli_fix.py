"""`regreen fix` and `regreen test`, typed: what ends green stays, everything else is put back, an interrupt too."""

import json
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


def shell_in(folder):
    repo = make_repo(folder / "repo", {"shop.py": CODE, "test_shop.py": TESTS, ".gitignore": "__pycache__/\n"})
    (repo / "notes.txt").write_text("mine\n")
    (folder / "home").mkdir()
    allow_writing(folder / "home", folder / "home" / "seen")
    return Shell(folder, repo)


@pytest.fixture
def shell(tmp_path):
    return shell_in(tmp_path)


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """A shell for the tests that change nothing."""
    return shell_in(tmp_path_factory.mktemp("still"))


def script(shell, *proposals) -> str:
    file = shell.base / "script.jsonl"
    file.write_text("".join(json.dumps(p) + "\n" for p in proposals))
    return str(file)


def test_red_tests_are_told_with_status_1_and_last_failed_runs_only_them(still):
    done = still.run("test")
    assert done.code == 1
    assert "test_shop.py::test_total" in done.out and "1 failed, 1 passed" in done.out
    assert still.typed("test", "--last-failed", "--json").document["counts"]["total"] == 1


def test_selection_that_passes_is_status_0(still):
    data = still.typed("test", "test_shop.py::test_no_shipping", "--json")
    assert (data.code, data.document["status"], data.document["counts"]["total"]) == (0, "passed", 1)


def test_selection_that_matches_nothing_is_status_3_and_names_it(still):
    done = still.typed("test", "test_nowhere.py")
    assert done.code == 3 and "test_nowhere.py" in done.out


def test_fix_that_works_is_kept_and_told_stage_by_stage_and_can_be_restored_and_undone(shell):
    done = shell.run("fix", "--script", script(shell, WRONG, RIGHT))
    assert done.code == 0
    lines = done.err.splitlines()
    said = [line for line in lines if line.startswith("regreen: ")]
    assert said[:2] == ["regreen: baseline: running the tests", "regreen: baseline done: 1 failing"]
    assert [line.split(": ")[1] for line in said[2:] if "note" not in line] == ["attempt 1", "attempt 2"]
    assert said[-1] == "regreen:   note: plus"
    assert lines.index("1 failing test:") < lines.index(said[2])
    assert "+    return sum(prices) + shipping" in done.out
    assert "1 test went green\n  test_shop.py::test_total" in done.out
    assert "2 passed, 0 failed" in done.out and "plausible" in done.out
    fixed = CODE.replace("-", "+")
    assert (shell.cwd / "shop.py").read_text() == fixed
    assert (shell.cwd / "notes.txt").read_text() == "mine\n"

    job = shell.typed("runs", "list", "--json").document["runs"][0]["id"]
    assert restorable(shell) == [(job, "fix: fixed", ["shop.py"])]
    assert shell.typed("restore", job).code == 0
    assert (shell.cwd / "shop.py").read_text() == CODE
    back = restorable(shell)
    assert [row[1:] for row in back] == [(f"restore of {job}", ["shop.py"])]
    assert shell.typed("restore", back[0][0]).code == 0
    assert (shell.cwd / "shop.py").read_text() == fixed
    assert restorable(shell)[0][0] == job
    assert shell.typed("undo").code == 0
    assert (shell.cwd / "shop.py").read_text() == CODE


def restorable(shell) -> list[tuple[str, str, list[str]]]:
    return [(r["id"], r["what"], r["files"]) for r in shell.typed("restore", "--json").document["restorable"]]


def test_fix_whose_edits_are_all_refused_tells_why_and_its_failing_tests_and_ci_logs_plain_lines(shell):
    (shell.cwd / "other").mkdir()
    (shell.cwd / "other" / "a.py").write_text("x = 1\n")
    before = whole_state(shell.cwd)
    elsewhere = {"replacements": [{"path": "other/a.py", "search": "x = 1", "replace": "x = 2"}]}
    of_a_test = {"replacements": [{"path": "test_shop.py", "search": "    assert total([10, 20], 5) == 35",
                                   "replace": "    assert total([10, 20], 5) == 25"}]}  # fmt: skip
    unfit = {"replacements": [{"path": "shop.py", "search": "    return sum(price) - shipping", "replace": "x"}]}
    done = shell.run("fix", "--ci", "--paths", "*shop.py", "--script", script(shell, elsewhere, of_a_test, unfit))
    assert done.code == 1
    assert "1 failing test:\n  test_shop.py::test_total\n      AssertionError: assert 25 == 35" in done.err
    assert "2|     return sum(prices) - shipping" in done.out and "lines shown" in done.out
    assert "not fixed" in done.out and "everything is as it was" in done.out
    assert any(line.startswith("regreen: attempt 1") for line in done.err.splitlines())
    assert "\x1b" not in done.err + done.out
    assert whole_state(shell.cwd) == before

    run = done.out.split()[-1]
    refusals = [a["refusal"] for a in shell.typed("runs", "show", run, "--json").document["attempts"]]
    assert refusals == ["path_out_of_scope", "path_protected", "no_match"]
    shown = shell.typed("runs", "show", run).out
    assert "what was handed in:" in shown and "lines shown" not in shown


def test_hint_of_plan_mode_names_what_fix_has(still):
    assert "--dry-run" not in still.typed("fix", "--mode", "plan").err
    assert "--dry-run" in still.typed("restore", "job-1", "--mode", "plan").err


def test_nothing_to_fix_is_status_0(still):
    done = still.typed("fix", "--tests", "test_shop.py::test_no_shipping", "--json")
    assert (done.code, done.document["outcome"]["reason"]) == (0, "already_green")


@pytest.mark.parametrize(
    "args", [("--proposer", "scripted"), ("--proposer", "search", "--script", "x.jsonl"), ("--script", "missing.jsonl")]
)
def test_script_and_proposer_must_fit(still, args):
    done = still.typed("fix", *args, "--json")
    assert done.code == 2 and done.document["error"]["message"]


def test_a_model_that_nobody_would_ask_is_refused_before_anything_happens(shell):
    done = shell.typed("fix", "--model", "some-model")
    assert done.code == 2 and done.err.startswith(
        "regreen: no model is configured\nhint: type `export ANTHROPIC_API_KEY="
    )
    assert shell.typed("runs", "list", "--json").document == {"runs": []}


@pytest.mark.parametrize(
    "command, typed, meant", [("do", "--proposer", "--provider"), ("fix", "--provider", "--proposer")]
)
def test_an_option_of_another_command_is_told_with_the_one_that_is_meant(command, typed, meant):
    with pytest.raises(UsageError) as e:
        parser.parse([command, "x", f"{typed}=anthropic"])
    assert e.value.hint == f"did you mean {meant}? see `regreen {command} --help`"


def test_plan_mode_refuses_to_fix(still):
    done = still.typed("fix", "--mode", "plan", "--json")
    assert (done.code, done.document["error"]["kind"]) == (5, "denied_by_mode")


def test_demanded_sandbox_that_is_not_there_is_refused(still):
    done = still.typed("test", "--sandbox", "required", "--json", extra={"REGREEN_SANDBOX_LEVEL": "none"})
    assert (done.code, done.document["error"]["kind"]) == (5, "sandbox_required")


@pytest.mark.parametrize(
    "command, number",
    [
        ("fix", signal.SIGINT),
        ("test", signal.SIGTERM),
        pytest.param("fix", signal.SIGTERM, marks=pytest.mark.thorough),
        pytest.param("test", signal.SIGINT, marks=pytest.mark.thorough),
    ],
)
def test_interrupted_command_tells_one_document_puts_everything_back_and_leaves_no_process(shell, command, number):
    (shell.cwd / "test_hang.py").write_text(HANGING)
    before = whole_state(shell.cwd)
    document = interrupted(shell, number, command, "--json")
    if command == "fix":
        assert document["outcome"]["reason"] == "cancelled"
        assert whole_state(shell.cwd) == before
    else:
        assert document["status"] == "cancelled"


def interrupted(shell, number, *args) -> dict[str, Any]:
    """Interrupt a command once the hanging test runs: it ends with 130, leaves no process, and tells its result."""
    with shell.started(*args) as process:
        until((shell.base / "home" / "seen" / "started").exists, "the hanging test has started", limit_s=60)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    until(lambda: not processes_with(str(shell.base)), "no process is left")
    return json.loads(out)
