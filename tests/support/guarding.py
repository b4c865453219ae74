"""Guards of protected names over real repositories, and an image of everything in them."""

from __future__ import annotations

import os
import stat

from regreen.snapshots.protected import Guard
from regreen.workspace import Workspace
from support.gitrepos import make_repo, write


def guarded_repo(root):
    """A repository with a hook and some settings of editors."""
    make_repo(root, {"a.py": "a = 1\n", ".vscode/settings.json": "{}\n", ".mcp.json": "{}\n",
                                         ".github/workflows/ci.yml": "on: push\n", "sub/.npmrc": "x=1\n"})  # fmt: skip
    write(root / ".git" / "hooks" / "pre-commit", "#!/bin/sh\n").chmod(0o755)
    write(root / ".git" / "info" / "exclude", "*.log\n")
    return root


def image(root):
    """Everything below `root`, .git too: kind, mode and bytes."""
    found = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        body = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""  # noqa: PTH115
        found[path.relative_to(root).as_posix()] = (stat.filemode(info.st_mode), body)
    return found


def after(root, act, written, archive, *, inner=""):
    """What a guard says of `act`."""
    with Workspace(root / inner if inner else root) as workspace:
        guard = Guard.take(workspace)
        act()
        return guard.verify(written, archive)


def names(found):
    return {t.path: (t.what, t.restored) for t in found}
