"""The definitions in files, folders and globs, within a budget of the text that shows them.

Nothing is silently missing: a file that cannot be read is in `skipped` with the reason, a broken one has `errors`.
Generated, minified and vendored files are left out of folders and globs, and counted; by name they are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from regreen.errors import EnvironmentFault, Refused, UsageError
from regreen.model import FileSymbols, SignatureReport, Skipped, Symbol
from regreen.repo.budget import BYTES_PER_TOKEN, Page, read_cursor, write_cursor
from regreen.repo.classes import HUGE_BYTES, role_of, role_of_path
from regreen.repo.files import FileList
from regreen.repo.index.apart import symbols_apart
from regreen.repo.languages import Language, MissingGrammar, extension_of, installed, language_of, missing_text
from regreen.repo.outline import definition_lines, file_lines, row_of, skip_line
from regreen.repo.selecting import Selected, select
from regreen.repo.symbols.extract import extract
from regreen.workspace import Text, TextProblem, Workspace
from regreen.workspace.paths import is_secret

MAX_TOKENS = 8000
APART_BYTES = 128 << 10  # larger files are parsed in a process of their own

_ROWS_SHOWN = 12
_LEFT_OUT = ("generated", "minified")

Known: TypeAlias = Callable[[str, bool], "FileSymbols | Skipped | None"]
"""What is known of a file (named itself or not) as it is now, without reading it; None: not known."""


def nothing_known(_path: str, _named: bool) -> None:
    """For whoever has no index."""


def signatures(
    workspace: Workspace,
    files: FileList,
    *,
    paths: Sequence[str],
    max_tokens: int = MAX_TOKENS,
    cursor: str = "",
    docstrings: bool = False,
    known: Known = nothing_known,
    mask: Callable[[str], str] | None = None,
) -> SignatureReport:
    """The definitions in what `paths` names, sorted by path and line; a cursor for the rest.

    What is found in folders or by globs and not read (unknown languages, vendored files) is counted, what is named is
    listed. `mask` takes the secrets out of a text. Raises UsageError: `not_found` for a path that matches nothing,
    `invalid_arguments` for a bad number or cursor.
    """
    selected = select(workspace, files, paths)
    (offset,), start = read_cursor(cursor, 1) if cursor else ((0,), "")
    page = Page(max_tokens)
    done: list[FileSymbols] = []
    readable, rows = _partition(selected)
    skipped = [] if cursor else [s for s in rows if page.add(skip_line(s))]
    for path in readable:
        if path < start:
            continue
        first = offset if path == start else 0
        one = _one(workspace, path, known, named=path in selected.named)
        if isinstance(one, Skipped):
            if not page.add(skip_line(one)):
                return _report(done, skipped, write_cursor(0, path=path))
            skipped.append(one)
            continue
        one = one if docstrings else _without_docs(one)
        left, shown = _fill(page, one if mask is None else _masked(one, mask), first, max_tokens)
        done.extend(shown)
        if left >= 0:
            return _report(done, skipped, write_cursor(left, path=path))
    return _report(done, skipped, "")


def _one(workspace: Workspace, path: str, known: Known, *, named: bool) -> FileSymbols | Skipped:
    found = known(path, named)
    if found is None or (named and isinstance(found, Skipped)):  # what is named is read, if it can be
        return read_symbols(workspace, path, named=named)
    return found


def read_symbols(workspace: Workspace, path: str, *, named: bool = True) -> FileSymbols | Skipped:
    """All definitions in one file, or why it has none to show. Never raises for what a file may be.

    `named`: the caller asked for this very file, so generated and minified ones are read, too.
    """
    language = language_of(path)
    if language is None:
        return Skipped(path, f"no grammar for {extension_of(path) or 'this kind of'} files")
    if is_secret(path):
        return Skipped(path, "holds secrets: it is never shown")
    try:
        image = workspace.image(path)
    except (UsageError, Refused, EnvironmentFault) as e:
        return Skipped(path, e.message)
    if is_secret(image.real):
        return Skipped(path, "leads to a file that holds secrets: it is never shown")
    if image.kind != "file":
        return Skipped(path, {"absent": "no longer there", "symlink": "a link"}.get(image.kind, "not a regular file"))
    if len(image.data) > HUGE_BYTES:
        return Skipped(path, f"too large: {len(image.data)} bytes, {HUGE_BYTES} are read at most")
    if not named and (left_out := skipped_as(path, role_of(path, image.data))):
        return left_out
    if len(image.data) > APART_BYTES:  # noise of this size may take seconds and gigabytes, which are not the caller's
        return symbols_apart(path, image.data)
    return symbols_in(path, language_of(path, image.data) or language, image.data)


def skipped_as(path: str, role: str) -> Skipped | None:
    """The row of a file that is left out of folders and globs for what it is; None for one that is not."""
    return Skipped(path, f"{role}: name the file itself to read it") if role in _LEFT_OUT else None


def symbols_in(path: str, language: Language, data: bytes) -> FileSymbols | Skipped:
    """The definitions, with the first lines of their documentation, in the bytes of a file."""
    text = Text.decode(data)
    if isinstance(text, TextProblem):
        return Skipped(path, f"{text.kind}: {text.message}")
    try:
        found = extract(text.text.encode("utf-8", "surrogateescape"), language, docstrings=True)
    except MissingGrammar as e:
        return Skipped(path, str(e))
    if found.gave_up:
        return Skipped(path, found.gave_up)
    notes = ("holds bytes that are not UTF-8, shown as \N{REPLACEMENT CHARACTER}",) if text.raw else ()
    return FileSymbols(path, language.name, found.symbols, (*notes, *found.errors))


def _partition(selected: Selected) -> tuple[list[str], Iterable[Skipped]]:
    """The files to be read, and a row for each reason why others are not."""
    readable: list[str] = []
    extensions: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    vendored = 0
    reasons: dict[str, str] = {}
    for path in selected.paths:
        language = language_of(path)
        if path in selected.named:
            readable.append(path)
        elif language is None:
            extensions[extension_of(path)] += 1
        elif not _installed(language, reasons):
            missing[extension_of(path)] += 1
            reasons[extension_of(path)] = missing_text(language)
        elif role_of_path(path) == "vendored":
            vendored += 1
        else:
            readable.append(path)
    return readable, _rows(extensions, missing, reasons, vendored)


def _installed(language: Language, seen: dict[str, str]) -> bool:
    """Whether its grammar is there; looked up once for each language. `seen` keeps what was found."""
    if language.name not in seen:
        seen[language.name] = "yes" if installed(language) else ""
    return bool(seen[language.name])


def _rows(extensions: Counter[str], missing: Counter[str], reasons: dict[str, str], vendored: int) -> Iterator[Skipped]:
    """The commonest first."""
    for extension, count in _ordered(missing):
        yield Skipped("*" + extension, f"{reasons[extension]} ({_files(count)})")
    if vendored:
        yield Skipped("*", f"vendored: name a file itself to read it ({_files(vendored)})")
    counts = _ordered(extensions)
    for extension, count in counts[:_ROWS_SHOWN]:
        yield Skipped("*" + extension, f"no grammar ({_files(count)})")
    if rest := sum(count for _, count in counts[_ROWS_SHOWN:]):
        yield Skipped("*", f"no grammar ({_files(rest)} of other kinds)")


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"


def _report(files: Sequence[FileSymbols], skipped: Sequence[Skipped], cursor: str) -> SignatureReport:
    return SignatureReport(tuple(files), tuple(skipped), bool(cursor), cursor)


def _fill(page: Page, file: FileSymbols, first: int, max_tokens: int) -> tuple[int, list[FileSymbols]]:
    """Put a file's symbols from index `first` on the page: where to go on (-1: done), and what got its place."""
    file = replace(file, errors=() if first else file.errors)
    rest = [_within(symbol, max_tokens) for symbol in file.symbols[first:]]
    lines = definition_lines(map(row_of, rest))
    if not page.add(*_head(file, max_tokens), *lines[:1]):
        return first, []
    count = min(1, len(rest))
    while count < len(rest) and page.add(lines[count]):
        count += 1
    left = first + count if count < len(rest) else -1
    return left, [replace(file, symbols=tuple(rest[:count]))]


def _head(file: FileSymbols, max_tokens: int) -> list[str]:
    """The lines above a file's symbols; of many errors as many as leave half of a page."""
    lines = file_lines(file)
    room = int(max_tokens * BYTES_PER_TOKEN) // 2
    while len(lines) > 2 and sum(len(line.encode("utf-8", "replace")) + 1 for line in lines) > room:
        lines.pop()
    return lines


def _within(symbol: Symbol, max_tokens: int) -> Symbol:
    """The symbol with texts that leave room for a line of its own on a small page."""
    room = max(40, int(max_tokens * 1.5))
    if len(definition_lines([row_of(symbol)])[0].encode("utf-8", "replace")) <= room:
        return symbol
    signature = _cut(symbol.signature, room // 2)
    decorators = tuple(_cut(d, room // 8) for d in symbol.decorators[:2])
    return replace(symbol, signature=signature, decorators=decorators, doc=_cut(symbol.doc, room // 8))


def _cut(text: str, most_bytes: int) -> str:
    """As much of the beginning as fits into so many bytes."""
    if len(text.encode("utf-8", "replace")) <= most_bytes:
        return text
    return text.encode("utf-8", "replace")[: max(0, most_bytes - 3)].decode("utf-8", "ignore") + "…"


def _without_docs(file: FileSymbols) -> FileSymbols:
    return replace(file, symbols=tuple(replace(s, doc="") if s.doc else s for s in file.symbols))


def _masked(file: FileSymbols, mask: Callable[[str], str]) -> FileSymbols:
    """The file without secrets: before it is measured, since a mask may be longer than what it hides."""
    return replace(file, symbols=tuple(
        replace(s, signature=mask(s.signature), doc=mask(s.doc), decorators=tuple(map(mask, s.decorators)))
        for s in file.symbols
    ))  # fmt: skip
