"""One writer a work tree: whoever is kept out is told by whom, and what was changed can be put back, and back again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from support.engines import engine_on, ok, refused, replacement, script
from support.repos import BUG, CALC, FIX, red_repo

from regreen.session import Engine, FixOptions
from regreen.session.locking import Holder, TreeLock

RIGHT = [replacement("calc.py", BUG, FIX)]
HOLDING = """\
import sys
from pathlib import Path
from support.engines import engine_on, ok

with engine_on(Path(sys.argv[1])) as engine:
    if sys.argv[2] == "run":
        print(ok(engine, "fix_tests", proposer="caller", wait_s=0)["job_id"], flush=True)
        sys.stdin.readline()
    else:
        with engine.session().exclusive():
            print("held", flush=True)
            sys.stdin.readline()
"""


@contextmanager
def holder(root: Path, what: str, state: Path | None = None) -> Iterator[tuple[int, str]]:
    """A process of its own that holds the work tree: its id, and what it says."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    if state is not None:
        env["REGREEN_STATE_DIR"] = str(state)
    argv = (sys.executable, "-c", HOLDING, str(root), what)
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            said = process.stdout.readline().strip()
            assert said
            yield process.pid, said
        finally:
            if process.poll() is None:
                process.stdin.close()
                process.wait(60)


def of_now(text: str) -> bool:
    """Whether a message names a time of the last minutes."""
    now = time.time()
    days = {time.strftime("%Y-%m-%d %H:%M", time.localtime(now - 60 * n)) for n in range(10)}
    return any(day in text for day in days)


# --- who holds it -------------------------------------------------------------------------------------


def test_a_run_of_another_process_is_named_with_its_process_and_since_when(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with holder(root, "run") as (pid, job), engine_on(root) as engine:
        for tool, arguments in (("apply_edits", {"replacements": RIGHT}), ("fix_tests", {}), ("restore", {"to": job})):
            error = refused(engine, tool, **arguments)  # type: ignore[arg-type]
            assert error["kind"] == "busy"
            assert job in error["message"]
            assert f"process {pid}" in error["message"]
            assert of_now(error["message"])
            assert str(root) in error["message"]
            assert f"end process {pid}" in error["hint"]
    with engine_on(root) as engine:
        assert ok(engine, "apply_edits", replacements=RIGHT)["ok"] is True


def test_a_run_of_ones_own_is_named_and_can_be_ended_by_its_name(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        job = ok(engine, "fix_tests", proposer="caller", wait_s=0)["job_id"]
        error = refused(engine, "apply_edits", replacements=RIGHT)
        assert f"{job} (process {os.getpid()}, since " in error["message"]
        assert "job_cancel" in error["hint"]


def test_a_single_change_of_another_process_is_named_by_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regreen.session.holding._BRIEF_WAIT_S", 0.2)
    root = red_repo(tmp_path / "r")
    with holder(root, "edit") as (pid, _), engine_on(root) as engine:
        error = refused(engine, "apply_edits", replacements=RIGHT)
        assert f"process {pid} (since " in error["message"]
        assert of_now(error["message"])


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the system does not say who holds a lock")
@pytest.mark.parametrize("what", ["run", "edit"])
def test_a_holder_with_another_state_folder_is_named_by_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr("regreen.session.holding._BRIEF_WAIT_S", 0.2)
    root = red_repo(tmp_path / "r")
    with holder(root, what, state=tmp_path / "other") as (pid, _), engine_on(root) as engine:
        error = refused(engine, "apply_edits", replacements=RIGHT)
        assert error["kind"] == "busy"
        assert f"process {pid} (with another state folder, started " in error["message"]
        assert of_now(error["message"])
        assert f"end process {pid}" in error["hint"]


def test_a_killed_holder_holds_nothing_and_is_not_named(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with holder(root, "run") as (pid, _):
        os.kill(pid, 9)
    with engine_on(root) as engine:
        assert list((engine.store.folder / "locks").glob("*.holder"))  # what it wrote is still there
        job = ok(engine, "fix_tests", proposer="caller", wait_s=0)["job_id"]
        error = refused(engine, "apply_edits", replacements=RIGHT)
        assert job in error["message"]
        assert f"process {pid}" not in error["message"]


def test_who_waits_gets_the_tree_when_it_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regreen.session.holding._BRIEF_WAIT_S", 60.0)
    root = red_repo(tmp_path / "r")
    done: list[bool] = []
    with engine_on(root) as engine:
        with holder(root, "edit"):
            waiting = threading.Thread(target=lambda: done.append(ok(engine, "apply_edits", replacements=RIGHT)["ok"]))
            waiting.start()
            assert not done
        waiting.join(60)
    assert done == [True]


def test_the_note_of_a_holder_is_gone_when_it_lets_go(tmp_path: Path) -> None:
    lock = TreeLock(FileLock(tmp_path / "x.lock", thread_local=False), tmp_path)
    assert lock.acquire(0)
    assert json.loads((tmp_path / "x.holder").read_text())["pid"] == os.getpid()
    assert lock.holder().pid == os.getpid()
    lock.release()
    assert not (tmp_path / "x.holder").exists()
    assert lock.holder() == Holder()


@pytest.mark.parametrize(
    "note", ["", "{", "[]", "null", '{"pid": "x"}', '{"pid": -1, "born": "", "since": 0}', '{"pid": 1, "since": 3}',
             '{"pid": 1, "born": "another boot 77", "since": 3}', "\0" * 9000],
)  # fmt: skip
def test_a_note_that_says_nothing_is_passed_over(tmp_path: Path, note: str) -> None:
    (tmp_path / "x.holder").write_text(note)
    assert TreeLock(FileLock(tmp_path / "x.lock", thread_local=False), tmp_path).holder() == Holder()


def test_holders_in_words() -> None:
    assert str(Holder()) == "another process"
    assert str(Holder(7)) == "process 7"
    assert str(Holder(7, job="job-1")) == "job-1 (process 7)"
    assert str(Holder(7, elsewhere=True)) == "process 7 (with another state folder)"


# --- putting back -------------------------------------------------------------------------------------


def test_a_restored_edit_can_be_had_again(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        txn = ok(engine, "apply_edits", replacements=RIGHT)["transaction"]
        fixed = (root / "calc.py").read_text()
        back = ok(engine, "restore", to=txn)
        assert (root / "calc.py").read_text() == CALC
        again = ok(engine, "restore", to=back["transaction"])
        assert (root / "calc.py").read_text() == fixed
        ok(engine, "restore", to=again["transaction"])
        assert (root / "calc.py").read_text() == CALC


def test_a_run_is_taken_back_by_its_name_or_its_snapshots_and_can_be_had_again(tmp_path: Path) -> None:
    root, other = red_repo(tmp_path / "r"), red_repo(tmp_path / "other")
    more = [*RIGHT, {"path": "pkg/new.py", "search": "", "replace": "x = 1\n"}]
    with engine_on(tmp_path) as engine:
        options = FixOptions(proposer="scripted", script=script(tmp_path, [more]))
        job = engine.fix(engine.session("r"), options).job
        assert job.wait(100) == "done"
        assert job.data()["outcome"]["reason"] == "fixed"  # type: ignore[index,call-overload]
        fixed = (root / "calc.py").read_text()
        for name in (job.id, taken(engine, job.id)):
            assert refused(engine, "restore", repo="other", to=name)["kind"] == "not_found"
            tried = ok(engine, "restore", repo="r", to=name, dry_run=True)
            assert tried["restored"] == ["calc.py"]
            assert (root / "calc.py").read_text() == fixed != CALC
            back = ok(engine, "restore", repo="r", to=name)
            assert (back["restored"], back["deleted"]) == (["calc.py"], ["pkg/new.py"])
            assert (root / "calc.py").read_text() == CALC
            assert not (root / "pkg").exists()
            ok(engine, "restore", repo="r", to=back["transaction"])
            assert (root / "calc.py").read_text() == fixed
            assert (root / "pkg" / "new.py").read_text() == "x = 1\n"
    assert (other / "calc.py").read_text() == CALC


def taken(engine: Engine, job: str) -> str:
    """The snapshot that a run says it took."""
    events = (engine.store.folder / "runs" / job / "events.jsonl").read_text().splitlines()
    return next(e["snapshot"] for e in map(json.loads, events) if "snapshot" in e)


def test_a_snapshot_that_is_not_known_says_what_to_give_instead(tmp_path: Path) -> None:
    with engine_on(red_repo(tmp_path / "r")) as engine:
        error = refused(engine, "restore", to="snap-000000000000")
        assert error["kind"] == "not_found"
        assert "as long as its run lasted" in error["message"]
        assert "job_id" in error["hint"]
        for name in ("job-000000000000", "txn-000000000000", "HEAD"):
            assert refused(engine, "restore", to=name)["kind"] == "not_found"
