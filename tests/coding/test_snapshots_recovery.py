"""kill -9 at any moment of a run: the next start leaves the tree as the run had found it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cases import sample
from support.gitrepos import ENVIRON, differences, make_repo, whole_state, write
from support.snapshotting import Bench

from regreen.model import RestoreReport
from regreen.snapshots import Snapshots
from regreen.workspace import Journal

DYING = """
import os, signal, sys
from pathlib import Path
from support.snapshotting import Bench
from support.gitrepos import write
from regreen.workspace import Journal

beside, root, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def die(now):
    if now == moment:
        os.kill(os.getpid(), signal.SIGKILL)

with Bench(beside, root) as bench:
    die("before")
    snapshot = bench.start()
    die("snapshot")
    bench.edit("calc.py", b"edited\\n")
    bench.edit("made/new.py", b"new\\n")
    die("edit")
    mark = bench.snapshots.mark(snapshot)
    for name in ("staged.txt", "new.txt", "secret.env", "clean.py", "report/r.xml", "calc.py"):
        write(root / name, "by tests\\n")
    (root / "gone.py").unlink()
    seen = ["staged.txt", "new.txt", "secret.env", "clean.py", "report", "calc.py", "gone.py"]
    bench.snapshots.note_written(snapshot, seen)
    die("tests")
    bench.snapshots.side_effects(snapshot, mark)
    die("attributed")
    bench.edit("clean.py", b"edited over\\n")
    count = 0
    def step(_):
        global count
        count += 1
        die(f"restore-{count}")
    bench.journal.__init__(bench.store, bench.workspace, on_step=step)
    bench.snapshots.restore_run("run-1", snapshot)
    die("restored")
    bench.snapshots.release(snapshot)
    die("released")
"""
RESTORE_STEPS = [f"restore-{n}" for n in (2, 3, 5, 9, 14)]
MOMENTS = ["before", "snapshot", "edit", "tests", "attributed", *RESTORE_STEPS, "restored", "released"]


def make(tmp_path: Path) -> Path:
    files = {"calc.py": "one\n", "staged.txt": "one\n", "clean.py": "c\n", "gone.py": "g\n", ".gitignore": "*.env\n"}
    root = make_repo(tmp_path / "r", files)
    write(root / "calc.py", "dirty\n")
    write(root / "staged.txt", "two\n")
    write(root / "new.txt", "n\n")
    write(root / "secret.env", "K=1\n").chmod(0o600)
    return root


def die_at(tmp_path: Path, root: Path, moment: str) -> None:
    environ = {**ENVIRON, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", DYING, str(tmp_path), str(root), moment], env=environ, timeout=60,
                          capture_output=True)  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.parametrize("moment", sample(MOMENTS, 2))
def test_run_killed_at_any_moment_is_undone_at_the_next_start(tmp_path: Path, moment: str) -> None:
    root = make(tmp_path)
    before = whole_state(root)
    die_at(tmp_path, root, moment)
    with Bench(tmp_path, root) as bench:
        assert bench.snapshots.recover() == (() if moment == "before" else ("run-1",))
        assert differences(before, whole_state(root)) == []
        bench.snapshots.recover()
        assert differences(before, whole_state(root)) == []
        assert bench.store.rows("SELECT * FROM snapshots") == []


def test_recovery_that_is_killed_itself_is_finished_by_the_next(tmp_path: Path) -> None:
    root = make(tmp_path)
    before = whole_state(root)
    die_at(tmp_path, root, "tests")
    with Bench(tmp_path, root) as bench:

        class Stop(BaseException):
            pass

        def stop(step: str) -> None:
            if step == "journalled":
                raise Stop

        journal = Journal(bench.store, bench.workspace, on_step=stop)
        with pytest.raises(Stop):
            Snapshots(bench.store, bench.workspace, journal, bench.git).recover()
    with Bench(tmp_path, root) as bench:
        assert bench.snapshots.recover() == ("run-1",)
    assert differences(before, whole_state(root)) == []


def test_recovery_that_is_killed_before_its_report_is_written_down_reports_the_same_again(tmp_path: Path) -> None:
    root = make(tmp_path)
    die_at(tmp_path, root, "tests")
    write(root / "mine.txt", "user\n")
    reports: list[RestoreReport] = []

    class Stop(BaseException):
        pass

    def close(_: str, report: RestoreReport) -> None:
        reports.append(report)
        raise Stop

    for _ in range(2):
        with Bench(tmp_path, root) as bench, pytest.raises(Stop):
            bench.snapshots.recovered(close)
    assert [c.path for c in reports[0].conflicts] == ["mine.txt"]
    assert reports[1].conflicts == reports[0].conflicts


def test_what_the_user_did_after_the_crash_stays_and_what_is_not_put_back_is_reported(tmp_path: Path) -> None:
    root = make(tmp_path)
    die_at(tmp_path, root, "attributed")
    for name in ("calc.py", "new.txt", "mine.txt"):
        write(root / name, "user\n")
    with Bench(tmp_path, root) as bench:
        report = bench.snapshots.recovered()["run-1"]
    assert [c.path for c in report.conflicts] == ["calc.py", "new.txt"]
    assert "staged.txt" in report.restored
    assert {(root / name).read_text() for name in ("calc.py", "new.txt", "mine.txt")} == {"user\n"}
    assert (root / "staged.txt").read_text() == "two\n"


def test_what_was_changed_long_after_a_crash_in_a_test_run_is_not_the_tests_doing(tmp_path: Path) -> None:
    root = make(tmp_path)
    die_at(tmp_path, root, "tests")
    hour = time.time() - 3600
    with Bench(tmp_path, root) as bench:
        with bench.store.transaction() as db:
            db.execute("UPDATE marks SET created = ?, alive = ?", (hour, hour))
        bench.snapshots.recover()
    assert (root / "new.txt").read_text() == "by tests\n"
    assert (root / "gone.py").exists()


def test_crash_leaves_what_nothing_shows_to_be_the_tests_doing(tmp_path: Path) -> None:
    root = make(tmp_path)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        bench.snapshots.mark(snapshot)
        for name in ("staged.txt", "calc.py", "fresh.txt", "log"):
            write(root / name, "somebody\n")
        bench.snapshots.note_written(snapshot, ["log"])
    with Bench(tmp_path, root) as bench:
        report = bench.snapshots.recovered()["run-1"]
        kept = bench.store.rows("SELECT label FROM transactions ORDER BY rowid DESC")[0]["label"]
    assert (report.deleted, {c.path for c in report.conflicts}) == (("log",), {"staged.txt", "calc.py", "fresh.txt"})
    assert (root / "staged.txt").read_text() == "somebody\n"
    assert snapshot.id in kept


def test_file_that_tests_wrote_and_the_user_saved_after_the_crash_stays(tmp_path: Path) -> None:
    root = make(tmp_path)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        bench.run_tests(snapshot, lambda: write(root / "new.txt", "tests\n"))
        bench.snapshots.note_written(snapshot, ["new.txt"])
        bench.snapshots.mark(snapshot)
        write(root / "new.txt", "user\n")
        with bench.store.transaction() as db:
            db.execute("UPDATE marks SET created = 1")
    with Bench(tmp_path, root) as bench:
        report = bench.snapshots.recovered()["run-1"]
    assert [(c.path, "last sign of life" in c.reason) for c in report.conflicts] == [("new.txt", True)]
    assert (root / "new.txt").read_text() == "user\n"


def test_crash_in_the_second_of_two_runs_counts_as_no_run_for_what_recurs(tmp_path: Path) -> None:
    root = make(tmp_path)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        bench.run_tests(snapshot, lambda: write(root / "new.txt", "1\n"))
        bench.snapshots.mark(snapshot)
        write(root / "new.txt", "2\n")
    with Bench(tmp_path, root) as bench:
        assert [c.path for c in bench.snapshots.recovered()["run-1"].conflicts] == ["new.txt"]
    assert (root / "new.txt").read_text() == "2\n"


def test_finished_run_that_kept_its_fix_is_only_released(tmp_path: Path) -> None:
    root = make(tmp_path)
    die_at(tmp_path, root, "edit")
    with Bench(tmp_path, root) as bench:
        with bench.store.transaction() as db:
            db.execute("UPDATE runs SET finished = 1, state = 'done'")
        assert bench.snapshots.recover() == ()
        assert bench.store.rows("SELECT * FROM snapshots") == []
    assert (root / "calc.py").read_text() == "edited\n"
    assert not (root / ".git" / "refs" / "regreen").exists()
