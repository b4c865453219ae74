"""The per-user state folder and its SQLite database: trust, runs, the journal's tables, snapshots.

The folder is 0700 and belongs to the user, or it is refused. The database carries a schema version; a newer one
than ours is refused, never guessed at. Every change is one transaction, synchronised to disk before it counts.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import sqlite3
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from regreen.errors import ConfigError, EnvironmentFault

_FIRST_SCHEMA = """
CREATE TABLE repos (key TEXT PRIMARY KEY, root TEXT NOT NULL);
CREATE TABLE trust (path TEXT PRIMARY KEY, granted REAL NOT NULL, how TEXT NOT NULL);
CREATE TABLE tainted (repo TEXT NOT NULL, path TEXT NOT NULL, sha TEXT NOT NULL, PRIMARY KEY (repo, path));
CREATE TABLE runs (
    id TEXT PRIMARY KEY, repo TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, created REAL NOT NULL,
    finished REAL, pid INTEGER NOT NULL, request TEXT NOT NULL, result TEXT NOT NULL DEFAULT '{}');
CREATE INDEX runs_by_repo ON runs (repo, state);
CREATE TABLE blobs (sha TEXT PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE transactions (
    id TEXT PRIMARY KEY, repo TEXT NOT NULL, run_id TEXT NOT NULL DEFAULT '', label TEXT NOT NULL,
    state TEXT NOT NULL, created REAL NOT NULL);
CREATE INDEX transactions_by_repo ON transactions (repo, state);
CREATE INDEX transactions_by_run ON transactions (run_id);
CREATE TABLE entries (
    txn TEXT NOT NULL REFERENCES transactions (id) ON DELETE CASCADE, seq INTEGER NOT NULL, path TEXT NOT NULL,
    before_sha TEXT, before_mode INTEGER, before_mtime_ns INTEGER,
    after_sha TEXT, after_mode INTEGER, made_dirs TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (txn, seq));
CREATE TABLE snapshots (
    id TEXT PRIMARY KEY, repo TEXT NOT NULL, run_id TEXT NOT NULL DEFAULT '', created REAL NOT NULL,
    tree TEXT NOT NULL, commit_id TEXT NOT NULL, manifest BLOB NOT NULL);
CREATE TABLE snapshot_blobs (
    snapshot TEXT NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE, sha TEXT NOT NULL,
    PRIMARY KEY (snapshot, sha));
CREATE TABLE marks (
    snapshot TEXT PRIMARY KEY REFERENCES snapshots (id) ON DELETE CASCADE, created REAL NOT NULL,
    state TEXT NOT NULL, delta BLOB NOT NULL, alive REAL NOT NULL DEFAULT 0);
CREATE TABLE side_effects (
    snapshot TEXT NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE, seq INTEGER NOT NULL, path BLOB NOT NULL,
    before BLOB NOT NULL, source TEXT NOT NULL, after_sha TEXT NOT NULL, doubt INTEGER NOT NULL,
    PRIMARY KEY (snapshot, seq));
CREATE TABLE written (
    snapshot TEXT NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE, path BLOB NOT NULL,
    whole INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (snapshot, path));
CREATE TABLE seen_changed (
    snapshot TEXT NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE, path BLOB NOT NULL,
    windows INTEGER NOT NULL, PRIMARY KEY (snapshot, path));
CREATE TABLE surroundings (
    snapshot TEXT PRIMARY KEY REFERENCES snapshots (id) ON DELETE CASCADE, data BLOB NOT NULL);
"""
_PLANS_AND_ATTRIBUTES = """
CREATE TABLE plans (
    repo TEXT NOT NULL, id TEXT NOT NULL, created REAL NOT NULL, request TEXT NOT NULL, PRIMARY KEY (repo, id));
ALTER TABLE entries ADD COLUMN before_attributes BLOB;
"""
_ATTEMPTS_AND_OWNERS = """
CREATE TABLE attempts (
    run TEXT NOT NULL, number INTEGER NOT NULL, proposal TEXT NOT NULL, attempt TEXT NOT NULL, created REAL NOT NULL,
    PRIMARY KEY (run, number));
ALTER TABLE runs ADD COLUMN born TEXT NOT NULL DEFAULT '';
"""  # born: what tells the process of this pid from another that gets the same number later
_SAME_AGAIN = "ALTER TABLE seen_changed ADD COLUMN sha TEXT NOT NULL DEFAULT ''"
_MESSAGES = """
CREATE TABLE messages (
    id TEXT PRIMARY KEY, run TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, sent REAL NOT NULL,
    taken REAL, reply TEXT, result TEXT);
CREATE INDEX messages_by_run ON messages (run);
CREATE INDEX messages_not_taken ON messages (sent) WHERE taken IS NULL;
ALTER TABLE runs ADD COLUMN shown TEXT NOT NULL DEFAULT '';
"""  # shown: what a run tells of itself while it is not done, for those who ask in another process
_TAKEN_SEALS = "CREATE TABLE taken_seals (nonce TEXT PRIMARY KEY, until REAL NOT NULL);"
# Each makes one version out of the last.
_MIGRATIONS = (_FIRST_SCHEMA, _PLANS_AND_ATTRIBUTES, _ATTEMPTS_AND_OWNERS, _SAME_AGAIN, _MESSAGES, _TAKEN_SEALS)
SCHEMA_VERSION = len(_MIGRATIONS)

_FORGETTABLE = """
SELECT id FROM (SELECT id FROM runs WHERE finished IS NOT NULL ORDER BY finished DESC, rowid DESC LIMIT -1 OFFSET ?)
WHERE id NOT IN (SELECT run_id FROM transactions WHERE state != 'rolled_back')
"""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})
_TRANSACTION_HINT = "free disk space, or end the process that holds the database"
_ROOM_HINT = "free disk space, or point REGREEN_STATE_DIR at a writable folder with more room"


def no_room(error: OSError) -> EnvironmentFault | None:
    """The error for whoever can make room, where a disk (or a quota, or a read-only mount) takes no more."""
    if error.errno not in _NO_ROOM:
        return None
    where = error.filename or "a file of regreen cannot be written"
    return EnvironmentFault("io", f"{where}: {error.strerror}", _ROOM_HINT)


def new_id(kind: str) -> str:
    """A fresh id such as `txn-5f0c9a1e2b7d`, unguessable enough not to collide."""
    return f"{kind}-{secrets.token_hex(6)}"


def repo_key(root: Path) -> str:
    """The name under which a repository's records are kept: readable, and unique by real path."""
    real = os.path.realpath(root)
    name = re.sub(r"[^\w.-]", "_", Path(real).name[:40])
    return f"{name}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:16]}"


class Store:
    """An open state folder. One per process; safe to use from several threads and beside other processes."""

    def __init__(self, state_dir: Path) -> None:
        self.folder = _own_folder(state_dir)
        self._guard = threading.RLock()
        try:
            _own_file(self.folder / "regreen.db")
            with self.lock("schema"):  # two first openers: SQLite does not wait when it switches to WAL
                self._db = self._connect()
        except (sqlite3.Error, OSError) as e:
            raise ConfigError(
                "config_refused",
                f"state database in {self.folder}: {e}",
                "free disk space, or point REGREEN_STATE_DIR at a writable folder",
            ) from e

    def _connect(self) -> sqlite3.Connection:
        file = self.folder / "regreen.db"
        db = sqlite3.connect(file, timeout=20, check_same_thread=False, isolation_level=None)
        try:
            db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;")
            self._migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _migrate(self, db: sqlite3.Connection) -> None:
        db.execute("BEGIN IMMEDIATE")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise ConfigError(
                "config_refused",
                f"{self.folder}: written by another regreen (schema {version})",
                "update regreen, or point REGREEN_STATE_DIR at another folder",
            )
        for script in _MIGRATIONS[version:]:
            for statement in script.split(";"):
                db.execute(statement)
        db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        db.execute("COMMIT")

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """One write transaction: all of it is on disk when the block ends, or none. Nests into the outer one."""
        with self._guard:
            if self._db.in_transaction:
                yield self._db
                return
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except sqlite3.OperationalError as e:
                self._rollback()
                raise EnvironmentFault(
                    "io",
                    f"state folder {self.folder}: {e}",
                    _TRANSACTION_HINT,
                ) from e
            except BaseException:
                self._rollback()
                raise

    def _rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def rows(self, sql: str, *args: object) -> list[sqlite3.Row]:
        """The rows of a SELECT, addressable by column name."""
        with self._guard:
            try:
                cursor = self._db.execute(sql, args)
                cursor.row_factory = sqlite3.Row
                return cursor.fetchall()
            except sqlite3.OperationalError as e:
                raise EnvironmentFault("io", f"state folder {self.folder}: {e}", _TRANSACTION_HINT) from e

    def put_blob(self, data: bytes) -> str:
        """Keep `data`; returns its hex sha256. The same bytes are kept once."""
        sha = hashlib.sha256(data).hexdigest()
        with self.transaction() as db:
            db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (sha, data))
        return sha

    def blob(self, sha: str) -> bytes:
        """Bytes kept earlier. Raises KeyError where they have been pruned."""
        rows = self.rows("SELECT data FROM blobs WHERE sha = ?", sha)
        if not rows:
            raise KeyError(sha)
        return bytes(rows[0]["data"])

    def lock(self, name: str) -> FileLock:
        """A lock between processes (and threads); released by the system when its holder dies."""
        folder = self._made("locks")
        return FileLock(folder / f"{name}.lock", thread_local=False)

    def run_folder(self, run_id: str) -> Path:
        """The folder of one run's files (events, logs), made on first use."""
        return self._made("runs", run_id)

    def _made(self, *names: str) -> Path:
        folder = self.folder.joinpath(*names)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as e:
            raise EnvironmentFault("io", f"state folder {folder}: {e.strerror}", _ROOM_HINT) from e
        return folder

    def prune_runs(self, *, keep: int = 50, keep_logs: int = 20, keep_rows: int = 500) -> None:
        """Delete the files of all but the newest ended runs, and old logs of tests run without a job.

        Of the newest `keep_rows` ended runs the records stay (request, attempts, result), and of every run whose
        changes can still be put back. What cannot be deleted now is left for the next time.
        """
        old = self.rows("SELECT id FROM runs WHERE finished IS NOT NULL ORDER BY finished DESC LIMIT -1 OFFSET ?", keep)
        for row in old:
            shutil.rmtree(self.folder / "runs" / row["id"], ignore_errors=True)
        for folder in (self.folder / "runs").glob("tests-*"):
            for log in sorted(folder.glob("*.log"), key=_age)[:-keep_logs]:
                log.unlink(missing_ok=True)
        if self.rows(f"SELECT 1 FROM ({_FORGETTABLE}) LIMIT 1", keep_rows):
            with self.transaction() as db:
                db.execute(f"DELETE FROM runs WHERE id IN ({_FORGETTABLE})", (keep_rows,))
                db.execute("DELETE FROM attempts WHERE run NOT IN (SELECT id FROM runs)")
                db.execute("DELETE FROM messages WHERE run NOT IN (SELECT id FROM runs)")

    def close(self) -> None:
        with self._guard:
            self._db.close()


def _own_file(path: Path) -> None:
    """Make the file, for this user only; SQLite gives its companions the same mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process prunes too
        return 0.0


def _own_folder(path: Path) -> Path:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = path.stat()
    except OSError as e:
        raise ConfigError(
            "config_refused", f"state folder {path}: {e.strerror}", "point REGREEN_STATE_DIR at a writable folder"
        ) from e
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        raise ConfigError(
            "config_refused",
            f"state folder {path} belongs to another user",
            "point REGREEN_STATE_DIR at a folder of your own",
        )
    if stat.S_IMODE(info.st_mode) & 0o077:
        path.chmod(0o700)
    return path
