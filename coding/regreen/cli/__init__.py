"""The command line: the only code that knows a terminal.

`parser` says what can be typed, one module a group of commands says what it does, `render` how a person sees it,
`exit_codes` what the shell is told. Nothing heavy is imported before the command is known.
"""

from __future__ import annotations

from regreen.cli.entry import main

__all__ = ["main"]
