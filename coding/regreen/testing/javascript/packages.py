"""Packages that a file needs and that are not installed, told from what loaders say of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from regreen.testing.channel import RawFailure
from regreen.testing.heard import Asked
from regreen.testing.javascript.tools import dependencies, installed, manager_of, to_install
from regreen.testing.looking import Look

_PACKAGE = re.compile(
    r"(?:Cannot find (?:package|module) |Failed to resolve (?:import|entry for package) |Failed to load url )"
    r"""['"]?((?:@[\w.\-]+/)?[\w][\w.\-]*)(?=[/'"\s?]|$)"""
)
_ALIASES = ("tsconfig.json", "tsconfig.base.json", "jsconfig.json")
_SUFFIX = re.compile(r"\.[cm]?[jt]sx?$|\.json$|\.vue$|\.svelte$|\.node$")


def absent_packages(asked: Asked, errors: Iterable[RawFailure]) -> str:
    """The diagnosis where files could not be loaded because of packages that are not installed."""
    said = (m[1] for e in errors for m in _PACKAGE.finditer(e.message[:4000]))
    absent = [name for name in dict.fromkeys(said) if not installed(asked, name)]
    named = dependencies(asked.look)
    listed = [name for name in absent if name in named]
    if listed:
        return f"not installed, though package.json names it: {', '.join(listed)}; run `{to_install(asked.look)}`"
    unknown = [name for name in absent if not _of_the_project(asked.look, name)]
    if not unknown:
        return ""
    manager = manager_of(asked.look)
    add = f"{manager} {'install' if manager == 'npm' else 'add'} {' '.join(unknown)}"
    return f"not installed, and package.json does not name it: {', '.join(unknown)}; run `{add}`"


def _of_the_project(look: Look, name: str) -> bool:
    """Whether it may be a file or folder of the project's own, or a name that its settings give to one."""
    first = name.partition("/")[0]
    if _SUFFIX.search(name) or any(f'"{n}/' in look.text(f) or f'"{n}"' in look.text(f) for f in _ALIASES
                                   for n in (name, first)):  # fmt: skip
        return True
    return any(first == part or first == _SUFFIX.sub("", part) for p in look.below() for part in PurePosixPath(p).parts)
