"""The row type of the template table. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regreen.proposers.search.site import Option, Site


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of edit. `prior`: how often such an edit is the right one, relative to the others (0..1)."""

    name: str
    prior: float
    options: Callable[[Site], Iterator[Option]]
    of_statement: bool = False  # asked once for the statement (node None) instead of for every node of it
