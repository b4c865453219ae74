"""`regreen serve` on stdio begins before the command line is parsed: a client waits for its first answer.

Rule: only what is sure to be such a call begins early; anything else, and each mistake, takes the ordinary way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

_FOLDERS = ("--root", "--repo")
CHOICES = {
    "--toolsets": ("core", "all"),
    "--mode": ("plan", "ask", "accept-edits", "auto"),
    "--sandbox": ("auto", "required", "off"),
}
"""As `parser` has them, which takes longer to load than the first answer may."""
_VALUES = (*_FOLDERS, *CHOICES, "--python")


def begin(typed: Sequence[str]) -> None:
    """Let the server's front answer from now on, if the command line asks for a server on stdio."""
    offer = stdio_offer(typed)
    if offer is not None and sys.stdin is not None and sys.stdout is not None:
        import_module("regreen_server.front").begin(*offer)


def stdio_offer(typed: Sequence[str]) -> tuple[bool, bool] | None:
    """Whether only the core tools, and whether only those that read, are to be offered; None for any other call."""
    if typed[:1] != ["serve"]:
        return None
    core = read_only = False
    words = iter(typed[1:])
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--read-only":
            read_only = True
            continue
        if name not in _VALUES:
            return None
        value = value if equals else next(words, "")
        if not _sound(name, value):
            return None
        core = value == "core" if name == "--toolsets" else core
    return core, read_only


def _sound(name: str, value: str) -> bool:
    if name in _FOLDERS:
        return os.path.isdir(os.path.expanduser(value))  # noqa: PTH111, PTH112  (pathlib takes long to load)
    if name in CHOICES:
        return value in CHOICES[name]
    return value != "" and not value.startswith("-")
