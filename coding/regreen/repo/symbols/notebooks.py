"""The definitions in the code cells of a Jupyter notebook, and the headings of its Markdown cells.

Every line number is that of the notebook's own file: where the string with the source line stands. Each cell is read
alone, so that one with a mistake hides no other. A definition's doc begins with the number of its cell, from 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from regreen.model import Symbol
from regreen.repo.symbols.extraction import Extraction, ReadAs
from regreen.repo.symbols.markdown import Heading, headings, nested

Key: TypeAlias = "str | int"

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:\n]', re.DOTALL)
_NO_KEY = -1  # in an object, where a key comes next
_MAX_DEPTH = 12  # nothing that we look for lies deeper
_MAGIC = re.compile(r"\s*(?:%{1,2}[A-Za-z]|!(?!=)|\?)|[^#\"']*=\s*(?:%[A-Za-z]|!)|\s*[\w.]+\?{1,2}\s*$")
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_ERROR = re.compile(r"lines? (\d+)(?:-(\d+))?(?=:)")
_SAME_LANGUAGE = frozenset({"time", "timeit", "capture", "prun", "memit", "mprun", "python", "python3", "cache"})
_CELL_LANGUAGES = {"bash": "bash", "sh": "bash", "javascript": "javascript", "js": "javascript", "ruby": "ruby"}
_ALIASES = {
    "ipython": "python", "python3": "python", "c++": "cpp", "c++11": "cpp", "c++14": "cpp", "c++17": "cpp",
    "c++20": "cpp", "c#": "c_sharp", "csharp": "c_sharp", "js": "javascript", "ts": "typescript",
    "shellscript": "bash", "sh": "bash",
}  # fmt: skip
_LANGUAGE_PLACES: tuple[tuple[Key, ...], ...] = (
    ("metadata", "language_info", "name"),
    ("metadata", "kernelspec", "language"),
)


@dataclass(slots=True)
class _Cell:
    """`lines` are those of the source with the line of the file where each begins."""

    kind: str = ""
    language: str = ""
    lines: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    open: bool = False  # the last line goes on in the next string

    def add(self, text: str, line: int) -> None:
        for piece in text.splitlines(keepends=True):
            if self.open:
                before, began = self.lines.pop()
                self.lines.append((before + piece.rstrip("\r\n"), began))
            else:
                self.lines.append((piece.rstrip("\r\n"), line))
            self.open = not piece.endswith("\n")


class _Value(NamedTuple):
    path: tuple[Key, ...]
    text: str
    line: int


def scan(source: bytes, read: ReadAs) -> Extraction:
    """The symbols of a notebook in the order of its cells."""
    text = source.decode("utf-8", "replace")
    try:
        document: object = json.loads(text)
    except json.JSONDecodeError as e:
        return Extraction(gave_up=f"not a notebook: line {e.lineno} is not JSON ({e.msg})")
    except (RecursionError, ValueError) as e:
        return Extraction(gave_up=f"not a notebook: {e}")
    if not isinstance(document, dict) or not ("cells" in document or "worksheets" in document):
        return Extraction(gave_up="not a notebook: no `cells` in it")
    cells, language = _cells(text)
    symbols: list[Symbol] = []
    found: list[Heading] = []
    errors: list[str] = []
    unread: set[str] = set()
    for number, cell in enumerate(cells, 1):
        if cell.kind in ("markdown", "heading"):
            found.extend(_headings(cell))
        elif cell.kind == "code":
            cell_symbols, cell_errors, name = _code(cell, number, cell.language or language, read)
            symbols.extend(cell_symbols)
            errors.extend(cell_errors)
            unread.add(name)
    last = max((line for cell in cells for _, line in cell.lines), default=1)
    symbols.extend(nested(found, last))
    errors.extend(f"cells in {name} were not read: no grammar" for name in sorted(unread - {""}))
    return Extraction(tuple(sorted(symbols, key=lambda symbol: symbol.line)), tuple(errors))


def _code(cell: _Cell, number: int, language: str, read: ReadAs) -> tuple[list[Symbol], list[str], str]:
    """Symbols, errors, and the language if it cannot be read."""
    code, language = _plain(cell, language)
    if not language:
        return [], [], ""
    found = read("\n".join(code).encode("utf-8", "replace"), language)
    if found is None:
        return [], [], language
    lines = [line for _, line in cell.lines]
    symbols = [_placed(symbol, lines, number) for symbol in found.symbols]
    errors = [_replaced(error, lines, number) for error in found.errors]
    if found.gave_up:
        errors.append(f"cell {number}: {found.gave_up}")
    return symbols, errors, ""


def _plain(cell: _Cell, language: str) -> tuple[list[str], str]:
    """The code without what only IPython understands, and its language; "" for a cell that is not to be read."""
    code = [text for text, _ in cell.lines]
    first = next((at for at, text in enumerate(code) if text.strip()), -1)
    if first < 0:
        return code, ""
    magic = _CELL_MAGIC.match(code[first])
    if magic is not None:
        code[first] = ""
        if magic[1] not in _SAME_LANGUAGE:
            return code, _CELL_LANGUAGES.get(magic[1], "")
    return (list(_without_magic(code)) if language == "python" else code), language


def _without_magic(code: list[str]) -> Iterator[str]:
    """Lines of IPython commands become `pass`, so that a block of nothing else stays one."""
    going_on = False
    for text in code:
        if going_on:
            yield ""
            going_on = text.endswith("\\")
        elif _MAGIC.match(text):
            yield text[: len(text) - len(text.lstrip())] + "pass"
            going_on = text.endswith("\\")
        else:
            yield text


def _placed(symbol: Symbol, lines: list[int], number: int) -> Symbol:
    """The symbol with the lines of the file."""
    begin, end = _line(lines, symbol.line), _line(lines, symbol.end_line)
    doc = symbol.doc
    if not symbol.parent:
        doc = f"cell {number}: {doc}" if doc else f"cell {number}"
    return replace(symbol, line=begin, end_line=max(begin, end), doc=doc)


def _replaced(error: str, lines: list[int], number: int) -> str:
    match = _ERROR.match(error)
    if match is None:
        return f"cell {number}: {error}"
    begin, end = _line(lines, int(match[1])), _line(lines, int(match[2] or match[1]))
    where = f"line {begin}" if begin == end else f"lines {begin}-{end}"
    return f"{where} (cell {number}){error[match.end() :]}"


def _line(lines: list[int], number: int) -> int:
    return lines[min(number, len(lines)) - 1] if lines else 1


def _headings(cell: _Cell) -> Iterator[Heading]:
    if cell.kind == "heading":
        text = " ".join(text for text, _ in cell.lines)
        if cell.lines and text.strip():
            yield Heading(cell.lines[0][1] - 1, 1, text.strip(), text.strip())
        return
    for heading in headings([text for text, _ in cell.lines]):
        yield heading._replace(line=cell.lines[heading.line][1] - 1)


def _cells(text: str) -> tuple[list[_Cell], str]:
    """The cells, and the language of their code."""
    cells: dict[tuple[Key, ...], _Cell] = {}
    languages: dict[tuple[Key, ...], str] = {}
    for path, value, line in _strings(text):
        if path in _LANGUAGE_PLACES:
            languages[path] = value.lower()
            continue
        at = 4 if path[0] == "worksheets" else 2
        if len(path) <= at or path[at - 2] != "cells":
            continue
        cell = cells.setdefault(path[:at], _Cell())
        match path[at:]:
            case ("cell_type",):
                cell.kind = value
            case ("source" | "input",) | ("source" | "input", int()):
                cell.add(value, line)
            case ("metadata", "vscode", "languageId") | ("language",):
                cell.language = _ALIASES.get(value.lower(), value.lower())
            case _:
                pass
    language = next((languages[place] for place in _LANGUAGE_PLACES if languages.get(place)), "python")
    return list(cells.values()), _ALIASES.get(language, language)


def _strings(text: str) -> Iterator[_Value]:
    """The strings of a JSON document (which is known to be one) with their places: paths and lines."""
    path: list[Key] = []
    line = 1
    key = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
        elif token == ":":
            path[-1] = key
        elif token[0] != '"':
            _step(path, token)
        elif path and path[-1] == _NO_KEY:
            key = _decoded(token)
        elif path and len(path) <= _MAX_DEPTH and "outputs" not in path:
            yield _Value(tuple(path), _decoded(token), line)


def _step(path: list[Key], token: str) -> None:
    """Into an object or a list, out of one, or on in one."""
    match token:
        case "{":
            path.append(_NO_KEY)
        case "[":
            path.append(0)
        case ",":
            here = path[-1]
            path[-1] = here + 1 if isinstance(here, int) else _NO_KEY
        case _:
            path.pop()


def _decoded(token: str) -> str:
    return str(json.loads(token))
