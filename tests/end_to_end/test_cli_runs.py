"""`regreen runs`: the record of fix runs, going on from one, and one once more; changes and restores of them."""

import json
import signal
import subprocess
import sys

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

    def fixed_by(self, *proposals, args=()) -> str:
        """Run `fix` with these proposals; the run's id."""
        return self.run("fix", "--script", self.script(*proposals), "--json", *args).document["job_id"]

    def copies(self):
        return list((self.base / "tmp").glob("regreen-replay-*"))


@pytest.fixture
def shell(tmp_path):
    repo = make_repo(tmp_path / "repo", {"shop.py": CODE, "test_shop.py": TESTS, ".gitignore": "__pycache__/\n"})
    return Place(tmp_path, repo)


def test_a_run_is_listed_and_shown_with_all_that_was_tried(shell):
    assert shell.run("runs", "list", "--json").document == {"runs": []}
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    run = shell.fixed_by(edit(f"sum(prices) * shipping  # {secret}"))
    listed = shell.run("runs", "list", "--json").document["runs"]
    assert [(r["id"], r["state"], r["reason"], r["tried"]) for r in listed] == [(run, "done", "proposer_failed", 1)]
    document = shell.run("runs", "show", run[:9], "--json")
    shown = document.document
    assert (shown["id"], shown["repo"], shown["request"]["max_attempts"]) == (run, str(shell.cwd), 6)
    attempt = shown["attempts"][0]
    assert (attempt["state"], attempt["broken"]) == ("worse", ["test_shop.py::test_no_shipping"])
    assert "+    return sum(prices) * shipping" in attempt["diff"]
    assert (shown["outcome"]["reason"], shown["outcome"]["restored"]) == ("proposer_failed", True)
    assert shown["events"].endswith("events.jsonl") and shown["logs"]
    assert secret not in document.out
    told = shell.run("runs", "show", run).out
    assert "attempt 1: worse" in told and "+    return sum(prices) * shipping" in told
    assert "not fixed: no further idea" in told and shown["events"] in told and secret not in told


@pytest.mark.parametrize("command", ["show", "resume", "replay"])
def test_a_run_that_nobody_knows_is_a_usage_error(shell, command):
    done = shell.run("runs", command, "job-none", "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "not_found")
    assert "`regreen runs list" in shell.run("runs", command, "job-none").err


def test_a_run_is_resumed_and_both_tell_of_each_other(shell):
    old = shell.fixed_by(WRONG)
    no_script = shell.run("runs", "resume", old, "--json")
    assert (no_script.code, no_script.document["error"]["kind"]) == (2, "invalid_arguments")
    done = shell.run("runs", "resume", old, "--script", shell.script(RIGHT), "--max-attempts", "2", "--json")
    assert (done.code, done.document["outcome"]["reason"]) == (0, "fixed")
    new = done.document["job_id"]
    assert shell.run("runs", "show", old, "--json").document["resumed_by"] == [new]
    request = shell.run("runs", "show", new, "--json").document["request"]
    assert (request["resumes"], request["max_attempts"]) == (old, 2)
    assert (shell.cwd / "shop.py").read_text() == CODE.replace("-", "+")
    again = shell.run("runs", "resume", new, "--script", shell.script(RIGHT), "--json")
    assert again.code == 2 and "nothing is left to do" in again.document["error"]["message"]


def test_runs_of_other_repositories_are_listed_with_all_and_taken_up_from_anywhere(shell, tmp_path):
    run = shell.fixed_by(WRONG)
    elsewhere = Place(tmp_path, make_repo(tmp_path / "other", {"a.py": "x = 1\n"}))
    assert elsewhere.run("runs", "list", "--json").document["runs"] == []
    assert [r["repo"] for r in elsewhere.run("runs", "list", "--all", "--json").document["runs"]] == [str(shell.cwd)]
    wrong = elsewhere.run("runs", "replay", run, "--repo", ".", "--json")
    assert wrong.code == 2 and str(shell.cwd) in wrong.document["error"]["message"]
    assert elsewhere.run("runs", "replay", run, "--json").document["same"] is True


def test_a_replay_reproduces_a_run_without_touching_the_tree(shell):
    run = shell.fixed_by(WRONG, RIGHT)
    before = whole_state(shell.cwd)
    done = shell.run("runs", "replay", run, "--json")
    assert done.code == 0, done.document
    assert set(done.document) >= {"run", "replayed", "same", "differences", "attempts", "outcome"}
    assert [a["state"] for a in done.document["attempts"]] == ["worse", "passed"]
    assert (done.document["outcome"]["reason"], done.document["differences"]) == ("fixed", [])
    assert whole_state(shell.cwd) == before
    assert shell.copies() == []
    assert [r["id"] for r in shell.run("runs", "list", "--json").document["runs"]] == [run]


def test_a_replay_that_differs_is_status_1_and_may_be_kept(shell, tmp_path):
    run = shell.fixed_by(WRONG)
    (shell.cwd / "test_shop.py").write_text(TESTS.replace("== 35", "== 150"))
    done = shell.run("runs", "replay", run, "--keep", str(tmp_path / "kept"))
    assert done.code == 1
    assert "different: attempt 1: fixed" in done.out and "changed since the run began" in done.out
    assert (tmp_path / "kept" / "copy" / "repo" / "shop.py").is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_replay_leaves_no_copy_and_no_process(shell, number):
    (shell.cwd / "test_slow.py").write_text(SLOW)
    run = shell.fixed_by(WRONG)
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


def test_a_killed_run_is_resumed_from_what_was_recorded(shell):
    slow = "import pathlib, time\n\n\ndef test_slow():\n    while '** 1' in pathlib.Path('shop.py').read_text():\n" \
           "        time.sleep(0.05)\n"  # fmt: skip
    (shell.cwd / "test_slow.py").write_text(slow)
    before = whole_state(shell.cwd)
    steps = shell.script(WRONG, edit("sum(prices) - shipping ** 1"))
    with shell.started("fix", "--script", steps) as process:
        until(lambda: "** 1" in (shell.cwd / "shop.py").read_text(), "the second attempt", 60)
        process.kill()
        process.communicate(timeout=60)
    listed = shell.run("runs", "list", "--json").document["runs"][0]
    assert (listed["state"], listed["tried"]) == ("interrupted", 1)
    done = shell.run("runs", "resume", listed["id"], "--script", shell.script(RIGHT), "--json")
    assert (done.code, done.document["outcome"]["reason"]) == (0, "fixed")
    shown = shell.run("runs", "show", listed["id"], "--json").document
    assert (shown["reason"], [a["state"] for a in shown["attempts"]]) == ("cancelled", ["worse"])
    assert shell.run("undo").code == 0
    assert whole_state(shell.cwd) == before


def test_what_differs_since_a_run_a_transaction_and_head(shell):
    run = shell.fixed_by(RIGHT)
    assert shell.run("runs", "show", run, "--json").document["reason"] == "fixed"
    transaction = shell.run("edit", "-", "--json", stdin=BLOCK).document["transaction"]
    since = {s: shell.run("changes", "--since", s[:10], "--json").document["diff"] for s in (run, transaction, "HEAD")}
    assert "+    return sum(prices) + shipping" in since[run]
    assert "+def total(prices, shipping=0):" in since[transaction]
    assert "+    return" not in since[transaction]
    assert "+    return sum(prices) + shipping" in since["HEAD"] and "shipping=0" in since["HEAD"]
    git(shell.cwd, "commit", "-aqm", "fixed")
    assert shell.run("changes", "--json").document["files"] == []
    assert "shipping=0" in shell.run("changes", "--since", "HEAD~1").out
    assert shell.run("changes", "--since", "txn-none", "--json").document["error"]["kind"] == "not_found"


def test_a_restore_of_an_edit_and_its_restore_are_listed_and_taken_back(shell):
    transaction = shell.run("edit", "-", "--json", stdin=BLOCK).document["transaction"]
    edited = (shell.cwd / "shop.py").read_text()
    back = shell.run("restore", transaction, "--json").document["transaction"]
    assert [r["id"] for r in shell.run("restore", "--json").document["restorable"]] == [back]
    assert shell.run("restore", back[:9]).code == 0
    assert (shell.cwd / "shop.py").read_text() == edited
    assert transaction in [r["id"] for r in shell.run("restore", "--json").document["restorable"]]


def test_a_budget_of_tokens_ends_a_run_with_status_4(shell):
    steps = shell.script(edit("sum(prices) * shipping", usage={"tokens": 900}), RIGHT)
    done = shell.run("fix", "--script", steps, "--budget-tokens", "800", "--json")
    assert (done.code, done.document["outcome"]["reason"]) == (4, "budget")


def test_a_proposer_may_say_that_the_tests_must_change(shell):
    steps = shell.script({"needs_test_change": "35 is wrong"})
    done = shell.run("fix", "--script", steps, "--json")
    assert (done.code, done.document["outcome"]["reason"]) == (1, "needs_test_change")
    assert shell.run("runs", "replay", done.document["job_id"], "--json").document["same"] is True


def test_tests_are_changed_only_where_that_is_allowed(shell):
    change = {"replacements": [{"path": "test_shop.py", "search": "    assert total([10, 20], 5) == 35",
                                "replace": "    assert total([10, 20], 5) == 25"}]}  # fmt: skip
    refused = shell.run("fix", "--script", shell.script(change), "--json").document
    assert refused["attempts"][0]["refusal"] == "path_protected"
    run = shell.fixed_by(change, args=("--tests-policy", "editable"))
    assert shell.run("runs", "show", run, "--json").document["request"]["tests"] == "editable"


@pytest.mark.parametrize("action", ["list", "show", "resume", "replay"])
def test_help_of_each_has_an_example(tmp_path, action):
    done = Shell(tmp_path, tmp_path).run("runs", action, "--help")
    assert done.code == 0 and f"example: regreen runs {action}" in done.out


def test_an_action_is_needed():
    done = subprocess.run([sys.executable, "-m", "regreen", "runs", "--json"], capture_output=True, text=True)
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["kind"] == "invalid_arguments"
