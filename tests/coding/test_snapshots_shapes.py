"""Tests may leave folders as links, files as folders, FIFOs, and names that nobody can open: all is dealt with."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from support.attributing import Watched as Bench
from support.gitrepos import differences, make_repo, whole_state, write


@pytest.fixture
def bench(tmp_path: Path) -> Generator[Bench]:
    root = make_repo(tmp_path / "r", {"calc.py": "one\n", "pkg/a.txt": "1\n", "pkg/sub/b.txt": "2\n", "other/c": "c\n"})
    write(root / "pkg" / "mine.txt", "untracked\n")
    (root / "pkg" / "empty").mkdir()
    (root / "pkg").chmod(0o700)
    with Bench(tmp_path, root) as made:
        yield made


def to_nowhere(root: Path) -> None:
    shutil.rmtree(root / "pkg")
    (root / "pkg").symlink_to("/nonexistent")


def to_inside(root: Path) -> None:
    shutil.rmtree(root / "pkg")
    (root / "pkg").symlink_to("other")
    write(root / "pkg" / "a.txt", "through the link\n")


def to_file(root: Path) -> None:
    shutil.rmtree(root / "pkg")
    write(root / "pkg", "x")


def to_fifo(root: Path) -> None:
    shutil.rmtree(root / "pkg")
    os.mkfifo(root / "pkg")


def to_nothing(root: Path) -> None:
    shutil.rmtree(root / "pkg")


def file_to_folder(root: Path) -> None:
    (root / "calc.py").unlink()
    write(root / "calc.py" / "z" / "f", "x")
    (root / "calc.py" / "to").symlink_to("/nonexistent")


def file_to_fifo(root: Path) -> None:
    (root / "calc.py").unlink()
    os.mkfifo(root / "calc.py")


SWAPS = (to_nowhere, to_inside, to_file, to_fifo, to_nothing, file_to_folder, file_to_fifo)


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("swap", SWAPS)
def test_what_tests_put_in_the_place_of_a_folder_or_file_gives_way(
    bench: Bench, swap: Callable[[Path], None], edited: bool
) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    if edited:
        bench.edit("calc.py", b"edited\n")
        bench.edit("pkg/a.txt", b"edited\n")
    bench.run_tests(snapshot, lambda: swap(bench.root))
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert report.conflicts == ()
    assert bench.snapshots.release(snapshot) == ""
    assert differences(before, whole_state(bench.root)) == []
    assert stat.S_IMODE((bench.root / "pkg").stat().st_mode) == 0o700


@pytest.mark.parametrize("swap", [to_nowhere, to_file])
def test_folder_swapped_by_nobody_knows_whom_stays_and_every_file_is_named_and_kept(
    bench: Bench, swap: Callable[[Path], None]
) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: swap(bench.root), seen=())
    after = whole_state(bench.root)
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert {c.path for c in report.conflicts} == {"pkg", "pkg/a.txt", "pkg/sub/b.txt", "pkg/mine.txt", "pkg/empty"}
    assert differences(after, whole_state(bench.root)) == []
    kept = bench.snapshots.release(snapshot)
    (bench.root / "pkg").unlink()
    bench.journal.undo(kept)
    assert differences(before, whole_state(bench.root)) == ["pkg/empty"]


def test_files_seen_written_below_a_folder_show_who_swapped_it(bench: Bench) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    bench.run_tests(
        snapshot, lambda: to_nowhere(bench.root), seen=["pkg/a.txt", "pkg/mine.txt", "pkg/sub", "pkg/empty"]
    )
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(bench.root)) == []


def test_folder_swapped_and_made_again_in_the_next_run_is_as_it_was(bench: Bench) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: to_nowhere(bench.root))

    def again() -> None:
        (bench.root / "pkg").unlink()
        (bench.root / "pkg").mkdir()
        write(bench.root / "pkg" / "a.txt", "tests\n")

    bench.run_tests(snapshot, again)
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(bench.root)) == []


def test_folder_in_the_place_of_a_file_that_holds_the_users_work_stays(bench: Bench) -> None:
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: file_to_folder(bench.root))
    write(bench.root / "calc.py" / "user.txt", "u\n")
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert [(c.path, "folder that is not empty" in c.reason) for c in report.conflicts] == [("calc.py", True)]
    assert (bench.root / "calc.py" / "user.txt").read_text() == "u\n"
    kept = bench.snapshots.release(snapshot)
    shutil.rmtree(bench.root / "calc.py")
    bench.journal.undo(kept)
    assert (bench.root / "calc.py").read_text() == "one\n"


def make_special(root: Path) -> None:
    os.mkfifo(root / "pipe")
    os.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")


def test_fifos_and_sockets_of_tests_are_removed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench.root)
    before = whole_state(bench.root)
    snapshot = bench.start()
    made = bench.run_tests(snapshot, lambda: make_special(bench.root))
    assert made.created == ("pipe", "sock")
    assert bench.snapshots.restore_run("run-1", snapshot, dry_run=True).deleted == ("pipe", "sock")
    assert bench.snapshots.restore_run("run-1", snapshot).deleted == ("pipe", "sock")
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(bench.root)) == []


def test_fifos_of_the_user_stay_and_are_called_by_their_name(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench.root)
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: make_special(bench.root), seen=())
    told = {c.path: c.reason for c in bench.snapshots.restore_run("run-1", snapshot).conflicts}
    assert told["pipe"].startswith("a FIFO")
    assert told["sock"].startswith("a socket")
    assert stat.S_ISFIFO((bench.root / "pipe").lstat().st_mode)


def test_fifo_that_tests_took_away_is_named(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    snapshot = bench.start()
    bench.run_tests(snapshot, (bench.root / "pipe").unlink)
    (conflict,) = bench.snapshots.restore_run("run-1", snapshot).conflicts
    assert (conflict.path, conflict.reason.startswith("a FIFO stood here")) == ("pipe", True)


def dig(root: Path) -> None:
    """Folders so deep that their path is over what the system takes, with a file at the end."""
    fd = os.open(root, os.O_RDONLY)
    for _ in range(22):
        os.mkdir("n" * 200, dir_fd=fd)
        below = os.open("n" * 200, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("file", os.O_CREAT, dir_fd=fd))
    os.close(fd)


def fill_up(root: Path) -> None:
    dig(root)
    (root / "made").mkdir()
    fd = os.open(root, os.O_RDONLY)
    for _ in range(20):
        below = os.open("n" * 200, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("f" * 250, os.O_CREAT, dir_fd=fd))  # its folder can be listed, itself not be opened
    os.close(fd)


def test_path_too_long_for_the_system_is_a_conflict_and_no_error(bench: Bench) -> None:
    snapshot = bench.start()
    try:
        bench.run_tests(snapshot, lambda: fill_up(bench.root))
        bench.run_tests(snapshot, lambda: write(bench.root / "made" / "x", "x"))
        bench.snapshots.restore_run("run-1", snapshot, final=False)
        report = bench.snapshots.restore_run("run-1", snapshot)
        assert any(len(c.path) > 4000 and "not to be opened" in c.reason for c in report.conflicts)
        assert not (bench.root / "made").exists()
        bench.snapshots.release(snapshot)
        again = bench.snapshots.take("run-2")
        bench.snapshots.changes(again.id)
        bench.snapshots.release(again)
        bench.snapshots.recover()
    finally:
        shutil.rmtree(bench.root / ("n" * 200))
