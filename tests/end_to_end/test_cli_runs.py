"""`regreen runs`: the record of fix runs, going on from one, and one once more; changes and restores of them."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import Shell
from support.gitrepos import git, make_repo, whole_state
from support.mcp_clients import processes_with, until

pytestmark = pytest.mark.timeout(300)  # whole runs, each several processes
CODE = "def total(prices, shipping):\n    return sum(prices) - shipping\n"
TESTS = """from shop import total


def test_total():
    assert total([10, 20], 5) == 35


def test_no_shipping():
    assert total([10, 20], 0) == 30
"""
LINE = "    return sum(prices) - shipping"
HEAD = "def total(prices, shipping):\n"
BLOCK = f"shop.py\n<<<<<<< SEARCH\n{HEAD}=======\n{HEAD.replace('shipping', 'shipping=0')}>>>>>>> REPLACE\n"
SLOW = """import os, pathlib, time


def test_slow():
    if "regreen-replay-" in os.getcwd():
        pathlib.Path("started").touch()
        time.sleep(60)
"""


def edit(by: str, **more: object) -> dict[str, object]:
    return {"replacements": [{"path": "shop.py", "search": LINE, "replace": f"    return {by}"}], **more}


SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
WRONG, RIGHT = edit("sum(prices) * shipping"), edit("sum(prices) + shipping", note="plus")


class Place(Shell):
    """A shell whose temporary files can be seen."""

    @property
    def environ(self):
        (self.base / "tmp").mkdir(exist_ok=True)
        return {**super().environ, "TMPDIR": str(self.base / "tmp")}

    def script(self, *proposals) -> str:
        file = self.base / "script.jsonl"
        file.write_text("".join(json.dumps(p) + "\n" for p in proposals))
        return str(file)

    def copies(self):
        return list((self.base / "tmp").glob("regreen-replay-*"))


def place_in(folder):
    repo = make_repo(folder / "repo", {"shop.py": CODE, "test_shop.py": TESTS, ".gitignore": "__pycache__/\n"})
    return Place(folder, repo)


@pytest.fixture
def shell(tmp_path):
    return place_in(tmp_path)


@pytest.fixture(scope="module")
def spent(tmp_path_factory):
    """A place and a run there that ended when its tokens were spent: what is changed in the place is put back."""
    place = place_in(tmp_path_factory.mktemp("spent"))
    assert place.typed("runs", "list", "--json").document == {"runs": []}
    steps = place.script(edit(f"sum(prices) * shipping  # {SECRET}", usage={"tokens": 900}), RIGHT)
    done = place.typed("fix", "--script", steps, "--budget-tokens", "800", "--tests-policy", "editable", "--json")
    assert (done.code, done.document["outcome"]["reason"]) == (4, "budget")
    return place, done.document["job_id"]


def test_a_run_that_spent_its_budget_is_listed_and_shown_with_all_that_was_asked_and_tried(spent):
    shell, run = spent
    listed = shell.typed("runs", "list", "--json").document["runs"]
    assert [(r["id"], r["state"], r["reason"], r["tried"]) for r in listed] == [(run, "done", "budget", 1)]
    document = shell.typed("runs", "show", run[:9], "--json")
    shown = document.document
    assert (shown["id"], shown["repo"]) == (run, str(shell.cwd))
    assert [shown["request"][name] for name in ("max_attempts", "budget_tokens", "tests")] == [6, 800, "editable"]
    attempt = shown["attempts"][0]
    assert (attempt["state"], attempt["broken"]) == ("worse", ["test_shop.py::test_no_shipping"])
    assert "+    return sum(prices) * shipping" in attempt["diff"]
    assert (shown["outcome"]["reason"], shown["outcome"]["restored"]) == ("budget", True)
    assert shown["events"].endswith("events.jsonl") and shown["logs"]
    assert SECRET not in document.out
    told = shell.typed("runs", "show", run).out
    assert "attempt 1: worse" in told and "+    return sum(prices) * shipping" in told
    assert "not fixed: the budget is spent" in told and shown["events"] in told and SECRET not in told


@pytest.mark.parametrize("command", ["show", "resume", "replay"])
def test_a_run_that_nobody_knows_is_a_usage_error(spent, command):
    shell, _ = spent
    done = shell.typed("runs", command, "job-none", "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "not_found")
    assert "`regreen runs list" in shell.typed("runs", command, "job-none").err


def test_a_run_is_listed_with_all_and_replayed_from_anywhere_without_touching_its_tree(spent, tmp_path):
    shell, run = spent
    before = whole_state(shell.cwd)
    elsewhere = Place(shell.base, make_repo(tmp_path / "other", {"a.py": "x = 1\n"}))
    assert elsewhere.typed("runs", "list", "--json").document["runs"] == []
    everywhere = elsewhere.typed("runs", "list", "--all", "--json").document["runs"]
    assert [r["repo"] for r in everywhere] == [str(shell.cwd)]
    wrong = elsewhere.typed("runs", "replay", run, "--repo", ".", "--json")
    assert wrong.code == 2 and str(shell.cwd) in wrong.document["error"]["message"]
    done = elsewhere.run("runs", "replay", run, "--json")
    assert done.code == 0, done.document
    assert set(done.document) >= {"run", "replayed", "same", "differences", "attempts", "outcome"}
    assert [a["state"] for a in done.document["attempts"]] == ["worse"]
    assert (done.document["outcome"]["reason"], done.document["differences"]) == ("budget", [])
    assert done.document["same"] is True
    assert whole_state(shell.cwd) == before
    assert shell.copies() == []
    assert [r["id"] for r in shell.typed("runs", "list", "--json").document["runs"]] == [run]


def test_a_replay_that_differs_is_status_1_and_may_be_kept(spent, tmp_path):
    shell, run = spent
    (shell.cwd / "test_shop.py").write_text(TESTS.replace("== 35", "== 150"))
    try:
        done = shell.typed("runs", "replay", run, "--keep", str(tmp_path / "kept"))
    finally:
        (shell.cwd / "test_shop.py").write_text(TESTS)
    assert done.code == 1
    assert "different: attempt 1: fixed" in done.out and "changed since the run began" in done.out
    assert (tmp_path / "kept" / "copy" / "repo" / "shop.py").is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
def test_an_interrupted_replay_leaves_no_copy_and_no_process(spent, number):
    shell, run = spent
    (shell.cwd / "test_slow.py").write_text(SLOW)
    try:
        before = whole_state(shell.cwd)
        with shell.started("runs", "replay", run, "--json") as process:
            until(lambda: any(True for c in shell.copies() for _ in c.glob("copy/repo/started")), "it runs", 60)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert json.loads(out)["error"]["kind"] == "cancelled"
        assert shell.copies() == []
        until(lambda: not processes_with(str(shell.base)), "no process is left")
        assert whole_state(shell.cwd) == before
    finally:
        (shell.cwd / "test_slow.py").unlink()


def test_a_killed_run_is_put_back_by_the_next_command_resumed_and_both_tell_of_each_other(shell):
    slow = "import pathlib, time\n\n\ndef test_slow():\n    while '** 1' in pathlib.Path('shop.py').read_text():\n" \
           "        time.sleep(0.05)\n"  # fmt: skip
    (shell.cwd / "test_slow.py").write_text(slow)
    before = whole_state(shell.cwd)
    steps = shell.script(WRONG, edit("sum(prices) - shipping ** 1"))
    with shell.started("fix", "--script", steps) as process:
        until(lambda: "** 1" in (shell.cwd / "shop.py").read_text(), "the second attempt", 60)
        process.kill()
        process.communicate(timeout=60)
    until(lambda: not processes_with(str(shell.base)), "no process is left")
    listed = shell.typed("runs", "list", "--json").document["runs"][0]
    assert (listed["state"], listed["tried"]) == ("interrupted", 1)
    next_one = shell.run("skeleton", "--json")
    assert next_one.document["files"]
    assert re.search(r"^job-[0-9a-f]+ had been killed; put back: shop.py$", next_one.err, re.MULTILINE)
    assert whole_state(shell.cwd) == before
    assert shell.run("skeleton").err == ""

    old = listed["id"]
    Path(steps).unlink()
    no_script = shell.typed("runs", "resume", old, "--json")
    assert (no_script.code, no_script.document["error"]["kind"]) == (2, "invalid_arguments")
    script = shell.script(RIGHT)
    done = shell.typed("runs", "resume", old, "--script", script, "--max-attempts", "2", "--json")
    outcome = done.document["outcome"]
    assert (done.code, done.err, done.document["state"]) == (0, "", "done")
    assert (outcome["reason"], outcome["fixed"], outcome["verified"]) == ("fixed", True, True)
    assert outcome["fixed_tests"] == ["test_shop.py::test_total"]
    new = done.document["job_id"]
    shown = shell.typed("runs", "show", old, "--json").document
    assert (shown["reason"], [a["state"] for a in shown["attempts"]]) == ("cancelled", ["worse"])
    assert shown["resumed_by"] == [new]
    request = shell.typed("runs", "show", new, "--json").document["request"]
    assert (request["resumes"], request["max_attempts"]) == (old, 2)
    assert (shell.cwd / "shop.py").read_text() == CODE.replace("-", "+")
    again = shell.typed("runs", "resume", new, "--script", script, "--json")
    assert again.code == 2 and "nothing is left to do" in again.document["error"]["message"]

    transaction = shell.typed("edit", "-", "--json", stdin=BLOCK).document["transaction"]
    since = {
        s: shell.typed("changes", "--since", s[:10], "--json").document["diff"] for s in (new, transaction, "HEAD")
    }
    assert "+    return sum(prices) + shipping" in since[new]
    assert "+def total(prices, shipping=0):" in since[transaction]
    assert "+    return" not in since[transaction]
    assert "+    return sum(prices) + shipping" in since["HEAD"] and "shipping=0" in since["HEAD"]
    assert (shell.typed("undo").code, shell.typed("undo").code) == (0, 0)
    assert whole_state(shell.cwd) == before


def test_what_differs_since_a_commit_and_since_nothing_that_is_known(shell):
    shell.typed("edit", "-", "--json", stdin=BLOCK)
    git(shell.cwd, "commit", "-aqm", "fixed")
    assert shell.typed("changes", "--json").document["files"] == []
    assert "shipping=0" in shell.typed("changes", "--since", "HEAD~1").out
    assert shell.typed("changes", "--since", "txn-none", "--json").document["error"]["kind"] == "not_found"


def test_a_restore_of_an_edit_and_its_restore_are_listed_and_taken_back(shell):
    transaction = shell.typed("edit", "-", "--json", stdin=BLOCK).document["transaction"]
    edited = (shell.cwd / "shop.py").read_text()
    back = shell.typed("restore", transaction, "--json").document["transaction"]
    assert [r["id"] for r in shell.typed("restore", "--json").document["restorable"]] == [back]
    assert shell.typed("restore", back[:9]).code == 0
    assert (shell.cwd / "shop.py").read_text() == edited
    assert transaction in [r["id"] for r in shell.typed("restore", "--json").document["restorable"]]


@pytest.mark.parametrize("action", ["list", "show", "resume", "replay"])
def test_help_of_each_has_an_example(tmp_path, action):
    done = Shell(tmp_path, tmp_path).typed("runs", action, "--help")
    assert done.code == 0 and f"example: regreen runs {action}" in done.out


def test_an_action_is_needed():
    done = subprocess.run([sys.executable, "-m", "regreen", "runs", "--json"], capture_output=True, text=True)
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["kind"] == "invalid_arguments"
