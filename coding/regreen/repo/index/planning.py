"""What is to be done to an index so that it agrees with the files: a comparison of two tables. Pure.

A row of the index is trusted while size, times and inode are those of the file. A file that was read within two seconds
of its last change is entered without a time, so that it is read again: the change after it may not show in the times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from regreen.repo.classes import role_of_path
from regreen.repo.languages import language_of
from regreen.workspace import Stat, is_secret

RACY_NS = 2_000_000_000
UNTRUSTED_NS = -1  # instead of the time of a file that is to be read again

Signature: TypeAlias = "tuple[int, int, int, int]"  # size, mtime_ns, ctime_ns, inode
Known: TypeAlias = "Mapping[str, Signature]"

_UNSAYABLE = re.compile(r"[\ud800-\udfff]")
_LATER = {"source": 0, "test": 1, "vendored": 2}


class Plan(NamedTuple):
    """`todo` are the files to read, `gone` the paths to forget; of `total` files all but `todo` are in order."""

    todo: list[str]
    gone: list[str]
    total: int


def compare(known: Known, stats: Mapping[str, Stat]) -> Plan:
    """How the index differs from the files. Looks closely only at what is not equal."""
    recall = known.get
    todo = [path for path, stat in stats.items() if recall(path) != stat[:4] and is_indexed(path)]
    gone = [path for path in known if path not in stats]
    fresh = sum(path not in known for path in todo)
    return Plan(todo, gone, len(known) - len(gone) + fresh)


@lru_cache(maxsize=1 << 18)
def is_indexed(path: str) -> bool:
    """Whether the index is about this file: it has a language and a name that can be told, and holds no secrets."""
    return language_of(path) is not None and not is_secret(path) and not _UNSAYABLE.search(path)


def in_order(todo: Iterable[str], first: Sequence[str]) -> list[str]:
    """The files to read: `first` before others, sources before tests before other people's code, from the root down."""
    place = {path: i for i, path in enumerate(dict.fromkeys(first))}

    def key(path: str) -> tuple[int, int, int, str]:
        return place.get(path, len(place)), _LATER[role_of_path(path)], path.count("/"), path

    return sorted(todo, key=key)


def signature(stat: Stat, now_ns: int) -> Signature:
    """What to enter of a file whose content is read at `now_ns`."""
    racy = abs(now_ns - stat.mtime_ns) < RACY_NS or now_ns - stat.ctime_ns < RACY_NS
    return (stat.size, UNTRUSTED_NS, stat.ctime_ns, stat.ino) if racy else (stat[:4])
