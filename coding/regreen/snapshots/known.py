"""What is known of a repository from the snapshot before: of most files nothing changes from one to the next.

A recorded tree is a file of its own in the state folder, on disk before a snapshot's row names it; such rows hold what
differs from it. A file whose row is the same to the last field still has the bytes that it had then. All else here may
be lost or wrong in no way but to cost time: what is not as it was known is asked of git anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from regreen.errors import EnvironmentFault
from regreen.snapshots.manifest import Manifest, pack, unpack
from regreen.snapshots.objects import SETTLED_NS
from regreen.store import Store
from regreen.workspace import Stat

_BASED = b"\x02"  # before a record that is told as what it has beyond a recorded tree
_MOST_BEYOND = 256  # rows; where more differ, the tree is recorded anew
_FORGOTTEN_S = 30 * 24 * 3600.0
_LEFT_OVER_S = 3600.0  # nobody is still busy with a temporary file of this age
_NAME = re.compile(r"[\w.-]+\.([0-9a-f]{32})\.tree")


def remove_old(file: Path, age_s: float) -> None:
    with contextlib.suppress(OSError):
        if not age_s or time.time() - file.stat().st_mtime > age_s:
            file.unlink()


@dataclass(frozen=True, slots=True)
class Known:
    """`tree` is a recorded tree, in the file `base`: its sources are what git held byte for byte.

    `without` are those that git does not hold any more, as of the index with the name `index`; `others` what that
    index has besides; `passed_over` folders that were not walked, and `hidden` what is tracked in them. `stores` tells
    when the folders of the object store changed last. `git_tree` is that of the index itself.
    """

    base: str = ""
    tree: Manifest = field(default_factory=lambda: Manifest({}, {}))
    index: str = ""
    without: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    passed_over: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    stores: Mapping[str, int] = field(default_factory=dict[str, int])
    git_tree: str = ""

    def moved(self, entries: Mapping[str, Stat]) -> set[str]:
        """The paths whose rows are not as in the recorded tree."""
        if entries == self.tree.entries:
            return set()
        was = self.tree.entries.get
        moved = {path for path, row in entries.items() if was(path) != row}
        return moved | (self.tree.entries.keys() - entries.keys())

    def certain(self, moved: Collection[str]) -> dict[str, str]:
        """The sources that still hold, by path."""
        sources = dict(self.tree.sources)
        for path in self.without:
            sources.pop(path, None)
        for path in moved:
            sources.pop(path, None)
        return sources


class Trees:
    """The recorded trees of one repository."""

    def __init__(self, store: Store, repo: str) -> None:
        self._store = store
        self._repo = repo
        self._folder = store.folder / "trees"
        self._known: Known | None = None

    @property
    def known(self) -> Known:
        """What the last snapshot left, of this process or of another."""
        if self._known is None:
            self._known = self._load()
        return self._known

    def record(
        self, manifest: Manifest, certain: Mapping[str, str], known: Known, moved: set[str], asked: set[str],
        begun_s: float,
    ) -> bytes:  # fmt: skip
        """A manifest as bytes for the store, durable with them. `certain` are its sources that git holds.

        `known` is what is known now but for the recorded tree, which is that of before. `moved` are the rows, `asked`
        the sources that may differ from it. `begun_s` is when the tree began to be looked at.
        """
        before_ns = begun_s * 1e9 - SETTLED_NS
        rows = manifest.entries
        fresh = [path for path in asked if path in certain]
        settled = [p for p in fresh if max(rows[p].ctime_ns, rows[p].mtime_ns) < before_ns]
        differing = moved | asked | known.without
        if not known.base or not self._has(known.base) or len(moved) + len(settled) > _MOST_BEYOND:
            sources = dict(certain)
            for path in set(fresh).difference(settled):
                del sources[path]
            known = replace(known, tree=Manifest(rows, sources), without=frozenset())
            known = replace(known, base=self._write(known.tree))
            differing = manifest.sources.keys() - sources.keys()
        else:
            was = known.tree.sources.get
            lost = {path for path in differing - moved if was(path) != certain.get(path)}
            known = replace(known, without=frozenset(lost | (known.without & moved)))
        if known != self._known:
            is_small = self._known is not None and known == replace(self._known, stores=known.stores)
            self._remember(known, only_here=is_small)
        return _BASED + pack({"base": known.base, **manifest.beyond(known.tree, differing)})

    def read(self, data: bytes) -> Manifest:
        """The manifest that `record` gave these bytes for. EnvironmentFault where its tree is lost."""
        if data[:1] != _BASED:
            return Manifest.decode(data)
        more = unpack(data[1:])
        tree = self.known.tree if self.known.base == more["base"] else self._read(more["base"])
        return tree.with_more(more)

    def assure(self) -> None:
        """Have the recorded tree in its place; in the transaction that names it, since `sweep` waits for that."""
        if not self._has(self.known.base):
            self._write(self.known.tree)

    def place(self, name: str) -> Path:
        """Where a temporary file of that name may be made; `sweep` removes it if nobody else does."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        return self._folder / name

    def sweep(self) -> None:
        """Remove recorded trees that no snapshot needs: of this repository, and old ones of others; and what a crash
        left of making them."""
        with self._store.transaction() as db:  # nobody adds a snapshot meanwhile
            rows = db.execute("SELECT manifest FROM snapshots").fetchall()
            used = {unpack(row[0][1:])["base"] for row in rows if row[0][:1] == _BASED} | {self.known.base}
            for file in self._folder.glob("*.tree"):
                ours = file.name.rpartition(".tree")[0].rpartition(".")[0] == self._repo
                if file.name not in used:
                    remove_old(file, 0.0 if ours else _FORGOTTEN_S)
            for file in (*self._folder.glob("*.new"), *self._folder.glob("*.index*")):
                remove_old(file, _LEFT_OVER_S)

    # --- how ---------------------------------------------------------------------------------------

    def _has(self, base: str) -> bool:
        return (self._folder / base).is_file()

    def _write(self, tree: Manifest) -> str:
        data = tree.encode()
        base = f"{self._repo}.{hashlib.sha256(data).hexdigest()[:32]}.tree"
        try:
            self._put(base, data, durable=True)
        except OSError as e:
            raise EnvironmentFault("io", f"state folder {self._store.folder}: {e.strerror}",
                                   "free disk space, or make the state folder writable") from e  # fmt: skip
        return base

    def _put(self, name: str, data: bytes, *, durable: bool) -> None:
        temp = self.place(f"{name}.{secrets.token_hex(4)}.new")
        try:
            with os.fdopen(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            temp.replace(self._folder / name)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        if durable and hasattr(os, "O_DIRECTORY"):
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _read(self, base: str) -> Manifest:
        found = _NAME.fullmatch(base)
        try:
            data = (self._folder / base).read_bytes() if found else b""
        except OSError:
            data = b""
        if not found or hashlib.sha256(data).hexdigest()[:32] != found[1]:
            raise EnvironmentFault("io", f"the state folder {self._store.folder} has lost a recorded tree ({base})",
                                   "restore the state folder from a backup, or name another snapshot")  # fmt: skip
        return Manifest.decode(data)

    def _remember(self, known: Known, *, only_here: bool) -> None:
        """Keep it, for other processes too. Where that fails, they ask git."""
        self._known = known
        if only_here:  # they ask git for somewhat more
            return
        about = {name: getattr(known, name) for name in ("base", "index", "git_tree", "stores")}
        about |= {name: sorted(getattr(known, name)) for name in ("without", "others", "passed_over", "hidden")}
        with contextlib.suppress(OSError):
            self._put(f"{self._repo}.known", json.dumps(about).encode(), durable=False)

    def _load(self) -> Known:
        try:
            about = json.loads((self._folder / f"{self._repo}.known").read_bytes())
            tree = self._read(about["base"])
            sets = {name: frozenset(about[name]) for name in ("without", "others", "passed_over", "hidden")}
            return Known(
                about["base"], tree, about["index"], git_tree=about["git_tree"], stores=about["stores"], **sets
            )
        except (OSError, ValueError, KeyError, TypeError, EnvironmentFault):
            return Known()
