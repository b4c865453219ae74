"""When a fork server is stale: a cheap look at everything that decides what a fresh interpreter would have imported."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regreen.testing.interpreter import Interpreter

_SETTINGS = re.compile(
    r"(pyproject|pytest|\.pytest|pdm|uv|poetry)\.toml|(\.?pytest|tox|mypy)\.ini|setup\.(cfg|py)|.*\.lock|Pipfile|conftest\.py|"
    r"(dev-|test-)?requirements.*\.(txt|in)|constraints.*\.txt|environment.*\.ya?ml|\.python-version|noxfile\.py"
)
_HOOKS = re.compile(r".*\.pth|__editable__.*")
_ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Two equal ones: nothing that matters has changed between them."""

    place: tuple[str, ...]
    interpreter: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]

    def changed(self, before: Stamp) -> str:
        """What differs, for a note; "" for equal ones."""
        if self.place != before.place:
            return "the project"
        if self.interpreter != before.interpreter:
            return "the interpreter"
        if self.environment != before.environment:
            return "the environment"
        names = {name for name, _ in set(self.files) ^ set(before.files)}
        return ", ".join(sorted(names)[:3])

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr((self.place, self.interpreter, self.environment, self.files)).encode()).hexdigest()


class Stamper:
    """Takes stamps; remembers the contents of files that look untouched."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}

    def take(
        self,
        interpreter: Interpreter,
        environment: Mapping[str, str],
        folders: Sequence[Path],
        sites: Iterable[str],
        conftests: Iterable[str],
    ) -> Stamp:
        """`folders` are those of the project that may hold settings, `sites` those of installed packages."""
        paths: set[str] = set(conftests)
        for folder in folders:
            paths.update(_matching(str(folder), _SETTINGS))
        for site in sites:
            paths.update(_matching(site, _HOOKS))
        files = [(p, self._content(p)) for p in sorted(paths)]
        files += [(site, _times(site)) for site in sites]
        program = (interpreter.path, interpreter.version, interpreter.pytest_version, _times(interpreter.path))
        venv = _times(os.path.join(interpreter.venv, "pyvenv.cfg")) if interpreter.venv else ""  # noqa: PTH118
        return Stamp(tuple(map(str, folders)), (*program, venv), tuple(sorted(environment.items())), tuple(files))

    def _content(self, path: str) -> str:
        try:
            status = os.stat(path)  # noqa: PTH116
            seen = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            known = self._known.get(path)
            if known is None or known[0] != seen:
                known = self._known[path] = (seen, hashlib.sha256(Path(path).read_bytes()).hexdigest())
            return known[1]
        except OSError:
            return _ABSENT


def conftests_of(folder: Path, tests: Iterable[str]) -> set[str]:
    """Where pytest looks for a conftest on the way to these tests: also where there is none yet."""
    folders = {test.partition("::")[0].rpartition("/")[0] for test in tests}
    found: set[str] = set()
    for inner in folders:
        while inner not in found:
            found.add(inner)
            inner = inner.rpartition("/")[0]
    return {str(folder / inner / "conftest.py") for inner in found | {""}}


def _matching(folder: str, pattern: re.Pattern[str]) -> list[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 (names only)
    except OSError:
        return []
    return [f"{folder}/{name}" for name in names if pattern.fullmatch(name)]


def _times(path: str) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return _ABSENT
    return f"{status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns}"
