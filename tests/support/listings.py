"""Folders of files to list, and the listing of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from regreen.git import Git
from regreen.repo import FileList, list_files
from regreen.workspace import Workspace

ENVIRON = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}  # fmt: skip


@dataclass(frozen=True)
class Listed:
    workspace: Workspace
    files: FileList


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the files of a small project."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def git(root: Path, *args: str) -> None:
    subprocess.run(("git", *args), cwd=root, env=ENVIRON, check=True, capture_output=True, timeout=60)


@contextmanager
def listed(root: Path) -> Iterator[Listed]:
    """The project opened and listed, through Git where it is a work tree."""
    with Workspace(root) as workspace:
        yield Listed(workspace, list_files(workspace, Git.open(root, ENVIRON)))
