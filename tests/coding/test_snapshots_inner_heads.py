"""Repositories inside the project: what tests move in them where no sandbox keeps them is named at the end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.gitrepos import git, make_repo, write
from support.snapshotting import Bench

from regreen.sandbox import nested
from regreen.snapshots.inner_heads import InnerHead
from regreen.snapshots.protected import Guard
from regreen.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = make_repo(tmp_path / "repo", {"a.py": "a = 1\n"}).resolve()
    make_repo(made / "one/two/three/four", {"n.py": "n = 1\n"}, "-b", "topic")
    return made


def test_what_was_moved_in_a_repository_inside_is_named_and_nothing_else(tmp_path: Path, root: Path) -> None:
    inner = root / "one/two/three/four"
    make_repo(root / "still", {"s.py": "s = 1\n"})
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        assert inner / ".git" in nested.known(root)

        def tests() -> None:
            (inner / ".git/HEAD").unlink()
            (inner / ".git/index").unlink()
            git(root / "still", "pack-refs", "--all")
            os.utime(root / "still/s.py", ns=(1, 1))
            git(root / "still", "update-index", "--refresh")
            make_repo(root / "by-tests", {"t.py": "t = 1\n"})

        bench.run_tests(snapshot, tests)
        report = bench.snapshots.restore_run("run-1", snapshot)
    told = {c.path: c.reason for c in report.conflicts if c.path.endswith(".git")}
    assert told == {"one/two/three/four/.git": "HEAD was removed, the index was removed during the run; left as it is"}


def test_refs_index_and_the_whole_are_told_apart(root: Path) -> None:
    inner = root / "one/two/three/four"
    before = InnerHead.of(inner)
    assert before is not None
    git(inner, "branch", "new")
    branched = InnerHead.of(inner)
    write(inner / "m.py", "m = 1\n")
    git(inner, "add", "m.py")
    added = InnerHead.of(inner)
    assert branched is not None
    assert added is not None
    assert (branched.head, branched.index) == (before.head, before.index)
    assert branched.refs != before.refs
    assert (added.head, added.refs) == (branched.head, branched.refs)
    assert added.index != branched.index
    (inner / ".git").rename(inner / "away")
    assert InnerHead.of(inner) is None


def test_guard_tells_what_was_there_and_what_tests_made(tmp_path: Path, root: Path) -> None:
    make_repo(root / "near", {"s.py": "s = 1\n"})
    with Workspace(root) as workspace:
        guard = Guard.take(workspace)
        make_repo(root / "made", {"t.py": "t = 1\n"})
        guard.verify([], tmp_path / "archive")
        Guard.take(workspace)
    assert nested.known(root) == (root / "near/.git",)
