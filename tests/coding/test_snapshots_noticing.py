"""What the kernel told of is what a walk finds; and where it may not have told all, there is no answer."""

from __future__ import annotations

import gc
import mmap
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.attributing import Watched as Bench
from support.gitrepos import make_repo, write
from support.noticing import ON_FILES, ON_FOLDERS, Noticed, operate

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")

NAMES = ("a", "b", "sub/a", "sub/b", "sub/deep/a", "sub/deep", "other", ".git", "sub/.git")
LINE = "36 35 98:0 / {point} rw,noatime shared:1 - {kind} /dev/x rw\n"


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def local_table(folder: Path, *lines: str) -> Path:
    """A table of mounts by which everything is on a local file system."""
    return write(folder / "mounts", LINE.format(point="/", kind="ext4") + "".join(lines))


@pytest.fixture
def noticed(tmp_path: Path) -> Generator[Noticed]:
    root = tmp_path / "r"
    for name in ("a", "b", "sub/a", "sub/deep/a"):
        write(root / name, "1")
    with Noticed(root, mounts=local_table(tmp_path)) as made:
        made.walk()
        assert made.look() == made.everything()
        yield made


@given(st.lists(st.lists(st.tuples(st.sampled_from(ON_FILES + ON_FOLDERS), st.sampled_from(NAMES),
                                   st.sampled_from(NAMES)), max_size=4), max_size=4))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_what_was_told_is_what_a_walk_finds(rounds: list[list[tuple[str, str, str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "r")
        for name in ("a", "sub/a", "sub/b", "sub/deep/a"):
            write(root / name, "1")
        with Noticed(root, mounts=local_table(Path(folder))) as noticed:
            noticed.walk()
            for operations in rounds:
                for operation in operations:
                    operate(root, *operation)
                told = noticed.look()
                if told is None:
                    told = noticed.walk()
                assert told == noticed.everything()


@pytest.mark.parametrize("operation", ON_FILES)
@pytest.mark.parametrize(("one", "other"), [("a", "new"), ("sub/deep/a", "b"), ("sub/new", "sub/a")])
def test_what_happens_to_single_files_needs_no_walk(noticed: Noticed, operation: str, one: str, other: str) -> None:
    operate(noticed.root, operation, one, other)
    assert noticed.look() == noticed.everything()


def test_changes_during_a_walk_are_seen_by_the_next_look(tmp_path: Path) -> None:
    write(tmp_path / "r" / "sub" / "a", "1")
    with Noticed(tmp_path / "r", mounts=local_table(tmp_path)) as noticed:
        rows = noticed.notice.walked("walk", lambda notice: (_walk_and_write(noticed), ()))
        assert rows != noticed.everything()
        assert noticed.look() == noticed.everything()


def _walk_and_write(noticed: Noticed) -> dict[str, object]:
    def enter(path: str, folder: object) -> bool:
        noticed.notice.enter(path, folder)  # type: ignore[arg-type]
        return True

    rows = noticed.workspace.scan(skip=lambda _: False, enter=enter)
    write(noticed.root / "sub" / "a", "longer")
    return rows  # type: ignore[return-value]


def test_writes_through_a_mapping_are_seen_when_the_file_is_closed(noticed: Noticed) -> None:
    with (noticed.root / "a").open("r+b") as file, mmap.mmap(file.fileno(), 1) as mapping:
        mapping[:] = b"2"
        mapping.flush()
    assert noticed.look() == noticed.everything()


def _rename_folder(root: Path) -> None:
    (root / "sub").rename(root / "bus")


def _hard_link(root: Path) -> None:
    os.link(root / "a", root / "c")


def _many_events(root: Path) -> None:
    for n in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) // 2 + 1):
        os.utime(root / "a", (n, n))
        os.utime(root / "b", (n, n))


def _many_paths(root: Path) -> None:
    for n in range(2_001):
        (root / "sub" / str(n)).touch()


DOUBTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder made": (lambda root: (root / "new").mkdir(), "folder"),
    "a folder made below": (lambda root: (root / "sub" / "deep" / "new").mkdir(), "folder"),
    "a folder moved": (_rename_folder, "folder"),
    "a folder's mode": (lambda root: (root / "sub").chmod(0o700), "folder"),
    "the root's mode": (lambda root: root.chmod(0o700), "folder"),
    "the root moved": (lambda root: root.rename(root.with_name("moved")), "folder"),
    "a hard link": (_hard_link, "several names"),
    "too many events": (_many_events, "too many events"),
    "too many paths": (_many_paths, "too many paths"),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_doubt_means_no_answer_until_the_next_walk(noticed: Noticed, name: str) -> None:
    happens, why = DOUBTS[name]
    happens(noticed.root)
    assert noticed.look() is None
    assert why in noticed.notice.doubt
    assert noticed.look() is None
    noticed.walk()
    assert noticed.look() == noticed.everything()


def test_file_that_shares_its_bytes_since_the_walk_is_a_doubt_when_a_name_of_it_goes(noticed: Noticed) -> None:
    os.link(noticed.root / "a", noticed.root / "c")
    noticed.walk()
    (noticed.root / "c").unlink()
    assert noticed.look() is None
    assert "several names" in noticed.notice.doubt


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (LINE.format(point="/", kind="nfs4"), "nfs4"),
        (LINE.format(point="/", kind="ext4") + LINE.format(point="{root}", kind="fuse.sshfs"), "fuse.sshfs"),
        (LINE.format(point="/", kind="ext4") + LINE.format(point="{root}/sub", kind="ext4"), "in the tree"),
        ("", "file system"),
    ],
)
def test_file_systems_that_others_may_write_are_not_watched(tmp_path: Path, table: str, why: str) -> None:
    root = write(tmp_path / "a folder" / "sub" / "a", "1").parents[1]
    text = table.replace("{root}", str(root.resolve()).replace(" ", "\\040"))
    with Noticed(root, mounts=write(tmp_path / "mounts", text)) as noticed:
        assert noticed.walk() == noticed.everything()
        assert noticed.look() is None
        assert why in noticed.notice.doubt


def test_systems_without_a_table_of_mounts_are_walked(tmp_path: Path) -> None:
    write(tmp_path / "r" / "a", "1")
    with Noticed(tmp_path / "r", mounts=tmp_path / "none") as noticed:
        assert noticed.walk() == noticed.everything()
        assert noticed.look() is None


def test_trees_with_too_many_folders_are_walked(tmp_path: Path) -> None:
    write(tmp_path / "r" / "one" / "two" / "a", "1")
    with Noticed(tmp_path / "r", mounts=local_table(tmp_path), most_folders=2) as noticed:
        assert noticed.walk() == noticed.everything()
        assert noticed.look() is None
        assert noticed.notice.doubt == "too many folders"


def test_without_a_free_descriptor_trees_are_walked(tmp_path: Path) -> None:
    write(tmp_path / "r" / "a", "1")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Noticed(tmp_path / "r", mounts=local_table(tmp_path)) as noticed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            noticed.notice.walked("walk", lambda _: ({}, ()))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert noticed.look() is None
        assert noticed.walk() == noticed.everything()


def test_walk_by_other_rules_is_no_answer(noticed: Noticed) -> None:
    assert noticed.notice.look("another") is None
    assert noticed.look() == noticed.everything()


def test_closed_notice_has_no_answer_and_can_be_used_again(noticed: Noticed) -> None:
    noticed.notice.close()
    noticed.notice.close()
    assert noticed.look() is None
    noticed.walk()
    assert noticed.look() == noticed.everything()


def test_child_has_no_answer_and_takes_none_from_its_parent(noticed: Noticed) -> None:
    write(noticed.root / "a", "changed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where threads run
        pid = os.fork()
    if not pid:
        os._exit(0 if noticed.look() is None and noticed.walk() and noticed.look() is not None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert noticed.look() == noticed.everything()


def test_mount_anywhere_is_a_doubt(tmp_path: Path) -> None:
    write(tmp_path / "r" / "sub" / "a", "1")
    program = f"""
import subprocess, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from support.noticing import Noticed
with Noticed(Path({str(tmp_path / "r")!r})) as noticed:
    noticed.walk()
    first = noticed.look()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "none", {str(tmp_path / "r" / "sub")!r}]).returncode
    print("no" if first is None or mounted else noticed.look() is None and "mounted" in noticed.notice.doubt)
"""
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", program]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if done.returncode or done.stdout.strip() == "no":
        pytest.skip("nothing can be mounted here")
    assert done.stdout.strip() == "True"


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    write(tmp_path / "r" / "a", "1")
    before = descriptors()
    for closes in (True, False):
        for _ in range(3):
            noticed = Noticed(tmp_path / "r", mounts=local_table(tmp_path))
            noticed.walk()
            noticed.walk()
            noticed.workspace.close()
            if closes:
                noticed.notice.close()
            del noticed
    gc.collect()
    assert descriptors() == before


def test_programs_that_tests_start_inherit_nothing(noticed: Noticed) -> None:
    listed = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False, check=True)
    assert "inotify" not in listed.stdout
    assert noticed.look() is not None


# --- in snapshots ----------------------------------------------------------------------------------


def test_release_and_close_give_descriptors_back(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "1\n"})
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        before = descriptors()
        bench.snapshots.mark(snapshot)
        bench.snapshots.close()
        assert descriptors() == before
        bench.snapshots.mark(snapshot)
        bench.snapshots.release(snapshot)
        assert descriptors() == before


def test_what_tests_do_is_found_without_a_walk_and_put_back(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "1\n", "sub/b.py": "2\n"})
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        assert list(bench.run_tests(snapshot, lambda: None)) == []

        def tests() -> None:
            write(root / "a.py", "tests\n")
            (root / "sub" / "b.py").unlink()
            write(root / "sub" / "new", "n\n")

        made = bench.run_tests(snapshot, tests)
        assert (made.created, made.changed, made.deleted) == (("sub/new",), ("a.py",), ("sub/b.py",))
        bench.snapshots.restore_run("run-1", snapshot)
        assert (root / "a.py").read_text() == "1\n"
        assert (root / "sub" / "b.py").read_text() == "2\n"
        assert not (root / "sub" / "new").exists()


def test_thorough_look_finds_what_the_system_does_not_tell(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "1\n"})
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        with (root / "a.py").open("r+b") as file:
            mapping = mmap.mmap(file.fileno(), 1)
        mark = bench.snapshots.mark(snapshot, thorough=True)
        before = (root / "a.py").stat()
        mapping[:] = b"2"
        mapping.flush()
        if (root / "a.py").stat().st_ctime_ns == before.st_ctime_ns:
            pytest.skip("a file system that notes no time for this")
        bench.snapshots.note_written(snapshot, ["a.py"])
        assert list(bench.snapshots.side_effects(snapshot, mark, thorough=True)) == ["a.py"]
        mapping.close()
