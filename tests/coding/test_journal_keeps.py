"""What a file keeps besides its bytes when it is changed, moved, or put back: attributes, owner, access list, names."""

import errno
import os
import stat
import struct
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from support.faults import Failing, watched

from regreen.errors import EnvironmentFault, RegreenError
from regreen.store import Store
from regreen.workspace import Change, Journal, StaleFile, Workspace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems keep attributes in other ways")


class Bench:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "ws"
        self.root.mkdir()
        self.store = Store(folder / "state")
        self.workspace = Workspace(self.root)
        self.steps: list[str] = []
        self.hook = self.steps.append
        self.journal = Journal(self.store, self.workspace, on_step=lambda name: self.hook(name))

    def put(self, name: str, data: bytes = b"old\n", mode: int = 0o644) -> Path:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)
        return path

    def commit(self, *changes: tuple[str, bytes | None]) -> str:
        made = [Change(p, self.workspace.image(p).sha256, data) for p, data in changes]
        return self.journal.commit(made, label="test")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.workspace.close()
    made.store.close()


def note(path: Path, value: bytes = b"mine") -> None:
    try:
        os.setxattr(path, "user.note", value)
    except OSError as e:
        if e.errno in (errno.ENOTSUP, errno.EPERM):
            pytest.skip("this file system has no user attributes")
        raise


def access_list(group: int, rights: int) -> bytes:
    """An access list in the kernel's form: owner rw, one more group with `rights`, mask rw, others nothing."""
    rows = [(0x01, 6, 0xFFFFFFFF), (0x04, 0, 0xFFFFFFFF), (0x08, rights, group), (0x10, 6, 0xFFFFFFFF),
            (0x20, 0, 0xFFFFFFFF)]  # fmt: skip
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)


def grant(path: Path, name: str = "system.posix_acl_access") -> bytes:
    wanted = access_list(4321, 4)
    try:
        os.setxattr(path, name, wanted)
    except OSError as e:
        if e.errno in (errno.ENOTSUP, errno.EPERM):
            pytest.skip("this file system has no access lists")
        raise
    return os.getxattr(path, name)


def test_changed_file_keeps_its_attributes_there_and_back(bench: Bench) -> None:
    path = bench.put("a")
    note(path)
    txn = bench.commit(("a", b"new\n"))
    assert (path.read_bytes(), os.getxattr(path, "user.note")) == (b"new\n", b"mine")
    os.setxattr(path, "user.note", b"changed since")
    bench.journal.undo(txn)
    assert (path.read_bytes(), os.getxattr(path, "user.note")) == (b"old\n", b"changed since")


def test_changed_file_keeps_its_access_list_and_mode(bench: Bench) -> None:
    path = bench.put("a", mode=0o600)
    wanted = grant(path)
    mode = path.stat().st_mode
    bench.commit(("a", b"new\n"))
    assert os.getxattr(path, "system.posix_acl_access") == wanted
    assert path.stat().st_mode == mode
    assert stat.S_IMODE(mode) == 0o660  # the group bits are the mask


def test_changed_file_gets_no_rights_that_it_did_not_have(bench: Bench) -> None:
    path = bench.put("d/a", mode=0o600)
    grant(path.parent, "system.posix_acl_default")
    bench.commit(("d/a", b"new\n"), ("d/b", b"fresh\n"))
    assert "system.posix_acl_access" not in os.listxattr(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "system.posix_acl_access" in os.listxattr(bench.root / "d/b"), "a new file follows its folder"


def test_attribute_that_may_not_be_set_does_not_stop_the_change(bench: Bench) -> None:
    path = bench.put("a")
    note(path)

    def forbid(call: str) -> None:
        if call == "setxattr":
            raise PermissionError(errno.EPERM, "Operation not permitted")

    with watched(forbid):
        bench.commit(("a", b"new\n"))
    assert (path.read_bytes(), os.listxattr(path)) == (b"new\n", [])


def test_attribute_that_finds_no_room_stops_the_change(bench: Bench) -> None:
    path = bench.put("a")
    note(path)
    calls = Failing(0, 10**9)
    with watched(calls):
        bench.commit(("a", b"old too\n"))
    with watched(Failing(errno.ENOSPC, 1 + calls.calls.index("setxattr"))), pytest.raises(EnvironmentFault) as caught:
        bench.commit(("a", b"new\n"))
    assert "as it was before" in caught.value.message
    assert (path.read_bytes(), os.getxattr(path, "user.note")) == (b"old too\n", b"mine")


def test_signature_of_the_old_bytes_is_not_kept(bench: Bench) -> None:
    path = bench.put("a", mode=0o755)
    capability = struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0)
    try:
        os.setxattr(path, "security.capability", capability)
    except OSError:
        pytest.skip("this user may not give files capabilities")
    bench.commit(("a", b"new\n"))
    assert "security.capability" not in os.listxattr(path)


def test_moved_file_takes_its_mode_owner_and_attributes_along(bench: Bench) -> None:
    path = bench.put("a.sh", b"#!\n", 0o755)
    note(path)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    before = path.stat()
    changes = [
        Change("bin/b.sh", "", b"#! \n", stat.S_IMODE(before.st_mode), like="a.sh"),
        Change("a.sh", sha256(b"#!\n").hexdigest(), None),
    ]
    txn = bench.journal.commit(changes, label="move")
    after = (bench.root / "bin/b.sh").stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(bench.root / "bin/b.sh", "user.note") == b"mine"
    assert not path.exists()
    assert bench.journal.undo(txn).conflicts == ()
    back = path.stat()
    assert (back.st_mode, back.st_uid, back.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(path, "user.note") == b"mine"


def test_moved_file_may_not_take_after_one_outside(bench: Bench) -> None:
    with pytest.raises(RegreenError) as caught:
        bench.journal.commit([Change("b", "", b"x", like="../state/regreen.db")], label="move")
    assert caught.value.kind == "path_outside_workspace"


@pytest.mark.parametrize("stop", [("swapped", 1), ("placed", 1), ("aside", 1), ("placed", 2)])
def test_what_is_rolled_back_is_the_very_file_that_was_there(
    bench: Bench, tmp_path: Path, stop: tuple[str, int]
) -> None:
    paths = [bench.put(name) for name in ("changed", "d/deleted")]
    for path in paths:
        note(path)
        (tmp_path / f"other-name-of-{path.name}").hardlink_to(path)
    was = [(p.stat().st_ino, p.stat().st_nlink, p.stat().st_mtime_ns) for p in paths]

    def fail(step: str) -> None:
        bench.steps.append(step)
        if (step, bench.steps.count(step)) == stop:
            raise OSError(errno.EIO, "Input/output error")

    bench.hook = fail
    with pytest.raises(EnvironmentFault, match="everything is as it was before"):
        bench.commit(("changed", b"new\n"), ("d/deleted", None))
    assert [p.read_bytes() for p in paths] == [b"old\n", b"old\n"]
    assert [(p.stat().st_ino, p.stat().st_nlink, p.stat().st_mtime_ns) for p in paths] == was
    assert [os.getxattr(p, "user.note") for p in paths] == [b"mine", b"mine"]
    assert not list(bench.root.rglob(".regreen*"))


@pytest.mark.parametrize("saves", [1, 2, 3, 4])
def test_what_somebody_saves_last_stands_however_often_they_save(bench: Bench, saves: int) -> None:
    path = bench.put("a")
    saved: list[bytes] = []

    def save(call: str) -> None:
        if call == "exchange" and len(saved) < saves:
            saved.append(b"save %d\n" % len(saved))
            bench.put("a~", saved[-1]).replace(path)

    with watched(save), pytest.raises(StaleFile):
        bench.commit(("a", b"new\n"))
    assert len(saved) == min(saves, 4)
    assert path.read_bytes() == saved[-1]
    assert [p.name for p in bench.root.iterdir()] == ["a"]


def test_file_that_somebody_deletes_while_it_is_put_back_stays_deleted(bench: Bench) -> None:
    path = bench.put("a")
    calls: list[str] = []

    def delete(call: str) -> None:
        calls.append(call)
        if call == "exchange" and calls.count("exchange") == 1:
            path.write_bytes(b"theirs\n")
        elif call == "exchange":
            path.unlink()

    with watched(delete), pytest.raises(StaleFile):
        bench.commit(("a", b"new\n"))
    assert list(bench.root.iterdir()) == []


def test_old_files_are_let_go_although_their_folder_was_moved(bench: Bench) -> None:
    bench.put("d/a")

    def move(step: str) -> None:
        if step == "placed":
            (bench.root / "d").rename(bench.root / "moved")

    bench.hook = move
    bench.commit(("d/a", b"new\n"))
    assert [p.name for p in (bench.root / "moved").iterdir()] == ["a"]
    assert (bench.root / "moved/a").read_bytes() == b"new\n"


def test_more_folders_than_may_be_held_open_at_once(bench: Bench) -> None:
    names = [f"d{number}/f" for number in range(150)]
    for name in names:
        bench.put(name)
    bench.commit(*((name, b"new\n" if number % 2 else None) for number, name in enumerate(names)))
    assert not list(bench.root.rglob(".regreen*"))
    assert sum(p.read_bytes() == b"new\n" for p in bench.root.rglob("f")) == 75


def test_other_file_in_the_place_of_one_with_two_names_is_not_written_into(bench: Bench, tmp_path: Path) -> None:
    path = bench.put("a")
    (bench.root / "b").hardlink_to(path)
    (tmp_path / "victim").write_bytes(b"old\n")

    def trade(step: str) -> None:
        if step == "written":
            path.unlink()
            path.hardlink_to(tmp_path / "victim")

    bench.hook = trade
    with pytest.raises(StaleFile):
        bench.commit(("a", b"new\n"))
    assert (tmp_path / "victim").read_bytes() == b"old\n"
    assert not list(bench.root.rglob(".regreen*"))


def test_made_folder_that_became_a_link_outside_does_not_block_recovery(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "out/deep").mkdir(parents=True)

    def die(step: str) -> None:
        if "placed" in bench.steps:
            raise OSError(errno.EIO, "Input/output error")
        bench.steps.append(step)

    bench.hook = die
    with pytest.raises(EnvironmentFault, match="and so did putting the old files back"):
        bench.commit(("d/deep/a", b"new\n"))
    bench.hook = lambda _: None
    (bench.root / "d").rename(bench.root / "mine")
    (bench.root / "d").symlink_to(tmp_path / "out", target_is_directory=True)
    assert len(bench.journal.recover()) == 1
    assert (tmp_path / "out/deep").is_dir()
    assert bench.journal.recover() == ()


def test_file_in_the_place_of_a_folder_does_not_block_recovery(bench: Bench) -> None:
    bench.put("d/gone").parent.joinpath("e").mkdir()
    bench.put("d/e/gone")

    def die(step: str) -> None:
        if "aside" in bench.steps:
            raise OSError(errno.EIO, "Input/output error")
        bench.steps.append(step)

    bench.hook = die
    with pytest.raises(EnvironmentFault):
        bench.commit(("d/e/gone", None))
    bench.hook = lambda _: None
    (bench.root / "d").rename(bench.root / "moved")
    (bench.root / "d").write_bytes(b"the user's own\n")
    assert len(bench.journal.recover()) == 1
    assert (bench.root / "d").read_bytes() == b"the user's own\n"


def test_images_tell_how_many_names_a_file_has(bench: Bench) -> None:
    path = bench.put("a")
    assert bench.workspace.image("a").links == 1
    (bench.root / "b").hardlink_to(path)
    assert bench.workspace.image("a").links == 2
    assert bench.workspace.image("missing").links == 1
    assert bench.journal.workspace is bench.workspace


def test_state_folder_without_room_for_a_lock_is_told(bench: Bench) -> None:
    bench.put("a")
    (bench.store.folder / "locks").rename(bench.store.folder / "was")
    (bench.store.folder / "locks").write_bytes(b"")
    with pytest.raises(EnvironmentFault, match="nothing was changed") as caught:
        bench.commit(("a", b"new\n"))
    assert caught.value.kind == "io"
    assert (bench.root / "a").read_bytes() == b"old\n"
