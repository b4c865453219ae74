"""Edits from the command line: all or none, undone again, refused where they do not belong."""

import pytest
from support.cli import Shell
from support.gitrepos import make_repo, whole_state

BLOCK = "a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"
MISS = BLOCK.replace("x = 1", "y = 1")


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path, make_repo(tmp_path / "repo", {"a.py": "x = 1\n", "b.py": "z = 1\n"}))


def test_edit_is_applied_and_undone(shell):
    before = whole_state(shell.cwd)
    done = shell.run("edit", "-", stdin=BLOCK)
    assert done.code == 0 and "+x = 2" in done.out
    assert (shell.cwd / "a.py").read_text() == "x = 2\n"
    assert shell.run("undo").code == 0
    assert whole_state(shell.cwd) == before


def test_edit_from_a_file(shell, tmp_path):
    (tmp_path / "answer.md").write_text(BLOCK)
    data = shell.typed("edit", str(tmp_path / "answer.md"), "--json").document
    assert data["ok"] and data["transaction"].startswith("txn-")


def test_dry_run_shows_the_change_and_writes_nothing(shell):
    before = whole_state(shell.cwd)
    done = shell.typed("edit", "-", "--dry-run", stdin=BLOCK)
    assert done.code == 0 and "+x = 2" in done.out
    assert whole_state(shell.cwd) == before


def test_one_block_that_does_not_match_stops_them_all(shell):
    done = shell.typed("edit", "-", "--json", stdin=BLOCK + MISS)
    assert (done.code, done.document["ok"]) == (1, False)
    assert (shell.cwd / "a.py").read_text() == "x = 1\n"


def test_what_does_not_match_is_explained_to_people(shell):
    done = shell.typed("edit", "-", stdin=MISS)
    assert done.code == 1 and "no_match" in done.out and "nothing was written" in done.out


def test_restore_by_transaction_with_a_dry_run_first(shell):
    transaction = shell.typed("edit", "-", "--json", stdin=BLOCK).document["transaction"]
    dry = shell.typed("restore", transaction, "--dry-run", "--json").document
    assert (dry["restored"], dry["dry_run"]) == (["a.py"], True)
    assert (shell.cwd / "a.py").read_text() == "x = 2\n"
    assert shell.typed("restore", transaction).code == 0
    assert (shell.cwd / "a.py").read_text() == "x = 1\n"


def test_undo_leaves_what_was_changed_since(shell):
    shell.typed("edit", "-", stdin=BLOCK)
    (shell.cwd / "a.py").write_text("x = 3\n")
    done = shell.typed("undo")
    assert done.code == 1 and "a.py" in done.out
    assert (shell.cwd / "a.py").read_text() == "x = 3\n"


def test_undo_with_nothing_to_undo_is_a_usage_error(shell):
    done = shell.typed("undo", "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "not_found")


@pytest.mark.parametrize("name, code, kind", [("none.md", 2, "not_found"), ("-", 2, "invalid_arguments")])
def test_text_that_is_not_there_is_a_usage_error(shell, name, code, kind):
    done = shell.typed("edit", name, "--json")
    assert (done.code, done.document["error"]["kind"]) == (code, kind)


def test_unknown_format_is_a_usage_error(shell):
    done = shell.typed("edit", "-", "--format", "poetry", "--json", stdin=BLOCK)
    assert (done.code, done.document["error"]["kind"]) == (2, "invalid_arguments")


@pytest.mark.parametrize("mode, kind", [("plan", "denied_by_mode"), ("ask", "needs_approval")])
def test_modes_that_do_not_let_edits_pass(shell, mode, kind):
    done = shell.typed("edit", "-", "--mode", mode, "--json", stdin=BLOCK)
    assert (done.code, done.document["error"]["kind"]) == (5, kind)
    assert (shell.cwd / "a.py").read_text() == "x = 1\n"


def test_plan_mode_still_shows_what_would_change(shell):
    assert shell.typed("edit", "-", "--mode", "plan", "--dry-run", stdin=BLOCK).code == 0


def test_restore_alone_lists_what_can_be_put_back_newest_first(shell):
    assert "nothing" in shell.typed("restore").out
    first = shell.typed("edit", "-", "--json", stdin=BLOCK).document["transaction"]
    second = shell.typed("edit", "-", "--json", stdin=BLOCK.replace("a.py", "b.py").replace("x =", "z =")).document
    listed = shell.typed("restore", "--json").document["restorable"]
    assert [(r["id"], r["what"], r["files"]) for r in listed] == [
        (second["transaction"], "edit", ["b.py"]),
        (first, "edit", ["a.py"]),
    ]
    done = shell.typed("restore")
    assert done.code == 0 and done.out.splitlines()[0].startswith(second["transaction"])


def test_restore_lists_no_edit_that_was_taken_back_but_the_taking_back(shell):
    transaction = shell.typed("edit", "-", "--json", stdin=BLOCK).document["transaction"]
    back = shell.typed("undo", "--json").document["transaction"]
    assert [r["id"] for r in shell.typed("restore", "--json").document["restorable"]] == [back]
    shell.typed("restore", back)
    assert transaction in shell.typed("restore").out


def test_missing_git_is_named_as_the_cause(shell):
    done = shell.typed("changes", "--json", extra={"PATH": "/nonexistent"})
    assert (done.code, done.document["error"]["kind"]) == (3, "environment")
    assert "git" in done.document["error"]["message"] and "PATH" in done.document["error"]["message"]


DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def test_a_diff_and_calls_are_read_too(shell):
    assert shell.typed("edit", "-", stdin=DIFF).code == 0
    call = '[{"command": "str_replace", "path": "a.py", "old_str": "2", "new_str": "3"}]'
    assert shell.typed("edit", "-", "--format", "str_replace", stdin=call).code == 0
    assert (shell.cwd / "a.py").read_text() == "x = 3\n"
    assert shell.typed("edit", "-", "--format", "search_replace", stdin=DIFF).code == 1


def test_a_plan_is_committed_by_another_process_or_some_of_its_hunks(shell):
    both = BLOCK + "b.py\n<<<<<<< SEARCH\nz = 1\n=======\nz = 2\n>>>>>>> REPLACE\n"
    shown = shell.typed("edit", "-", "--dry-run", stdin=both)
    assert "[hunk 1]" in shown.out and "[hunk 2]" in shown.out
    plan = shell.typed("edit", "-", "--dry-run", "--json", stdin=both).document["plan"]
    done = shell.run("edit", "--commit", plan, "--hunks", "2", "--json").document
    assert [edit["status"] for edit in done["edits"]] == ["not_chosen", "applied"]
    assert ((shell.cwd / "a.py").read_text(), (shell.cwd / "b.py").read_text()) == ("x = 1\n", "z = 2\n")
    used = shell.typed("edit", "--commit", plan, "--json").document["error"]
    assert used["kind"] == "not_found" and "committed once" in used["hint"]
    shell.typed("undo")
    plan = shell.typed("edit", "-", "--dry-run", "--json", stdin=both).document["plan"]
    assert (
        shell.typed("edit", "--commit", plan, "--hunks", "7", "--json").document["error"]["kind"] == "invalid_arguments"
    )
    assert shell.typed("edit", "--commit", plan).code == 0
    assert (shell.cwd / "a.py").read_text() == "x = 2\n"


def test_a_plan_is_not_committed_to_other_bytes(shell):
    plan = shell.typed("edit", "-", "--dry-run", "--json", stdin=BLOCK).document["plan"]
    (shell.cwd / "a.py").write_text("x = 1\n# mine\n")
    done = shell.typed("edit", "--commit", plan, "--json").document
    assert done["edits"][0]["error"]["kind"] == "stale"
    assert "x = 1" in done["edits"][0]["error"]["closest"]["text"]
    assert (shell.cwd / "a.py").read_text() == "x = 1\n# mine\n"


def test_edits_may_say_what_they_were_written_for(shell):
    sha = shell.typed("read", "a.py", "--json").document["sha256"]
    whole = "a.py\n```\ny = 1\n```\n"
    assert shell.typed("edit", "-", "--format", "whole_file", stdin=whole).code == 1
    assert shell.typed("edit", "-", "--format", "whole_file", "--expect", f"a.py={sha}", stdin=whole).code == 0
    assert (shell.cwd / "a.py").read_text() == "y = 1\n"
    assert shell.typed("edit", "-", "--expect", "nonsense", "--json", stdin=whole).code == 2


def test_strict_edits_match_exactly_or_not_at_all(shell):
    loose = BLOCK.replace("x = 1", "x = 1  ")
    assert shell.typed("edit", "-", "--strict", stdin=loose).code == 1
    assert shell.typed("edit", "-", extra={"REGREEN_STRICT_EDITS": "true"}, stdin=loose).code == 1
    assert shell.typed("edit", "-", stdin=loose).code == 0


def test_there_must_be_something_to_apply(shell):
    assert shell.typed("edit", "--json").document["error"]["kind"] == "invalid_arguments"
    assert shell.typed("edit", "--commit", "plan-none", "--json").document["error"]["kind"] == "not_found"


def test_undo_passes_over_what_was_put_back_by_hand_and_names_what_it_cannot_put_back(shell):
    shell.typed("edit", "-", stdin=BLOCK)
    second = shell.typed("edit", "-", "--json", stdin=BLOCK.replace("a.py", "b.py").replace("x =", "z =")).document
    (shell.cwd / "b.py").write_text("z = 3\n")
    stuck = shell.typed("undo")
    assert stuck.code == 1 and second["transaction"] in stuck.out and "regreen restore" in stuck.out
    (shell.cwd / "b.py").write_text("z = 1\n")
    assert shell.typed("undo", "--dry-run").code == 0
    assert shell.typed("undo").code == 0
    assert (shell.cwd / "a.py").read_text() == "x = 1\n"
    assert shell.typed("undo").code == 2


def test_restore_of_what_was_put_back_by_hand_says_that_nothing_had_to_be_changed(shell):
    made = shell.typed("edit", "-", "--json", stdin=BLOCK).document
    (shell.cwd / "a.py").write_text("x = 1\n")
    done = shell.typed("restore", made["transaction"])
    assert (done.code, done.out) == (0, "nothing had to be changed: no file is other than before these changes\n")
    assert shell.typed("restore", made["transaction"], "--json").document["transaction"] == ""


def test_an_expected_hash_is_a_hash(shell):
    done = shell.typed("edit", "-", "--expect", "a.py=abc", "--json", stdin=BLOCK)
    assert (done.code, done.document["error"]["kind"]) == (2, "invalid_arguments")
    assert shell.typed("edit", "--commit", "plan-1", "--expect", "a.py=abc", "--json").code == 2


def test_the_mask_of_a_secret_is_never_written_over_the_secret(shell):
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    (shell.cwd / "s.py").write_text(f'KEY = "{secret}"\nx = 1\n')
    read = shell.typed("read", "s.py", "--json").document
    assert "[redacted:" in read["text"]
    whole = f"s.py\n```\n{read['text'].replace('x = 1', 'x = 2')}```\n"
    done = shell.typed(
        "edit", "-", "--format", "whole_file", "--expect", f"s.py={read['sha256']}", "--json", stdin=whole
    )
    assert done.document["edits"][0]["error"]["kind"] == "elision"
    masked = f"s.py\n<<<<<<< SEARCH\n{read['text']}=======\nx = 2\n>>>>>>> REPLACE\n"
    assert "mask of a secret" in shell.typed("edit", "-", stdin=masked).out
    assert secret in (shell.cwd / "s.py").read_text()
