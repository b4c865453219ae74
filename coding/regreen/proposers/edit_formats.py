"""Which edit format a model is asked for, by its name. A new family of models is one new row."""

from __future__ import annotations

import re

DEFAULT = "search_replace"

_ROWS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"claude", "search_replace"),
        (r"gpt-4-turbo|gpt-4-(?:0125|1106)", "unified_diff"),  # leave code out where they write blocks
        (r"gpt-4\.1|gpt-4\.5|gpt-(?:[5-9]|\d\d)|\bo[34]\b|codex", "apply_patch"),  # were trained on this envelope
    )
)


def edit_format_for(model: str) -> str:
    """The format that this model writes best; SEARCH/REPLACE blocks for a model that is not known.

    The first row that the name holds anywhere decides, so that `openai/gpt-5` of a router is known as well.
    """
    name = model.lower()
    return next((chosen for pattern, chosen in _ROWS if pattern.search(name)), DEFAULT)
