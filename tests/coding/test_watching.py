"""With `watch` on, an open session's index follows the files by itself; without watchfiles, answers are right too."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.engines import engine_on, ok
from support.gitrepos import git, make_repo, write
from support.mcp_clients import REGREEN, raw_server, server_environment
from support.processes import until

import regreen
from regreen.errors import EnvironmentFault
from regreen.repo.index import Index
from regreen.session.watching import Watcher, matters
from regreen.store import repo_key
from regreen.workspace import Workspace

SOME = {"shop/cart.py": "class Cart:\n    def total(self): ...\n", "shop/tax.py": "def rate(): ...\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "shop", dict(SOME))


@contextmanager
def looker(root: Path, cache: Path) -> Iterator[Index]:
    """The same index, opened by somebody who only asks and never refreshes it."""
    with Workspace(root) as workspace:
        index = Index(cache / "index", repo_key(root), workspace)
        try:
            yield index
        finally:
            index.close()


def defined(index: Index, name: str) -> bool:
    return index.definitions(name)[1] > 0


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "regreen-watch"]


def test_the_index_follows_the_files_while_nobody_asks(root: Path) -> None:
    with engine_on(root, watch=True) as engine, looker(root, engine.settings.cache_dir) as index:
        ok(engine, "repo_skeleton")
        assert until(lambda: defined(index, "Cart.total"))

        def written() -> bool:  # again and again: the first may come before the folders are watched
            write(root / "shop" / "new.py", f"TIME = {time.time_ns()}\ndef added(): ...\n")
            return defined(index, "added")

        assert until(written)
        write(root / "deep" / "er" / "more.py", "def below(): ...\n")
        assert until(lambda: defined(index, "below"))
        (root / "shop" / "tax.py").unlink()
        assert until(lambda: not defined(index, "rate"))
        git(root, "checkout", "-q", "-b", "other")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "more")
        git(root, "checkout", "-q", "main")
        assert until(lambda: defined(index, "rate") and not defined(index, "added"))


def test_an_answer_never_waits_for_the_watcher(root: Path) -> None:
    with engine_on(root, watch=True) as engine:
        for number in range(8):
            write(root / "shop" / "new.py", f"def added_{number}(): ...\n")
            assert ok(engine, "find_symbol", name=f"added_{number}")["definitions_total"] == 1
            if number:
                assert ok(engine, "find_symbol", name=f"added_{number - 1}")["definitions_total"] == 0


def test_there_is_one_watcher_a_repository_and_it_ends_with_its_session(root: Path) -> None:
    with engine_on(root, watch=True) as engine:
        calls = [threading.Thread(target=engine.call, args=("repo_skeleton", {})) for _ in range(8)]
        for call in calls:
            call.start()
        for call in calls:
            call.join()
        assert len(watchers()) == 1
        started = time.monotonic()
    assert watchers() == []
    assert time.monotonic() - started < 5


def test_nothing_is_watched_unless_it_is_wanted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine_on(root) as engine:
        ok(engine, "repo_map")
        assert watchers() == []
    monkeypatch.setenv("REGREEN_WATCH", "1")
    with regreen.open(root) as session:  # ends too soon to be worth it
        session.repo_map()
        assert watchers() == []


def test_a_server_watches_and_ends_at_once(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "user"
    home.mkdir()
    environ = server_environment(home, REGREEN_WATCH="1")
    with raw_server([*REGREEN, "serve"], cwd=root, env=environ) as server, looker(root, home / "cache") as index:
        server.initialize()
        server.call("repo_skeleton")
        assert until(lambda: defined(index, "Cart"))
        write(root / "shop" / "cart.py", "class Basket: ...\n")
        assert server.call("find_symbol", name="Basket").data["definitions_total"] == 1
        assert server.close() == 0
        assert server.errors == []


@pytest.mark.parametrize(
    ("path", "worth"),
    [("a.py", True), ("new/folder", True), (".gitignore", True), ("docs/.github/x.yml", True), (".git/index", True),
     (".git/HEAD", True), (".git/info/exclude", True), (".git/objects/ab/cd", False), (".git/index.lock", False),
     (".git", False), ("sub/.git/HEAD", True), ("sub/.git/logs/HEAD", False), ("web/node_modules/x/i.js", False),
     ("__pycache__/a.pyc", False)],
)  # fmt: skip
def test_what_is_worth_a_look(path: str, worth: bool) -> None:
    assert matters(f"/home/node_modules/.git/project/{path}", "/home/node_modules/.git/project") is worth


def test_what_cannot_be_watched_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    looks: list[int] = []
    watcher = Watcher(tmp_path / "gone", lambda: looks.append(1))
    assert until(lambda: not watcher.alive)
    watcher.close()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "is not watched" in caplog.text
    assert looks == [1]


_CLOSED_FOLDER = """
import logging, os, sys, threading, watchfiles
from pathlib import Path
from regreen.session.watching import Watcher
root = Path(sys.argv[1])
os.setuid(1000)
logging.basicConfig(format="%(message)s")
looks = []
watcher = Watcher(root, lambda: looks.append(1))
pause = threading.Event()
for number in range(500):
    (root / "open.py").write_text(str(number))
    if len(looks) > 1:
        break
    pause.wait(0.02)
watcher.close()
print(len(looks) > 1)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take another user's place, for whom a folder is closed")
def test_a_folder_that_may_not_be_read_does_not_end_the_watch() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o777)
        (root / "closed").mkdir(mode=0o700)
        child = [sys.executable, "-c", _CLOSED_FOLDER, name]
        done = subprocess.run(child, capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr
    assert "some of it is not watched" in done.stderr


def test_a_look_that_fails_is_said_and_the_next_change_is_looked_at(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 1:
            raise EnvironmentFault("git_failed", "no list", "try again")

    watcher = Watcher(root, look)
    assert until(lambda: bool(write(root / "x.py", f"{len(looks)}")) and len(looks) > 1)
    watcher.close()
    assert "no list" in caplog.text
    assert not watcher.alive
    seen = len(looks)
    write(root / "y.py", "")
    assert len(looks) == seen


_TOO_MANY = """
import logging, sys, threading
from pathlib import Path
from regreen.session.watching import Watcher
Path("/proc/sys/user/max_inotify_watches").write_text("5")
logging.basicConfig(format="%(message)s")
watcher = Watcher(Path(sys.argv[1]), lambda: None)
watcher._thread.join(10)
print(watcher.alive)
"""


def test_a_tree_with_more_folders_than_the_system_watches_is_said(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"folder{number}").mkdir()
    child = [sys.executable, "-c", _TOO_MANY, str(tmp_path)]
    done = subprocess.run(["unshare", "--user", "--map-root-user", *child], capture_output=True, text=True, timeout=60)
    if "unshare" in done.stderr or "max_inotify_watches" in done.stderr:
        pytest.skip("no user namespace with a limit of its own can be made here")
    assert done.stdout == "False\n", done.stderr
    assert "is not watched" in done.stderr
    assert len(done.stderr.splitlines()) == 1


_WITHOUT = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
import importlib.util, logging, os
assert importlib.util.find_spec("watchfiles") is None
from regreen.cli import main
from regreen.session import Engine
from regreen.settings import load_settings
logging.basicConfig(format="log: %(message)s", stream=sys.stdout)
root = Path(sys.argv[1])
with Engine(load_settings(dict(os.environ), roots=(root,)), cwd=root) as engine:
    for _ in range(3):
        assert not engine.call("repo_map", {}).is_error
sys.exit(main(["doctor", "--repo", str(root)]))
"""


def test_without_watchfiles_one_line_says_so_and_everything_works(root: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(name).iterdir():
            if not entry.name.startswith("watchfiles"):
                (packages / entry.name).symlink_to(entry)
    paths = [str(packages), *(str(Path(__file__).parents[2] / part) for part in ("coding", "server", "editor_bridge"))]
    environ = {**os.environ, "REGREEN_WATCH": "1"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", _WITHOUT, str(root), *paths],
        capture_output=True, text=True, env=environ, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("log: `watch` is on, but watchfiles is not installed") == 1
    assert "warn  watch: `watch` is on, but watchfiles is not installed\n" in done.stdout
    assert "the extra `watch`" in done.stdout
