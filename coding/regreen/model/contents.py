"""What a repository contains: trees, definitions, text. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A file tree as text. `files` and `dirs` count the whole subtree, shown or not."""

    root: str
    tree: str
    files: int
    dirs: int
    truncated: bool = False
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. Lines are 1-based; `line` is that of the name's keyword, not of a decorator."""

    kind: str
    name: str
    qualified_name: str
    signature: str
    line: int
    end_line: int
    parent: str = ""
    decorators: tuple[str, ...] = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class FileSymbols:
    path: str
    language: str
    symbols: tuple[Symbol, ...]
    errors: tuple[str, ...] = ()  # "line 12: could not be parsed"


@dataclass(frozen=True, slots=True)
class Skipped:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SignatureReport:
    files: tuple[FileSymbols, ...]
    skipped: tuple[Skipped, ...] = ()
    truncated: bool = False
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class FileText:
    """A piece of a text file. `sha256` is of the whole file's raw bytes; `redacted` counts masked secrets. `cursor`:
    where it goes on, if it was cut to what is read at once."""

    path: str
    text: str
    start_line: int
    end_line: int
    total_lines: int
    sha256: str
    encoding: str
    eol: Literal["lf", "crlf", "mixed", "none"]
    redacted: int = 0
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class RankedSymbol:
    """A definition that a map shows, and how much it matters here: a share of 1 over the whole repository. Its
    signature is in the map's text."""

    path: str
    kind: str
    qualified_name: str
    line: int
    end_line: int
    score: float


@dataclass(frozen=True, slots=True)
class RepoMap:
    """The definitions that matter most, as text within a budget. `tokens` is the size of `text`; `files` are those
    shown, best first; the totals count all that the index knows, shown or not. `indexed` is below 1 while the index is
    still being made: the map is then of a part of the repository."""

    text: str
    files: tuple[str, ...]
    tokens: int
    ranked_symbols: tuple[RankedSymbol, ...]
    total_files: int
    total_symbols: int
    indexed: float = 1.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a name is defined. `doc` is the first line of its documentation."""

    path: str
    kind: str
    name: str
    qualified_name: str
    signature: str
    line: int
    end_line: int
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """A place that uses a name. `signature` is the line's text, `symbol` the qualified name of the definition around
    it, "" at the top of a file."""

    path: str
    line: int
    column: int
    kind: Literal["definition", "use", "import", "call", "comment", "string"]
    signature: str
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class SymbolReport:
    """The definitions of a name, and on request its uses. The totals count what was found, shown or not.
    `suggestions` are names like it where there is no definition."""

    definitions: tuple[Definition, ...]
    references: tuple[Reference, ...] = ()
    definitions_total: int = 0
    references_total: int = 0
    suggestions: tuple[str, ...] = ()
    indexed: float = 1.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """One line that matches, 1-based, with the lines around it. `column` is the first match in it, 1-based."""

    path: str
    line: int
    column: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchReport:
    """Matches by path and line. `truncated`: there are, or may be, more; `notes` say why."""

    matches: tuple[SearchMatch, ...]
    truncated: bool = False
    files_searched: int = 0
    files_matched: int = 0
    notes: tuple[str, ...] = ()
