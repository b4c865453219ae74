"""One file parsed in a process of its own, for whoever has no index: what its parser takes is not the caller's."""

from __future__ import annotations

from regreen.model import FileSymbols, Skipped
from regreen.repo.index.parsing import parse, read_about, to_symbol, unpack_symbols
from regreen.repo.index.pool import Pool, Task
from regreen.repo.index.values import IndexLimits
from regreen.repo.languages import language_of


def symbols_apart(path: str, data: bytes, limits: IndexLimits | None = None) -> FileSymbols | Skipped:
    """The definitions in the bytes of a file. Skipped also where the process needed too much time or memory."""
    pool = Pool(1, limits or IndexLimits())
    try:
        pool.submit([Task(b"", path, data)])
        packed = pool.results.get().packed
    finally:
        pool.close()
    packed = packed or parse(path, data)  # no process could be started
    about = read_about(packed)
    if about.note:
        return Skipped(path, about.note)
    language = language_of(path)
    name = about.dialect or (language.name if language else "")
    return FileSymbols(path, name, tuple(map(to_symbol, unpack_symbols(packed.symbols))), tuple(about.errors))
