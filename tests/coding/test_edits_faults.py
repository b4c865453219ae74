"""The system fails while an edit of several files is written: all old or all new, and the error says which."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.cases import ALL, sample
from support.faults import Failing, watched

from regreen.edits import commit, plan
from regreen.errors import EnvironmentFault
from regreen.model import EditReport, Proposal
from regreen.store import Store
from regreen.workspace import Journal, Workspace

PATCH = """*** Begin Patch
*** Update File: pkg/mod.py
@@
-old = 1
+new = 1
*** Add File: fresh/deep/made.py
+made = 1
*** Delete File: gone.py
*** Update File: run.sh
*** Move to: bin/run.sh
@@
-echo old
+echo new
*** End Patch
"""
FILES = {"pkg/mod.py": b"old = 1\n", "gone.py": b"gone = 1\n", "run.sh": b"#!/bin/sh\necho old\n", "user.txt": b"x\n"}
CODES = [errno.ENOSPC, errno.EACCES, errno.EIO, errno.EROFS, errno.EDQUOT]

Tree = dict[str, tuple[object, ...]]


@dataclass(frozen=True)
class Project:
    """A folder with its journal, made new for each try."""

    root: Path
    store: Store

    def build(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        for number, (name, data) in enumerate(FILES.items()):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o755 if name == "run.sh" else 0o640)
            os.utime(path, ns=(10**18 + number, 10**18 + number))

    def tree(self, *, times: bool = True) -> Tree:
        found: Tree = {}
        for path in sorted(self.root.rglob("*")):
            info = path.stat()
            data = b"" if path.is_dir() else path.read_bytes()
            changed = info.st_mtime_ns if times and path.is_file() else 0
            found[str(path.relative_to(self.root))] = (data, info.st_mode, info.st_uid, changed)
        return found

    def edit(self) -> EditReport:
        with Workspace(self.root) as workspace:
            planned = plan(Proposal(text=PATCH), workspace)
            assert planned.report.ok, planned.report
            return commit(planned, Journal(self.store, workspace), label="faults")

    def recover(self) -> tuple[str, ...]:
        with Workspace(self.root) as workspace:
            return Journal(self.store, workspace).recover()


@pytest.fixture
def project(tmp_path: Path) -> Generator[Project]:
    made = Project(tmp_path / "ws", Store(tmp_path / "state"))
    made.build()
    yield made
    made.store.close()


@pytest.fixture
def calls(project: Project) -> list[str]:
    """The writing calls of the edit, in their order."""
    hook = Failing(0, 10**9)
    with watched(hook):
        project.edit()
    project.build()
    return hook.calls


def outcome(project: Project, hook: Callable[[str], None]) -> str:
    """What the user is told: `done`, `as before`, or `next start`; each is checked to be true."""
    old = project.tree()
    try:
        with watched(hook):
            report = project.edit()
    except EnvironmentFault as e:
        assert e.kind == "io"
        if "everything is as it was before" in e.message:
            assert project.tree() == old
            assert project.recover() == ()
            return "as before"
        assert "and so did putting the old files back" in e.message
        assert "start again" in e.hint
        assert len(project.recover()) == 1
        assert project.tree() == old
        assert project.recover() == ()
        return "next start"
    assert report.ok
    now = project.tree(times=False)
    assert {p: t[0] for p, t in now.items() if t[0]} == {
        "pkg/mod.py": b"new = 1\n", "fresh/deep/made.py": b"made = 1\n", "bin/run.sh": b"#!/bin/sh\necho new\n",
        "user.txt": b"x\n"}  # fmt: skip
    assert (now["bin/run.sh"][1], now["pkg/mod.py"][1]) == (0o100755, 0o100640)
    return "done"


def test_every_kind_of_writing_call_is_made(calls: list[str]) -> None:
    assert {"open", "write", "fsync", "replace", "exchange", "link", "unlink", "fchmod", "mkdir"} <= set(calls)


@pytest.mark.parametrize("code", sample(CODES, 3), ids=errno.errorcode.get)
def test_failure_of_any_call_leaves_everything_as_it_was(project: Project, calls: list[str], code: int) -> None:
    for number in range(1, len(calls) + 1):
        project.build()
        assert outcome(project, Failing(code, number)) == "as before", f"{number} {calls[number - 1]}"


@pytest.mark.parametrize("code", sample(CODES, 3, 1), ids=errno.errorcode.get)
def test_when_nothing_can_be_written_any_more_the_next_start_puts_it_back(
    project: Project, calls: list[str], code: int
) -> None:
    told: set[str] = set()
    for number in range(1, len(calls) + 1):
        project.build()
        told.add(outcome(project, Failing(code, number, on=True)))
    assert "next start" in told
    assert "done" not in told


def test_failure_of_any_call_of_the_roll_back_is_made_good_at_the_next_start(
    project: Project, calls: list[str]
) -> None:
    step = 4 if ALL else 12
    for number in range(1, len(calls) + 1):
        for later in range(number + 1, number + 30, step):
            project.build()
            at = later + number % step
            assert outcome(project, Failing(errno.EIO, number, at)) != "done", f"{number}, {at}"


# --- real ones -------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, size: int) -> Generator[None]:
    """A file system of its own for `folder`; a limit on the size of files where none can be mounted."""
    folder.mkdir(exist_ok=True)
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if mount and subprocess.run(command, capture_output=True, check=False).returncode == 0:
        try:
            yield
        finally:
            subprocess.run(["umount", str(folder)], capture_output=True, check=True)
        return
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def big_edit(root: Path, store: Store) -> None:
    """An edit of two files, the second of them larger than the disk."""
    text = PATCH.replace("+made = 1\n", "".join(f"+made = '{n:01000}'\n" for n in range(2_000)))
    with Workspace(root) as workspace:
        planned = plan(Proposal(text=text), workspace)
        assert planned.report.ok, planned.report
        commit(planned, Journal(store, workspace), label="big")


def test_full_disk_is_told_and_nothing_is_changed(tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    with small_disk(tmp_path / "disk", 1_000_000):
        project = Project(tmp_path / "disk/ws", store)
        project.build()
        old = project.tree()
        with pytest.raises(EnvironmentFault, match=r"No space left|File too large") as caught:
            big_edit(project.root, store)
        assert "everything is as it was before" in caught.value.message
        assert project.tree() == old
        assert project.recover() == ()
        assert project.edit().ok
    store.close()


def test_full_state_folder_is_told_and_nothing_is_changed(tmp_path: Path) -> None:
    project = Project(tmp_path / "ws", Store(tmp_path / "other"))
    project.build()
    (project.root / "gone.py").write_bytes(os.urandom(400_000).hex().encode() + b"\n")
    with small_disk(tmp_path / "disk", 500_000):
        store = Store(tmp_path / "disk/state")
        old = project.tree()
        with Workspace(project.root) as workspace:
            planned = plan(Proposal(text=PATCH), workspace)
            with pytest.raises(EnvironmentFault, match=r"full|disk I/O error") as caught:
                commit(planned, Journal(store, workspace), label="faults")
        assert caught.value.kind == "io"
        assert project.tree() == old
        with Workspace(project.root) as workspace:
            assert Journal(store, workspace).recover() == ()
        store.close()
    project.store.close()


@contextmanager
def as_user(folder: Path) -> Generator[None]:
    """Not root for a while, for root may write everywhere; `folder` belongs to that user."""
    if os.geteuid() != 0:
        yield
        return
    closed = {p: p.stat().st_mode & 0o7777 for p in folder.parents if p.stat().st_mode & 0o011 != 0o011}
    for path, mode in closed.items():
        path.chmod(mode | 0o011)
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for path, mode in closed.items():
            path.chmod(mode)


@pytest.mark.parametrize("name", ["pkg", ".", "bin"])
def test_read_only_folder_is_told_and_nothing_is_changed(tmp_path: Path, name: str) -> None:
    project = Project(tmp_path / "ws", Store(tmp_path / "state"))
    project.build()
    (project.root / "bin").mkdir()
    with as_user(tmp_path):
        (project.root / name).chmod(0o555)
        old = project.tree()
        with pytest.raises(EnvironmentFault, match=r"Permission denied.*as it was before") as caught:
            project.edit()
        assert caught.value.kind == "io"
        assert project.tree() == old
        assert project.recover() == ()
        (project.root / name).chmod(0o755)
        assert project.edit().ok
    project.store.close()


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("chattr") is None, reason="needs chattr")
@pytest.mark.parametrize("name", ["pkg/mod.py", "gone.py", "run.sh", "pkg"])
def test_immutable_file_or_folder_is_told_and_nothing_is_changed(project: Project, name: str) -> None:
    frozen = str(project.root / name)
    old = project.tree()
    if subprocess.run(["chattr", "+i", frozen], capture_output=True, check=False).returncode:
        pytest.skip("this user or file system cannot make files immutable")
    try:
        with pytest.raises(EnvironmentFault, match=r"Operation not permitted.*as it was before"):
            project.edit()
        assert project.tree() == old
        assert project.recover() == ()
    finally:
        subprocess.run(["chattr", "-i", frozen], capture_output=True, check=True)
    assert project.edit().ok
