"""A red example repository turned green, offline, with every promise checked: exits non-zero if one does not hold.

usage: demo.py [EXAMPLE]     one of the folders in `examples` (default: lending)
The copy, and regreen's own state, live in a temporary folder that is removed at the end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BIN = Path(sys.executable).parent
TEST_FILES = "tests"


class BrokenPromise(Exception):
    """Something was not as the demo says."""


def run(title: str, argv: list[str], folder: Path, environ: Mapping[str, str], *, expect: int) -> None:
    """Show a command and its output; its status must be `expect`."""
    print(f"\n=== {title}\n$ {' '.join([Path(argv[0]).name, *argv[1:]])}", flush=True)
    status = subprocess.run(argv, cwd=folder, env=environ, check=False, timeout=120).returncode
    if status != expect:
        raise BrokenPromise(f"`{' '.join(argv)}` ended with status {status}, not {expect}")


def git(folder: Path, environ: Mapping[str, str], *args: str) -> str:
    """The output of a quiet git command."""
    argv = ["git", "-c", "user.name=demo", "-c", "user.email=demo@example.invalid", *args]
    return subprocess.run(argv, cwd=folder, env=environ, check=True, capture_output=True, text=True).stdout


def demo(example: str, base: Path) -> None:
    """Copy, show red, fix, show the difference, show green."""
    repo = base / example
    shutil.copytree(EXAMPLES / example, repo, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    environ = {**os.environ, "REGREEN_STATE_DIR": str(base / "state"), "REGREEN_CACHE_DIR": str(base / "cache"),
               "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}  # fmt: skip
    git(repo, environ, "init", "-q")
    git(repo, environ, "add", "-A")
    git(repo, environ, "commit", "-qm", "start")
    regreen, python = str(BIN / "regreen"), sys.executable
    run("the tests fail", [regreen, "test"], repo, environ, expect=1)
    run("regreen looks for a fix, offline", [regreen, "fix", "--proposer", "search"], repo, environ, expect=0)
    run("what it changed", ["git", "--no-pager", "diff", "--stat"], repo, environ, expect=0)
    if not git(repo, environ, "diff", "--name-only") or git(repo, environ, "diff", "--name-only", "--", TEST_FILES):
        raise BrokenPromise("the fix must change the code, and no test")
    run("a cold run of plain pytest is green", [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"], repo,
        environ, expect=0)  # fmt: skip


def main() -> int:
    example = sys.argv[1] if len(sys.argv) > 1 else "lending"
    if not (EXAMPLES / example).is_dir():
        print(f"no example is called {example!r}: see {EXAMPLES}", file=sys.stderr)
        return 2
    started = time.monotonic()
    base = Path(tempfile.mkdtemp(prefix="regreen-demo-"))
    try:
        demo(example, base)
    except (BrokenPromise, subprocess.SubprocessError) as e:
        print(f"\nthe demo failed: {e}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(f"\nAll of it held, in {time.monotonic() - started:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
