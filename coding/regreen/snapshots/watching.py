"""Which names are watched around a test run, and what stands under them. Looks only, follows no link, is bounded.

Watched are git's configuration, hooks, `info` and pointers (also of worktrees, submodules and repositories below), and
what `is_protected` names near the root: settings of editors and agents, workflows, start-up files of shells. Also hooks
that lie in the work tree, where git or a tool takes them from there, and files that such tools run commands from.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from regreen.git import common_dir, find_top
from regreen.sandbox.hiding import repositories
from regreen.snapshots.hooks import hook_folders
from regreen.workspace import Stat, Workspace, is_protected, is_version_control
from regreen.workspace.beneath import Folder, Root
from regreen.workspace.looking import kind_of, look

MAX_ITEMS = 2000
MAX_FOLDERS = 200  # that the search for protected names enters
MAX_FILE_BYTES = 1 << 20
MAX_TOTAL_BYTES = 16 << 20
_DEPTH = 3
_TREE_DEPTH = 4
_GIT_FILES = ("config", "config.worktree", "commondir", "gitdir", "objects/info/alternates", "hgrc")
_GIT_TREES = ("hooks", "info")
_LINKED_FILES = ("config.worktree", "commondir", "gitdir")
_DEPENDENCIES = frozenset({"node_modules", "site-packages", ".venv", "venv", ".tox", ".nox", "__pycache__", "target"})
_STARTERS = frozenset({
    ".husky", ".githooks", ".pre-commit-config.yaml", ".mise", ".mise.toml", ".mise.local.toml", "mise.toml",
    "mise.local.toml", "lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook-local.yml", ".lefthook.yml",
    ".lefthook.yaml", ".lefthook-local.yml", ".overcommit.yml", ".simple-git-hooks.json", ".simple-git-hooks.cjs",
})  # fmt: skip
_SKIPPED = frozenset({".claude/worktrees"})


@dataclass(frozen=True, slots=True)
class Seen:
    """What stood there. `data` are the bytes (of a link: its target, after the journal's mark); None: not kept."""

    info: Stat
    data: bytes | None = None

    @property
    def is_folder(self) -> bool:
        return self.info.kind == "directory"


@dataclass(frozen=True, slots=True)
class Area:
    """A folder under which names are watched. `base` None is the project itself; `git_dirs`, `names` and `trees`,
    folders with all that is in them, are below the area."""

    base: Path | None
    git_dirs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()

    def shown(self, inner: str) -> str:
        """The path as it is told: relative to the root, or absolute where it is not in the project."""
        return inner if self.base is None else (self.base / inner).as_posix()


@dataclass(slots=True)
class Look:
    """One look at an area: what is there, by inner path. `cut`: there was more than is watched."""

    found: dict[str, Seen] = field(default_factory=dict[str, Seen])
    cut: bool = False


def areas_of(workspace: Workspace) -> tuple[Area, ...]:
    """The project, and the repositories that it belongs to where these lie elsewhere."""
    root = workspace.root
    top = find_top(root)
    git_dirs = _git_dirs(top) if top is not None else []
    hooks = hook_folders(top, git_dirs) if top is not None else []
    known = repositories(root)
    for tree in (p.parent for p in known if p.name == ".git" and p.parent != top):
        hooks += hook_folders(tree, _git_dirs(tree))
    inside = [*git_dirs, *(p for p in known if p.is_dir())]
    project = Area(None, _inner(inside, root), _inner(known, root), _inner(hooks, root))
    outside = [Area(git_dir, ("",)) for git_dir in git_dirs if not git_dir.is_relative_to(root)]
    if top is None or top == root:
        return (project, *outside)
    return (project, Area(top, (), (".git",), _inner([h for h in hooks if not h.is_relative_to(root)], top)), *outside)


def _inner(paths: Iterable[Path], folder: Path) -> tuple[str, ...]:
    """Those below the folder, relative to it, each once."""
    below_it = (p.relative_to(folder).as_posix() for p in paths if p != folder and p.is_relative_to(folder))
    return tuple(dict.fromkeys(below_it))


def _git_dirs(top: Path) -> list[Path]:
    """The repository of a work tree, and the one that it shares with other work trees."""
    entry = top / ".git"
    with suppress(OSError):
        if entry.is_file():
            line = os.fsdecode(entry.read_bytes()[:8192]).rstrip("\r\n")
            entry = top / line.removeprefix("gitdir: ")
    found = (Path(os.path.realpath(p)) for p in (entry, common_dir(entry)))
    return list(dict.fromkeys(p for p in found if p.is_dir()))


def look_at(workspace: Workspace, area: Area, before: dict[str, Seen] | None = None) -> Look:
    """All that is watched in `area`. With `before`, what is as it was is not read again, what is gone is looked for."""
    try:
        root = workspace.tree if area.base is None else Root(area.base)
    except OSError:
        return Look()
    try:
        return _Looker(root, area, before or {}).look()
    finally:
        if area.base is not None:
            root.close()


class _Looker:
    def __init__(self, root: Root, area: Area, before: dict[str, Seen]) -> None:
        self._root = root
        self._area = area
        self._before = before
        self._result = Look()
        self._bytes = 0

    def look(self) -> Look:
        if self._area.base is None:
            self._search()
        for name in self._area.names:
            self._one(name)
        for git_dir in self._area.git_dirs:
            self._repository(git_dir)
        for folder in self._area.trees:
            self._one(folder)
            self._tree(folder, _TREE_DEPTH)
        for path in self._before.keys() - self._result.found.keys():
            self._one(path)
        return self._result

    def _search(self) -> None:
        """Protected names, breadth first."""
        waiting = [("", 0)]
        entered = 0
        while waiting:
            path, depth = waiting.pop(0)
            entered += 1
            if entered > MAX_FOLDERS:
                self._result.cut = True
                return
            for name, is_folder in self._entries(path):
                inner = f"{path}/{name}" if path else name
                if name.casefold() in _STARTERS or (_may_be_protected(name, path) and is_protected(inner)):
                    self._protected(inner, is_folder)
                elif is_folder and depth + 1 < _DEPTH and name not in _DEPENDENCIES:
                    waiting.append((inner, depth + 1))

    def _protected(self, path: str, is_folder: bool) -> None:
        self._one(path)
        if is_folder and is_version_control(path):
            self._repository(path)
        elif is_folder:
            self._tree(path, _TREE_DEPTH)

    def _repository(self, git_dir: str) -> None:
        for name in _GIT_FILES:
            self._one(_join(git_dir, name))
        for name in _GIT_TREES:
            self._one(_join(git_dir, name))
            self._tree(_join(git_dir, name), _TREE_DEPTH)
        for name, _ in self._entries(_join(git_dir, "worktrees")):
            for file in _LINKED_FILES:
                self._one(_join(git_dir, f"worktrees/{name}/{file}"))
        self._modules(_join(git_dir, "modules"), _TREE_DEPTH)

    def _modules(self, path: str, depth: int) -> None:
        """Repositories of submodules; the name of one may have several parts."""
        for name, is_folder in self._entries(path):
            inner = f"{path}/{name}"
            if is_folder and self._stat(f"{inner}/HEAD") is not None:
                self._repository(inner)
            elif is_folder and depth:
                self._modules(inner, depth - 1)

    def _tree(self, path: str, depth: int) -> None:
        for name, is_folder in self._entries(path):
            inner = f"{path}/{name}"
            self._one(inner)
            if is_folder and depth and inner not in _SKIPPED and not self._result.cut:
                self._tree(inner, depth - 1)

    def _entries(self, path: str) -> Iterator[tuple[str, bool]]:
        """Names in a folder, in order, and whether they are folders; none where it is no folder of ours to read."""
        try:
            with self._root.folder(path) as folder:
                entries = [(e.name, e.is_dir(follow_symlinks=False)) for e in folder.entries()]
        except OSError:
            return
        yield from sorted(entries)

    def _stat(self, path: str) -> Stat | None:
        parent, _, name = path.rpartition("/")
        try:
            with self._root.folder(parent) as folder:
                return stat_of(folder, name)
        except OSError:
            return None

    def _one(self, path: str) -> None:
        found = self._result.found
        if path in found:
            return
        if len(found) >= MAX_ITEMS:
            self._result.cut = True
            return
        parent, _, name = path.rpartition("/")
        try:
            with self._root.folder(parent) as folder:
                info = stat_of(folder, name)
                before = self._before.get(path)
                same = before is not None and before.info == info
                found[path] = before if before is not None and same else Seen(info, self._read(folder, name, info))
        except OSError:
            return

    def _read(self, folder: Folder, name: str, info: Stat) -> bytes | None:
        if info.kind not in ("file", "symlink") or self._bytes + info.size > MAX_TOTAL_BYTES:
            return None
        try:
            seen = look(folder, name, MAX_FILE_BYTES)
        except OSError:  # not readable for us
            return None
        if seen is None or seen.kind != info.kind:
            return None
        self._bytes += len(seen.content)
        return seen.content


def stat_of(folder: Folder, name: str) -> Stat:
    """The row of one name in an open folder; OSError where there is none."""
    s = folder.stat(name)
    return Stat(s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_mode, kind_of(s))


def below(path: str, folders: set[str]) -> bool:
    """Whether one of `folders` holds `path`."""
    return any(p.as_posix() in folders for p in PurePosixPath(path).parents)


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _may_be_protected(name: str, parent: str) -> bool:
    """A quick word before the real question, which takes its time; never false where that says yes."""
    if name[0] == "." or not name.isascii() or parent.rpartition("/")[2].casefold().startswith(".github"):
        return True
    return name[:4].casefold() == "git~"
