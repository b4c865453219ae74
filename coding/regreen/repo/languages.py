"""The languages whose definitions we can read: one row here and one file in `queries/` each.

Captures that a query file uses, and the only thing `extract.py` knows about a language:

    @definition.KIND   a definition of that kind (function, class, variable, type, ...); with it, in the same match:
        @name          its name
        @stop          where its signature ends (a body, the colon before one); without it, at the definition's end
        @value         the value of a variable, which may be cut
    @decorated with @decorator     one decorator of a definition
    @documented with @doc          the docstring of a definition

Grammars are imported when a file of the language is first read; one parser and one query per language are kept.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from regreen.repo import python_repair
from regreen.repo.python_repair import Repaired

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

Repair: TypeAlias = Callable[[bytes, Callable[[bytes], bool]], "Repaired | None"]


@dataclass(frozen=True, slots=True)
class Language:
    """One row. `scopes` are the kinds that make a function a method and a variable a field."""

    name: str
    extensions: tuple[str, ...]
    grammar: str  # the module, which has the function `factory`
    query: str  # the file in queries/
    factory: str = "language"
    scopes: frozenset[str] = frozenset({"class"})
    constant: re.Pattern[str] | None = None  # a variable of this name is a constant
    repair: Repair | None = None  # makes broken source parsable, line by line


LANGUAGES: tuple[Language, ...] = (
    Language(
        "python",
        (".py", ".pyi", ".pyw"),
        "tree_sitter_python",
        "python.scm",
        constant=re.compile(r"_{0,2}[A-Z][A-Z0-9_]*"),
        repair=python_repair.repair,
    ),
)

_BY_EXTENSION = {extension: language for language in LANGUAGES for extension in language.extensions}


class Grammar(NamedTuple):
    """What reads one language."""

    parser: Parser
    query: Query


def language_of(path: str) -> Language | None:
    """The language of a file, by its extension; None if there is no row for it."""
    return _BY_EXTENSION.get(extension_of(path))


def extension_of(path: str) -> str:
    """The extension in lower case with its dot; "" for none (also for names like `.profile`)."""
    stem, dot, extension = path.rpartition("/")[2].rpartition(".")
    return (dot + extension).lower() if stem else ""


@cache
def grammar(language: Language) -> Grammar:
    """The parser and the compiled query of a language; imports the grammar."""
    import tree_sitter

    module = importlib.import_module(language.grammar)
    capsule: object = getattr(module, language.factory)()
    loaded = tree_sitter.Language(capsule)
    source = resources.files("regreen.repo").joinpath("queries", language.query).read_text("utf-8")
    return Grammar(tree_sitter.Parser(loaded), tree_sitter.Query(loaded, source))
