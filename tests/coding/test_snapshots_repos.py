"""Snapshots in every kind of folder that people have, and where git alone would give other bytes back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.attributing import Watched as Bench
from support.gitrepos import differences, git, make_repo, whole_state, write

FILES: dict[str, str | bytes] = {"a.py": "a\n", "sub/b.py": "b\n", ".gitignore": "*.env\n"}


def plain(root: Path) -> Path:
    for name, text in FILES.items():
        write(root / name, text)
    return root


def unborn(root: Path) -> Path:
    return make_repo(plain(root))


def unborn_staged(root: Path) -> Path:
    git(unborn(root), "add", "a.py")
    return root


def sha256(root: Path) -> Path:
    return make_repo(root, FILES, "--object-format=sha256")


def merging(root: Path) -> Path:
    make_repo(root, FILES)
    git(root, "checkout", "-q", "-b", "side")
    write(root / "a.py", "side\n")
    git(root, "commit", "-qam", "side")
    git(root, "checkout", "-q", "main")
    write(root / "a.py", "main\n")
    git(root, "commit", "-qam", "main")
    with pytest.raises(AssertionError):
        git(root, "merge", "side")
    return root


def locked(root: Path) -> Path:
    write(make_repo(root, FILES) / ".git" / "index.lock", "")
    return root


def linked(root: Path) -> Path:
    main = make_repo(root.with_name("main"), FILES)
    git(main, "worktree", "add", "-q", "-b", "side", str(root))
    return root


def subfolder(root: Path) -> Path:
    make_repo(root, {f"x/{n}": t for n, t in FILES.items()} | {"a.py": "other\n", "sub/b.py": "other\n"})
    write(root / "x" / "a.py", "dirty\n")
    return root / "x"


def nested(root: Path) -> Path:
    make_repo(make_repo(root, FILES) / "inner", {"lib.py": "l\n"})
    return root


def submodule(root: Path) -> Path:
    inner = make_repo(root.with_name("inner"), {"lib.py": "l\n"})
    git(make_repo(root, FILES), "submodule", "--quiet", "add", str(inner), "inner")
    return root


def unwritable_refs(root: Path) -> Path:
    write(make_repo(root, FILES) / ".git" / "refs" / "regreen", "")
    write(root / "a.py", "dirty\n")
    return root


def split_index(root: Path) -> Path:
    make_repo(root, FILES)
    git(root, "update-index", "--split-index")
    write(root / "a.py", "dirty\n")
    return root


def damaged(root: Path) -> Path:
    write(make_repo(root, FILES) / ".git" / "index", "no index at all")
    return root


KINDS = (plain, unborn, unborn_staged, sha256, merging, locked, linked, subfolder, nested, submodule, unwritable_refs,
         split_index, damaged)  # fmt: skip


@pytest.mark.parametrize("make", KINDS, ids=[k.__name__ for k in KINDS])
def test_a_failed_run_is_undone_in_every_kind_of_folder(make: Callable[[Path], Path], tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    write(root / "new.txt", "n\n")
    write(root / "k.env", "k\n")
    top = tmp_path / "r"
    before = whole_state(top)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        bench.edit("a.py", b"edited\n")

        def tests() -> None:
            names = ["sub/b.py", "new.txt", "k.env", ".gitignore", "made/x", "inner/lib.py"]
            for name in names:
                write(root / name, "by tests\n")

        bench.run_tests(snapshot, tests)
        assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
        bench.snapshots.release(snapshot)
        assert bench.snapshots.uncovered(bench.snapshots.take("run-2")) == 0
        bench.snapshots.recover()
    assert differences(before, whole_state(top)) == []


def test_bytes_that_git_would_convert_come_back_as_they_were(tmp_path: Path) -> None:
    attributes = "*.txt text eol=crlf\n*.big filter=lfs\n*.id ident\n*.u16 working-tree-encoding=UTF-16LE\n"
    root = make_repo(tmp_path / "r", {".gitattributes": attributes})
    git(root, "config", "filter.lfs.clean", "tr a-z A-Z")  # of equal size on both sides
    git(root, "config", "filter.lfs.smudge", "tr A-Z a-z")
    kept = {"w.txt": b"a\r\nb\r\n", "x.big": b"lower\n", "y.id": b"$Id$\n", "z.u16": "é\r\n".encode("utf-16-le"),
            "mixed": b"a\r\nb\n", "assumed": b"one\n"}  # fmt: skip
    for name, data in kept.items():
        write(root / name, data)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    (root / "y.id").unlink()
    git(root, "checkout", "y.id")
    git(root, "update-index", "--assume-unchanged", "assumed")
    write(root / "assumed", "two\n")
    os.utime(root / ".git" / "index", (2e9, 2e9))  # nothing is racily clean
    before = whole_state(root)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        bench.run_tests(snapshot, lambda: [write(root / n, "gone") for n in kept])
        assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
        bench.snapshots.release(snapshot)
    assert differences(before, whole_state(root)) == []


def test_file_whose_copy_is_lost_is_a_conflict_and_not_a_guess(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        bench.run_tests(snapshot, lambda: write(root / "a.py", "tests\n"))
        for path in (root / ".git" / "objects").rglob("*"):
            if path.is_file():
                path.unlink()
        report = bench.snapshots.restore_run("run-1", snapshot)
    assert [(c.path, "no copy" in c.reason) for c in report.conflicts] == [("a.py", True), (".git", False)]
    assert (root / "a.py").read_text() == "tests\n"


def test_state_folder_inside_the_repository_is_not_a_side_effect(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    with Bench(root, root) as bench:
        snapshot = bench.start()
        assert list(bench.run_tests(snapshot, lambda: bench.store.put_blob(b"x"))) == []


def test_git_folder_inside_the_tree_under_another_name_is_not_looked_into(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES, "--separate-git-dir", str(tmp_path / "r" / "data"))
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        assert snapshot.files == 3
        assert list(bench.run_tests(snapshot, lambda: git(root, "commit", "--allow-empty", "-qm", "x"))) == []


def test_ref_that_cannot_be_removed_now_is_removed_by_the_next_recovery(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    before = whole_state(root)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.snapshots.take("run-1")
        lock = write(root / ".git" / "packed-refs.lock", "")
        bench.snapshots.release(snapshot)
        assert snapshot.id in git(root, "for-each-ref", "refs/regreen")
        lock.unlink()
        bench.snapshots.recover()
    assert differences(before, whole_state(root)) == []


def test_hashes_of_what_tests_left_let_a_rewind_take_them_for_the_runs_own(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        bench.edit("a.py", b"edited\n")
        bench.run_tests(snapshot, lambda: write(root / "a.py", "tests\n"))
        assert bench.journal.rewind("run-1", ours=bench.snapshots.made_by_tests(snapshot)).conflicts == ()
        assert (root / "a.py").read_text() == "a\n"
        assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
        assert (root / "a.py").read_text() == "a\n"


def test_ref_of_another_run_survives_a_release(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    with Bench(tmp_path, root) as bench:
        one, two = bench.snapshots.take("run-1"), bench.snapshots.take("run-2")
        bench.snapshots.release(one)
        assert git(root, "for-each-ref", "--format=%(refname)", "refs/regreen").split() == [f"refs/regreen/{two.id}"]


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_read_only_repository_gets_its_copies_in_the_state_folder(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    write(root / "a.py", "dirty\n")
    (root / ".git" / "objects").chmod(0o500)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.snapshots.take("run-1")
        assert (snapshot.tree, bench.snapshots.uncovered(snapshot)) == ("", 0)
    (root / ".git" / "objects").chmod(0o700)
