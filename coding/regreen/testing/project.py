"""Which project a selection belongs to, and which runner runs its tests. Pure decisions over what the folders hold.

A repository may hold several projects: the nearest one above the selected files is meant. A folder is a project where
it holds a runner's mark (`Cargo.toml`); settings that name the runner weigh more than a dependency on it, and that
more than files that look like its tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from regreen.testing.looking import Look
from regreen.testing.runners.row import CONFIGURED, DEPENDENCY, FILES, Row, Sign
from regreen.workspace import Workspace

MAX_DEPTH = 3  # of folders that are looked for projects where nothing is selected
_SHOWN = 5
_TEST_FOLDERS = frozenset({"test", "tests", "testing"})


@dataclass(frozen=True, slots=True)
class Project:
    """`folder` is relative to the root, "" for the root. `others` are runners that would also have done, `below` are
    projects in folders of it, each with its runner."""

    folder: str
    row: Row
    why: str
    others: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoProject:
    """Nothing fits, or too much does; `message` says what was found and what to do."""

    message: str


@dataclass(frozen=True, slots=True)
class _Found:
    folder: str
    row: Row
    sign: Sign


def find_project(
    workspace: Workspace, rows: Sequence[Row], selection: Sequence[str], *, runner: str = ""
) -> Project | NoProject:
    """The project that `selection` (ids, files, folders, names) belongs to. `runner` limits the choice to one row."""
    rows = [r for r in rows if not runner or r.name == runner]
    looks: dict[str, Look] = {}
    places = dict.fromkeys(_path_of(entry, workspace) for entry in selection) or {"": None}
    chosen = {place: _choose(workspace, rows, place, looks) for place in places}
    distinct = {(p.folder, p.row.name): p for p in chosen.values() if isinstance(p, Project)}
    if len(distinct) > 1:
        shown = "; ".join(f"{p.folder or '.'} ({p.row.name})" for p in distinct.values())
        return NoProject(f"the selection belongs to several projects: {shown}. Run them one at a time.")
    if distinct:
        return next(iter(distinct.values()))
    if runner and rows:
        return Project("", rows[0], "chosen by the caller")
    return next(p for p in chosen.values() if isinstance(p, NoProject))


def _path_of(entry: str, workspace: Workspace) -> str:
    """The part of an entry that is a path of the project, or the nearest folder above it that exists (of an id such as
    `sub/test_a.A.t`); "" where it is a bare name."""
    path = entry.partition("::")[0].partition(" > ")[0].strip()
    pure = PurePosixPath(path)
    if pure.is_absolute() and pure.is_relative_to(workspace.root):
        path = pure.relative_to(workspace.root).as_posix()
    pure = PurePosixPath(path)
    look = Look(workspace)
    if not path or path.startswith(("/", "-")) or ".." in PurePosixPath(path).parts:
        return ""
    if look.exists(path):
        return path
    folders = (str(p) for p in (pure, *pure.parents) if str(p) != ".")
    return next((f for f in folders if look.folder_exists(f)), "")


def _choose(workspace: Workspace, rows: Sequence[Row], place: str, looks: dict[str, Look]) -> Project | NoProject:
    present = _suffixes(workspace, place)
    fitting = [r for r in rows if not r.suffixes or not present or present & set(r.suffixes)] or list(rows)
    upward = ["" if str(p) == "." else str(p) for p in (PurePosixPath(place), *PurePosixPath(place).parents)]
    found = [f for folder in dict.fromkeys(upward) for f in _signs(workspace, fitting, folder, looks)]
    if place:
        return _best([_weighed(f, fitting) for f in found]) or _nothing(place)
    settled = [f for f in found if f.sign.strength >= DEPENDENCY]
    return _best(settled) or _below(workspace, fitting, looks, found)


def _weighed(found: _Found, fitting: Sequence[Row]) -> _Found:
    """A wrapper's settings say nothing about tests in another language than that of the runner it stands for."""
    behind = found.sign.stands_for
    other = bool(behind) and all(r.name != behind for r in fitting)
    return replace(found, sign=replace(found.sign, strength=FILES)) if other else found


def _suffixes(workspace: Workspace, place: str) -> set[str]:
    """What the selected files are: only runners of their language come into question. Empty where that says nothing."""
    if not place:
        return set()
    if not Look(workspace).folder_exists(place):
        return {PurePosixPath(place).suffix} - {""}
    return {PurePosixPath(p).suffix for p in Look(workspace, place).below()} - {""}


def _signs(workspace: Workspace, rows: Iterable[Row], folder: str, looks: dict[str, Look]) -> list[_Found]:
    look = looks.setdefault(folder, Look(workspace, folder))
    found: list[_Found] = []
    for row in rows:
        if folder and not (look.holds(row.marks) and _may_be_project(look, row)):
            continue
        sign = row.detect(look)
        if sign is not None:
            found.append(_Found(folder, row, sign))
    return found


def _may_be_project(look: Look, row: Row) -> bool:
    """A folder of tests with settings of its own belongs to the project around it, unless it is a package itself."""
    name = PurePosixPath(look.folder).name
    return row.language != "Python" or name not in _TEST_FOLDERS or look.holds(("pyproject.toml", "setup.py"))


def _best(found: Sequence[_Found]) -> Project | None:
    """The strongest sign; of equals the nearest folder, which comes first, and the order of the table."""
    for strength in (CONFIGURED, DEPENDENCY, FILES):
        equal = [f for f in found if f.sign.strength == strength]
        if equal:
            first = equal[0]
            others = tuple(dict.fromkeys(f.row.name for f in found if f.folder == first.folder and f is not first))
            return Project(first.folder, first.row, first.sign.why, others)
    return None


def _below(
    workspace: Workspace, rows: Sequence[Row], looks: dict[str, Look], at_root: Sequence[_Found]
) -> Project | NoProject:
    """Nothing is selected and the root is no project by its settings: is it one by files that belong to no project
    below it, or is there one below?"""
    if not looks:
        return _nothing("")
    marks = tuple(dict.fromkeys(m for r in rows for m in r.marks))
    paths = looks[""].below()
    folders = {str(PurePosixPath(p).parent) for p in paths if any(fnmatchcase(PurePosixPath(p).name, m) for m in marks)}
    nested = sorted(f for f in folders if f != "." and f.count("/") < MAX_DEPTH)
    found = [p for f in nested if (p := _best(_signs(workspace, rows, f, looks))) is not None]
    outermost = [p for p in found if not any(_holds(q.folder, p.folder) for q in found)]
    shown = [f"{p.folder} ({p.row.name})" for p in outermost]
    own = Look(workspace, "", without=tuple(p.folder for p in outermost))
    best = _best([f for f in at_root if f.row.detect(own) is not None])
    if best is not None:
        return replace(best, below=tuple(shown))
    if len(outermost) == 1:
        return outermost[0]
    if len(outermost) > 1:
        more = f" and {len(outermost) - _SHOWN} more" if len(outermost) > _SHOWN else ""
        return NoProject(f"there are several projects: {'; '.join(shown[:_SHOWN])}{more}. Select one by its folder.")
    return _nothing("")


def _holds(outer: str, inner: str) -> bool:
    return outer != inner and inner.startswith(f"{outer}/")


def _nothing(place: str) -> NoProject:
    where = f"for {place}" if place else "in this repository"
    return NoProject(
        f"no tests of a known runner were recognised {where}: no settings, dependencies or test files of one. "
        "Name the runner, or configure a command of your own with a JUnit report (`tests` in the user's config.toml)."
    )
