"""The definitions in files, folders and globs, within a budget; and their form as text, which the budget is about.

Nothing is silently missing: a file that cannot be read is in `skipped` with the reason, a broken one has `errors`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from regreen.errors import EnvironmentFault, Refused, UsageError
from regreen.model import FileSymbols, SignatureReport, Skipped, Symbol
from regreen.repo.budget import Page, read_cursor, write_cursor
from regreen.repo.extract import extract
from regreen.repo.files import FileList
from regreen.repo.languages import extension_of, language_of
from regreen.repo.selecting import select
from regreen.workspace import Text, TextProblem, Workspace

MAX_SOURCE_BYTES = 1024 * 1024
MAX_TOKENS = 8000
_EXTENSIONS_SHOWN = 8


def signatures(
    workspace: Workspace,
    files: FileList,
    *,
    paths: Sequence[str],
    max_tokens: int = MAX_TOKENS,
    cursor: str = "",
    docstrings: bool = False,
) -> SignatureReport:
    """The definitions in what `paths` names, sorted by path and line; a cursor for the rest.

    Files of unknown languages found in folders or by globs are counted by extension, those named are listed.
    Raises UsageError: `not_found` for a path that matches nothing, `invalid_arguments` for a bad number or cursor.
    """
    selected = select(workspace, files, paths)
    (offset,), start = read_cursor(cursor, 1) if cursor else ((0,), "")
    page = Page(max_tokens)
    done: list[FileSymbols] = []
    readable = [p for p in selected.paths if language_of(p) or p in selected.named]
    skipped = [] if cursor else [s for s in _unknown(set(selected.paths) - set(readable)) if page.add(*_skip_line(s))]
    for path in readable:
        if path < start:
            continue
        first = offset if path == start else 0
        one = read_symbols(workspace, path, docstrings=docstrings)
        if isinstance(one, Skipped):
            if not page.add(*_skip_line(one)):
                return _report(done, skipped, write_cursor(0, path=path))
            skipped.append(one)
            continue
        left, shown = _fill(page, one, first, max_tokens)
        done.extend(shown)
        if left >= 0:
            return _report(done, skipped, write_cursor(left, path=path))
    return _report(done, skipped, "")


def read_symbols(workspace: Workspace, path: str, *, docstrings: bool = False) -> FileSymbols | Skipped:
    """All definitions in one file, or why it has none to show. Never raises for what a file may be."""
    language = language_of(path)
    if language is None:
        return Skipped(path, f"no grammar for {extension_of(path) or 'this kind of'} files")
    try:
        image = workspace.image(path)
    except (UsageError, Refused, EnvironmentFault) as e:
        return Skipped(path, e.message)
    if image.kind != "file":
        return Skipped(path, {"absent": "no longer there", "symlink": "a link"}.get(image.kind, "not a regular file"))
    if len(image.data) > MAX_SOURCE_BYTES:
        return Skipped(path, f"too large: {len(image.data)} bytes, {MAX_SOURCE_BYTES} are read at most")
    text = Text.decode(image.data)
    if isinstance(text, TextProblem):
        return Skipped(path, f"{text.kind}: {text.message}")
    found = extract(text.text.encode("utf-8", "surrogateescape"), language, docstrings=docstrings)
    if found.gave_up:
        return Skipped(path, found.gave_up)
    notes = ("holds bytes that are not UTF-8, shown as \N{REPLACEMENT CHARACTER}",) if text.raw else ()
    return FileSymbols(path, language.name, found.symbols, (*notes, *found.errors))


def render(report: SignatureReport) -> str:
    """The report as text: a line for each file, and below it one for each definition, indented as they nest."""
    lines: list[str] = []
    for file in report.files:
        lines.extend(_head(file))
        lines.extend(_symbol_line(symbol) for symbol in file.symbols)
    for skipped in report.skipped:
        lines.extend(_skip_line(skipped))
    return "\n".join(lines)


def _report(files: Sequence[FileSymbols], skipped: Sequence[Skipped], cursor: str) -> SignatureReport:
    return SignatureReport(tuple(files), tuple(skipped), bool(cursor), cursor)


def _fill(page: Page, file: FileSymbols, first: int, max_tokens: int) -> tuple[int, list[FileSymbols]]:
    """Put a file's symbols from index `first` on the page: where to go on (-1: done), and what got its place."""
    file = replace(file, errors=() if first else file.errors)
    rest = [_within(symbol, max_tokens) for symbol in file.symbols[first:]]
    head = _head(file)
    if not page.add(*head, *[_symbol_line(s) for s in rest[:1]]):
        return first, []
    count = min(1, len(rest))
    while count < len(rest) and page.add(_symbol_line(rest[count])):
        count += 1
    left = first + count if count < len(rest) else -1
    return left, [replace(file, symbols=tuple(rest[:count]))]


def _within(symbol: Symbol, max_tokens: int) -> Symbol:
    """The symbol with a signature that leaves room for a line of its own on a small page."""
    room = max(40, max_tokens * 2)
    return symbol if len(symbol.signature) <= room else replace(symbol, signature=symbol.signature[: room - 1] + "…")


def _head(file: FileSymbols) -> list[str]:
    return [f"{file.path} ({file.language})", *[f"  ! {error}" for error in file.errors]]


def _symbol_line(symbol: Symbol) -> str:
    indent = "  " * (1 + (symbol.parent.count(".") + 1 if symbol.parent else 0))
    lines = f"{symbol.line}-{symbol.end_line}" if symbol.end_line > symbol.line else str(symbol.line)
    text = " ".join([lines, *symbol.decorators, symbol.signature])
    return f"{indent}{text}  # {symbol.doc}" if symbol.doc else indent + text


def _skip_line(skipped: Skipped) -> list[str]:
    return [f"skipped {skipped.path}: {skipped.reason}"]


def _unknown(paths: set[str]) -> Iterator[Skipped]:
    """One row for each extension without a grammar, the commonest first."""
    counts = sorted(Counter(map(extension_of, paths)).items(), key=lambda item: (-item[1], item[0]))
    for extension, count in counts[:_EXTENSIONS_SHOWN]:
        yield Skipped("*" + extension, f"no grammar ({count} file{'' if count == 1 else 's'})")
    if rest := sum(count for _, count in counts[_EXTENSIONS_SHOWN:]):
        yield Skipped("*", f"no grammar ({rest} files of other kinds)")
