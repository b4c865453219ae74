"""What somebody probably meant who selected a file that is not there: a suggestion, never a choice. Only names are
looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

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


def project_above(root: Path, environ: Mapping[str, str], marks: Iterable[str]) -> str:
    """What to say where a root without tests may only be a folder of the project that is meant: which one that seems to
    be, by files of these names (`marks`). "" where the root looks like a project itself, or none is around it; the home
    folder and what holds it are none."""
    names = (".git", *(mark for mark in marks if "*" not in mark))
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or "/")
    for folder in (root, *root.parents):
        if folder == Path(folder.anchor) or home.is_relative_to(folder):
            return ""
        mark = next((name for name in names if os.path.lexists(folder / name)), "")
        if mark and folder == root:
            return ""
        if mark:
            return f"{folder} looks like the project ({mark} is there): go there, or name that folder (`repo`)."
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
