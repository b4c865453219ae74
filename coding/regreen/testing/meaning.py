"""What somebody probably meant who selected a file that is not there: a suggestion, never a choice. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from regreen.testing.looking import Look
from regreen.wire import MAX_PATH, nearest

_SHOWN = 3


def meant(selection: Iterable[str], look: Look) -> str:
    """`; did you mean ...?` for the first entry whose file is not there and has a namesake; "" for none."""
    for entry in selection:
        path = entry.partition("::")[0].partition(" > ")[0].rstrip("/")
        if not path or look.exists(path) or look.folder_exists(path):
            continue
        found = similar(path, look.below())
        if found:
            return f"; did you mean {' or '.join(found)}?"
    return ""


def similar(path: str, paths: Iterable[str]) -> list[str]:
    """Files of the same name first, then those whose path or name is much like it."""
    paths = list(paths)
    name = PurePosixPath(path).name
    same = [p for p in paths if PurePosixPath(p).name == name]
    if same or "." not in name:
        return same[:_SHOWN]
    by_name: dict[str, str] = {}
    for p in paths:
        by_name.setdefault(PurePosixPath(p).name, p)
    close = nearest(path, paths, _SHOWN, 0.85, longest=MAX_PATH)
    return close or [by_name[n] for n in nearest(name, by_name, _SHOWN, 0.8)]
