"""Real repositories for tests: made by the real git, with its own environment, and hashed to the last byte."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from pathlib import Path

ENVIRON = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.invalid", "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.invalid", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C",
    "GIT_CONFIG_COUNT": "3", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
    "GIT_CONFIG_KEY_1": "protocol.file.allow", "GIT_CONFIG_VALUE_1": "always",
    "GIT_CONFIG_KEY_2": "init.defaultBranch", "GIT_CONFIG_VALUE_2": "main",
}  # fmt: skip


def git(folder: Path, *args: str, stdin: bytes | None = None) -> str:
    """Run the user's git, as the user would."""
    done = subprocess.run(("git", *args), cwd=folder, env=ENVIRON, input=stdin, capture_output=True, timeout=60)
    assert done.returncode == 0, (args, done.stderr)
    return os.fsdecode(done.stdout)


def make_repo(folder: Path, files: dict[str, str | bytes] | None = None, *init: str) -> Path:
    """A repository with one commit of `files` (none: an unborn branch)."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", *init)
    for name, text in (files or {}).items():
        write(folder / name, text)
    if files:
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "start")
    return folder


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def whole_state(root: Path, *, mtimes: bool = True) -> dict[str, object]:
    """Everything that must be as before: each file, link and folder, and of git: index, HEAD, refs, reflogs, stash."""
    state: dict[str, object] = {}
    for folder, dirs, names in os.walk(root):
        if ".git" in dirs:
            dirs.remove(".git")
        for name in (*dirs, *names):
            path = Path(folder, name)
            info = path.lstat()
            key = path.relative_to(root).as_posix()
            if stat.S_ISDIR(info.st_mode):
                state[key] = "folder"
            elif stat.S_ISLNK(info.st_mode):
                state[key] = ("link", os.fspath(path.readlink()))
            else:
                digest = hashlib.sha256(path.read_bytes()).hexdigest() if info.st_size < 1 << 24 else info.st_size
                state[key] = (digest, oct(info.st_mode), info.st_mtime_ns if mtimes else 0)
    return state | git_state(root)


def git_state(root: Path) -> dict[str, object]:
    dot = root / ".git"
    if not dot.is_dir():
        return {}
    kept = [p for name in ("HEAD", "ORIG_HEAD", "index", "config", "packed-refs", "MERGE_HEAD") if (p := dot / name)]
    kept += [p for part in ("refs", "logs", "hooks", "info") for p in sorted((dot / part).rglob("*"))]
    files = {f".git:{p.relative_to(dot)}": p.read_bytes() if p.is_file() else p.is_dir() for p in kept if p.exists()}
    index = dot / "index"
    return files | {".git:index-stat": (index.stat().st_ino, index.stat().st_mtime_ns) if index.exists() else None}


def differences(before: dict[str, object], after: dict[str, object]) -> list[str]:
    return [k for k in sorted({*before, *after}) if before.get(k) != after.get(k)]
