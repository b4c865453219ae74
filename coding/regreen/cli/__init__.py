"""The command line: the only code that knows a terminal.

`parser` says what can be typed, one module a group of commands says what it does, `render` how a person sees it,
`exit_codes` what the shell is told. Nothing heavy is imported before the command is known.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line, by default that of the process, and return its exit status. Raises nothing."""
    if argv is None and sys.argv[1:2] == ["serve"]:
        from regreen.cli import early

        early.begin(sys.argv[1:])
    from regreen.cli import entry

    return entry.main(argv)
