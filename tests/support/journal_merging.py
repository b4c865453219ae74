"""A journal that merges with git, over one folder; and the texts that its tests merge."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from regreen.git import merge_file
from regreen.model import RestoreReport
from regreen.settings import Limits
from regreen.store import Store
from regreen.workspace import Change, Journal, Workspace
from regreen.workspace.merging import MergeFiles

BEFORE = b"one\ntwo\nthree\nfour\nfive\nsix\n"
OURS = BEFORE.replace(b"two\n", b"TWO\nand more\n")
USER = b"five, as I like it\n"
BOTH = OURS.replace(b"five\n", USER)
THEIRS = BEFORE.replace(b"five\n", USER)


class Bench:
    def __init__(self, folder: Path, merge: MergeFiles | None = None) -> None:
        self.root = folder / "ws"
        self.root.mkdir(parents=True, exist_ok=True)
        self.store = Store(folder / "state")
        self.workspace = Workspace(self.root, Limits(max_file_bytes=5_000_000))
        real = partial(merge_file, environ={"PATH": os.environ["PATH"]}, inside=self.root)
        self.journal = Journal(self.store, self.workspace, merge=merge or real)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.workspace.close()
        self.store.close()

    def commit(self, after: bytes | None, path: str = "a.py", run_id: str = "r") -> str:
        before = self.workspace.image(path).sha256
        return self.journal.commit([Change(path, before, after)], label="edit", run_id=run_id)

    def write(self, data: bytes, path: str = "a.py") -> None:
        (self.root / path).write_bytes(data)

    def read(self, path: str = "a.py") -> bytes:
        return (self.root / path).read_bytes()

    def only_ours(self) -> bool:
        """Nothing of ours lies about, in the project or beside the database."""
        merging = self.store.folder / "merging"
        return not list(self.root.rglob(".regreen*")) and not (merging.exists() and list(merging.iterdir()))


def told(report: RestoreReport) -> tuple[tuple[str, ...], list[str]]:
    return report.merged, [c.path for c in report.conflicts]
