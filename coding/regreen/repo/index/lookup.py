"""The questions that are one query: what a file has, who uses an identifier, all facts."""

from __future__ import annotations

import sqlite3
import sys
from array import array
from typing import Any

from regreen.repo.facts import FileFacts

FILE = (
    "SELECT content.note, content.errors, content.symbols, content.dialect,"
    " file.size, file.mtime_ns, file.ctime_ns, file.ino"
    " FROM file JOIN content ON content.id = file.content WHERE file.path = ?"
)
TOTALS = "SELECT count(*), coalesce(sum(content.count), 0) FROM file JOIN content ON content.id = file.content"
IDENTIFIER = "SELECT number FROM identifier WHERE name = ?"

_FACTS = (
    "SELECT file.path, file.role, file.content, facts.defines, facts.uses"
    " FROM file JOIN facts ON facts.content = file.content ORDER BY file.path"
)
_USING = "SELECT content, uses FROM facts WHERE instr(uses, ?) > 0"
_PAIR_BYTES = 2 * array("I").itemsize


def sayable(text: str) -> str:
    """The text in a form that SQLite takes; text without an encoding becomes another, which is not found."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def one(db: sqlite3.Connection, query: str, *values: object) -> Any:
    """The first row, or None."""
    return db.execute(query, values).fetchone()


def all_facts(db: sqlite3.Connection) -> list[FileFacts]:
    """One row for each file, sorted by path."""
    facts: list[FileFacts] = []
    for path, role, content, defines, uses in db.execute(_FACTS):
        numbers, pairs = array("I"), array("I")
        numbers.frombytes(defines)
        pairs.frombytes(uses)
        facts.append(FileFacts(path, role, content, numbers, pairs))
    return facts


def all_paths(db: sqlite3.Connection) -> list[str]:
    return [row[0] for row in db.execute("SELECT path FROM file ORDER BY path")]


def files_using(db: sqlite3.Connection, identifier: str) -> list[str]:
    """The files in which an identifier occurs, sorted."""
    row = one(db, IDENTIFIER, identifier)
    if row is None:
        return []
    number = row[0].to_bytes(_PAIR_BYTES // 2, sys.byteorder)
    contents = [content for content, uses in db.execute(_USING, (number,)) if _holds(uses, number)]
    paths: list[str] = []
    for content in contents:
        paths.extend(row[0] for row in db.execute("SELECT path FROM file WHERE content = ?", (content,)))
    return sorted(paths)


def _holds(uses: bytes, number: bytes) -> bool:
    """Whether a number is the first of a pair."""
    at = uses.find(number)
    while at >= 0 and at % _PAIR_BYTES:
        at = uses.find(number, at + 1)
    return at >= 0
