"""From a recorded row and its source to the exact bytes, and to the image of a file."""

from __future__ import annotations

import hashlib
import os

from regreen.git import Git, GitFault
from regreen.snapshots.objects import read_object
from regreen.store import Store
from regreen.workspace import FileImage, Stat
from regreen.workspace.looking import LINK_MARK


def read_source(store: Store, git: Git | None, source: str, max_bytes: int) -> bytes | None:
    """The exact bytes that a manifest's source stands for; None where they cannot be had any more."""
    where, _, name = source.partition(":")
    try:
        if where == "blob":
            return store.blob(name)
        return read_object(git, name, max_bytes) if where == "git" and git is not None else None
    except (KeyError, GitFault):
        return None


def image_of(path: str, before: Stat, data: bytes) -> FileImage:
    """The image of a recorded file or link with these bytes."""
    content = LINK_MARK + data if before.kind == "symlink" else data
    target = os.fsdecode(data) if before.kind == "symlink" else ""
    kept = b"" if before.kind == "symlink" else data
    sha = hashlib.sha256(content).hexdigest()
    return FileImage(path, before.kind, kept, before.mode, before.mtime_ns, sha, target, path)
