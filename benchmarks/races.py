"""Does anything get out while a second process swaps a file, and a folder on the way to it, for links to the outside?

`python benchmarks/races.py [TRIES]` reads and writes TRIES times (20 000), half of them each, and prints for each way
to open folders how often that was done, refused, and how often it got out. Exit status 1 if it ever did. Linux only.
"""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from regreen.errors import RegreenError
from regreen.store import Store
from regreen.workspace import Change, Journal, Workspace
from regreen.workspace.beneath import Backend
from regreen.workspace.kernel import exchange

BACKENDS: tuple[Backend, ...] = ("openat2", "walk")
PAIRS = {"folder": ("d", "to-outside"), "file": ("in/f", "in/to-outside")}
TARGETS = {"folder": "d/f", "file": "in/f"}
FIRST, SECOND, SECRET = b"first\n", b"second\n", b"from outside\n"


@dataclass
class Figures:
    """What came of the tries of one kind."""

    name: str
    tries: int = 0
    done: int = 0
    refused: dict[str, int] = field(default_factory=dict[str, int])
    escapes: list[str] = field(default_factory=list[str])
    seconds: float = 0.0
    swaps: int = 0

    def line(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.refused.items()))
        return (
            f"{self.name:24} tries {self.tries:6}  done {self.done:6}  refused {sum(self.refused.values()):6}  "
            f"escapes {len(self.escapes)}  {self.seconds:6.1f} s  swaps {self.swaps}  ({kinds})"
        )


class Trap:
    """A project with what gets swapped, and the folder outside that the links lead to."""

    def __init__(self, folder: Path, held_outside: bytes) -> None:
        self.root, self.out = folder / "ws", folder / "out"
        for made in (self.root / "d", self.root / "in", self.out):
            made.mkdir(parents=True)
        for file in (self.root / "d/f", self.root / "in/f"):
            file.write_bytes(FIRST)
        (self.out / "f").write_bytes(held_outside)
        (self.root / "to-outside").symlink_to("../out", target_is_directory=True)
        (self.root / "in/to-outside").symlink_to("../../out/f")
        self._was = self._outside()

    def _outside(self) -> list[tuple[str, bytes, int, int]]:
        found = [(p, p.lstat()) for p in sorted(self.out.iterdir())]
        return [(p.name, p.read_bytes(), info.st_ino, info.st_mode) for p, info in found]

    def escaped(self) -> str:
        """What is different outside; "" for nothing."""
        now = self._outside()
        return "" if now == self._was else f"outside is now {now}"

    def leftovers(self) -> list[str]:
        return [p.name for p in self.root.rglob(".regreen*")]


def swap_forever(root: Path) -> None:
    """Swap all pairs until our input ends; then say how often."""
    fd = os.open(root, os.O_RDONLY)
    swaps = 0
    print("ready", flush=True)
    while True:
        for one, two in PAIRS.values():
            exchange(fd, one, two)
            swaps += 1
            until = time.perf_counter() + (random.uniform(0, 0.0005) if swaps % 1024 > 900 else 0)
            while time.perf_counter() < until:  # now and then let a try come through
                pass
        if swaps % 64 == 0 and select.select([0], [], [], 0)[0]:
            break
    print(swaps, flush=True)


@contextmanager
def swapped(root: Path, figures: Figures) -> Generator[None]:
    """While the block runs, another process swaps."""
    command = [sys.executable, __file__, "--swap", str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        start = time.perf_counter()
        try:
            yield
        finally:
            figures.seconds = time.perf_counter() - start
            other.stdin.close()
            figures.swaps = int(other.stdout.readline())


def count(figures: Figures, tries: int, attempt: Callable[[], str]) -> None:
    """Make the tries; `attempt` says what got out, or "" for nothing."""
    for _ in range(tries):
        figures.tries += 1
        try:
            escape = attempt()
        except RegreenError as e:
            figures.refused[e.kind] = figures.refused.get(e.kind, 0) + 1
            continue
        figures.done += 1
        if escape:
            figures.escapes.append(escape)


def reads(folder: Path, backend: Backend, what: str, tries: int) -> Figures:
    trap, figures = Trap(folder, SECRET), Figures(f"{backend} read {what}")

    def attempt() -> str:
        data = workspace.read(TARGETS[what]).data
        return "" if data == FIRST else f"read {data!r}"

    with Workspace(trap.root, backend=backend) as workspace, swapped(trap.root, figures):
        count(figures, tries, attempt)
    return figures


def writes(folder: Path, backend: Backend, what: str, tries: int) -> Figures:
    """Outside stands what the write expects, so that no hash stops a write that took the wrong way."""
    trap, figures = Trap(folder, FIRST), Figures(f"{backend} write {what}")
    contents = [FIRST, SECOND]

    def attempt() -> str:
        before, after = contents
        try:
            journal.commit([Change(TARGETS[what], sha256(before).hexdigest(), after)], label="race")
        except RegreenError as e:
            if escape := trap.escaped():
                figures.escapes.append(escape)
            if e.kind == "stale":
                contents.reverse()
            raise
        contents.reverse()
        return trap.escaped()

    store = Store(folder / "state")
    try:
        with Workspace(trap.root, backend=backend) as workspace, swapped(trap.root, figures):
            journal = Journal(store, workspace)
            count(figures, tries, attempt)
    finally:
        store.close()
    if left := trap.leftovers():
        print(f"{figures.name}: temporary files left: {left}")
    return figures


def main(tries: int) -> int:
    """All kinds of tries; 1 if anything got out."""
    fast = Path("/dev/shm")
    every: list[tuple[Callable[[Path, Backend, str, int], Figures], Backend, str]] = [
        (work, backend, what) for work in (reads, writes) for backend in BACKENDS for what in TARGETS
    ]
    all_figures: list[Figures] = []
    for work, backend, what in every:
        with tempfile.TemporaryDirectory(dir=fast if fast.is_dir() else None) as folder:
            figures = work(Path(folder), backend, what, tries // len(every))
        all_figures.append(figures)
        print(figures.line(), flush=True)
        for escape in figures.escapes[:5]:
            print(f"  ESCAPE: {escape}")
    escapes = sum(len(f.escapes) for f in all_figures)
    done, refused = sum(f.done for f in all_figures), sum(sum(f.refused.values()) for f in all_figures)
    print(f"tries {sum(f.tries for f in all_figures)}  done {done}  refused {refused}  escapes {escapes}  "
          f"{sum(f.seconds for f in all_figures):.1f} s")  # fmt: skip
    return 1 if escapes else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--swap"]:
        swap_forever(Path(sys.argv[2]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000))
