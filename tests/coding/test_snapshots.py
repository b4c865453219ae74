"""A run that does not end green leaves everything as it was: files, index, refs, whatever its tests did."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from support.attributing import Watched as Bench
from support.gitrepos import differences, git, make_repo, whole_state, write

from regreen.snapshots import SideEffects


@pytest.fixture
def bench(tmp_path: Path) -> Generator[Bench]:
    """A dirty repository: staged, unstaged, untracked, ignored, executable, linked, odd names, a stash."""
    root = tmp_path / "r"
    files = {
        "calc.py": "one\n", "staged.txt": "one\n", "tool.sh": "#!/bin/sh\n", "gone.txt": "g\n", "sub/clean.py": "c\n",
        ".gitignore": "*.env\nbuild/\n", "line\nbreak": "x\n", "crlf.txt": b"a\r\nb\r\n",
    }  # fmt: skip
    make_repo(root, files)
    write(root / "stashed", "s\n")
    git(root, "add", "stashed")
    git(root, "stash", "-q")
    write(root / "staged.txt", "two\n")
    git(root, "add", "staged.txt")
    write(root / "staged.txt", "three\n")
    write(root / "calc.py", b"two\r\nmixed\n\xff")
    (root / "gone.txt").unlink()
    (root / "tool.sh").chmod(0o755)
    write(root / "new.txt", "n\n")
    write(root / os.fsdecode(b"caf\xe9"), "n\n")
    write(root / "secret.env", "K=1\n").chmod(0o600)
    write(root / "build" / "out.o", b"\0\1")
    (root / "link").symlink_to("calc.py")
    (root / "dangling").symlink_to("nowhere")
    with Bench(tmp_path, root) as made:
        yield made


def test_taking_and_releasing_a_snapshot_leaves_no_trace(bench: Bench) -> None:
    before = whole_state(bench.root)
    snapshot = bench.snapshots.take("run-1")
    assert snapshot.tree
    refs = git(bench.root, "for-each-ref", "refs/regreen")
    assert snapshot.id in refs
    assert [d for d in differences(before, whole_state(bench.root)) if "refs/regreen" not in d] == []
    bench.snapshots.release(snapshot)
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(bench.root)) == []
    assert sorted(p.name for p in bench.store.folder.iterdir() if "index" in p.name) == []
    assert bench.store.rows("SELECT * FROM blobs") == []


def test_hidden_snapshot_holds_the_tree_byte_for_byte(bench: Bench) -> None:
    snapshot = bench.snapshots.take("run-1")
    names = git(bench.root, "ls-tree", "-rz", "--name-only", snapshot.tree).strip("\0").split("\0")
    assert set(names) == {
        "calc.py", "staged.txt", "tool.sh", "sub/clean.py", ".gitignore", "line\nbreak", "crlf.txt", "new.txt",
        os.fsdecode(b"caf\xe9"), "link", "dangling",
    }  # fmt: skip
    assert os.fsencode(git(bench.root, "cat-file", "blob", f"{snapshot.tree}:calc.py")) == b"two\r\nmixed\n\xff"
    assert git(bench.root, "ls-tree", snapshot.tree, "tool.sh").startswith("100755")
    assert git(bench.root, "ls-tree", snapshot.tree, "link").startswith("120000")


def test_failed_run_with_edits_and_side_effects_is_undone_to_the_last_byte(bench: Bench) -> None:
    root = bench.root
    before = whole_state(root)
    snapshot = bench.start()
    bench.edit("calc.py", b"edited\n")
    bench.edit("made/by/edit.py", b"new\n")

    def tests() -> None:
        write(root / "sub" / "clean.py", "changed\n")
        write(root / "new.txt", "changed\n")
        write(root / "secret.env", "stolen\n")
        write(root / "build" / "out.o", "x")
        write(root / os.fsdecode(b"caf\xe9"), "x")
        (root / "staged.txt").unlink()
        (root / "line\nbreak").unlink()
        (root / "tool.sh").chmod(0o644)
        (root / "link").unlink()
        (root / "dangling").unlink()
        write(root / "dangling", "a file now")
        write(root / "report" / "deep" / "r.xml", "<r/>")
        write(root / "odd\nname", "x")
        (root / "empty" / "folder").mkdir(parents=True)
        (root / "newlink").symlink_to("calc.py")
        (root / ".gitignore").write_text("")

    made = bench.run_tests(snapshot, tests)
    assert set(made.created) == {"report/deep/r.xml", "newlink", "odd\nname"}
    assert set(made.deleted) == {"staged.txt", "line\nbreak", "link"}
    assert "calc.py" not in made
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert report.conflicts == ()
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(root)) == []
    assert {"calc.py", "secret.env", "dangling", "tool.sh"} <= set(report.restored)
    assert {"report/deep/r.xml", "newlink", "made/by/edit.py"} <= set(report.deleted)


def test_what_was_deleted_or_overwritten_by_the_restore_can_be_had_again(bench: Bench) -> None:
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: write(bench.root / "report.xml", "precious"))
    report = bench.snapshots.restore_run("run-1", snapshot)
    bench.snapshots.release(snapshot)
    bench.journal.undo(report.transaction)
    assert (bench.root / "report.xml").read_text() == "precious"


def test_gitignore_emptied_by_the_run_costs_no_ignored_file(bench: Bench) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    bench.edit(".gitignore", b"\n")
    bench.run_tests(snapshot, lambda: None)
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(bench.root)) == []


def test_what_the_user_changed_meanwhile_stays_and_is_reported(bench: Bench) -> None:
    root = bench.root
    snapshot = bench.start()
    bench.edit("calc.py", b"edited\n")
    write(root / "notes.txt", "user, before the tests\n")
    bench.run_tests(snapshot, lambda: [write(root / n, "tests\n") for n in ("a.log", "new.txt", "notes.txt")])
    write(root / "new.txt", "user\n")
    write(root / "calc.py", "user\n")
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert {c.path for c in report.conflicts} == {"new.txt", "calc.py"}
    assert (root / "new.txt").read_text() == (root / "calc.py").read_text() == "user\n"
    assert (root / "notes.txt").read_text() == "user, before the tests\n"
    assert not (root / "a.log").exists()


def test_user_who_put_a_side_effect_right_has_no_conflict(bench: Bench) -> None:
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: [write(bench.root / n, "tests\n") for n in ("a.log", "new.txt")])
    (bench.root / "a.log").unlink()
    write(bench.root / "new.txt", "n\n")
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()


def test_kept_edits_stay_while_side_effects_go(bench: Bench) -> None:
    root = bench.root
    before = whole_state(root)
    snapshot = bench.start()
    bench.edit("calc.py", b"fixed\n")

    def tests() -> None:
        write(root / "calc.py", "formatted\n")
        write(root / "a.log", "x")

    bench.run_tests(snapshot, tests)
    report = bench.snapshots.restore_run("run-1", snapshot, keep=frozenset({"calc.py"}))
    assert report.conflicts == ()
    assert (root / "calc.py").read_bytes() == b"fixed\n"
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(root)) == ["calc.py"]


def test_edits_and_side_effects_on_one_file_are_taken_off_in_turn(bench: Bench) -> None:
    root = bench.root
    before = whole_state(root)
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: write(root / "calc.py", "tests 1\n"))
    bench.edit("calc.py", b"edit 1\n")
    bench.run_tests(snapshot, lambda: write(root / "calc.py", "tests 2\n"))
    bench.run_tests(snapshot, lambda: write(root / "calc.py", "tests 3\n"))
    bench.edit("calc.py", b"edit 2\n")
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(root)) == []


def test_mode_that_tests_give_to_an_edited_file_is_taken_back(bench: Bench) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    bench.edit("calc.py", b"edited\n")
    bench.run_tests(snapshot, lambda: (bench.root / "calc.py").chmod(0o755))
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(bench.root)) == []


def test_large_file_that_only_got_another_name_is_no_side_effect(bench: Bench) -> None:
    write(bench.root / "mine.env", b"x" * (2 << 20))
    snapshot = bench.start()
    made = bench.run_tests(snapshot, lambda: (bench.root / "other").hardlink_to(bench.root / "mine.env"))
    assert list(made) == ["other"]


def test_several_test_runs_and_an_early_put_back_end_as_it_began(bench: Bench) -> None:
    root = bench.root
    before = whole_state(root)
    snapshot = bench.start()
    for n in range(3):
        bench.run_tests(snapshot, lambda n=n: [write(root / "new.txt", f"{n}\n"), write(root / f"log{n}", "x")])
        if n == 1:
            bench.snapshots.restore_run("run-1", snapshot, keep=frozenset({"calc.py"}))
    bench.snapshots.restore_run("run-1", snapshot)
    assert bench.snapshots.restore_run("run-1", snapshot).restored == ()
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(root)) == []


def test_tests_that_change_nothing_have_no_side_effects(bench: Bench) -> None:
    snapshot = bench.start()

    def tests() -> None:
        os.utime(bench.root / "calc.py")
        write(bench.root / "sub" / "clean.py", "c\n")
        write(bench.root / "pkg" / "__pycache__" / "x.pyc", "x")
        write(bench.root / "node_modules" / "x.js", "x")
        write(bench.root / "venv" / "pyvenv.cfg", "x")
        write(bench.root / "venv" / "lib.py", "x")

    assert list(bench.run_tests(snapshot, tests)) == []


def test_dry_run_says_what_would_happen_and_does_nothing(bench: Bench) -> None:
    snapshot = bench.start()
    bench.edit("calc.py", b"edited\n")
    bench.run_tests(snapshot, lambda: [write(bench.root / n, "tests\n") for n in ("a.log", "calc.py")])
    before = whole_state(bench.root)
    plan = bench.snapshots.restore_run("run-1", snapshot, dry_run=True)
    assert differences(before, whole_state(bench.root)) == []
    assert (plan.restored, plan.deleted, plan.conflicts, plan.dry_run) == (("calc.py",), ("a.log",), (), True)
    done = bench.snapshots.restore_run("run-1", snapshot)
    assert (done.restored, done.deleted) == (plan.restored, plan.deleted)


def test_large_files_are_not_read_and_their_loss_is_reported(bench: Bench) -> None:
    sparse = bench.root / "disk.img"
    with sparse.open("wb") as file:
        file.truncate(5 << 30)
    write(bench.root / "mine.env", b"x" * (2 << 20))
    snapshot = bench.start()
    assert bench.snapshots.uncovered(snapshot) == 2

    def tests() -> None:
        with sparse.open("r+b") as file:
            file.write(b"x")
        write(bench.root / "mine.env", "x")
        with (bench.root / "huge.bin").open("wb") as file:
            file.truncate(1 << 30)

    bench.run_tests(snapshot, tests)
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert {c.path for c in report.conflicts} == {"disk.img", "mine.env", "huge.bin"}
    assert all("left as it is" in c.reason for c in report.conflicts)
    assert (bench.root / "huge.bin").exists()


def test_link_made_by_tests_is_removed_without_touching_what_it_points_to(bench: Bench, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside" / "file", "mine\n")
    before = whole_state(bench.root)
    snapshot = bench.start()

    def tests() -> None:
        (bench.root / "to_file").symlink_to(outside)
        (bench.root / "to_folder").symlink_to(outside.parent)
        (bench.root / "new.txt").unlink()
        (bench.root / "new.txt").symlink_to(outside)

    bench.run_tests(snapshot, tests)
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(bench.root)) == []
    assert outside.read_text() == "mine\n"


def test_side_effects_value_lists_its_paths() -> None:
    made = SideEffects(("a",), ("b",), ("c",))
    assert (list(made), len(made)) == (["a", "b", "c"], 3)
