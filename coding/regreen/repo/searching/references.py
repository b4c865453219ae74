"""Where a name is used, as what, and in which definition: a fresh look into the files that are known to have it.

References are by name: which of several definitions is meant, a grammar cannot know; that is not guessed but said.
Work is bounded: by time, by the size of a file, and by the limit, after which occurrences are counted unparsed.
"""

from __future__ import annotations

import bisect
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from regreen.errors import UsageError
from regreen.model import Reference, Symbol
from regreen.repo.classes import role_of_path
from regreen.repo.languages import Language, MissingGrammar, grammar, installed, language_of
from regreen.repo.searching import occurrences
from regreen.repo.searching.excerpts import Lines, cut
from regreen.repo.searching.occurrences import Occurrence
from regreen.repo.symbols.extract import extract
from regreen.repo.symbols.parsing import parse_within
from regreen.workspace import Text, TextProblem, Workspace
from regreen.workspace.reading import Reader, Unread

if TYPE_CHECKING:
    from tree_sitter import Language as Loaded

    from regreen.sandbox import Cancel

MAX_BYTES = 1 << 20  # of a file; what is larger is not looked into
BUDGET_S = 5.0
MAX_LIMIT = 20_000

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_ROLES = {"source": 0, "test": 1, "vendored": 2}

SymbolsOf = Callable[[str], "Sequence[Symbol] | None"]


def last_identifier(name: str) -> str:
    """The part of a (qualified) name that its uses have: `filter` of `QuerySet.filter`, `a::filter`, `a#filter`."""
    found = _IDENTIFIER.findall(name)
    if not found:
        raise UsageError(
            "invalid_arguments", f"`{name[:80]}` is no name", "give an identifier such as `load` or `Store.load`"
        )
    return found[-1]


def references(
    workspace: Workspace,
    paths: Sequence[str],
    name: str,
    *,
    limit: int = 100,
    budget_s: float = BUDGET_S,
    definitions: int = 0,
    texts: bool = False,
    symbols_of: SymbolsOf | None = None,
    cancel: Cancel | None = None,
    mask: Callable[[str], str] | None = None,
) -> tuple[tuple[Reference, ...], int, tuple[str, ...]]:
    """The uses of a name in `paths`, how many there are in all, and notes.

    Tests come after the rest and vendored files last, prose after code; then by path and line. `definitions`: how many
    definitions share the last part of the name. `texts`: comments and strings, too. `symbols_of` gives the definitions
    of a file, if they are known; else, and for None, they are read again. UsageError `invalid_arguments` for no name.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError("invalid_arguments", f"limit is {limit}", f"give 1 to {MAX_LIMIT} references")
    word = last_identifier(name)
    end = time.monotonic() + budget_s
    found = _Found(word, limit, texts, lambda: time.monotonic() >= end or (cancel is not None and cancel.is_set()),
                   mask)  # fmt: skip
    ordered = sorted(set(paths), key=_order)
    done = 0
    with Reader(workspace, MAX_BYTES) as reader:
        for path in ordered:
            if found.stop() or not found.look(path, reader.read(path), symbols_of):
                break
            done += 1
    stopped = f"stopped after {budget_s:g} s or on request: {done} of {len(ordered)} files that have the name were read"
    by_name = ""
    if definitions > 1 or word != name:
        known = f"{definitions} definitions share" if definitions > 1 else "other definitions may share"
        by_name = f"references are by name: {known} `{word}`, and which one is meant is not told apart"
    notes = (by_name, stopped if done < len(ordered) else "", *found.notes())
    return tuple(found.references), found.total, tuple(filter(None, notes))


def _order(path: str) -> tuple[int, bool, str]:
    language = language_of(path)
    return _ROLES[role_of_path(path)], language is None or not language.grammar, path


class _Place(NamedTuple):
    """An occurrence and what is to be told of it."""

    occurrence: Occurrence
    symbol: str


class _Found:
    def __init__(self, word: str, limit: int, texts: bool, stop: Callable[[], bool],
                 mask: Callable[[str], str] | None) -> None:  # fmt: skip
        self._mask = mask
        self._word, self._needle, self._limit, self._texts = word, word.encode(), limit, texts
        self.stop = stop
        self.references: list[Reference] = []
        self.total = 0
        self._unread: Counter[Unread] = Counter()
        self._in_texts = 0
        self._without_grammar = 0
        self._only_counted = 0

    def look(self, path: str, data: bytes | Unread, symbols_of: SymbolsOf | None) -> bool:
        """Look into one file. False if it was not finished."""
        source = data if isinstance(data, Unread) else _source(data)
        if isinstance(source, Unread):
            self._unread[source] += 1
            return True
        offsets = list(occurrences.words(source, self._needle))
        if not offsets:
            return True
        if self._mask is not None:
            source = self._mask(source.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
            offsets = list(occurrences.words(source, self._needle))
        if len(self.references) >= self._limit:
            self._only_counted += 1
            self.total += len(offsets)
            return True
        places = self._places(path, source, offsets, symbols_of)
        if places is None:
            return False
        self._add(path, source, places)
        return True

    def _places(
        self, path: str, source: bytes, offsets: Sequence[int], symbols_of: SymbolsOf | None
    ) -> list[_Place] | None:
        """None: the time was over."""
        language = language_of(path, source)
        found = self._occurrences(language, source, offsets)
        if found is None:
            return None
        symbols = symbols_of(path) if symbols_of is not None else None
        if symbols is None:
            symbols = extract(source, language).symbols if language is not None and installed(language) else ()
        return placed(source, found, symbols, self._word)

    def _occurrences(self, language: Language | None, source: bytes, offsets: Sequence[int]) -> list[Occurrence] | None:
        loaded = _grammar(language)
        if language is None or loaded is None:
            self._without_grammar += 1
            return [Occurrence(offset, "use") for offset in offsets]
        masked = language.mask(source) if language.mask is not None else source
        tree = parse_within(masked, loaded, self.stop)
        if tree is None:
            return None
        found: list[Occurrence] = []
        for occurrence in occurrences.classify(tree, masked, offsets, len(self._needle)):
            if self.stop():
                return None
            found.append(occurrence)
        return found

    def _add(self, path: str, source: bytes, places: Sequence[_Place]) -> None:
        lines = Lines(source)
        for (offset, kind, _), symbol in places:
            if kind in ("comment", "string") and not self._texts:
                self._in_texts += 1
                continue
            self.total += 1
            if len(self.references) >= self._limit:
                continue
            start, end = lines.start(offset), lines.end(offset)
            column = len(source[start:offset].decode("utf-8", "replace")) + 1
            text = cut(source, start, end, offset).strip()
            self.references.append(Reference(path, lines.number(start), column, kind, text, symbol))

    def notes(self) -> Iterator[str]:
        if self._in_texts:
            yield f"{self._in_texts} more in comments and strings"
        if self._only_counted:
            yield (f"past the limit occurrences are only counted, those in comments and strings too "
                   f"(files: {self._only_counted})")  # fmt: skip
        if self._without_grammar:
            yield f"files without a grammar, where every occurrence is a use: {self._without_grammar}"
        if self._unread:
            counts = sorted(self._unread.items(), key=lambda item: (-item[1], item[0]))
            yield "not read: " + ", ".join(f"{count} {reason}" for reason, count in counts)


def _grammar(language: Language | None) -> Loaded | None:
    if language is None or not language.grammar:
        return None
    try:
        return grammar(language).parser.language
    except MissingGrammar:
        return None


def _source(data: bytes) -> bytes | Unread:
    """The text as UTF-8, its line ends as they are: what definitions are read from."""
    text = Text.decode(data)
    if isinstance(text, TextProblem):
        return Unread.BINARY if text.kind == "binary" else Unread.ENCODING
    return text.text.encode("utf-8", "surrogateescape" if text.raw else "replace")


def placed(source: bytes, found: Sequence[Occurrence], symbols: Sequence[Symbol], word: str) -> list[_Place]:
    """The occurrences with the definitions around them; those that are names of definitions become `definition`."""
    lines = Lines(source)
    at = [lines.number(lines.start(occurrence.offset)) for occurrence in found]
    around = _enclosing(at, symbols)
    places = [_Place(occurrence, symbol) for occurrence, symbol in zip(found, around, strict=True)]
    for symbol in symbols:
        if symbol.name == word and (i := _name_of(symbol, at, places)) is not None:
            places[i] = _Place(places[i].occurrence._replace(kind="definition"), symbol.parent)
    return places


def _name_of(symbol: Symbol, at: Sequence[int], places: Sequence[_Place]) -> int | None:
    """Which occurrence is a definition's name: on the first of its lines that has one, in a name's place if any is."""
    first = bisect.bisect_left(at, symbol.line)
    candidates = [
        i for i in range(first, bisect.bisect_right(at, symbol.end_line))
        if places[i].occurrence.kind in ("use", "call", "definition")
    ]  # fmt: skip
    candidates = [i for i in candidates if at[i] == at[candidates[0]]]
    return next((i for i in candidates if places[i].occurrence.names), candidates[0] if candidates else None)


def _enclosing(at: Sequence[int], symbols: Sequence[Symbol]) -> list[str]:
    """For ascending lines the qualified name of the smallest definition around each, "" for none."""
    ordered = sorted(symbols, key=lambda symbol: (symbol.line, -symbol.end_line))
    open_symbols: list[Symbol] = []
    names: list[str] = []
    following = 0
    for line in at:
        while following < len(ordered) and ordered[following].line <= line:
            while open_symbols and open_symbols[-1].end_line < ordered[following].line:
                open_symbols.pop()
            open_symbols.append(ordered[following])
            following += 1
        while open_symbols and open_symbols[-1].end_line < line:
            open_symbols.pop()
        names.append(open_symbols[-1].qualified_name if open_symbols else "")
    return names
