"""What about a repository is out of the ordinary and worth a word: an operation in progress, repositories inside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.errors import EnvironmentFault
from regreen.git import common_dir

if TYPE_CHECKING:
    from regreen.git import Git

_OPERATIONS = (
    ("MERGE_HEAD", "a merge"), ("rebase-merge", "a rebase"), ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"), ("REVERT_HEAD", "a revert"), ("BISECT_LOG", "a bisect"),
)  # fmt: skip
_SHOWN = 5


def remarks(git: Git | None) -> tuple[str, ...]:
    """Sentences for whoever reads a result; none where all is ordinary."""
    if git is None:
        return ()
    return (*_in_progress(git.git_dir), *_nested(git))


def linked_trees(git: Git | None) -> frozenset[str]:
    """Folders under the root that are other work trees of this repository (`git worktree add`). Starts no program."""
    if git is None:
        return frozenset()
    found: set[str] = set()
    for pointer in (common_dir(git.git_dir) / "worktrees").glob("*/gitdir"):
        try:
            tree = pointer.parent / os.fsdecode(pointer.read_bytes()[:8192]).rstrip("\r\n")
        except OSError:
            continue
        real = Path(os.path.realpath(tree.parent))
        if real != git.root and real.is_relative_to(git.root):
            found.add(real.relative_to(git.root).as_posix())
    return frozenset(found)


def _in_progress(git_dir: Path) -> Iterator[str]:
    for name, said in _OPERATIONS:
        if (git_dir / name).exists():
            yield f"{said} is in progress here: index, HEAD and its state are left alone"
            return


def _nested(git: Git) -> Iterator[str]:
    """Repositories below that git knows nothing of; one without a commit cannot even be added."""
    try:
        listed = git.run("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    except EnvironmentFault:
        return
    folders = [name.decode("utf-8", "surrogateescape").rstrip("/") for name in listed if name.endswith(b"/")]
    trees = linked_trees(git)
    nested = [f for f in folders if f not in trees and (git.root / f / ".git").exists()]
    empty = [f for f in nested if not _has_commit(git.root / f / ".git")]
    if empty:
        yield f"{_names(empty)}: a repository without a commit; git cannot see into it, and fixes do not edit its files"
    if others := [f for f in nested if f not in empty]:
        yield f"{_names(others)}: a repository of its own; fixes here do not edit its files"


def _has_commit(git_dir: Path) -> bool:
    if git_dir.is_file():  # a work tree or submodule of something that has commits
        return True
    refs = git_dir / "refs" / "heads"
    return (git_dir / "packed-refs").exists() or any(p.is_file() for p in refs.rglob("*"))


def _names(paths: list[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(f"`{p}`" for p in paths[:_SHOWN]) + more
