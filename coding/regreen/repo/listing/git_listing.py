"""What git says about the files of a work tree, its submodules too if wanted; and which files outside of the tree
decide about that, so that git need not be asked again as long as none of them changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from regreen.git import Git, common_dir

Signature: TypeAlias = tuple[int, int, int, int]
"""Inode, size, mtime, ctime."""


class Decider(NamedTuple):
    """A file that decides, as it was before git was asked."""

    path: Path
    signature: Signature | None


@dataclass(slots=True)
class Listed:
    """Paths under the root; each list is complete and in no order. `nested`: repositories that are not added."""

    tracked: list[str] = field(default_factory=list[str])
    untracked: list[str] = field(default_factory=list[str])
    submodules: list[str] = field(default_factory=list[str])
    nested: list[str] = field(default_factory=list[str])
    sparse: list[str] = field(default_factory=list[str])  # tracked, and not checked out by intention


def ask(git: Git) -> Listed:
    """What is tracked and what could be, from one process."""
    found = Listed()
    out = os.fsdecode(git.run("ls-files", "-z", "-t", "-s", "-c", "-o", "--exclude-standard"))
    for entry in out.split("\0"):
        if entry.startswith("? "):
            (found.nested if entry.endswith("/") else found.untracked).append(entry[2:].rstrip("/"))
        elif entry:  # a letter, the mode, the object, the stage, a tab and the path
            path = entry[entry.index("\t") + 1 :]
            (found.submodules if entry.startswith("160000 ", 2) else found.tracked).append(path)
            if entry[0] == "S":
                found.sparse.append(path)
    return found


def submodule(git: Git, path: str) -> Git | None:
    """Git for the submodule at `path`; None where it is not checked out."""
    inner = Git.open(git.root / path, git.environ)
    return inner if inner is not None and inner.top == git.root / path else None


def deciders(git: Git) -> list[Decider]:
    """What decides about the listing besides the tree itself: the index, excludes, configuration."""
    common = common_dir(git.git_dir)
    paths = [git.git_dir / "index", common / "info" / "exclude", git.git_dir / "config.worktree", common / "config",
             *_above(git), *_configured(git)]  # fmt: skip
    return [Decider(path, signature(path)) for path in dict.fromkeys(paths)]


def signature(path: Path) -> Signature | None:
    """What changes when a file does; None where there is none."""
    try:
        info = path.stat()
    except (OSError, ValueError):
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _above(git: Git) -> Iterator[Path]:
    """Ignore files between the top of the work tree and the root."""
    folder = git.root
    while folder != git.top:
        folder = folder.parent
        yield folder / ".gitignore"


def _configured(git: Git) -> Iterator[Path]:
    """The user's and the system's configuration, what these include, and the ignore file that they name."""
    home = git.environ.get("HOME", "")
    own = git.environ.get("XDG_CONFIG_HOME", "") or (home and f"{home}/.config")
    if home:
        yield Path(home, ".gitconfig")
    if own:
        yield from (Path(own, "git", "config"), Path(own, "git", "ignore"))
    yield Path("/etc/gitconfig")
    listing = os.fsdecode(git.run("config", "--list", "--includes", "--show-origin", "-z")).split("\0")
    for origin, entry in zip(listing[::2], listing[1::2], strict=False):
        if not origin.startswith("file:"):
            continue
        file = git.root / origin.removeprefix("file:")
        yield file
        key, _, value = entry.partition("\n")
        yield from _named(git, file, key, value, home)


def _named(git: Git, file: Path, key: str, value: str, home: str) -> Iterable[Path]:
    if key.startswith("includeif.onbranch:"):
        yield git.git_dir / "HEAD"
    path = Path(home, value[2:]) if value.startswith("~/") else Path(value)
    if key == "core.excludesfile":
        yield git.top / path
    elif key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
        yield file.parent / path
