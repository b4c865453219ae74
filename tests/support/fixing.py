"""Complete fix runs on repositories of every kind, and the full fingerprint that they are judged by."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from regreen.fix import baseline
from regreen.session import Engine
from support.cases import ALL
from support.engines import engine_on, replacement, run_script, script
from support.gitrepos import git, make_repo, write
from support.repos import BUG, CALC, CALC_TESTS, FIX

FILES: Mapping[str, str] = {"calc.py": CALC, "test_calc.py": CALC_TESTS}
WRONG = [replacement("calc.py", BUG, "    return s * rate")]
RIGHT = [replacement("calc.py", BUG, FIX)]
FIXED = CALC.replace(BUG, FIX)
LOOKS = baseline.RUNS if ALL else 2
"""In how many runs a failing test is seen before it counts as failing for certain: enough for one that always fails."""


def fixable(folder: Path, more: Mapping[str, str | bytes] | None = None, *init: str) -> Path:
    """A repository of one commit whose one bug `RIGHT` repairs."""
    return make_repo(folder, {**FILES, **(more or {})}, *init)


@contextmanager
def fixer(root: Path, **chosen: Any) -> Generator[Engine]:
    with engine_on(root, **chosen) as engine:
        yield engine


def fingerprint(top: Path) -> dict[str, object]:
    """All below a folder: kind, mode and bytes or target of each file, link and folder; of git everything but objects.

    Of indexes also the inode and the times: nobody wrote them, not even the same bytes again.
    """
    seen: dict[str, object] = {}
    for here, dirs, names in os.walk(os.fsencode(top)):
        if os.path.basename(here) == b"objects":  # noqa: PTH119 (bytes)
            dirs[:] = [d for d in dirs if d == b"info"]
            names = []
        for name in (*dirs, *names):
            path = os.path.join(here, name)  # noqa: PTH118 (bytes)
            seen[os.fsdecode(os.path.relpath(path, os.fsencode(top)))] = _seen(path)
    return seen


def _seen(path: bytes) -> object:
    info = os.lstat(path)
    mode = stat.filemode(info.st_mode)
    if stat.S_ISLNK(info.st_mode):
        return (mode, os.readlink(path))  # noqa: PTH115 (the raw target)
    if not stat.S_ISREG(info.st_mode):
        return mode
    with open(path, "rb") as f:  # noqa: PTH123 (bytes)
        digest = sha256(f.read()).hexdigest()
    times = (info.st_ino, info.st_mtime_ns) if os.path.basename(path) == b"index" else ()  # noqa: PTH119 (bytes)
    return (mode, digest, *times)


def objects(top: Path) -> set[Path]:
    """The files of git's object stores, of which a run may add some, and takes none away."""
    return {p for store in top.rglob("objects") for p in store.rglob("*") if p.is_file()}


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """The paths under which two fingerprints differ."""
    return sorted(p for p in {*before, *after} if before.get(p) != after.get(p))


def run(engine: Engine, folder: Path, proposals: Sequence[Sequence[dict[str, str]]], **options: Any) -> dict[str, Any]:
    """The outcome of a run with these proposals."""
    data = run_script(engine, script(folder, proposals), **options)
    assert "error" not in data, data
    return data["outcome"]


def runs_end_as_they_must(
    root: Path, beside: Path, *, watched: Path | None = None, expected: Sequence[str] = ("calc.py",)
) -> dict[str, Any]:
    """A wrong fix, after which every byte below `watched` is as before; then the right one, after which only
    `expected` differs. Returns the outcome of the second."""
    top = watched or root
    before, held = fingerprint(top), objects(top)
    with fixer(root) as engine:
        end = run(engine, beside, [WRONG])
        assert (end["reason"], end["restored"], end["conflicts"]) == ("proposer_failed", True, []), end
        assert differences(before, fingerprint(top)) == []
        end = run(engine, beside, [RIGHT])
        assert (end["reason"], end["conflicts"], end["kept_files"]) == ("fixed", [], ["calc.py"]), end
    prefix = root.relative_to(top)
    assert held - objects(top) == set()
    assert differences(before, fingerprint(top)) == sorted(str(prefix / name) for name in expected)
    assert (root / "calc.py").read_text() == FIXED
    return end


__all__ = [
    "BUG", "CALC", "FILES", "FIX", "FIXED", "LOOKS", "RIGHT", "WRONG", "differences", "fingerprint",
    "fixable", "fixer", "git", "replacement", "run", "runs_end_as_they_must", "write",
]  # fmt: skip
