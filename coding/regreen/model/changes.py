"""Changes on disk: snapshots, restores, differences. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from regreen.model.edits import FileDiff
from regreen.wire import names

MAX_IGNORED = 200  # in an outcome


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that was not put back because it no longer is what we left there."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """Result of a restore. `deleted` are files that we (or the run's tests) had created. Paths are relative.

    `merged` are files that somebody else has changed too: our change was taken out of them, the other one is there.
    `ignored` are files that git ignores and that changed while tests ran, nobody knows by whom: they stay as they are.
    """

    restored: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    dry_run: bool = False
    transaction: str = ""  # undoes this restore
    merged: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def about_ignored(self) -> str:
        """A sentence about `ignored`, without its full stop; "" where there is none."""
        if not self.ignored:
            return ""
        return f"{names(self.ignored)} changed while tests ran; git ignores it, and it stays as it is now"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A recorded state of the work tree. `tree` is the git tree id, empty where git cannot see the folder."""

    id: str
    created: float
    tree: str = ""
    files: int = 0


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """What differs from a snapshot, a job's start or HEAD."""

    since: str
    files: tuple[FileDiff, ...]
    diff: str
    truncated: bool = False
