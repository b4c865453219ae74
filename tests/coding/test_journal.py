"""The journal: every promise of the one journal has its test in this one place, which is why it is long."""

import os
import stat
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regreen.errors import Busy, RegreenError
from regreen.settings import Limits
from regreen.store import Store, repo_key
from regreen.workspace import Change, FileImage, Journal, StaleFile, Workspace
from regreen.workspace.beneath import Backend
from regreen.workspace.kernel import exchange

LONG_AGO = 1_000_000_000_123_456_789


def sha(data: bytes) -> str:
    return sha256(data).hexdigest()


class Bench:
    """A project, its state folder and its journal."""

    def __init__(self, folder: Path, backend: Backend | None = None, max_file_bytes: int = 10_000) -> None:
        self.root = folder / "ws"
        self.root.mkdir(parents=True)
        self.store = Store(folder / "state")
        self.workspace = Workspace(self.root, Limits(max_file_bytes=max_file_bytes), backend=backend)
        self.hook: Callable[[str], None] = lambda _: None
        self.journal = Journal(self.store, self.workspace, on_step=lambda name: self.hook(name))

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)
        os.utime(file, ns=(LONG_AGO, LONG_AGO))

    def change(self, path: str, after: bytes | None, mode: int | None = None) -> Change:
        return Change(path, self.workspace.image(path).sha256, after, mode)

    def commit(self, *changes: Change, run_id: str = "") -> str:
        return self.journal.commit(changes, label="test", run_id=run_id)

    def state(self) -> dict[str, tuple[str, int, int]]:
        """Everything below the root, with modes and mtimes."""
        found: dict[str, tuple[str, int, int]] = {}
        for path in sorted(self.root.rglob("*")):
            info = path.lstat()
            text = str(path.readlink()) if path.is_symlink() else sha(path.read_bytes()) if path.is_file() else "folder"
            found[str(path.relative_to(self.root))] = (text, info.st_mode, 0 if path.is_dir() else info.st_mtime_ns)
        return found

    def close(self) -> None:
        self.workspace.close()
        self.store.close()


@pytest.fixture(params=["best", "plain"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, "plain" if request.param == "plain" else None)
    yield made
    made.close()


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(RegreenError) as caught:
        call()
    return caught.value.kind


# --- commit ----------------------------------------------------------------------------------------


def test_commit_creates_modifies_and_deletes(bench: Bench) -> None:
    bench.write("a.py", b"old", 0o755)
    bench.write("b.py", b"bye")
    txn = bench.commit(bench.change("a.py", b"new"), bench.change("x/y/c.py", b""), bench.change("b.py", None))
    assert txn.startswith("txn-")
    assert {p: t[0] for p, t in bench.state().items()} == {
        "a.py": sha(b"new"), "x": "folder", "x/y": "folder", "x/y/c.py": sha(b"")}  # fmt: skip
    assert stat.S_IMODE((bench.root / "a.py").stat().st_mode) == 0o755


def test_new_file_gets_what_the_umask_leaves(bench: Bench) -> None:
    before = os.umask(0o027)
    try:
        bench.commit(bench.change("a", b"1"), bench.change("b", b"2", 0o700))
    finally:
        os.umask(before)
    assert stat.S_IMODE((bench.root / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((bench.root / "b").stat().st_mode) == 0o700


def test_mode_alone_can_be_changed_and_undone(bench: Bench) -> None:
    bench.write("run.sh", b"#!", 0o644)
    before = bench.state()
    txn = bench.commit(bench.change("run.sh", b"#!", 0o755))
    assert stat.S_IMODE((bench.root / "run.sh").stat().st_mode) == 0o755
    bench.journal.undo(txn)
    assert bench.state() == before


def test_file_that_is_not_what_the_change_was_made_for_stops_all(bench: Bench) -> None:
    bench.write("a", b"1")
    bench.write("b", b"2")
    before = bench.state()
    with pytest.raises(StaleFile) as caught:
        bench.commit(Change("a", sha(b"1"), b"x"), Change("b", sha(b"other"), b"x"), Change("c", sha(b"2"), None))
    assert (caught.value.kind, caught.value.paths) == ("stale", ("b", "c"))
    assert kind_of(lambda: bench.commit(Change("a", "", b"x"))) == "stale"
    assert bench.state() == before


def test_unchanged_bytes_write_nothing(bench: Bench) -> None:
    bench.write("a", b"1")
    before = bench.state()
    txn = bench.commit(bench.change("a", b"1"), bench.change("none", None))
    assert bench.state() == before
    assert bench.journal.undo(txn).restored == ()


@pytest.mark.parametrize(
    ("path", "kind"),
    [(".git/config", "path_protected"), ("sub/.GIT/x", "path_protected"), (".vscode/tasks.json", "path_protected"),
     ("hooks/x", "path_protected"), ("../x", "path_outside_workspace"), ("out/x", "path_outside_workspace"),
     ("gone-out", "path_outside_workspace"), ("folder", "not_regular_file"), ("a\0", "path_invalid"),
     ("~/x", "path_outside_workspace"), ("com1.txt", "path_invalid")],
)  # fmt: skip
def test_what_may_not_be_written_is_refused(bench: Bench, tmp_path: Path, path: str, kind: str) -> None:
    (bench.root / ".git/hooks").mkdir(parents=True)
    (bench.root / "hooks").symlink_to(".git/hooks", target_is_directory=True)
    (bench.root / "out").symlink_to(tmp_path, target_is_directory=True)
    (bench.root / "gone-out").symlink_to(tmp_path / "nothing")
    (bench.root / "folder").mkdir()
    before = sorted(tmp_path.iterdir()), bench.state()
    assert kind_of(lambda: bench.commit(Change(path, "", b"x"))) == kind
    assert (sorted(tmp_path.iterdir()), bench.state()) == before


def test_size_limit_holds_for_old_and_new_bytes(bench: Bench) -> None:
    bench.write("big", b"x" * 10_001)
    bench.write("small", b"x" * 10_000)
    assert kind_of(lambda: bench.commit(Change("big", "0", b""))) == "limit_exceeded"
    assert kind_of(lambda: bench.commit(bench.change("small", b"x" * 10_001))) == "limit_exceeded"
    assert kind_of(lambda: bench.commit(Change("new", "", b"x" * 50_000_000))) == "limit_exceeded"
    bench.commit(bench.change("small", b"y" * 10_000))


def test_one_file_cannot_be_changed_twice_at_once(bench: Bench) -> None:
    bench.write("a", b"1")
    (bench.root / "l").symlink_to("a")
    assert kind_of(lambda: bench.commit(bench.change("a", b"2"), bench.change("l", b"3"))) == "invalid_arguments"


def test_link_stays_a_link_and_its_file_is_written(bench: Bench) -> None:
    bench.write("real/a.py", b"1")
    (bench.root / "l.py").symlink_to("real/a.py")
    (bench.root / "dangling").symlink_to("real/new.py")
    before = bench.state()
    txn = bench.commit(bench.change("l.py", b"2"), bench.change("dangling", b"3"), run_id="r")
    assert (bench.root / "l.py").is_symlink()
    assert (bench.root / "real/a.py").read_bytes() == b"2"
    assert (bench.root / "real/new.py").read_bytes() == b"3"
    assert set(bench.journal.touched("r")) == {"real/a.py", "real/new.py"}
    assert kind_of(lambda: bench.commit(bench.change("l.py", None))) == "not_regular_file"
    bench.journal.undo(txn)
    assert bench.state() == before


def test_read_only_file_keeps_its_mode(bench: Bench) -> None:
    bench.write("a", b"1", 0o444)
    bench.commit(bench.change("a", b"2"))
    assert stat.S_IMODE((bench.root / "a").stat().st_mode) == 0o444


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_owner_is_kept(bench: Bench) -> None:
    bench.write("a", b"1", 0o4755)
    os.chown(bench.root / "a", 12345, 23456)
    (bench.root / "a").chmod(0o4755)
    bench.commit(bench.change("a", b"2"))
    info = (bench.root / "a").stat()
    assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (12345, 23456, 0o4755)


def test_file_with_two_names_inside_keeps_both(bench: Bench) -> None:
    bench.write("a", b"1")
    (bench.root / "b").hardlink_to(bench.root / "a")
    before = bench.state()
    txn = bench.commit(bench.change("a", b"longer than before"))
    assert (bench.root / "b").read_bytes() == b"longer than before"
    assert (bench.root / "b").samefile(bench.root / "a")
    bench.journal.undo(txn)
    assert bench.state() == before
    assert (bench.root / "b").samefile(bench.root / "a")


def test_file_with_a_name_outside_never_changes_there(bench: Bench, tmp_path: Path) -> None:
    bench.write("a", b"1")
    (tmp_path / "cache").hardlink_to(bench.root / "a")
    bench.commit(bench.change("a", b"2"))
    assert (bench.root / "a").read_bytes() == b"2"
    assert (tmp_path / "cache").read_bytes() == b"1"


@pytest.mark.parametrize("in_one", [True, False])
def test_folder_may_take_the_place_of_a_deleted_file(bench: Bench, in_one: bool) -> None:
    bench.write("a", b"1")
    before = bench.state()
    if in_one:
        bench.commit(bench.change("a", None), bench.change("a/b", b"2"), run_id="r")
    else:
        bench.commit(bench.change("a", None), run_id="r")
        bench.commit(bench.change("a/b", b"2"), run_id="r")
    assert (bench.root / "a/b").read_bytes() == b"2"
    (bench.root / "a/user").write_bytes(b"")
    assert [c.path for c in bench.journal.rewind("r", dry_run=True).conflicts] == ["a"]
    (bench.root / "a/user").unlink()
    undone = bench.journal.rewind("r")
    assert bench.state() == before
    bench.journal.undo(undone.transaction)
    assert (bench.root / "a/b").read_bytes() == b"2"


def test_folder_in_place_of_a_file_is_rolled_back(bench: Bench) -> None:
    bench.write("a", b"1")
    before = bench.state()

    def fail(name: str) -> None:
        if name == "all placed":
            raise OSError(5, "broken")

    bench.hook = fail
    assert kind_of(lambda: bench.commit(bench.change("a", None), bench.change("a/b", b"2"))) == "io"
    assert bench.state() == before


def test_pre_made_temporary_name_is_never_written_through(bench: Bench, tmp_path: Path) -> None:
    bench.write("a", b"1")
    (tmp_path / "victim").write_bytes(b"safe")

    def lay_a_trap(name: str) -> None:
        if name == "journalled":
            (txn,) = bench.store.rows("SELECT id FROM transactions WHERE state = 'open'")
            (bench.root / f".regreen-{txn['id']}-0-do.part").symlink_to(tmp_path / "victim")

    bench.hook = lay_a_trap
    assert kind_of(lambda: bench.commit(bench.change("a", b"2"))) == "io"
    assert (tmp_path / "victim").read_bytes() == b"safe"
    assert list(bench.state()) == ["a"]


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("by_rename", [True, False])
def test_edit_in_the_last_instant_is_never_overwritten(bench: Bench, nth: int, by_rename: bool) -> None:
    bench.write("a", b"1")
    bench.write("z", b"2")
    instants = ["journalled", "written", "written"]
    seen: list[str] = []

    def user_saves(name: str) -> None:
        seen.append(name)
        if [n for n in seen if n in instants] == instants[:nth] and name == instants[nth - 1]:
            target = bench.root / "z"
            if by_rename:
                target = bench.root / "z~"
            target.write_bytes(b"user")
            target.replace(bench.root / "z")

    bench.hook = user_saves
    with pytest.raises(StaleFile) as caught:
        bench.commit(bench.change("a", b"11"), bench.change("z", b"22"))
    assert caught.value.paths == ("z",)
    assert (bench.root / "z").read_bytes() == b"user"
    assert (bench.root / "a").read_bytes() == b"1"
    assert set(bench.state()) == {"a", "z"}


def test_file_that_appears_in_the_last_instant_is_never_overwritten(bench: Bench) -> None:
    def user_creates(name: str) -> None:
        if name == "written":
            (bench.root / "new").write_bytes(b"user")

    bench.hook = user_creates
    assert kind_of(lambda: bench.commit(bench.change("new", b"ours"))) == "stale"
    assert (bench.root / "new").read_bytes() == b"user"
    assert list(bench.state()) == ["new"]


def test_folder_that_becomes_a_link_in_the_last_instant_is_not_written_through(bench: Bench, tmp_path: Path) -> None:
    bench.write("d/a", b"1")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a").write_bytes(b"1")

    def swap(name: str) -> None:
        if name == "journalled":
            (bench.root / "d").rename(bench.root / "was-d")
            (bench.root / "d").symlink_to(tmp_path / "out", target_is_directory=True)

    bench.hook = swap
    assert kind_of(lambda: bench.commit(bench.change("d/a", b"2"))) == "stale"
    assert (tmp_path / "out/a").read_bytes() == b"1"


@pytest.mark.parametrize("confined", ["openat2", "walk"])
def test_folder_swapped_for_a_link_all_the_time_lets_no_write_out(tmp_path: Path, confined: Backend) -> None:
    bench = Bench(tmp_path, confined)
    bench.write("x/f", b"0")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/f").write_bytes(b"0")
    (bench.root / "y").symlink_to("../out", target_is_directory=True)
    root_fd, stop = os.open(bench.root, os.O_RDONLY), threading.Event()

    def swap() -> None:
        while not stop.is_set() and exchange(root_fd, "x", "y"):
            pass

    swapper = threading.Thread(target=swap)
    swapper.start()
    written = 0
    try:
        for number in range(2000):
            try:
                bench.commit(bench.change("x/f", b"%d" % number))
                written += 1
            except RegreenError:
                continue
    finally:
        stop.set()
        swapper.join()
        os.close(root_fd)
        bench.close()
    assert [(p.name, p.read_bytes()) for p in (tmp_path / "out").iterdir()] == [("f", b"0")]
    assert written


def test_two_writers_of_one_file_never_mix(bench: Bench) -> None:
    bench.write("n", b"0")

    def add(times: int) -> None:
        with Workspace(bench.root) as workspace:
            journal = Journal(bench.store, workspace)
            while times:
                image = workspace.read("n")
                try:
                    journal.commit([Change("n", image.sha256, b"%d" % (int(image.data) + 1))], label="add")
                except StaleFile:
                    continue
                times -= 1

    threads = [threading.Thread(target=add, args=(10,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (bench.root / "n").read_bytes() == b"30"


def test_commit_that_does_not_get_the_lock_says_so(bench: Bench) -> None:
    journal = Journal(bench.store, bench.workspace, lock_s=0.05)
    with bench.store.lock(f"{repo_key(bench.root)}-commit"), pytest.raises(Busy):
        journal.commit([bench.change("a", b"1")], label="x")


# --- undo ------------------------------------------------------------------------------------------


def test_undo_restores_bytes_modes_times_and_folders(bench: Bench) -> None:
    bench.write("a.py", b"old\r\n", 0o755)
    bench.write("b.py", b"bye")
    before = bench.state()
    txn = bench.commit(bench.change("a.py", b"new"), bench.change("x/y/c.py", b"c"), bench.change("b.py", None))
    dry = bench.journal.undo(txn, dry_run=True)
    assert bench.state() != before
    done = bench.journal.undo(txn)
    assert bench.state() == before
    assert (done.restored, done.deleted, done.conflicts) == (("a.py", "b.py"), ("x/y/c.py",), ())
    assert (dry.restored, dry.deleted, dry.dry_run, dry.transaction) == (done.restored, done.deleted, True, "")
    again = bench.journal.undo(txn)
    assert (again.restored, again.conflicts, again.transaction) == ((), (), "")


def test_undo_can_be_undone_and_redone(bench: Bench) -> None:
    bench.write("a", b"1")
    txn = bench.commit(bench.change("a", b"2"), bench.change("d/n", b"3"))
    for _ in range(3):
        undone = bench.journal.undo(txn)
        assert sorted(bench.state()) == ["a"]
        txn = bench.journal.undo(undone.transaction).transaction
        assert (bench.root / "a").read_bytes() == b"2"
        assert (bench.root / "d/n").read_bytes() == b"3"


def test_undo_leaves_alone_what_was_changed_since(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        bench.write(name, b"1")
    txn = bench.commit(*(bench.change(name, b"2") for name in ("a", "b", "c", "new", "dir")))
    (bench.root / "a").write_bytes(b"user")
    (bench.root / "b").unlink()
    (bench.root / "new").write_bytes(b"user")
    (bench.root / "dir").unlink()
    (bench.root / "dir").mkdir()
    report = bench.journal.undo(txn)
    assert sorted(c.path for c in report.conflicts) == ["a", "b", "dir", "new"]
    assert report.restored == ("c",)
    assert (bench.root / "a").read_bytes() == (bench.root / "new").read_bytes() == b"user"
    assert not (bench.root / "b").exists()


def test_undo_keeps_a_mode_that_the_user_set_since(bench: Bench) -> None:
    bench.write("a", b"1", 0o644)
    txn = bench.commit(bench.change("a", b"2"))
    (bench.root / "a").chmod(0o600)
    bench.journal.undo(txn)
    assert stat.S_IMODE((bench.root / "a").stat().st_mode) == 0o600


def test_undo_keeps_a_made_folder_that_is_in_use(bench: Bench) -> None:
    txn = bench.commit(bench.change("d/e/a", b"1"))
    (bench.root / "d/mine").write_bytes(b"user")
    bench.journal.undo(txn)
    assert sorted(bench.state()) == ["d", "d/mine"]


def test_undo_of_the_unknown_is_told(bench: Bench) -> None:
    assert kind_of(lambda: bench.journal.undo("txn-nope")) == "not_found"


def test_transactions_of_another_repository_are_unknown(bench: Bench, tmp_path: Path) -> None:
    txn = bench.commit(bench.change("a", b"1"))
    (tmp_path / "other").mkdir()
    with Workspace(tmp_path / "other") as workspace:
        assert kind_of(lambda: Journal(bench.store, workspace).undo(txn)) == "not_found"


# --- rewind ----------------------------------------------------------------------------------------


def test_rewind_goes_back_over_all_of_a_run(bench: Bench) -> None:
    bench.write("a", b"1")
    bench.write("b", b"1")
    bench.commit(bench.change("a", b"2"))
    before = bench.state()
    for number in range(3):
        bench.commit(bench.change("a", b"run%d" % number), bench.change(f"n{number}/x", b""), run_id="r")
    bench.commit(bench.change("b", None), run_id="r")
    bench.commit(bench.change("b", b"back"), run_id="r")
    assert bench.journal.touched("r")["a"] == (sha(b"2"), sha(b"run2"))
    assert bench.journal.before("r", "a").data == b"2"
    assert bench.journal.before("r", "n0/x").kind == "absent"
    assert kind_of(lambda: bench.journal.before("r", "zz")) == "not_found"
    report = bench.journal.rewind("r")
    assert bench.state() == before
    assert report.conflicts == ()
    assert bench.journal.rewind("r").transaction == ""
    assert bench.state() == before


@pytest.mark.parametrize("left", ["by the last try", "by a rewind"])
def test_what_somebody_has_put_back_is_not_put_back_again(bench: Bench, left: str) -> None:
    bench.write("a", b"1")
    bench.commit(bench.change("a", b"2"), run_id="r")
    bench.journal.rewind("r")
    if left == "by the last try":
        bench.commit(bench.change("a", b"3"), run_id="r")
    (bench.root / "a").write_bytes(b"1")  # with a time of his own
    now = bench.state()
    for dry_run in (True, False):
        report = bench.journal.rewind("r", dry_run=dry_run)
        assert (report.restored, report.conflicts, report.transaction) == ((), (), "")
    assert bench.state() == now


def test_the_time_of_a_file_that_our_own_last_try_put_back_is_put_back_too(bench: Bench) -> None:
    bench.write("a", b"1")
    before = bench.state()
    bench.commit(bench.change("a", b"2"), run_id="r")
    bench.commit(bench.change("a", b"1"), run_id="r")
    bench.journal.rewind("r")
    assert bench.state() == before


def test_rewind_stops_at_a_transaction(bench: Bench) -> None:
    bench.write("a", b"0")
    first = bench.commit(bench.change("a", b"1"), run_id="r")
    bench.commit(bench.change("a", b"2"), bench.change("n", b""), run_id="r")
    bench.journal.rewind("r", to=first)
    assert {p: t[0] for p, t in bench.state().items()} == {"a": sha(b"1")}
    bench.commit(bench.change("a", b"3"), run_id="r")
    bench.journal.rewind("r", to=first)
    assert (bench.root / "a").read_bytes() == b"1"
    bench.journal.rewind("r")
    assert (bench.root / "a").read_bytes() == b"0"
    assert kind_of(lambda: bench.journal.rewind("r", to="txn-x")) == "not_found"


def test_rewind_after_an_undo_within_the_run_still_ends_at_the_start(bench: Bench) -> None:
    bench.write("a", b"0")
    before = bench.state()
    bench.commit(bench.change("a", b"1"), run_id="r")
    bench.journal.undo(bench.commit(bench.change("a", b"2"), run_id="r"))
    bench.journal.rewind("r")
    assert bench.state() == before


def test_rewind_removes_folders_that_the_run_made_and_emptied_itself(bench: Bench) -> None:
    bench.commit(bench.change("d/e/a", b"1"), run_id="r")
    bench.commit(bench.change("d/e/a", None), run_id="r")
    assert bench.journal.rewind("r", dry_run=True).conflicts == ()
    assert sorted(bench.state()) == ["d", "d/e"]
    bench.journal.rewind("r")
    assert bench.state() == {}


def test_rewind_keeps_what_it_is_told_to_keep(bench: Bench) -> None:
    bench.commit(bench.change("a", b"1"), bench.change("b", b"1"), run_id="r")
    bench.journal.rewind("r", keep={"a"})
    assert sorted(bench.state()) == ["a"]


def test_rewind_does_not_go_back_over_somebody_else_s_edit(bench: Bench) -> None:
    bench.write("a", b"0")
    bench.commit(bench.change("a", b"1"), run_id="r")
    bench.write("a", b"1 and the user's line")
    bench.commit(bench.change("a", b"2"), run_id="r")
    report = bench.journal.rewind("r")
    assert (bench.root / "a").read_bytes() == b"1 and the user's line"
    assert [c.path for c in report.conflicts] == ["a"]


def test_contents_known_as_the_run_s_own_are_gone_back_over(bench: Bench) -> None:
    bench.write("a", b"0")
    before = bench.state()
    bench.commit(bench.change("a", b"1"), run_id="r")
    bench.write("a", b"made by tests")
    bench.commit(bench.change("a", b"2"), run_id="r")
    bench.write("a", b"made again")
    assert bench.journal.rewind("r", dry_run=True).conflicts
    ours = {"a": {sha(b"made by tests"), sha(b"made again")}}
    assert bench.journal.rewind("r", ours=ours).conflicts == ()
    assert bench.state() == before


# --- put back --------------------------------------------------------------------------------------


def test_put_back_restores_files_links_and_absence(bench: Bench) -> None:
    bench.write("a", b"1", 0o640)
    bench.write(".vscode/settings.json", b"{}")
    (bench.root / "l").symlink_to("a")
    os.utime(bench.root / "l", ns=(LONG_AGO, LONG_AGO), follow_symlinks=False)
    before = bench.state()
    images: dict[str, FileImage | None] = {
        p: bench.workspace.image(p, follow=False) for p in ("a", "l", ".vscode/settings.json")
    }
    bench.write("a", b"by tests")
    (bench.root / "l").unlink()
    (bench.root / "l").symlink_to("elsewhere")
    (bench.root / ".vscode/settings.json").unlink()
    (bench.root / ".vscode").rmdir()
    bench.write("made", b"by tests")
    images["made"] = None
    expected = {p: bench.workspace.image(p, follow=False).sha256 for p in images}
    report = bench.journal.put_back(images, expected=expected, label="tests", run_id="r")
    assert bench.state() == before
    assert (report.restored, report.deleted) == ((".vscode/settings.json", "a", "l"), ("made",))
    undone = bench.journal.undo(report.transaction)
    assert undone.conflicts == ()
    assert str((bench.root / "l").readlink()) == "elsewhere"
    assert (bench.root / "made").read_bytes() == b"by tests"


def test_put_back_turns_a_link_into_the_file_that_it_was(bench: Bench) -> None:
    bench.write("a", b"1")
    image = bench.workspace.image("a")
    before = bench.state()
    (bench.root / "a").unlink()
    (bench.root / "a").symlink_to("/etc/hostname")
    expected = {"a": bench.workspace.image("a", follow=False).sha256}
    bench.journal.put_back({"a": image}, expected=expected, label="x")
    assert bench.state() == before


def test_put_back_leaves_alone_what_is_not_as_expected(bench: Bench) -> None:
    bench.write("a", b"1")
    image = bench.workspace.image("a")
    bench.write("a", b"user")
    (bench.root / "d").mkdir()
    (bench.root / ".git").mkdir()
    report = bench.journal.put_back(
        {"a": image, "d": None, ".git/x": image}, expected={"a": sha(b"tests"), "d": "", ".git/x": ""}, label="x"
    )
    assert sorted(c.path for c in report.conflicts) == [".git/x", "a", "d"]
    assert report.transaction == ""
    assert (bench.root / "a").read_bytes() == b"user"


def test_put_back_works_for_names_that_are_not_utf8(bench: Bench) -> None:
    name = os.fsdecode(b"caf\xe9")
    bench.write(name, b"1")
    image = bench.workspace.image(name)
    (bench.root / name).write_bytes(b"2")
    report = bench.journal.put_back({name: image}, expected={name: sha(b"2")}, label="x", run_id="r")
    assert (bench.root / name).read_bytes() == b"1"
    assert report.restored == (name,) == tuple(bench.journal.touched("r"))


# --- prune -----------------------------------------------------------------------------------------


def test_prune_forgets_old_transactions_and_their_bytes_only(bench: Bench) -> None:
    bench.write("a", b"start")
    bench.store.put_blob(b"somebody else's")
    for number in range(6):
        bench.commit(bench.change("a", b"%d" % number))
    bench.journal.prune(keep=2)
    assert len(bench.store.rows("SELECT id FROM transactions")) == 2
    kept = {bytes(r["data"]) for r in bench.store.rows("SELECT data FROM blobs")}
    assert kept == {b"somebody else's", b"3", b"4", b"5"}  # the last: what a merge may ask for
    last = bench.store.rows("SELECT id FROM transactions ORDER BY rowid DESC")[0]["id"]
    bench.journal.undo(last)
    assert (bench.root / "a").read_bytes() == b"4"
    bench.journal.prune(max_bytes=0)
    assert bench.store.rows("SELECT id FROM transactions") == []


def test_undoing_pushes_no_edit_out(bench: Bench) -> None:
    bench.write("a", b"start")
    made = [bench.commit(bench.change("a", b"%d" % number)) for number in range(4)]
    for txn in reversed(made):
        assert bench.journal.undo(txn).restored == ("a",)
        bench.journal.prune(keep=4)
    assert (bench.root / "a").read_bytes() == b"start"


def test_prune_spares_runs_that_go_on(bench: Bench) -> None:
    with bench.store.transaction() as db:
        columns = "(id, repo, kind, state, created, pid, request)"
        db.execute(f"INSERT INTO runs {columns} VALUES ('r', ?, 'fix', 'running', 0, 1, '')", (repo_key(bench.root),))
    bench.write("a", b"1")
    bench.commit(bench.change("a", b"2"), run_id="r")
    bench.journal.prune(keep=0)
    bench.journal.rewind("r")
    assert (bench.root / "a").read_bytes() == b"1"


# --- all of it -------------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "d/c", "d/e/f", "l"])
starts = st.dictionaries(names, st.binary(max_size=3))
contents = st.one_of(st.none(), st.binary(max_size=3))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(st.dictionaries(names, contents, max_size=4), max_size=4), st.dictionaries(names, st.binary(max_size=3))
)
def test_undoing_everything_in_reverse_gives_the_start(
    tmp_path_factory: pytest.TempPathFactory, steps: list[dict[str, bytes | None]], start: dict[str, bytes]
) -> None:
    bench = Bench(tmp_path_factory.mktemp("undo"))
    for path, data in start.items():
        bench.write(path, data)
    before = bench.state()
    done = [bench.commit(*(bench.change(p, d) for p, d in step.items()), run_id="r") for step in steps]
    after = {p: (p_state[0], p_state[1]) for p, p_state in bench.state().items()}
    rewound = bench.journal.rewind("r")
    assert bench.state() == before
    if rewound.transaction:
        bench.journal.undo(rewound.transaction)
    now = {p: (p_state[0], p_state[1]) for p, p_state in bench.state().items()}
    assert {p: s for p, s in now.items() if s[0] != "folder"} == {p: s for p, s in after.items() if s[0] != "folder"}
    for txn in reversed(done):
        assert bench.journal.undo(txn).conflicts == ()
    assert bench.state() == before
    bench.close()
