"""The index of one repository: asked from any thread, brought up to date in the background.

What is asked is answered from what was committed last. Nothing about the database is ever an error of the caller's.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from regreen.model import Definition, FileSymbols, Skipped, Symbol
from regreen.repo.facts import FileFacts
from regreen.repo.files import FileList
from regreen.repo.index.background import Background
from regreen.repo.index.database import DAMAGE, Database
from regreen.repo.index.finding import find_definitions, find_names_like, last_part
from regreen.repo.index.identifiers import identifier_form
from regreen.repo.index.lookup import FILE, IDENTIFIER, TOTALS, all_facts, all_paths, files_using, one, sayable
from regreen.repo.index.parsing import to_symbol, unpack_symbols
from regreen.repo.index.values import CancelLike, IndexLimits, Progress
from regreen.repo.languages import extension_of, language_of
from regreen.workspace import Stat, Workspace, is_secret

T = TypeVar("T")

_TRIES = 3


class Index:
    """What one repository's files define and use. Close it: that ends what still runs in the background."""

    def __init__(self, folder: Path, key: str, workspace: Workspace, *, limits: IndexLimits | None = None) -> None:
        limits = limits or IndexLimits()
        self._database = Database(folder, key, limits)
        self._background = Background(workspace, self._database, limits)

    @property
    def note(self) -> str:
        """Why the index is kept in memory only, "" if it is not."""
        return self._database.note

    @property
    def parsed(self) -> int:
        """How many files this object has had parsed."""
        return self._background.parsed

    def refresh(
        self,
        files: FileList,
        *,
        first: Sequence[str] = (),
        wait_s: float | None = None,
        on_progress: Callable[[str], None] | None = None,
        cancel: CancelLike | None = None,
    ) -> Progress:
        """Bring the index up to date with these files, `first` before others.

        Returns when that is done, after `wait_s`, or when the caller cancels; the rest then goes on in the background.
        """
        return self._background.refresh(files.stats, tuple(first), wait_s, on_progress, cancel)

    # --- one file ----------------------------------------------------------------------------------

    def file(self, path: str, *, as_of: Stat | None = None) -> FileSymbols | Skipped | None:
        """What one file defines, or why that is not known; None if it has not been indexed yet.

        With `as_of` also None if it was indexed when its stat was another.
        """
        language = language_of(path)
        if language is None:
            return Skipped(path, f"no grammar for {extension_of(path) or 'this kind of'} files")
        if is_secret(path):
            return Skipped(path, "holds secrets: it is never shown")

        def read(db: sqlite3.Connection) -> FileSymbols | Skipped | None:
            row = one(db, FILE, path)
            if row is None or (as_of is not None and row[4:] != as_of[:4]):
                return None
            note, errors, symbols, dialect = row[:4]
            if note:
                return Skipped(path, note)
            found = tuple(map(to_symbol, unpack_symbols(symbols)))
            return FileSymbols(path, dialect or language.name, found, tuple(json.loads(errors)))

        return self._ask(read)

    def role(self, path: str) -> str:
        """What kind of file it was when it was indexed; "" if it has not been."""
        row = self._ask(lambda db: one(db, "SELECT role FROM file WHERE path = ?", path))
        return row[0] if row else ""

    def symbols(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Symbol]:
        """Symbols by path and number in their file. Those that are not there any more are left out."""
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for path, number in wanted:
            numbers[path].append(number)

        def read(db: sqlite3.Connection) -> dict[tuple[str, int], Symbol]:
            found: dict[tuple[str, int], Symbol] = {}
            for path, chosen in numbers.items():
                row = one(db, FILE, sayable(path))
                rows = unpack_symbols(row[2]) if row else []
                found.update(((path, n), to_symbol(rows[n])) for n in chosen if 0 <= n < len(rows))
            return found

        return self._ask(read)

    # --- names -------------------------------------------------------------------------------------

    def definitions(self, name: str, *, kind: str = "", limit: int = 50) -> tuple[list[Definition], int]:
        """Where a name is defined, and in how many places: exactly this name, else a (partly) qualified one.

        `Model.save`, `A::b`, `A#b` and `django.db.models.Model` (parts of the path before the name) are understood.
        """
        return self._ask(lambda db: find_definitions(db, sayable(name), kind, limit))

    def names_like(self, name: str, limit: int = 5) -> tuple[str, ...]:
        """Names of definitions that resemble `name`, the likest first."""
        return self._ask(lambda db: find_names_like(db, sayable(name), limit))

    def files_using(self, identifier: str) -> list[str]:
        """The files in which an identifier occurs, sorted: all files, for a name that is not counted as one.

        Of a qualified name the last part counts.
        """
        form = identifier_form(last_part(identifier))
        return self._ask(lambda db: files_using(db, form) if form else all_paths(db))

    def totals(self) -> tuple[int, int]:
        """How many files there are, and how many symbols in them."""
        return self._ask(lambda db: one(db, TOTALS) or (0, 0))

    # --- what ranking needs ------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """Another number whenever any file has come, gone or changed."""
        return self._ask(lambda db: one(db, "SELECT value FROM meta WHERE key = 'generation'") or (0,))[0]

    def facts(self) -> Iterator[FileFacts]:
        """All files with a language, sorted by path."""
        return iter(self._ask(all_facts))

    def identifiers(self, names: Iterable[str]) -> Mapping[str, int]:
        """The numbers of those of `names` that occur anywhere."""
        forms = {name: identifier_form(name) for name in names}

        def read(db: sqlite3.Connection) -> dict[str, int]:
            found = {name: one(db, IDENTIFIER, form) for name, form in forms.items() if form}
            return {name: row[0] for name, row in found.items() if row}

        return self._ask(read)

    def kept(self, what: str) -> bytes | None:
        """What `keep` was given last under this name, by whichever process; None for nothing."""
        row = self._ask(lambda db: one(db, "SELECT data FROM kept WHERE what = ?", what))
        return bytes(row[0]) if row else None

    def keep(self, what: str, data: bytes) -> None:
        """Keep derived data from one process to the next. May be lost at any time."""
        with suppress(sqlite3.OperationalError), self._database.writing() as db:
            db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (what, data))

    def close(self) -> None:
        """End what runs in the background; what it has committed stays."""
        self._background.close()
        self._database.close()

    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Answer from one state of the database; if that is broken, from the one that takes its place."""
        for left in reversed(range(_TRIES)):
            identity = self._database.identity
            try:
                with self._database.snapshot() as db:
                    return question(db)
            except DAMAGE as e:
                if not left or isinstance(e, sqlite3.ProgrammingError):  # the latter: the index was closed
                    raise
                self._database.recover(e, identity)
        raise AssertionError("unreachable")
