"""Small real repositories with git, and a fingerprint of everything in them."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

CALC = """\
def total(prices, rate):
    s = 0
    for p in prices:
        s += p
    return s - s * rate


def mean(xs):
    return sum(xs) / len(xs)
"""
CALC_TESTS = """\
from calc import mean, total


def test_total():
    assert total([10, 20], 0.5) == 45


def test_none():
    assert total([], 0.5) == 0


def test_mean():
    assert mean([1, 3]) == 2
"""
BUG, FIX = "    return s - s * rate", "    return s + s * rate"


def git(folder: Path, *args: str) -> str:
    """Run the real git, with an identity and no user configuration."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *args]
    return subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


def make_repo(folder: Path, files: Mapping[str, str], *, commit: bool = True) -> Path:
    """Write the files and commit them."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    git(folder, "init", "-q", "-b", "main")
    if commit:
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "start")
    return folder


def red_repo(folder: Path) -> Path:
    """A repository with one bug, that `FIX` in place of `BUG` repairs."""
    folder.mkdir(parents=True, exist_ok=True)
    return make_repo(folder, {"calc.py": CALC, "test_calc.py": CALC_TESTS})


def dirty_repo(folder: Path) -> Path:
    """`red_repo` with all that a user may have lying about: staged, unstaged, untracked, ignored, stashed."""
    folder.mkdir(parents=True, exist_ok=True)
    make_repo(folder, {
        "calc.py": CALC, "test_calc.py": CALC_TESTS, ".gitignore": "secret.env\nbuild/\n", "notes.txt": "one\n",
        "staged.txt": "one\n", "gone.txt": "x\n",
    })  # fmt: skip
    (folder / "stashed.txt").write_text("s\n")
    git(folder, "add", "stashed.txt")
    git(folder, "stash", "-q")
    (folder / "staged.txt").write_text("two\n")
    git(folder, "add", "staged.txt")
    (folder / "staged.txt").write_text("three\n")
    (folder / "gone.txt").unlink()
    (folder / "notes.txt").write_bytes(b"two\r\nlines\r\n")
    (folder / "secret.env").write_text("K=1\n")
    (folder / "build").mkdir()
    (folder / "build" / "out.bin").write_bytes(b"\0\1\2")
    (folder / "data").mkdir()
    (folder / "data" / "big.bin").write_bytes(bytes(range(256)) * 16)
    (folder / "tool.sh").write_text("#!/bin/sh\n")
    (folder / "tool.sh").chmod(0o755)
    (folder / "link").symlink_to("notes.txt")
    return folder


def fingerprint(folder: Path) -> dict[str, object]:
    """Every file (tracked, untracked, ignored) with its bytes and mode; index bytes, stash, all refs, HEAD."""
    seen: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name == ".git" or name.startswith(".git/"):
            continue
        info = path.lstat()
        if path.is_symlink():
            seen[name] = ("link", os.readlink(path))  # noqa: PTH115 (the raw target)
        elif path.is_file():
            seen[name] = (hashlib.sha256(path.read_bytes()).hexdigest(), stat.S_IMODE(info.st_mode))
        else:
            seen[name] = ("folder", stat.S_IMODE(info.st_mode))
    if (folder / ".git").is_dir():
        index = folder / ".git" / "index"
        seen["(index)"] = hashlib.sha256(index.read_bytes()).hexdigest() if index.exists() else ""
        seen["(head)"] = (folder / ".git" / "HEAD").read_text()
        seen["(refs)"] = git(folder, "for-each-ref")
        seen["(stash)"] = git(folder, "stash", "list")
    return seen


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Names under which two fingerprints differ."""
    return sorted(k for k in {*before, *after} if before.get(k) != after.get(k))
