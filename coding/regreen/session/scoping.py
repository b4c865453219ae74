"""What a run may edit where nobody named paths: the files of the project that its selection belongs to.

Tracked files, others that git does not ignore, and new ones in the project's folder. Not what git ignores, what belongs
to another project of the repository, or to a repository of its own inside this one. Tests and settings that decide what
a test run executes are no matter of this: they are protected whatever the paths.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from regreen.errors import EnvironmentFault, RegreenError
from regreen.git import find_top

if TYPE_CHECKING:
    from regreen.session.repository import Session


@dataclass(frozen=True, slots=True)
class ProjectScope:
    """`folder`: the project's, relative to the root ("" = the whole repository). `listed`: the files of the repository
    when the run began. `left_out` says of any other path why it is none of the repository's own; "" = it is."""

    folder: str
    listed: frozenset[str]
    left_out: Callable[[str], str]

    def allows(self, path: str) -> bool:
        """May a run edit this path (clean, relative, links resolved) where nobody named paths?"""
        return not self.why_not(path)

    def why_not(self, path: str) -> str:
        """Why a run may not edit this path, in a sentence for the proposer; "" = it may."""
        if self.folder and not path.startswith(f"{self.folder}/"):
            return f"`{path}` is outside the project `{self.folder}`, which the selected tests belong to"
        return "" if path in self.listed else self.left_out(path)


def default_paths(session: Session, selection: Sequence[str]) -> ProjectScope:
    """The scope of a run without `paths`. Looks at the repository now; files that appear later are judged when asked
    for. Costs about as much as listing the files."""
    paths = session.files().paths
    if session.git is None:  # a walk does not know where another repository begins
        inner = {f: _nested(session.root, f"{f}/x") for f in {p.rpartition("/")[0] for p in paths}}
        paths = tuple(p for p in paths if not inner[p.rpartition("/")[0]])
    return ProjectScope(_project_folder(session, selection), frozenset(paths), _LeftOut(session))


def own_paths(session: Session) -> ProjectScope:
    """The scope of a task that is bound to no tests: all that is the repository's own."""
    return replace(default_paths(session, ()), folder="")


def _project_folder(session: Session, selection: Sequence[str]) -> str:
    """The folder of the project that a run of these tests would choose; "" where there is none, or more than one."""
    from regreen.testing import ROWS, Project, find_project
    from regreen.testing.runners import custom

    if not selection and custom.custom_tests(session.settings, session.root) is not None:
        return ""  # the user's own command is run in the root
    found = find_project(session.workspace, ROWS, selection)
    return found.folder if isinstance(found, Project) else ""


class _LeftOut:
    """Judges paths that were not there, or not listed, at the start. What git ignored then stays ignored."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._submodules = _submodules(session)
        self._ignored = _ignored_at_start(session)

    def __call__(self, path: str) -> str:
        module = next((m for m in self._submodules if path.startswith(f"{m}/")), "")
        if nested := module or _nested(self._session.root, path):
            return f"`{path}` belongs to the repository `{nested}`, which is one of its own"
        if any(path == known or (known.endswith("/") and path.startswith(known)) for known in self._ignored):
            return f"`{path}` is ignored by git"
        if _is_ignored(self._session, path):
            return f"`{path}` is ignored by git"
        if folder := self._passed_over(path):
            return f"`{path}` lies in `{folder}`, which holds no files of the project"
        return ""

    def _passed_over(self, path: str) -> str:
        """The folder on the way to `path` of which no file is listed although it holds some: dependencies, mostly."""
        listed = self._session.files().paths
        if path in listed:
            return ""
        for parent in reversed(PurePosixPath(path).parents[:-1]):
            folder = str(parent)
            if not any(p.startswith(f"{folder}/") for p in listed) and self._holds_files(folder):
                return folder
        return ""

    def _holds_files(self, folder: str) -> bool:
        def skip(below: str) -> bool:
            on_the_way = f"{folder}/".startswith(f"{below}/") or below.startswith(f"{folder}/")
            return not on_the_way or below in self._submodules or bool(_nested(self._session.root, f"{below}/x"))

        found = self._session.workspace.scan(skip=skip)
        return any(p.startswith(f"{folder}/") and stat.kind != "directory" for p, stat in found.items())


def _nested(root: Path, path: str) -> str:
    """The repository below the root that a path lies in; "" for none."""
    for parent in PurePosixPath(path).parents[:-1]:
        if os.path.isdir(folder := root / parent):  # noqa: PTH112
            top = find_top(folder)
            real = Path(top).relative_to(root) if top is not None and top.is_relative_to(root) else Path()
            return "" if real == Path() else real.as_posix()
    return ""


def _submodules(session: Session) -> tuple[str, ...]:
    try:
        return tuple(session.git.submodules()) if session.git is not None else ()
    except EnvironmentFault:  # git cannot read its index: then the listing has come from a walk, too
        return ()


def _ignored_at_start(session: Session) -> tuple[str, ...]:
    """What is ignored now; a folder of which all is ends in a slash."""
    if session.git is None:
        return ()
    try:
        out = session.git.run("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    except EnvironmentFault:
        return ()
    return tuple(name.decode("utf-8", "surrogateescape") for name in out.split(b"\0") if name)


def _is_ignored(session: Session, path: str) -> bool:
    if session.git is None:
        return False
    try:
        return bool(session.git.ignored([path]))
    except RegreenError:
        return False
