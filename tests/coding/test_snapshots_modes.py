"""A mode that the user sets while tests run stays when the run's edit of that file is put back, also after a crash."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from support.gitrepos import make_repo
from support.snapshotting import Bench


@pytest.mark.parametrize("crashed", [False, True])
def test_mode_that_the_user_set_on_the_edited_file_stays_and_is_no_conflict(tmp_path: Path, crashed: bool) -> None:
    root = make_repo(tmp_path / "repo", {"calc.py": "before\n"})
    calc = root / "calc.py"
    before = calc.read_bytes()
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        bench.edit("calc.py", b"edited\n")
        mark = bench.snapshots.mark(snapshot)
        calc.chmod(0o755)
        if not crashed:
            bench.snapshots.side_effects(snapshot, mark)
        report = bench.snapshots.recovered()["run-1"] if crashed else bench.snapshots.restore_run("run-1", snapshot)
    assert (calc.read_bytes(), stat.S_IMODE(calc.stat().st_mode)) == (before, 0o755)
    assert (report.restored, report.conflicts) == (("calc.py",), ())
