"""Where the repositories inside a project stood when a snapshot was taken: HEAD, refs, index. Only looked at.

They are read as files, without starting git: there may be many, and tests may have left anything in their place.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

from regreen.sandbox.hiding import is_folder
from regreen.sandbox.nested import MOST

_MAX_FILE_BYTES = 64 << 20
_MAX_REFS = 20_000
_FIXED = 62  # bytes of an entry of the index before its name; of these the times and numbers of the file come first
_MODE, _OBJECT, _FLAGS = 24, 40, 60
_EXTENDED, _LENGTH = 0x4000, 0xFFF


@dataclass(frozen=True, slots=True)
class InnerHead:
    """What HEAD says, and hashes of the refs and of what the index holds. "" stands for what is not there."""

    head: str = ""
    refs: str = ""
    index: str = ""

    @classmethod
    def of(cls, tree: Path) -> InnerHead | None:
        """As it is now; None where there is no repository (any more)."""
        git_dir = _git_dir(tree / ".git")
        if git_dir is None:
            return None
        common = _joined(git_dir, _read(git_dir / "commondir"))
        index = _read(git_dir / "index")
        return cls(_text(_read(git_dir / "HEAD")), _hash_refs(common), _hash_index(index) if index else "")


def inner_heads(root: Path, trees: Iterable[str]) -> dict[str, list[str]]:
    """The rows of those below `root`, to be kept with a snapshot."""
    found = ((tree, InnerHead.of(root / tree)) for tree in sorted(trees)[:MOST])
    return {tree: list(astuple(head)) for tree, head in found if head is not None}


def inner_moved(root: Path, before: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Each `.git` inside that is not as its row says, and in words what is not."""
    for tree, row in before.items():
        was, now = InnerHead(*row), InnerHead.of(root / tree)
        if now != was:
            yield f"{tree}/.git", f"{_told(was, now)} during the run; left as it is"


def _told(was: InnerHead, now: InnerHead | None) -> str:
    if now is None:
        return "the repository was there when the run began, and was removed or damaged"
    names = (("HEAD", was.head, now.head), ("refs", was.refs, now.refs), ("the index", was.index, now.index))
    return ", ".join(f"{name} {'changed' if new else 'was removed'}" for name, old, new in names if old != new)


def _git_dir(entry: Path) -> Path | None:
    if not os.path.isfile(entry):  # noqa: PTH113 (the method of a path raises where it may not look)
        return entry if is_folder(entry) else None
    pointed = _text(_read(entry)).removeprefix("gitdir:").strip()
    real = _joined(entry.parent, pointed.encode(errors="surrogateescape"))
    return real if pointed and is_folder(real) else None


def _joined(base: Path, text: bytes) -> Path:
    return base / os.fsdecode(text).strip().replace("\0", "")


def _text(data: bytes) -> str:
    return data[:4096].decode(errors="replace").strip()


def _read(path: Path) -> bytes:
    """The bytes of a file that is one; never waits for a FIFO."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return b""
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        return file.read(_MAX_FILE_BYTES) if stat.S_ISREG(info.st_mode) else b""


def _hash_refs(common: Path) -> str:
    """The same whether refs are packed or not."""
    refs: dict[bytes, bytes] = {}
    for line in _read(common / "packed-refs").splitlines():
        oid, _, name = line.partition(b" ")
        if oid[:1] not in (b"#", b"^"):
            refs[name] = oid
    for folder, _, names in os.walk(common / "refs"):
        for name in names:
            if not name.endswith(".lock") and len(refs) < _MAX_REFS:
                path = Path(folder, name)
                refs[os.fsencode(path.relative_to(common).as_posix())] = _read(path).strip()
    if table := _read(common / "reftable" / "tables.list"):
        refs[b"reftable"] = table
    return hashlib.sha256(repr(sorted(refs.items())).encode()).hexdigest() if refs else ""


def _hash_index(data: bytes) -> str:
    """Of what the index holds; not of what it remembers of the files, which git writes anew when it looks at them."""
    with suppress(IndexError, ValueError):
        if data[:4] == b"DIRC" and int.from_bytes(data[4:8], "big") in (2, 3):
            return _hash_entries(data, int.from_bytes(data[8:12], "big"))
    return hashlib.sha256(data).hexdigest()


def _hash_entries(data: bytes, count: int) -> str:
    found = hashlib.sha256()
    at = 12
    for _ in range(count):
        flags = int.from_bytes(data[at + _FLAGS : at + _FIXED], "big")
        name = at + _FIXED + (2 if flags & _EXTENDED else 0)
        length = flags & _LENGTH
        end = name + length if length < _LENGTH else data.index(b"\0", name)
        found.update(data[at + _MODE : at + _MODE + 4] + data[at + _OBJECT : end] + b"\0")
        if end > len(data):
            raise IndexError
        at += (end - at + 8) // 8 * 8
    return found.hexdigest()
