"""Putting results into the database: one transaction per batch, in which the generation changes with the files.

Identifiers get their numbers here, in that transaction.
"""

from __future__ import annotations

import json
import sqlite3
import time
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from regreen.repo.facts import FileRole
from regreen.repo.index.database import Database, Replaced
from regreen.repo.index.identifiers import identifier_form
from regreen.repo.index.parsing import Packed, read_about, read_identifiers
from regreen.repo.index.planning import Signature

_MAX_REMEMBERED = 400_000  # identifiers whose numbers are held in memory

ContentKey = tuple[bytes, str]  # hash and language


class FileRow(NamedTuple):
    """One file and which content it has."""

    path: str
    signature: Signature
    content: ContentKey
    role: FileRole


class Writer:
    """Writes batches. One for each run of indexing.

    Another process may write at the same time, if it has taken this one for dead; then both work, only slower.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numbers: dict[str, int] = {}
        self._complete = False  # whether all identifiers are in `_numbers`
        self._next = 1
        self._identity = database.identity

    def begin(self) -> None:
        """Read what is there. Called when it is this process's turn."""
        self._identity = self._database.identity
        last = self._database.number("identifiers")
        self._next = last + 1
        self._complete = last == 0

    def known(self, keys: Iterable[ContentKey]) -> set[ContentKey]:
        """Those of `keys` that have been read before."""
        with self._database.reading() as db:
            return {
                key
                for key in keys
                if db.execute("SELECT 1 FROM content WHERE hash = ? AND language = ?", key).fetchone()
            }

    def write(self, parsed: Mapping[ContentKey, Packed], files: Sequence[FileRow], gone: Sequence[str]) -> None:
        """Enter contents, then the files that have them; forget the paths in `gone`."""
        if not (parsed or files or gone):
            return
        try:
            with self._database.writing() as db:
                if self._database.identity != self._identity:
                    raise Replaced
                self._notice_others(db)
                self._add_contents(db, parsed)
                left = _forget(db, gone)
                changed, replaced = _enter(db, files)
                _mark_unused(db, left | replaced)
                db.execute("UPDATE meta SET value = value + 1 WHERE key = 'changes'")
                changes = db.execute("SELECT value FROM meta WHERE key = 'changes'").fetchone()[0]
                if gone or changed:
                    db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
        except BaseException:
            self._numbers.clear()  # some may not be in the database
            self._complete = False
            raise
        self._database.entered(changes, {file.path: file.signature for file in files}, gone)
        if len(self._numbers) > _MAX_REMEMBERED:
            self._numbers.clear()
            self._complete = False

    def _notice_others(self, db: sqlite3.Connection) -> None:
        """Forget the numbers of identifiers if another process has given out some."""
        last = db.execute("SELECT value FROM meta WHERE key = 'identifiers'").fetchone()[0]
        if last != self._next - 1:
            self._numbers.clear()
            self._complete = False
            self._next = last + 1

    def prune(self, spare: int) -> None:
        """Of contents that no file has any more keep the latest, as many as there are files, or `spare`."""
        with self._database.reading() as db:
            unused = db.execute("SELECT count(*) FROM content WHERE unused_since IS NOT NULL").fetchone()[0]
            files = db.execute("SELECT count(*) FROM file").fetchone()[0] if unused > spare else 0
        if unused <= max(spare, files):
            return
        with self._database.writing() as db:
            old = db.execute(
                "SELECT id, symbols FROM content WHERE unused_since IS NOT NULL"
                " ORDER BY unused_since DESC, id LIMIT -1 OFFSET ?",
                (max(spare, files) // 2,),
            )
            for content, symbols in old.fetchall():
                keys = [(row[1], content, number) for number, row in enumerate(json.loads(symbols))]
                db.executemany("DELETE FROM definition WHERE name = ? AND content = ? AND number = ?", keys)
                db.execute("DELETE FROM facts WHERE content = ?", (content,))
                db.execute("DELETE FROM content WHERE id = ?", (content,))

    def _add_contents(self, db: sqlite3.Connection, parsed: Mapping[ContentKey, Packed]) -> None:
        definitions: list[tuple[str, int, int, str, str]] = []
        read = {key: read_identifiers(packed) for key, packed in parsed.items()}
        self._number(db, {name for names, _ in read.values() for name in names})
        numbers = self._numbers
        for key, packed in parsed.items():
            about = read_about(packed)
            names, counts = read[key]
            about_it = (about.dialect, about.lines, about.note, json.dumps(about.errors), len(about.defined))
            cursor = db.execute(
                "INSERT OR IGNORE INTO content"
                " (hash, language, dialect, lines, note, errors, count, unused_since, symbols)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, *about_it, time.time(), packed.symbols),
            )
            content = cursor.lastrowid
            if not cursor.rowcount or content is None:
                continue
            uses = _pairs(map(numbers.__getitem__, names), counts)
            forms = [name if name in numbers else identifier_form(name) for name, _, _ in about.defined]
            defines = array("I", [numbers.get(form, 0) for form in forms])
            db.execute("INSERT INTO facts VALUES (?, ?, ?)", (content, defines.tobytes(), uses.tobytes()))
            definitions.extend(
                (name, content, number, kind, parent) for number, (name, kind, parent) in enumerate(about.defined)
            )
        definitions.sort()
        db.executemany("INSERT INTO definition VALUES (?, ?, ?, ?, ?)", definitions)

    def _number(self, db: sqlite3.Connection, names: set[str]) -> None:
        """Have a number in `_numbers` for each of `names`."""
        numbers = self._numbers
        missing = sorted(names - numbers.keys())
        if not self._complete:
            found = [db.execute("SELECT number FROM identifier WHERE name = ?", (name,)).fetchone() for name in missing]
            numbers.update((name, row[0]) for name, row in zip(missing, found, strict=True) if row)
            missing = [name for name, row in zip(missing, found, strict=True) if not row]
        fresh = list(zip(missing, count(self._next)))
        db.executemany("INSERT INTO identifier VALUES (?, ?)", fresh)
        numbers.update(fresh)
        self._next += len(fresh)
        db.execute("UPDATE meta SET value = ? WHERE key = 'identifiers'", (self._next - 1,))


def _pairs(numbers: Iterable[int], counts: array[int]) -> array[int]:
    """Numbers and counts in turn, ascending by number."""
    count_of = dict(zip(numbers, counts, strict=True))
    ordered = sorted(count_of)
    pairs = array("I", bytes(2 * len(ordered) * counts.itemsize))
    pairs[::2] = array("I", ordered)
    pairs[1::2] = array("I", map(count_of.__getitem__, ordered))
    return pairs


def _forget(db: sqlite3.Connection, gone: Sequence[str]) -> set[int]:
    """Delete the rows of these paths; returns the contents that they had."""
    left: set[int] = set()
    for path in gone:
        left.update(row[0] for row in db.execute("SELECT content FROM file WHERE path = ?", (path,)))
        db.execute("DELETE FROM file WHERE path = ?", (path,))
    return left


def _enter(db: sqlite3.Connection, files: Sequence[FileRow]) -> tuple[bool, set[int]]:
    """Write the rows; returns whether any file is new or has another content, and the contents that were replaced."""
    changed = False
    replaced: set[int] = set()
    rows: list[tuple[object, ...]] = []
    used: set[int] = set()
    for file in files:
        row = db.execute("SELECT id FROM content WHERE hash = ? AND language = ?", file.content).fetchone()
        if row is None:
            raise Replaced
        content = row[0]
        before = db.execute("SELECT content FROM file WHERE path = ?", (file.path,)).fetchone()
        if before is None or before[0] != content:
            changed = True
            used.add(content)
            replaced.update(before or ())
        rows.append((file.path, *file.signature, content, file.role))
    db.executemany("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    db.executemany(
        "UPDATE content SET unused_since = NULL WHERE id = ? AND unused_since IS NOT NULL", [(i,) for i in used]
    )
    return changed, replaced - used


def _mark_unused(db: sqlite3.Connection, contents: Iterable[int]) -> None:
    db.executemany(
        "UPDATE content SET unused_since = ? WHERE id = ?"
        " AND NOT EXISTS (SELECT 1 FROM file WHERE file.content = content.id)",
        [(time.time(), content) for content in contents],
    )
