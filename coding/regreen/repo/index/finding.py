"""Finding definitions by name, and names like a name. Each question is a few look-ups in the database."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

from regreen.model import Definition
from regreen.repo.index.parsing import Row, unpack_symbols

_SEPARATOR = re.compile(r"::|->|[.#/\\]")
_NAMES_S = 0.25  # for suggestions, however many names there are
_CANDIDATES = 400
_CLOSE = 0.6
_STEPS = 10_000  # of SQLite's machine, between two looks at the clock

_NAMED = """
SELECT file.path, definition.content, definition.number, definition.parent, file.role
FROM definition JOIN file ON file.content = definition.content
WHERE definition.name = ? AND definition.name = ? COLLATE BINARY
"""
_RANK = {"source": 0, "test": 2}  # what else there is lies between


class _Place(NamedTuple):
    path: str
    content: int
    number: int
    parent: str
    role: str


def find_definitions(db: sqlite3.Connection, name: str, kind: str, limit: int) -> tuple[list[Definition], int]:
    """The definitions of a name, sources before tests, by path and line; and how many there are in all."""
    places = sorted(_places(db, name.strip(), kind), key=lambda p: (_RANK.get(p.role, 1), p.path, p.number))
    shown = places[:limit]
    rows = _rows(db, {place.content for place in shown})
    return [_definition(place.path, rows[place.content][place.number]) for place in shown], len(places)


def _places(db: sqlite3.Connection, name: str, kind: str) -> list[_Place]:
    """Definitions of exactly this name; else those of its last part whose parents and path fit what stands before."""
    if found := _named(db, name, kind):
        return found
    *before, last = [part for part in _SEPARATOR.split(name) if part] or [""]
    candidates = _named(db, last, kind) if before else []
    within = [p for p in candidates if _ends_with(_SEPARATOR.split(p.parent), before)]
    if within:
        return within
    graded = [(grade, p) for p in candidates if (grade := _module_grade(p, before))]
    best = max((grade for grade, _ in graded), default=0)
    return [p for grade, p in graded if grade == best]


def _named(db: sqlite3.Connection, name: str, kind: str) -> list[_Place]:
    if kind:
        return [_Place(*row) for row in db.execute(_NAMED + " AND definition.kind = ?", (name, name, kind))]
    return [_Place(*row) for row in db.execute(_NAMED, (name, name))]


def _ends_with(parts: Sequence[str], end: Sequence[str]) -> bool:
    return list(parts[-len(end) :]) == list(end)


def _module_grade(place: _Place, before: Sequence[str]) -> int:
    """How well `before` names the module and parents of a definition: parents from the inside, then parts of the path.

    2: those parts follow each other in the path, 1: they come in that order, 0: it is another definition's name.
    """
    parents = [part for part in _SEPARATOR.split(place.parent) if part]
    for inner in range(min(len(parents), len(before) - 1), -1, -1):
        if inner and parents[-inner:] != list(before[-inner:]):
            continue
        if inner < len(parents):  # what encloses it was left out
            continue
        if grade := _path_grade(place.path, before[: len(before) - inner]):
            return grade
    return 0


def _path_grade(path: str, module: Sequence[str]) -> int:
    folder, _, name = path.rpartition("/")
    parts = [*folder.split("/"), name.partition(".")[0]]
    if any(parts[i : i + len(module)] == list(module) for i in range(len(parts))):
        return 2
    left = iter(parts)
    return int(all(part in left for part in module))


def _rows(db: sqlite3.Connection, contents: Iterable[int]) -> dict[int, list[Row]]:
    return {
        content: unpack_symbols(db.execute("SELECT symbols FROM content WHERE id = ?", (content,)).fetchone()[0])
        for content in contents
    }


def _definition(path: str, row: Row) -> Definition:
    kind, name, qualified_name, signature, line, end_line, _, _, doc = row
    return Definition(path, kind, name, qualified_name, signature, line, end_line, doc)


def last_part(name: str) -> str:
    """What a qualified name is the name of."""
    return _SEPARATOR.split(name.strip())[-1] or name.strip()


def find_names_like(db: sqlite3.Connection, name: str, limit: int) -> tuple[str, ...]:
    """Names that are defined and resemble `name`: equal but for case, beginning with it, holding it, close to it."""
    wanted = last_part(name)
    found: dict[str, None] = {}
    if not wanted or limit < 1:
        return ()
    for names in _kinds_of_likeness(db, wanted, limit):
        found.update(dict.fromkeys(name for name in names if _is_defined(db, name)))
        found.pop(name, None)
        if len(found) >= limit:
            break
    return tuple(found)[:limit]


def _is_defined(db: sqlite3.Connection, name: str) -> bool:
    """Whether a file of now defines it: contents of none are kept as well."""
    query = "SELECT 1 FROM definition JOIN file ON file.content = definition.content WHERE name = ? LIMIT 1"
    return db.execute(query, (name,)).fetchone() is not None


def _kinds_of_likeness(db: sqlite3.Connection, wanted: str, limit: int) -> Iterator[list[str]]:
    deadline = time.monotonic() + _NAMES_S
    db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    try:
        yield _names(db, "name = ?", (wanted,), limit)
        if len(wanted) > 1:
            yield _names(db, "name >= ? AND name < ?", (wanted, wanted + "\U0010ffff"), limit * 4)[: limit * 2]
        if len(wanted) > 2:
            yield _names(db, r"name LIKE ? ESCAPE '\'", (f"%{_escaped(wanted)}%",), limit * 4)
            yield _close(wanted, _candidates(db, wanted))
    except sqlite3.OperationalError as e:
        if getattr(e, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
            raise
    finally:
        db.set_progress_handler(None, 0)


def _names(db: sqlite3.Connection, where: str, values: Sequence[object], limit: int) -> list[str]:
    rows = db.execute(
        f"SELECT DISTINCT name COLLATE BINARY FROM definition WHERE {where} ORDER BY length(name) LIMIT ?",
        (*values, limit),
    )
    return sorted((row[0] for row in rows), key=lambda n: (len(n), n))


def _candidates(db: sqlite3.Connection, wanted: str) -> list[str]:
    """Names of about this length that share a piece with it: one with few mistakes has a piece without any."""
    pieces = _pieces(wanted)
    room = max(1, len(wanted) // 4)
    hits = " + ".join([r"(name LIKE ? ESCAPE '\')"] * len(pieces))
    rows = db.execute(
        f"SELECT DISTINCT name COLLATE BINARY, {hits} AS hits FROM definition"
        " WHERE length(name) BETWEEN ? AND ? AND hits > 0 ORDER BY hits DESC, abs(length(name) - ?), name LIMIT ?",
        (*[f"%{_escaped(p)}%" for p in pieces], len(wanted) - room, len(wanted) + room, len(wanted), _CANDIDATES),
    )
    return [row[0] for row in rows]


def _pieces(wanted: str) -> list[str]:
    """Pieces of a name that cover it; more than two letters that have changed places can spoil."""
    count = 3 if len(wanted) >= 5 else 2
    cuts = [len(wanted) * i // count for i in range(count + 1)]
    return [wanted[a:b] for a, b in pairwise(cuts)]


def _close(wanted: str, candidates: Iterable[str]) -> list[str]:
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted.casefold())
    scored: list[tuple[float, str]] = []
    for name in candidates:
        matcher.set_seq1(name.casefold())
        if matcher.real_quick_ratio() >= _CLOSE and matcher.quick_ratio() >= _CLOSE and matcher.ratio() >= _CLOSE:
            scored.append((-matcher.ratio(), name))
    return [name for _, name in sorted(scored)]


def _escaped(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)
