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
    """A piece of a text file. `sha256` is of the whole file's raw bytes; `redacted` counts masked secrets."""

    path: str
    text: str
    start_line: int
    end_line: int
    total_lines: int
    sha256: str
    encoding: str
    eol: Literal["lf", "crlf", "mixed", "none"]
    redacted: int = 0
