"""Which files a repository has: what Git tracks or would track; without Git a walk that honours `.gitignore` files.

Regular files only, sorted by path. No link is followed. What is left out is said in the notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from regreen.errors import EnvironmentFault, RegreenError
from regreen.workspace import Stat, Workspace

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from regreen.git import Git

MAX_FOLDERS = 100_000  # of a walk without Git
_SHOWN = 5  # names in a note

_DEPENDENCY_FOLDERS = frozenset({
    "node_modules", "bower_components", "__pycache__", "__pypackages__", ".venv", "venv", ".tox", ".nox", ".eggs",
    ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".hg", ".svn", ".bzr", ".jj", ".regreen",
})  # fmt: skip
_UNNAMEABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TEST_NAME = re.compile(
    r"""test_.*\.py|.*_test\.py|conftest\.py  # Python
    |.+[.](test|spec)\.[cm]?[jt]sx?|.+[-_]test\.[cm]?[jt]sx?|test-.+\.[cm]?[jt]sx?|test\.[cm]?[jt]sx?  # JavaScript
    |.+_test\.go|.+_(test|spec)\.rb|.+Test\.php
    |.*[a-z0-9_](Test|Tests|TestCase|IT|Spec)\.(java|kt|kts|groovy|scala)|Test[A-Z].*\.(java|kt|kts|groovy|scala)
    |.*[a-z0-9_]Tests?\.(cs|fs|vb)""",
    re.DOTALL | re.VERBOSE,
)
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__"})


@dataclass(frozen=True, slots=True)
class FileList:
    """The files of a repository, relative to its root. `links` are symbolic links: listed, never followed."""

    paths: tuple[str, ...]
    notes: tuple[str, ...] = ()
    sizes_bytes: Mapping[str, int] = field(default_factory=dict[str, int])
    links: tuple[str, ...] = ()


def list_files(workspace: Workspace, git: Git | None) -> FileList:
    """Tracked files and untracked ones that are not ignored; dependency folders only where tracked."""
    if git is None:
        return _walk(workspace, [])
    try:
        tracked, untracked, submodules = git.tracked(), git.untracked(), git.submodules()
    except EnvironmentFault as e:
        return _walk(workspace, [f"Git could not list the files ({e.message}): every file that is not ignored is here"])
    return _from_git(workspace, tracked, untracked, submodules)


def is_test_file(path: str) -> bool:
    """Whether a path is a test's by its runner's common rule: in a folder of tests, or by its name."""
    *folders, name = path.split("/")
    return not _TEST_FOLDERS.isdisjoint(folders) or _TEST_NAME.fullmatch(name) is not None


def _from_git(
    workspace: Workspace, tracked: Iterable[str], untracked: Iterable[str], submodules: Iterable[str]
) -> FileList:
    listed = set(tracked)
    dependencies: set[str] = set()
    for path in untracked:
        if folder := _dependency_folder(path):
            dependencies.add(folder)
        else:
            listed.add(path)
    above = {path[:i] for path in listed for i, c in enumerate(path) if c == "/"}
    found = workspace.scan(skip=lambda folder: folder not in above)
    notes = [
        *_note("dependency folders that are not listed", dependencies),
        *_note("submodules, not listed", set(submodules)),
    ]
    return _collect({path: found[path] for path in listed if path in found}, notes)


def _walk(workspace: Workspace, notes: list[str]) -> FileList:
    ignores = _Ignores(workspace)
    dependencies: set[str] = set()
    folders = 0

    def skip(folder: str) -> bool:
        nonlocal folders
        name = folder.rpartition("/")[2]
        if ignores.ignored(folder, is_folder=True):
            return True
        if name in _DEPENDENCY_FOLDERS or _is_virtual_environment(workspace, folder):
            dependencies.add(folder)
            return True
        folders += 1
        return folders > MAX_FOLDERS

    found = workspace.scan(skip=skip)
    notes = [*notes, *_note("dependency folders that are not listed", dependencies)]
    if folders > MAX_FOLDERS:
        notes.append(f"more than {MAX_FOLDERS} folders: the rest is not listed")
    return _collect({path: s for path, s in found.items() if not ignores.ignored(path)}, notes)


def _is_virtual_environment(workspace: Workspace, folder: str) -> bool:
    try:
        return workspace.image_kind(f"{folder}/pyvenv.cfg") == "file"
    except RegreenError:  # the path is too long for the system: nothing that anybody could have made there
        return False


def _collect(found: Mapping[str, Stat], notes: list[str]) -> FileList:
    files: dict[str, int] = {}
    links: list[str] = []
    unnameable: set[str] = set()
    odd: set[str] = set()
    for path in sorted(found):
        stat = found[path]
        if stat.kind == "directory":
            continue
        if _UNNAMEABLE.search(path):
            unnameable.add(_UNNAMEABLE.sub("\N{REPLACEMENT CHARACTER}", path))
        elif stat.kind == "file":
            files[path] = stat.size
        elif stat.kind == "symlink":
            links.append(path)
        else:
            odd.add(path)
    notes = [
        *notes,
        *_note("names with control characters or without an encoding, not listed", unnameable),
        *_note("neither files nor folders, not listed", odd),
    ]
    return FileList(tuple(files), tuple(notes), files, tuple(links))


def _dependency_folder(path: str) -> str:
    """The outermost dependency folder that a path lies in, "" for none."""
    names = path.split("/")[:-1]
    for i, name in enumerate(names):
        if name in _DEPENDENCY_FOLDERS:
            return "/".join(names[: i + 1])
    return ""


def _note(what: str, names: set[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(sorted(names)[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return [f"{what}: {shown}{more}"]


class _Ignores:
    """The `.gitignore` files above a path, each read once. The deepest file with an opinion decides."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._chains: dict[str, tuple[tuple[int, GitIgnoreSpec], ...]] = {}

    def ignored(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether a path is ignored whose folder is not."""
        name = path + "/" if is_folder else path
        for cut, spec in reversed(self._chain(path.rpartition("/")[0])):
            verdict = spec.check_file(name[cut:]).include
            if verdict is not None:
                return verdict
        return False

    def _chain(self, folder: str) -> tuple[tuple[int, GitIgnoreSpec], ...]:
        """For each ignore file from the root down to `folder`: how much of a path it does not see, and its rules."""
        missing: list[str] = []
        while folder not in self._chains:
            missing.append(folder)
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        chain = self._chains.get(folder, ())
        for inner in reversed(missing):
            prefix = inner + "/" if inner else ""
            spec = self._read(prefix + ".gitignore")
            chain = (*chain, (len(prefix), spec)) if spec is not None else chain
            self._chains[inner] = chain
        return chain

    def _read(self, path: str) -> GitIgnoreSpec | None:
        from pathspec import GitIgnoreSpec

        try:
            image = self._workspace.image(path, follow=False)
        except RegreenError:  # too large or not readable: rules that nobody can read do not count
            return None
        if image.kind != "file":
            return None
        lines: list[str] = []
        for line in image.data.decode("utf-8", "replace").splitlines():
            try:
                GitIgnoreSpec.from_lines([line])
            except ValueError:  # Git passes over such a line, too
                continue
            lines.append(line)
        return GitIgnoreSpec.from_lines(lines)
