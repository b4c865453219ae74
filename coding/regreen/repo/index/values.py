"""The values around an index: how far it is, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Progress(NamedTuple):
    """How many of the files with a language are in the index as they are now."""

    done: int
    total: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.done / self.total if self.total else 1.0

    @property
    def text(self) -> str:
        """For people: `index: 37 % (1,043 of 2,823 files)`."""
        return f"index: {int(100 * self.share)} % ({self.done:,} of {self.total:,} files)"


class CancelLike(Protocol):
    """Whatever tells that the caller does not wait any more."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class IndexLimits:
    """What indexing may use. Sizes are bytes."""

    file_bytes: int = 1 << 20  # larger files are not read
    parse_s: float = 10.0  # CPU time for one file; the process that needs more is ended by the system
    answer_s: float = 60.0  # wall time for one file, in case that process does not run at all
    start_s: float = 60.0  # wall time that such a process may need to be ready
    processes: int = 4  # at most; never more than cores
    alone_bytes: int = 1 << 20  # up to this much is parsed in the calling process,
    alone_file_bytes: int = 1 << 17  # unless a file is larger than this
    memory_bytes: int = 2 << 30  # address space of one parsing process
    batch_files: int = 500  # files committed at once, at most
    batch_s: float = 1.0  # seconds between two commits, about
    stuck_s: float = 20.0  # after so long without a commit a process that indexes is not waited for any more
    database_bytes: int = 8 << 30
    spare_contents: int = 2000  # contents of no file that are kept, at least; never more than there are of files
