"""What reading one file gives, and the form of a reader of our own (`Language.scan`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from regreen.model import Symbol


@dataclass(frozen=True, slots=True)
class Extraction:
    """The definitions in order of their lines. `gave_up` says why nothing could be read, "" otherwise."""

    symbols: tuple[Symbol, ...] = ()
    errors: tuple[str, ...] = ()
    gave_up: str = ""


ReadAs: TypeAlias = Callable[[bytes, str], "Extraction | None"]
"""Reads source of a language by its name; None if there is no such language or its grammar is not installed."""

Scan: TypeAlias = Callable[[bytes, ReadAs], Extraction]
