"""Parsing within a time: some grammars take minutes for a megabyte of noise, and nothing else can run meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

_CHUNK = 1 << 16


def parse_within(source: bytes, language: Language, stop: Callable[[], bool]) -> Tree | None:
    """The tree of `source`; None if `stop` said so meanwhile. Has a parser of its own: several threads may parse."""
    import tree_sitter

    parser = tree_sitter.Parser(language)
    try:
        return parser.parse(
            lambda at, _point: source[at : at + _CHUNK], progress_callback=lambda _at, _error: stop()
        )  # fmt: skip
    except ValueError:  # how the parser says that it was stopped
        return None
