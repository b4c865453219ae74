"""What differs since a snapshot, a run or a commit: complete, bounded, and a patch that git applies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.gitrepos import git, make_repo, whole_state, write
from support.snapshotting import Bench

from regreen.errors import UsageError
from regreen.model import FileDiff

FILES: dict[str, str | bytes] = {
    "a.py": "one\ntwo\nthree\n", "noeol": "x", "crlf": b"a\r\nb\r\n", "with blank.txt": "b\n", "gone.py": "g\n",
    "bin": b"\0\1", "tool": "t\n", 'quo"te\n.txt': "q\n", "form": "a\fb\u2028c\n", ".gitignore": "*.log\n",
}  # fmt: skip


def change(root: Path) -> None:
    write(root / "a.py", "one\n2\nthree\n")
    write(root / "noeol", "y")
    write(root / "crlf", b"a\r\nB\r\n")
    write(root / "with blank.txt", "")
    (root / "gone.py").unlink()
    (root / "tool").chmod(0o755)
    write(root / 'quo"te\n.txt', "Q\n")
    write(root / "form", "a\fb\u2028C")
    write(root / "new dir" / "ü.py", "n\n")
    write(root / "x.log", "ignored\n")


def by_path(files: tuple[FileDiff, ...]) -> dict[str, FileDiff]:
    return {f.path: f for f in files}


@pytest.mark.parametrize("since", ["HEAD", "snapshot"])
def test_diff_is_a_patch_that_git_applies(tmp_path: Path, since: str) -> None:
    root = make_repo(tmp_path / "r", FILES)
    with Bench(tmp_path, root) as bench:
        name = since if since == "HEAD" else bench.start().id
        change(root)
        before = whole_state(root)
        report = bench.snapshots.changes(name)
        assert whole_state(root) == before
    other = make_repo(tmp_path / "o", FILES)
    git(other, "apply", "--whitespace=nowarn", "-", stdin=os.fsencode(report.diff))
    git(other, "add", "-A")
    git(root, "add", "-A")
    assert git(root, "write-tree") == git(other, "write-tree")
    files = by_path(report.files)
    assert (files["a.py"].action, files["a.py"].added, files["a.py"].removed) == ("modify", 1, 1)
    assert (files["gone.py"].action, files["gone.py"].sha_after) == ("delete", "")
    assert (files["new dir/ü.py"].action, files["new dir/ü.py"].sha_before) == ("create", "")
    assert ("x.log" in files) is (since == "snapshot")
    assert not report.truncated


def test_changes_of_a_run_are_its_edits_even_after_the_release(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        bench.edit("a.py", b"one\ntwo\n")
        bench.edit("noeol", b"tmp")
        bench.edit("noeol", b"x")
        bench.edit("new.py", b"n\n")
        write(root / "mine.txt", "not the run's\n")
        bench.snapshots.release(snapshot)
        report = bench.snapshots.changes("run-1")
    assert [f.path for f in report.files] == ["a.py", "new.py"]
    assert "-three\n" in report.diff


def test_binary_and_foreign_bytes_are_named_not_shown(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    write(root / "bin", b"\0\2")
    write(root / "a.py", b"caf\xe9\n")
    with Bench(tmp_path, root) as bench:
        report = bench.snapshots.changes("HEAD")
    assert report.diff.count("Binary files ") == 2


def test_diff_is_bounded(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {f"f{n}": "x\n" for n in range(4)})
    for n in range(4):
        write(root / f"f{n}", "".join(f"{i} {n}\n" for i in range(45_000)))
    with Bench(tmp_path, root) as bench:
        report = bench.snapshots.changes("HEAD")
    assert report.truncated
    assert len(report.diff) < 1 << 20
    assert [f.added for f in report.files] == [45_000] * 4


def test_unborn_branch_has_everything_new_since_head(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r")
    write(root / "a.py", "a\n")
    write(root / "b.py", "b\n")
    git(root, "add", "a.py")
    with Bench(tmp_path, root) as bench:
        assert [(f.path, f.action) for f in bench.snapshots.changes("HEAD").files] == [
            ("a.py", "create"), ("b.py", "create"),
        ]  # fmt: skip


def test_subfolder_shows_its_own_changes_from_itself(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "r", {"x/a.py": "a\n", "b.py": "b\n"})
    write(top / "x" / "a.py", "A\n")
    write(top / "b.py", "B\n")
    with Bench(tmp_path, top / "x") as bench:
        assert [f.path for f in bench.snapshots.changes("HEAD").files] == ["a.py"]


@pytest.mark.parametrize("since", ["nothing", "--output=x", "", "run-1\0", "HEAD:a"])
def test_unknown_start_is_an_error_that_says_what_there_is(tmp_path: Path, since: str) -> None:
    root = make_repo(tmp_path / "r", FILES)
    (tmp_path / "plain").mkdir()
    for folder in (root, tmp_path / "plain"):
        with Bench(tmp_path, folder) as bench, pytest.raises(UsageError) as error:
            bench.snapshots.changes(since)
        assert error.value.kind == "not_found"
