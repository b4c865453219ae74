"""Fix runs in linked work trees, also inside the repository, in submodules and beside nested repositories: each work
tree is a root of its own, and its run changes not one byte of any other."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.engines import ok
from support.fix_process import held
from support.fixing import (
    RIGHT,
    WRONG,
    differences,
    fingerprint,
    fixable,
    fixer,
    run,
    runs_end_as_they_must,
)
from support.gitrepos import git, make_repo, write
from support.holding import holding

pytestmark = pytest.mark.usefixtures("few_looks")

INSIDE = (".claude/worktrees/x", "trees/y")  # where agents put theirs, and where a test runner looks


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """A dirty repository with a linked work tree beside it and two inside, all dirty."""
    root = fixable(tmp_path / "ws" / "parent", {"notes.txt": "one\n", ".gitignore": "*.env\n"})
    for number, folder in enumerate((*INSIDE, "../beside")):
        git(root, "worktree", "add", "-q", "-b", f"side{number}", str((root / folder).resolve()))
        write(root / folder / "notes.txt", "staged there\n")
        git(root / folder, "add", "notes.txt")
        write(root / folder / "k.env", "K=1\n")
    write(root / "notes.txt", "staged\n")
    git(root, "add", "notes.txt")
    write(root / "notes.txt", "unstaged\n")
    return root


def test_runs_in_two_work_trees_at_once_change_nothing_in_each_other_or_the_parent(parent: Path) -> None:
    before = fingerprint(parent.parent)
    with held(parent / INSIDE[0]) as one, held(parent / "../beside") as two:
        with fixer(parent) as engine:  # the parent is not held by either
            assert ok(engine, "apply_edits", replacements=RIGHT)["ok"] is True
            assert ok(engine, "restore", to=engine.session().last_change())["restored"] == ["calc.py"]
        fixed, restored = one.submit(RIGHT), two.submit(WRONG)
    assert (fixed["reason"], fixed["conflicts"]) == ("fixed", [])
    assert (restored["restored"], restored["conflicts"]) == (True, [])
    assert differences(before, fingerprint(parent.parent)) == [f"parent/{INSIDE[0]}/calc.py"]


def test_run_in_the_parent_neither_holds_nor_sees_nor_restores_work_trees_inside_it(
    parent: Path, tmp_path: Path
) -> None:
    before = fingerprint(parent.parent)
    with held(parent) as outer:
        with fixer(parent / INSIDE[0]) as engine:
            assert run(engine, tmp_path, [RIGHT])["reason"] == "fixed"
        write(parent / INSIDE[1] / "calc.py", "the user's\n")
        (parent / INSIDE[1] / "test_calc.py").unlink()
        end = outer.submit(WRONG)
    assert (end["restored"], end["conflicts"]) == (True, [])
    changed = [f"{INSIDE[0]}/calc.py", f"{INSIDE[1]}/calc.py", f"{INSIDE[1]}/test_calc.py"]
    assert differences(before, fingerprint(parent.parent)) == [f"parent/{path}" for path in changed]


def test_what_happens_in_work_trees_inside_while_the_parents_tests_run_is_nothing_to_the_parent(tmp_path: Path) -> None:
    with holding(tmp_path) as on:
        for number, folder in enumerate(INSIDE):
            git(on.root, "worktree", "add", "-q", "-b", f"side{number}", str(on.root / folder))
            git(on.root / folder, "rm", "-q", "--cached", "test_calc.py")
            (on.root / folder / "test_calc.py").unlink()  # so that no runner finds tests there
        before = fingerprint(on.root)

        def works_there() -> None:
            for folder in INSIDE:
                write(on.root / folder / "calc.py", "the user's\n")
                write(on.root / folder / "new.txt", "new\n")

        end = on.during([WRONG], "return s * rate", works_there)
        assert (end["restored"], end["conflicts"]) == (True, [])
        assert end["evidence"]["side_effects"] == []
        assert differences(before, fingerprint(on.root)) == [f"{f}/{n}" for f in INSIDE for n in ("calc.py", "new.txt")]


def test_tests_of_work_trees_inside_are_not_the_parents(parent: Path, tmp_path: Path) -> None:
    for folder in INSIDE:
        write(parent / folder / "test_there.py", "def test_there():\n    raise AssertionError('not mine')\n")
    before = fingerprint(parent.parent)
    with fixer(parent) as engine:
        end = run(engine, tmp_path, [RIGHT])
    assert (end["reason"], end["conflicts"], end["evidence"]["counts"]["total"]) == ("fixed", [], 3)
    assert differences(before, fingerprint(parent.parent)) == ["parent/calc.py"]


def test_work_tree_inside_is_the_root_of_who_works_there(parent: Path) -> None:
    inside = parent / INSIDE[0]
    with fixer(parent) as engine:
        assert engine.session(INSIDE[0]).root == inside
        assert engine.session(INSIDE[0]).top == inside
        write(inside / "calc.py", "there\n")
        assert [f["path"] for f in ok(engine, "show_changes", repo=INSIDE[0])["files"]] == ["calc.py", "notes.txt"]
        assert [f["path"] for f in ok(engine, "show_changes")["files"]] == ["notes.txt"]


def test_run_in_a_submodule_changes_nothing_of_the_project_around_it(tmp_path: Path) -> None:
    inner = fixable(tmp_path / "inner")
    root = make_repo(tmp_path / "r", {"calc.py": "other\n", "notes.txt": "one\n"})
    git(root, "submodule", "--quiet", "add", str(inner), "mod")
    git(root, "commit", "-qm", "mod")
    write(root / "notes.txt", "staged\n")
    git(root, "add", "notes.txt")
    runs_end_as_they_must(root / "mod", tmp_path, watched=root)
