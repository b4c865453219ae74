"""From the bytes of one file to what the index keeps of it. Pure; it runs in processes of its own, which import little.

The result is bytes, as it goes through a pipe and, for the most part, into the database as it is.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from regreen.model import Symbol
from regreen.repo.index.identifiers import count_identifiers
from regreen.repo.languages import Language, MissingGrammar, language_of
from regreen.repo.symbols.extract import extract
from regreen.repo.symbols.extraction import Extraction
from regreen.workspace.text import Text, TextProblem

REPLACED = "holds bytes that are not UTF-8, shown as \N{REPLACEMENT CHARACTER}"

Row: TypeAlias = "tuple[str, str, str, str, int, int, str, list[str], str]"


class Packed(NamedTuple):
    """`about` and `symbols` are JSON (an About, rows of symbols), `names` is one identifier per line."""

    about: bytes
    symbols: bytes
    names: bytes
    counts: bytes


class About(NamedTuple):
    """`note` says why nothing was read, "" otherwise. `defined` has name, kind and parent of each symbol. `dialect` is
    the language that it was read as, "" for the one that its name says."""

    lines: int
    note: str
    errors: list[str]
    defined: list[tuple[str, str, str]]
    dialect: str = ""


def parse(path: str, data: bytes) -> Packed:
    """Read one file. Never raises for what is in it."""
    text = Text.decode(data)
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    if isinstance(text, TextProblem):
        return unread(f"{text.kind}: {text.message}", lines)
    source = data if text.encoding == "utf-8" and not text.bom else text.text.encode("utf-8", "surrogateescape")
    language = language_of(path, source)
    found = _extract(language, source)
    names, counts = count_identifiers(source)
    notes = [REPLACED] if text.raw else []
    defined = [(s.name, s.kind, s.parent) for s in found.symbols]
    return Packed(
        _json(About(lines, found.gave_up, [*notes, *found.errors], defined, language.name if language else "")),
        pack_symbols(found.symbols),
        "\n".join(names).encode(),
        counts.tobytes(),
    )


def unread(note: str, lines: int = 0) -> Packed:
    """What is kept of a file that could not be read."""
    return Packed(_json(About(lines, note, [], [])), b"[]", b"", b"")


def read_about(packed: Packed) -> About:
    return About(*json.loads(packed.about))


def read_identifiers(packed: Packed) -> tuple[list[str], array[int]]:
    """The identifiers of a file and how often each occurs."""
    counts = array("I")
    counts.frombytes(packed.counts)
    return (packed.names.decode().split("\n") if packed.names else []), counts


def pack_symbols(symbols: Iterable[Symbol]) -> bytes:
    return _json([
        (s.kind, s.name, s.qualified_name, s.signature, s.line, s.end_line, s.parent, s.decorators, s.doc)
        for s in symbols
    ])  # fmt: skip


def unpack_symbols(data: bytes) -> list[Row]:
    return json.loads(data)


def to_symbol(row: Row) -> Symbol:
    kind, name, qualified_name, signature, line, end_line, parent, decorators, doc = row
    return Symbol(kind, name, qualified_name, signature, line, end_line, parent, tuple(decorators), doc)


def _extract(language: Language | None, source: bytes) -> Extraction:
    if language is None:
        return Extraction(gave_up="of no known language")
    try:
        return extract(source, language, docstrings=True)
    except MissingGrammar as e:
        return Extraction(gave_up=str(e))
    except MemoryError:
        return Extraction(gave_up="too large for the memory of the process that parses")


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
