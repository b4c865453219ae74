"""Trust of folders, and approval of changed command-bearing files: kept outside the repositories, by real path."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from regreen.store import Store, repo_key
from regreen.workspace import Workspace


def is_trusted(store: Store, folder: Path, roots: Iterable[Path]) -> bool:
    """True for a folder in one of the operator's roots, or in a folder trusted earlier."""
    named = {os.path.realpath(r) for r in roots} | {r["path"] for r in store.rows("SELECT path FROM trust")}
    real = Path(os.path.realpath(folder))
    return any(str(f) in named for f in (real, *real.parents))


def grant(store: Store, folder: Path, how: str) -> None:
    """Trust a folder and the repositories in it; approves what regreen's edits changed there so far."""
    real = Path(os.path.realpath(folder))
    with store.transaction() as db:
        db.execute("INSERT OR REPLACE INTO trust VALUES (?, ?, ?)", (str(real), time.time(), how))
        db.execute("DELETE FROM tainted WHERE repo = ?", (repo_key(real),))


def withdraw(store: Store, folder: Path) -> bool:
    """Trust a folder no longer. False if it was not trusted by itself."""
    with store.transaction() as db:
        return db.execute("DELETE FROM trust WHERE path = ?", (os.path.realpath(folder),)).rowcount > 0


def granted(store: Store) -> tuple[str, ...]:
    """The folders trusted by a grant."""
    return tuple(r["path"] for r in store.rows("SELECT path FROM trust ORDER BY path"))


def taint(store: Store, repo: str, files: Mapping[str, str]) -> None:
    """Remember command-bearing files that an edit changed, with the hash they had before."""
    with store.transaction() as db:
        db.executemany("INSERT OR IGNORE INTO tainted VALUES (?, ?, ?)", [(repo, p, s) for p, s in files.items()])


def tainted(store: Store, repo: str, workspace: Workspace) -> tuple[str, ...]:
    """Files that still differ from what they were before regreen's edits."""
    rows = store.rows("SELECT path, sha FROM tainted WHERE repo = ? ORDER BY path", repo)
    return tuple(r["path"] for r in rows if workspace.image(r["path"]).sha256 != r["sha"])
