"""Python source as a tree, where it is one."""

from __future__ import annotations

import ast
import warnings


def parsed(text: str) -> ast.Module | None:
    """The tree; None for what this Python cannot read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the compiler thinks of the user's escapes is not our business
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
