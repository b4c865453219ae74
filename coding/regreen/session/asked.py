"""What a call asks for: checked arguments, and the page of the result that is wanted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from regreen.errors import UsageError
from regreen.tools import BY_NAME, check
from regreen.tools.paging import PAGED, Cursor, page, read_cursor
from regreen.wire import MAX_NAME, Json, nearest, shortened, shown


@dataclass(frozen=True, slots=True)
class Whole:
    """A result as it was made, and which page of it is wanted; None for all of it."""

    data: dict[str, Json]
    wanted: Wanted | None = None

    def shown(self, tool: str, masked: dict[str, Json]) -> dict[str, Json]:
        return masked if self.wanted is None else page(tool, masked, self.wanted.cursor, self.wanted.chars)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The page that a caller asks for: where it begins, and how many characters it may have (0: as usual)."""

    cursor: Cursor = field(default_factory=dict[str, int])
    chars: int = 0
    in_pages: bool = False

    def of(self, data: dict[str, Json]) -> Whole:
        return Whole(data, self if self.in_pages else None)


def checked(tool: object, arguments: object, *, in_pages: bool) -> tuple[dict[str, Any], Wanted]:
    """The arguments of a call as its handler takes them, and the page that they ask for. Raises UsageError, also where
    there is no such tool."""
    spec = BY_NAME.get(tool) if isinstance(tool, str) else None
    if spec is None:
        near = nearest(tool, BY_NAME)
        hint = f"did you mean `{near[0]}`?" if near else f"tools: {', '.join(BY_NAME)}"
        name = shortened(tool, MAX_NAME) if isinstance(tool, str) else shown(tool)
        raise UsageError("not_found", f"there is no tool `{name}`", hint)
    args = check(spec, arguments)
    if spec.name not in PAGED:
        return args, Wanted(in_pages=in_pages)
    cursor = read_cursor(args.pop("cursor", ""), spec.name)
    return args, Wanted(cursor, args.pop("max_chars", 0), in_pages)
