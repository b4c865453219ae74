"""Projects to index, and an index in a process of its own that can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from regreen.repo import FileList
from regreen.repo.index import Index, IndexLimits
from regreen.workspace import Workspace

REPO = Path(__file__).parents[2]
KEY = "project"

_OTHER = """
import sys
from pathlib import Path
from regreen.repo.index import Index, IndexLimits
from regreen.workspace import Workspace
from support.indexing import KEY, listed
root, cache, batch = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
with Workspace(root) as workspace:
    index = Index(cache, KEY, workspace, limits=IndexLimits(batch_files=batch))
    print("open", flush=True)
    sys.stdin.readline()
    progress = index.refresh(listed(workspace), on_progress=lambda text: print(text, flush=True))
    print("parsed", index.parsed, progress.done, progress.total, flush=True)
    index.close()
"""


def listed(workspace: Workspace) -> FileList:
    """The regular files below the root, without `.git`."""
    found = workspace.scan(skip=lambda folder: False)
    stats = {path: found[path] for path in sorted(found) if found[path].kind == "file"}
    return FileList(tuple(stats), (), stats)


def write(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")


def bulky(number: int, functions: int = 150) -> str:
    """Source text like no other, of about 30 bytes for each function."""
    return "".join(f"def name_{number}_{i}(a, b):\n    return a\n\n" for i in range(functions))


def bulky_project(root: Path, files: int, functions: int = 150) -> None:
    write(root, {f"part{n % 7}/module_{n}.py": bulky(n, functions) for n in range(files)})


@contextmanager
def indexed(root: Path, cache: Path, limits: IndexLimits | None = None) -> Iterator[tuple[Index, Workspace]]:
    """An index, not refreshed yet."""
    with Workspace(root) as workspace:
        index = Index(cache, KEY, workspace, limits=limits)
        try:
            yield index, workspace
        finally:
            index.close()


def database_of(cache: Path) -> Path:
    (found,) = cache.glob("*.db")
    return found


def start_other(root: Path, cache: Path, batch: int = 500) -> subprocess.Popen[str]:
    """Another process, which has opened the index and refreshes it when it is sent a line."""
    path = os.pathsep.join([str(REPO / "tests"), str(REPO / "coding")])
    child = subprocess.Popen(
        [sys.executable, "-c", _OTHER, str(root), str(cache), str(batch)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": path}, cwd="/",
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == "open\n"
    return child


def say_go(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def lines_of(child: subprocess.Popen[str]) -> Iterator[str]:
    assert child.stdout is not None
    yield from child.stdout
