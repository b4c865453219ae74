"""Where a program is taken from: folders of the PATH that are not the project's, or a file of the project by name.

A project could lay a `pytest` or a `git` of its own in the way; so what is found on the PATH lies outside of it, by
its name and by where links lead. What is the project's own is used only where a runner asks for that very file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

_PATHEXT = ".COM;.EXE;.BAT;.CMD"
_BATCH = (".bat", ".cmd")
_BATCH_SPECIAL = frozenset('"%&|<>^!\r\n')


def find_program(name: str, environ: Mapping[str, str], root: Path, *, windows: bool = os.name == "nt") -> Path | None:
    """The first program of this name on the PATH of `environ`, in no relative folder and none of the project's."""
    if not _bare(name):
        return None
    for folder in environ.get("PATH", "").split(";" if windows else ":"):
        if not folder or not Path(folder).is_absolute() or _inside(Path(folder), root):
            continue
        for file in file_names(name, environ.get("PATHEXT", ""), windows=windows):
            candidate = Path(folder) / file
            if _runs(candidate, windows=windows) and not _inside(candidate, root):
                return candidate
    return None


def local_program(
    root: Path, folder: str, relative: str, *, pathext: str = "", windows: bool = os.name == "nt"
) -> Path | None:
    """A program of the project, by its path `relative` to the project's folder `folder` (which is relative to `root`):
    `node_modules/.bin/jest`, `gradlew`. None if there is none, or if it is a link that leads out of the root."""
    steps = PurePosixPath(folder, relative)
    if steps.is_absolute() or ".." in steps.parts or "\\" in str(steps) or "\0" in str(steps):
        return None
    for file in file_names(steps.name, pathext, windows=windows):
        candidate = root / steps.parent / file
        if _runs(candidate, windows=windows) and _leads_inside(candidate, root):
            return candidate
    return None


def file_names(name: str, pathext: str, *, windows: bool) -> tuple[str, ...]:
    """The file names that a program's name can mean: on Windows those with an extension that can be run."""
    if not windows:
        return (name,)
    extensions = [e for e in (pathext or _PATHEXT).split(";") if e.startswith(".")]
    if any(name.lower().endswith(e.lower()) for e in extensions):
        return (name,)
    return tuple(name + e.lower() for e in extensions)


def batch_problem(program: Path, words: tuple[str, ...]) -> str:
    """Why words cannot be given to a batch file of Windows: cmd.exe would read them as commands. "" if they can."""
    if program.suffix.lower() not in _BATCH:
        return ""
    bad = next((w for w in words if not _BATCH_SPECIAL.isdisjoint(w)), None)
    return "" if bad is None else f"{bad[:60]!r} holds a character that a batch file ({program.name}) would run"


def _bare(name: str) -> bool:
    return bool(name) and name not in (".", "..") and not any(c in name for c in "/\\:\0")


def _runs(path: Path, *, windows: bool) -> bool:
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False
    return regular and (windows or os.access(path, os.X_OK))


def _inside(path: Path, root: Path) -> bool:
    """Whether a path is the project's, as it is written or by where it leads."""
    written = Path(os.path.normpath(path))
    return any(
        p.is_relative_to(r)
        for p in (written, Path(os.path.realpath(path)))
        for r in (Path(os.path.normpath(root)), Path(os.path.realpath(root)))
    )


def _leads_inside(path: Path, root: Path) -> bool:
    real_root = Path(os.path.realpath(root))
    real = Path(os.path.realpath(path))
    return real.is_relative_to(real_root) and ".git" not in real.relative_to(real_root).parts
