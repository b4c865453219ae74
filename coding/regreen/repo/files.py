"""Which files a project has: what Git tracks or would track; without Git all that its `.gitignore` files leave.

Regular files only, sorted by path. No link is followed. A `.regreenignore`, in git's syntax and in any folder, leaves
out more. What is left out is said in the notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from regreen.workspace import Stat, Workspace

if TYPE_CHECKING:
    from regreen.git import Git


@dataclass(frozen=True, slots=True)
class FileList:
    """The files of a repository, relative to its root. `stats` has the regular files; `links` are symbolic links:
    listed, never followed."""

    paths: tuple[str, ...]
    notes: tuple[str, ...] = ()
    stats: Mapping[str, Stat] = field(default_factory=dict[str, Stat])
    links: tuple[str, ...] = ()

    @property
    def sizes_bytes(self) -> Mapping[str, int]:
        """The sizes in `stats`, as a view."""
        return _Sizes(self.stats)


@dataclass(frozen=True, slots=True, eq=False)
class _Sizes(Mapping[str, int]):
    stats: Mapping[str, Stat]

    def __getitem__(self, path: str) -> int:
        return self.stats[path].size

    def __iter__(self) -> Iterator[str]:
        return iter(self.stats)

    def __len__(self) -> int:
        return len(self.stats)

    def __contains__(self, path: object) -> bool:
        return path in self.stats


def list_files(workspace: Workspace, git: Git | None, *, submodules: bool = False) -> FileList:
    """Tracked files and untracked ones that are not ignored; dependency folders only where tracked. `submodules`:
    what is in these is listed, too.

    For one look; who asks again keeps a `Listing`.
    """
    from regreen.repo.listing.listing import Listing

    return Listing(workspace, lambda: git, submodules=submodules).current()
