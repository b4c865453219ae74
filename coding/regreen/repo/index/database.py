"""The SQLite file of an index: opening, locks between processes, and what happens when it is broken or unwritable.

No trouble with the file is fatal. A corrupt one is deleted and made anew; where none can be written, an index in memory
takes its place. Readers see the last committed state; there is one writer at a time.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from regreen.repo.index.planning import Known, Signature
from regreen.repo.index.values import IndexLimits
from regreen.repo.index.versions import fingerprint

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE file (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
    ino INTEGER NOT NULL, content INTEGER NOT NULL, role TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX file_by_content ON file (content);
CREATE TABLE content (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL, language TEXT NOT NULL, dialect TEXT NOT NULL,
    lines INTEGER NOT NULL, note TEXT NOT NULL, errors TEXT NOT NULL, count INTEGER NOT NULL, unused_since REAL,
    symbols BLOB NOT NULL, UNIQUE (hash, language));
CREATE INDEX content_unused ON content (unused_since) WHERE unused_since IS NOT NULL;
CREATE TABLE facts (content INTEGER PRIMARY KEY, defines BLOB NOT NULL, uses BLOB NOT NULL);
CREATE TABLE definition (
    name TEXT NOT NULL COLLATE NOCASE, content INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL,
    parent TEXT NOT NULL, PRIMARY KEY (name, content, number)) WITHOUT ROWID;
CREATE TABLE identifier (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE kept (what TEXT PRIMARY KEY, data BLOB NOT NULL);
"""
_PRAGMAS = ("PRAGMA synchronous=NORMAL", "PRAGMA temp_store=MEMORY", "PRAGMA journal_size_limit=16777216")
_MAX_COPIED_BYTES = 128 << 20  # of a database into memory
_BUSY_S = 20.0
_OPEN_S = 20.0
_STALE_S = 14 * 24 * 3600.0  # after which the index of another version of this program is deleted
_CANNOT_WRITE = frozenset({
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
})  # fmt: skip
_log = logging.getLogger(__name__)


DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError, json.JSONDecodeError, TypeError)
"""What reading a damaged database raises: SQLite notices some of it, the rest comes out as values that are none."""


class Replaced(Exception):
    """The database is another than the one that the work was begun with."""


class Database:
    """One index, open. Safe for several threads and processes. `note` says why it is in memory only, if it is."""

    def __init__(self, folder: Path, key: str, limits: IndexLimits) -> None:
        self.note = ""
        self._folder = folder
        self._key = key
        self._limits = limits
        self._file = folder / f"{key}-{fingerprint()[:12]}.db"
        self._inode = (0, 0)
        self._known: tuple[object, dict[str, Signature]] = (None, {})  # and which state of which database that was
        self._guards = (threading.RLock(), threading.RLock())  # in this order: writing, reading
        self._writer, self._reader = self._open()

    @property
    def identity(self) -> tuple[int, int]:
        """Another value after the database was replaced by another."""
        return self._inode

    # --- using it ----------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A connection to read with: for one statement, or in a transaction of its own."""
        with self._guards[1]:
            yield self._reader

    @contextmanager
    def snapshot(self) -> Generator[sqlite3.Connection]:
        """A connection to read several things with that belong together."""
        with self.reading() as db:
            if db.in_transaction:
                yield db
                return
            db.execute("BEGIN")
            try:
                yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """One write transaction: all of it, or nothing."""
        with self._guards[0]:
            db = self._writer
            with self._guards[1] if db is self._reader else nullcontext():
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield db
                    db.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        db.execute("ROLLBACK")
                    raise

    def turn(self) -> BaseFileLock | None:
        """The lock that one indexing process holds at a time. None: nobody else can see this index."""
        return None if self.note else FileLock(self._file.with_suffix(".lock"), mode=0o600, thread_local=False)

    def close(self) -> None:
        with self._guards[0], self._guards[1]:
            self._writer.close()
            self._reader.close()

    def known(self) -> Known:
        """The files as they were when they were entered."""
        with self.snapshot() as db:
            state = (self._inode, _number(db, "changes"))
            if self._known[0] != state:
                rows = db.execute("SELECT path, size, mtime_ns, ctime_ns, ino FROM file")
                self._known = (state, {row[0]: row[1:] for row in rows})
            return self._known[1]

    def entered(self, changes: int, files: Mapping[str, Signature], gone: Sequence[str]) -> None:
        """Remember a batch that was just written, the one that has made `changes` what it is."""
        with self._guards[1]:
            if self._known[0] == (self._inode, changes - 1):
                known = self._known[1]
                for path in gone:
                    known.pop(path, None)
                known.update(files)
                self._known = ((self._inode, changes), known)

    def number(self, what: str) -> int:
        """One of the counters in `meta`."""
        with self.reading() as db:
            return _number(db, what)

    # --- trouble -----------------------------------------------------------------------------------

    def recover(self, error: Exception, identity: tuple[int, int]) -> None:
        """Make it usable again, anew or in memory, after an error of the database that had this identity."""
        with self._guards[0], self._guards[1]:
            if self._inode != identity:  # done already
                return
            _log.warning("index %s: %s", self._file, error)
            if self.note or _is_outside_trouble(error):
                self._writer, self._reader = self._go_to_memory(str(error))
                return
            with suppress(sqlite3.Error, UnicodeDecodeError):
                self.close()
            with suppress(OSError, Timeout), self._opening():
                if _inode(self._file) == self._inode:  # or another process was quicker
                    self._delete()
            self._writer, self._reader = self._open()

    def follow(self) -> None:
        """Open the file that has the index's name now, if another process has deleted the one that is open."""
        with self._guards[0], self._guards[1]:
            if not self.note and _inode(self._file) != self._inode:
                self.close()
                self._writer, self._reader = self._open()

    def _go_to_memory(self, why: str) -> tuple[sqlite3.Connection, sqlite3.Connection]:
        memory = _connect(":memory:")
        with suppress(sqlite3.Error, OSError):
            if self._file.stat().st_size < _MAX_COPIED_BYTES:
                self._reader.backup(memory)
        with suppress(sqlite3.Error):
            self.close()
        return self._in_memory(why, memory)

    def _in_memory(self, why: str, memory: sqlite3.Connection) -> tuple[sqlite3.Connection, sqlite3.Connection]:
        if not self.note:
            _log.warning("index %s: %s; it is kept in memory", self._file, why)
        self.note = f"the index cannot be kept in {self._folder}: {why}"
        self._inode = (self._inode[0] - 1, 0)
        if not _is_ours(memory):
            memory.close()
            memory = _connect(":memory:")
            _create(memory)
        return memory, memory

    # --- opening -----------------------------------------------------------------------------------

    def _open(self) -> tuple[sqlite3.Connection, sqlite3.Connection]:
        try:
            return self._open_file()
        except (OSError, sqlite3.Error, Timeout) as e:
            return self._in_memory(getattr(e, "strerror", None) or str(e), _connect(":memory:"))

    def _open_file(self) -> tuple[sqlite3.Connection, sqlite3.Connection]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(self._folder.stat().st_mode) & 0o077:
            self._folder.chmod(0o700)
        if not self._is_usable():
            with self._opening():
                if not self._is_usable():
                    self._make()
        writer = self._connect(f"PRAGMA max_page_count={self._limits.database_bytes // 4096}")
        try:
            reader = self._connect("PRAGMA query_only=ON")
        except BaseException:
            writer.close()
            raise
        self._inode = _inode(self._file)
        return writer, reader

    def _is_usable(self) -> bool:
        if not self._file.exists():
            return False
        try:
            db = self._connect()
        except (sqlite3.Error, UnicodeDecodeError) as e:
            if _is_outside_trouble(e):
                raise
            return False
        try:
            return _is_ours(db)
        finally:
            db.close()

    def _make(self) -> None:
        if self._file.exists():
            _log.warning("index %s: damaged, or made by another version; it is made anew", self._file)
        self._delete()
        self._delete_stale()
        os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))
        db = self._connect()
        try:
            db.execute("PRAGMA journal_mode=WAL")
            _create(db)
        finally:
            db.close()

    def _connect(self, *more: str) -> sqlite3.Connection:
        db = _connect(str(self._file))
        try:
            for pragma in (*_PRAGMAS, *more):
                db.execute(pragma)
        except BaseException:
            db.close()
            raise
        return db

    def _opening(self) -> BaseFileLock:
        return FileLock(self._folder / f"{self._key}.lock", timeout=_OPEN_S, mode=0o600, thread_local=False)

    def _delete(self) -> None:
        for ending in ("", "-wal", "-shm"):
            self._file.with_name(self._file.name + ending).unlink(missing_ok=True)

    def _delete_stale(self) -> None:
        """Delete what other versions of this program have left of this repository's index long ago."""
        for old in self._folder.glob(f"{self._key}-????????????.*"):
            with suppress(OSError):
                if time.time() - old.stat().st_mtime > _STALE_S:
                    old.unlink()


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, timeout=_BUSY_S, check_same_thread=False, isolation_level=None)


def _create(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.split(";"):
        db.execute(statement)
    now = time.time_ns() // 1000  # a number that no earlier database of this repository has come to
    values = {"made_by": fingerprint(), "generation": now, "changes": now, "identifiers": 0}
    db.executemany("INSERT INTO meta VALUES (?, ?)", values.items())
    db.execute("INSERT INTO sqlite_sequence VALUES ('content', ?)", (int(time.time()),))  # nor to this one
    db.execute("COMMIT")


def _is_ours(db: sqlite3.Connection) -> bool:
    """Whether this is a whole database of our version."""
    try:
        row = db.execute("SELECT value FROM meta WHERE key = 'made_by'").fetchone()
    except (sqlite3.Error, UnicodeDecodeError) as e:
        if _is_outside_trouble(e):
            raise
        return False
    return row is not None and row[0] == fingerprint()


def _is_outside_trouble(error: Exception) -> bool:
    """Whether the disk, rights or other processes are at fault, and not what is in the file."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in _CANNOT_WRITE


def _number(db: sqlite3.Connection, what: str) -> int:
    return db.execute("SELECT value FROM meta WHERE key = ?", (what,)).fetchone()[0]


def _inode(path: Path) -> tuple[int, int]:
    try:
        info = path.stat()
    except OSError:
        return 0, 0
    return info.st_dev, info.st_ino
