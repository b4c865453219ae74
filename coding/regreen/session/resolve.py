"""Which repository does a call mean, and does the operator trust it? Path rules only; no file is opened."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from regreen.errors import Refused, UsageError
from regreen.wire import MAX_NAME, shortened

_MAX_PATH_BYTES = 4096

_TEACH = "start with `--root DIR`, or give the `repo` argument: the folder of the repository"


def resolve(repo: str, roots: Sequence[Path], environ: Mapping[str, str], cwd: Path) -> Path:
    """The folder that `repo` means. Empty: the first root, `CLAUDE_PROJECT_DIR`, or the work tree around `cwd`.

    A given `repo` must lie in one of the roots (or, without any, in the default). Raises UsageError or Refused.
    """
    if not repo:
        return roots[0] if roots else _default(environ, cwd)
    allowed = list(roots) or [_default(environ, cwd)]
    if problem := _unusable(repo):
        raise Refused("path_invalid", f"the repository's path {problem}", "give a folder's path")
    wanted = Path(repo)
    folder = (wanted if wanted.is_absolute() else allowed[0] / wanted).resolve()
    told = f"`{shortened(repo, MAX_NAME)}`"
    if not any(folder.is_relative_to(a) for a in allowed):
        raise Refused(
            "path_outside_workspace",
            f"{told} is outside the allowed roots",
            f"allowed: {', '.join(map(str, allowed))}",
        )
    if not os.path.isdir(folder):  # noqa: PTH112
        raise UsageError("not_found", f"{told} is not a folder", f"allowed roots: {', '.join(map(str, allowed))}")
    return folder


def _unusable(repo: str) -> str:
    """Why no folder can have this path; "" where one can."""
    if "\0" in repo:
        return "has a NUL character"
    try:
        return "is too long" if len(os.fsencode(repo)) > _MAX_PATH_BYTES else ""
    except UnicodeEncodeError:
        return "has a character that no path can have"


def _default(environ: Mapping[str, str], cwd: Path) -> Path:
    if named := environ.get("CLAUDE_PROJECT_DIR"):
        folder = Path(named).resolve()
        if os.path.isdir(folder):  # noqa: PTH112
            return folder
    top = work_tree(cwd)
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if top is None or top == Path(top.anchor) or (home and str(top) == os.path.realpath(home)):
        raise UsageError("session_unknown", f"no repository: {cwd} is not inside a git work tree of its own", _TEACH)
    return top


def work_tree(folder: Path) -> Path | None:
    """The nearest folder upward that holds a `.git`; found by looking, no program is run."""
    at, above = os.path.realpath(folder), ""  # plain texts: this is asked with every call
    while at != above:
        if os.path.exists(os.path.join(at, ".git")):  # noqa: PTH110, PTH118
            return Path(at)
        at, above = os.path.dirname(at), at  # noqa: PTH120
    return None
