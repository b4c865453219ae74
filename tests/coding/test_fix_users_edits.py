"""The user goes on working while a fix run works: nothing of theirs is overwritten, lost, or taken for the tests'
doing, and what could not be put back for that reason is told."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from support.cases import sample
from support.engines import engine_on, ok, refused, replacement
from support.fix_process import held
from support.fixing import (
    BUG,
    CALC,
    FIX,
    FIXED,
    LOOKS,
    RIGHT,
    WRONG,
    differences,
    fingerprint,
    fixable,
)
from support.gitrepos import git, write
from support.holding import Holding, holding

from regreen.fix.verification import GOAL_RUNS

pytestmark = pytest.mark.usefixtures("few_looks")

TRIED = "return s * rate"  # what WRONG writes
NOTES = {"notes.txt": "one\n", "gone.txt": "gone\n", "old.txt": "old\n", "d/deep.txt": "deep\n"}


@pytest.fixture
def on(tmp_path: Path) -> Generator[Holding]:
    with holding(tmp_path, NOTES) as made:
        yield made


def works(root: Path) -> None:
    """The user edits, creates, deletes and renames, in one file after the other."""
    write(root / "notes.txt", "mine\n")
    write(root / "mine.txt", "new\n")
    write(root / "new" / "mine.txt", "new\n")
    (root / "gone.txt").unlink()
    (root / "old.txt").rename(root / "renamed.txt")


WORKED = ["gone.txt", "mine.txt", "new", "new/mine.txt", "notes.txt", "old.txt", "renamed.txt"]


def conflicts(end: dict[str, Any]) -> set[str]:
    return {c["path"] for c in end["conflicts"]}


# --- while tests run -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("fix", "needle", "nth"), [(WRONG, TRIED, 1), (RIGHT, FIX, 2)])
def test_what_the_user_does_to_other_files_stays_and_is_not_the_tests_doing(
    on: Holding, fix: list[dict[str, str]], needle: str, nth: int
) -> None:
    before = fingerprint(on.root)
    end = on.during([fix], needle, lambda: works(on.root), nth=nth)
    assert end["reason"] == ("fixed" if fix is RIGHT else "proposer_failed")
    assert differences(before, fingerprint(on.root)) == sorted([*WORKED, *(["calc.py"] if fix is RIGHT else [])])
    assert (on.root / "notes.txt").read_text() == "mine\n"
    assert set(WORKED) & set(end["evidence"]["side_effects"]) == set()
    assert conflicts(end) <= set(WORKED)


def saves(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


def saves_a_line_more(path: Path) -> None:
    path.write_text("# the user's line\n" + path.read_text())


def moves_away(path: Path) -> None:
    path.rename(path.with_name("moved.py"))


@pytest.mark.parametrize(
    ("act", "fix"),
    [
        (saves("# the user's line\n"), WRONG),
        (saves_a_line_more, WRONG),
        (saves_a_line_more, RIGHT),
        (moves_away, WRONG),
        (moves_away, RIGHT),
    ],
    ids=["text-wrong", "line-wrong", "line-right", "moved-wrong", "moved-right"],
)
def test_file_that_the_run_has_changed_is_never_overwritten_once_the_user_changed_it(
    on: Holding, act: Callable[[Path], object], fix: list[dict[str, str]]
) -> None:
    calc = on.root / "calc.py"
    end = on.during([fix], TRIED if fix is WRONG else FIX, lambda: act(calc))
    if act is moves_away:
        assert not calc.exists()
        assert (on.root / "moved.py").exists()
        assert "calc.py" in conflicts(end)
        return
    now = calc.read_text()
    assert "# the user's line" in now
    merged = now in ("# the user's line\n" + CALC, "# the user's line\n" + FIXED)
    assert merged or "calc.py" in conflicts(end)
    assert not end["fixed"] or now == "# the user's line\n" + FIXED


def test_fix_that_the_user_changed_after_its_last_test_has_passed_is_not_called_verified(on: Holding) -> None:
    end = on.during([RIGHT], FIX, lambda: write(on.root / "calc.py", "# all gone\n"), nth=GOAL_RUNS)
    assert end["evidence"]["test_runs"] == LOOKS + GOAL_RUNS  # so that was the last one
    assert (on.root / "calc.py").read_text() == "# all gone\n"
    assert end["fixed"] is False
    assert "calc.py" in conflicts(end)


# --- between two submissions -----------------------------------------------------------------------------


def test_what_the_user_does_while_a_fix_is_awaited_is_worked_on_and_stays(on: Holding) -> None:
    mine = "# the user's line\n" + CALC
    before = fingerprint(on.root)
    fix_job = on.ask()
    works(on.root)
    write(on.root / "calc.py", mine)
    attempt = on.submit(fix_job, WRONG)["attempt"]
    assert attempt["state"] == "same"
    assert (on.root / "calc.py").read_text() == mine
    write(on.root / "d" / "deep.txt", "later\n")
    end = on.submit(fix_job, RIGHT)["outcome"]
    assert (end["reason"], end["conflicts"]) == ("fixed", [])
    assert (on.root / "calc.py").read_text() == mine.replace(BUG, FIX)
    assert differences(before, fingerprint(on.root)) == sorted(["calc.py", "d/deep.txt", *WORKED])
    ok(on.engine, "restore", to=fix_job.job.id)
    assert (on.root / "calc.py").read_text() == mine


def test_test_file_that_the_user_saves_in_between_stays_as_saved(on: Holding) -> None:
    test = on.root / "test_calc.py"
    mine = test.read_text() + "\n\ndef test_more():\n    assert mean([2]) == 2\n"
    fix_job = on.ask()
    write(test, mine)
    data = on.submit(fix_job, RIGHT)
    assert test.read_text() == mine
    if data["state"] != "done":  # whatever is made of it: a fix is not proven by other tests than those of the start
        assert "test_calc.py" in data["attempt"]["message"]
    ok(on.engine, "job_cancel", job_id=fix_job.job.id)
    assert test.read_text() == mine


# --- and with git ----------------------------------------------------------------------------------------


def told_of_git(end: dict[str, Any]) -> str:
    return " ".join(c["reason"] for c in end["conflicts"] if c["path"] == ".git")


def test_commit_branch_and_stash_in_between_are_told_and_nothing_is_lost(on: Holding) -> None:
    fix_job = on.ask()
    write(on.root / "notes.txt", "committed\n")
    git(on.root, "commit", "-qam", "the user's")
    git(on.root, "switch", "-qc", "other")
    write(on.root / "notes.txt", "stashed\n")
    git(on.root, "stash", "-q")
    on.submit(fix_job, WRONG)
    end = ok(on.engine, "job_cancel", job_id=fix_job.job.id)["outcome"]
    assert [w for w in ("HEAD moved from main to other", "refs/heads/main", "stash") if w not in told_of_git(end)] == []
    assert conflicts(end) == {".git"}
    assert (on.root / "notes.txt").read_text() == "committed\n"
    assert git(on.root, "status", "--porcelain") == ""
    assert git(on.root, "show", "stash@{0}:notes.txt") == "stashed\n"
    git(on.root, "fsck", "--strict")


def stashes(root: Path) -> None:
    git(root, "stash", "-q")


def commits(root: Path) -> None:
    git(root, "commit", "-qam", "with a try in it")


def switches(root: Path) -> None:
    git(root, "checkout", "-qf", "side")


@pytest.mark.parametrize(
    ("act", "word", "left"),
    [(stashes, "stash", CALC), (commits, "main moved", CALC), (switches, "HEAD moved from main to side", "side = 1\n")],
)
def test_git_that_moves_with_a_try_in_the_tree_is_told_and_takes_nothing_away(
    on: Holding, act: Callable[[Path], None], word: str, left: str
) -> None:
    git(on.root, "checkout", "-qb", "side")
    write(on.root / "calc.py", "side = 1\n")
    git(on.root, "commit", "-qam", "side")
    git(on.root, "checkout", "-q", "main")
    write(on.root / "new.txt", "untracked\n")
    end = on.during([WRONG], TRIED, lambda: act(on.root))
    assert word in told_of_git(end)
    assert (on.root / "calc.py").read_text() == left
    assert (on.root / "new.txt").read_text() == "untracked\n"
    git(on.root, "fsck", "--strict")


# --- two clients -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("same_state", sample([False, True], 2))
def test_second_client_is_told_who_works_there_and_may_read_and_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same_state: bool
) -> None:
    monkeypatch.setattr("regreen.session.holding._BRIEF_WAIT_S", 0.2)
    root = fixable(tmp_path / "r")
    before = fingerprint(root)
    environ = {} if same_state else {"REGREEN_STATE_DIR": str(tmp_path / "state")}
    with held(root, environ) as other, engine_on(root) as engine:
        txn = "txn-000000000000"
        for tool, arguments in (
            ("fix_tests", {"proposer": "caller"}),
            ("apply_edits", {"replacements": RIGHT}),
            ("restore", {"to": txn}),
        ):
            error = refused(engine, tool, **arguments)
            assert error["kind"] == "busy"
            assert (other.job if same_state else "process") in error["message"]
        assert ok(engine, "read_file", path="calc.py")["text"] == CALC
        assert ok(engine, "show_changes")["files"] == []
        assert ok(engine, "run_tests")["status"] == "failed"
        dry = ok(engine, "apply_edits", replacements=[replacement("calc.py", BUG, FIX)], dry_run=True)
        assert dry["ok"] is True
        assert other.submit(WRONG)["conflicts"] == []
        assert differences(before, fingerprint(root)) == []
        assert ok(engine, "apply_edits", replacements=RIGHT)["ok"] is True
