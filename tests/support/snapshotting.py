"""A snapshot bench for tests: store, workspace, journal and snapshots over one folder, and a run's moves."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from regreen.git import Git
from regreen.model import Snapshot
from regreen.snapshots import SideEffects, Snapshots
from regreen.store import Store, repo_key
from regreen.workspace import Change, Journal, Workspace
from support.gitrepos import ENVIRON


class Bench:
    """Opens everything for `root`, with its state beside it; close it or use it in a `with`."""

    def __init__(self, beside: Path, root: Path) -> None:
        self.root = root
        self.store = Store(beside / "state")
        self.workspace = Workspace(root)
        self.journal = Journal(self.store, self.workspace)
        self.git = Git.open(root, ENVIRON)
        self.snapshots = Snapshots(self.store, self.workspace, self.journal, self.git)

    def __enter__(self) -> Bench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.workspace.close()
        self.store.close()

    def start(self, run_id: str = "run-1") -> Snapshot:
        with self.store.transaction() as db:
            db.execute("INSERT INTO runs (id, repo, kind, state, created, pid, request) VALUES (?, ?, ?, ?, ?, ?, ?)",
                       (run_id, repo_key(self.root), "fix", "running", time.time(), 0, "{}"))  # fmt: skip
        return self.snapshots.take(run_id)

    def edit(self, path: str, data: bytes | None, run_id: str = "run-1") -> None:
        before = self.workspace.image(path).sha256
        self.journal.commit([Change(path, before, data)], label="edit", run_id=run_id)

    def run_tests(self, snapshot: Snapshot, tests: Callable[[], object]) -> SideEffects:
        mark = self.snapshots.mark(snapshot)
        tests()
        return self.snapshots.side_effects(snapshot, mark)
