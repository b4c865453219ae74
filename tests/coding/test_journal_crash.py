import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.cases import ALL
from support.journal_crash import build, changes, tree

from regreen.errors import EnvironmentFault
from regreen.store import Store
from regreen.workspace import Change, Journal, Workspace

TESTS = Path(__file__).parents[1]
MOST_STEPS = 22


@pytest.mark.parametrize("recovery", ["once", "twice"] if ALL else ["by turns"])
@pytest.mark.parametrize("action", ["commit", "rewind"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_step_a_change_is_recovered_to_all_or_nothing(tmp_path: Path, action: str, recovery: str) -> None:
    command = [sys.executable, "-m", "support.journal_crash", str(tmp_path), action, recovery]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False, cwd=TESTS)
    assert done.returncode == 0, done.stderr
    ends: list[tuple[str, str]] = [(name, end) for name, end in json.loads(done.stdout)]
    assert len(ends) > 60
    assert [end for end in ends[:-1] if end[1] != "old"] == []
    assert ends[-1][1] == "new"


class Failing:
    """A step hook that raises from its n-th call on, `times` times."""

    def __init__(self, number: int, error: BaseException, times: int = 1) -> None:
        self._left = times
        self._calls_left = number
        self._error = error
        self.names: list[str] = []

    def __call__(self, name: str) -> None:
        self.names.append(name)
        self._calls_left -= 1
        if self._calls_left <= 0 < self._left and name != "applied":
            self._left -= 1
            raise self._error


@pytest.fixture
def root(tmp_path: Path) -> Path:
    build(tmp_path / "ws")
    return tmp_path / "ws"


def commit(root: Path, store: Store, hook: Callable[[str], None]) -> str:
    with Workspace(root) as workspace:
        return Journal(store, workspace, on_step=hook).commit(changes(), label="all")


def recover(root: Path, store: Store) -> tuple[str, ...]:
    with Workspace(root) as workspace:
        return Journal(store, workspace).recover()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO, errno.EROFS])
def test_error_at_any_step_leaves_everything_as_it_was(root: Path, tmp_path: Path, code: int) -> None:
    store = Store(tmp_path / "state")
    before = tree(root, times=True)
    for number in range(1, MOST_STEPS):
        hook = Failing(number, OSError(code, os.strerror(code)))
        with pytest.raises((EnvironmentFault, OSError)):
            commit(root, store, hook)
        assert tree(root, times=True) == before, hook.names
        assert (root / "twin.py").samefile(root / "other.py")
        assert recover(root, store) == ()
    store.close()


def test_error_message_says_that_nothing_changed(root: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    with pytest.raises(EnvironmentFault, match=r"No space left.*as it was before") as caught:
        commit(root, store, Failing(5, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    assert caught.value.kind == "io"
    store.close()


def test_interruption_rolls_back_and_goes_on_up(root: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    before = tree(root, times=True)
    for number in range(2, MOST_STEPS):
        with pytest.raises(KeyboardInterrupt):
            commit(root, store, Failing(number, KeyboardInterrupt()))
        assert tree(root, times=True) == before
    store.close()


def test_when_rolling_back_fails_too_the_next_start_finishes_it(root: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    before = tree(root, times=True)
    for number in range(3, MOST_STEPS):
        with pytest.raises(EnvironmentFault, match="and so did putting the old files back"):
            commit(root, store, Failing(number, OSError(errno.EIO, os.strerror(errno.EIO)), times=1000))
        assert len(recover(root, store)) == 1
        assert tree(root, times=True) == before
        assert recover(root, store) == ()
    store.close()


def test_next_commit_clears_what_a_dead_one_left(root: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    with pytest.raises(EnvironmentFault):
        commit(root, store, Failing(9, OSError(errno.EIO, "broken"), times=1000))
    commit(root, store, lambda _: None)
    assert (root / "pkg/mod.py").read_bytes() == b"new\n"
    assert not list(root.rglob(".regreen*"))
    store.close()


def test_work_swapped_out_in_the_instant_of_a_crash_comes_back(root: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    hook = Failing(8, OSError(errno.EIO, "broken"), times=1000)
    with pytest.raises(EnvironmentFault):
        commit(root, store, hook)
    assert hook.names[7] == "swapped"
    (swapped_out,) = (root / "pkg").glob(".regreen*.whole")
    swapped_out.write_bytes(b"the user's own\n")
    assert len(recover(root, store)) == 1
    assert (root / "pkg/mod.py").read_bytes() == b"the user's own\n"
    assert (root / "gone.py").exists()
    assert not list(root.rglob(".regreen*"))
    store.close()


def test_recovery_leaves_alone_what_was_edited_after_the_crash(root: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    with pytest.raises(EnvironmentFault):
        commit(root, store, Failing(15, OSError(errno.EIO, "broken"), times=1000))
    (root / "pkg/mod.py").write_bytes(b"edited since\n")
    (root / "new/deep/made.py").unlink()
    recover(root, store)
    assert (root / "pkg/mod.py").read_bytes() == b"edited since\n"
    assert (root / "gone.py").read_bytes() == b"to be deleted\n"
    assert not (root / "new").exists()
    assert recover(root, store) == ()
    store.close()


def test_recovery_goes_on_when_a_folder_was_removed_or_became_a_link(root: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mod.py").write_bytes(b"new\n")
    with pytest.raises(EnvironmentFault):
        commit(root, store, Failing(15, OSError(errno.EIO, "broken"), times=1000))
    (root / "pkg").rename(root / "was-pkg")
    (root / "pkg").symlink_to(outside, target_is_directory=True)
    recover(root, store)
    assert (outside / "mod.py").read_bytes() == b"new\n"
    assert (root / "gone.py").exists()
    store.close()


@pytest.mark.skipif(not Path("/bin/sh").exists(), reason="needs a POSIX system")
def test_real_write_error_is_rolled_back(root: Path, tmp_path: Path) -> None:
    import resource
    import signal

    store = Store(tmp_path / "state")
    before = tree(root, times=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    big = [*changes()[1:2], Change("big.bin", "", b"x" * 6_000_000)]
    try:
        with Workspace(root) as workspace:
            resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, hard))
            with pytest.raises(EnvironmentFault, match="File too large"):
                Journal(store, workspace).commit(big, label="big")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old_handler)
    assert tree(root, times=True) == before
    store.close()
