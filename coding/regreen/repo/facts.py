"""What ranking needs to know of a file: which names it defines and which it uses. Values only.

Identifiers are numbers here (the index gives them out), so that a large repository fits into arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, Protocol, TypeAlias

FileRole: TypeAlias = Literal["source", "test", "generated", "vendored", "minified", "binary", "huge"]


class FileFacts(NamedTuple):
    """One file. Equal `content` numbers mean equal bytes read as the same language.

    `defines` holds an identifier for each of the file's definitions, in their order (0: the name is no identifier).
    `uses` holds pairs, identifier and how often it occurs, ascending by identifier; the file's own names are in it.
    """

    path: str
    role: FileRole
    content: int
    defines: array[int]
    uses: array[int]


class Facts(Protocol):
    """Where facts come from: the index, or a test."""

    @property
    def generation(self) -> int:
        """Another number whenever any file has come, gone or changed."""
        ...

    def facts(self) -> Iterable[FileFacts]:
        """All files with a language, sorted by path."""
        ...

    def identifiers(self, names: Iterable[str]) -> Mapping[str, int]:
        """The numbers of those of `names` that occur anywhere."""
        ...

    def kept(self, what: str) -> bytes | None:
        """What `keep` was given last under this name, by whichever process; None for nothing."""
        ...

    def keep(self, what: str, data: bytes) -> None:
        """Keep derived data from one process to the next. May be lost at any time."""
        ...
