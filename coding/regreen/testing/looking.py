"""What a runner's detection may look at: the files of one folder of the project, read through the workspace, once."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from regreen.errors import RegreenError
from regreen.workspace import Workspace

MAX_LOOKED = 5000  # paths below the folder that are looked at, at most
_SKIPPED = frozenset({
    "node_modules", "site-packages", ".venv", "venv", ".tox", ".nox", "__pycache__", "target", "vendor", "build",
    "dist", ".git", ".gradle", ".mypy_cache", ".pytest_cache", ".ruff_cache",
})  # fmt: skip


class Look:
    """One folder, `folder` relative to the root ("" is the root itself). Whatever cannot be read counts as absent, and
    so do files below the folders `without`, when what lies below is looked at."""

    def __init__(self, workspace: Workspace, folder: str = "", *, without: tuple[str, ...] = ()) -> None:
        self.workspace = workspace
        self.folder = folder
        self._without = frozenset(without)
        self._texts: dict[str, str] = {}
        self._below: tuple[str, ...] | None = None

    @property
    def path(self) -> Path:
        """The folder as an absolute path."""
        return self.workspace.root / self.folder

    def at(self, name: str) -> str:
        """`name`, a path below the folder, relative to the root."""
        return f"{self.folder}/{name}" if self.folder else name

    def exists(self, name: str) -> bool:
        """Whether there is such a regular file."""
        return self._kind(name) == "file"

    def holds(self, patterns: Iterable[str]) -> bool:
        """Whether the folder itself has a file of one of these names; a name may be a pattern (`*.sln`)."""
        for pattern in patterns:
            if "*" not in pattern:
                found = self.exists(pattern)
            else:
                found = any("/" not in p and fnmatchcase(p, pattern) for p in self.below())
            if found:
                return True
        return False

    def folder_exists(self, name: str) -> bool:
        """Whether there is such a folder."""
        return self._kind(name) == "directory"

    def _kind(self, name: str) -> str:
        try:
            return self.workspace.image_kind(self.at(name))
        except RegreenError:
            return "absent"

    def text(self, name: str) -> str:
        """A file's text; "" where there is none."""
        if name not in self._texts:
            try:
                self._texts[name] = self.workspace.read(self.at(name)).data.decode("utf-8", "replace")
            except RegreenError:
                self._texts[name] = ""
        return self._texts[name]

    def json(self, name: str) -> Mapping[str, Any]:
        """A JSON file's object; empty where there is none, or it is something else."""
        try:
            data = json.loads(self.text(name) or "{}")
        except (ValueError, RecursionError):
            return {}
        return cast("dict[str, Any]", data) if isinstance(data, dict) else {}

    def toml(self, name: str) -> Mapping[str, Any]:
        """A TOML file's tables; empty where there is none, or it cannot be read."""
        try:
            return tomllib.loads(self.text(name))
        except (tomllib.TOMLDecodeError, RecursionError):
            return {}

    def below(self) -> tuple[str, ...]:
        """Files below the folder, relative to it, without those of dependencies and build products; at most 5,000,
        those near the top first."""
        if self._below is None:
            prefix = f"{self.folder}/" if self.folder else ""

            def skip(path: str) -> bool:
                inside = path.startswith(prefix) or prefix.startswith(f"{path}/")
                return not inside or path in self._without or path.rpartition("/")[2] in _SKIPPED

            listed = self.workspace.scan(skip=skip).items()
            found = (p.removeprefix(prefix) for p, stat in listed if stat.kind == "file" and p.startswith(prefix))
            self._below = tuple(sorted(found, key=lambda p: (p.count("/"), p))[:MAX_LOOKED])
        return self._below

    def any_below(self, *patterns: str) -> str:
        """The first file below the folder whose name fits one of the patterns (`test_*.py`); "" for none."""
        for path in self.below():
            name = path.rpartition("/")[2]
            if any(fnmatchcase(name, p) for p in patterns):
                return path
        return ""
