"""What a child costs at each level of isolation: the time of `/bin/true` under the supervisor, from call to result.

Run it with `python benchmarks/sandbox.py`; prints one line a level. The levels take turns, so that a change of the
machine's load falls on all of them alike.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from regreen.errors import Refused
from regreen.sandbox import Cancel, Command, Isolation, child_environment, confine, isolation, run
from regreen.settings import Settings, default_environ

RUNS = 40
PROGRAM = "/bin/true"
LEVELS = ("none", "landlock", "bwrap")


@dataclass(frozen=True, slots=True)
class Cost:
    """Times of one level in milliseconds; `added` is the distance of its median from that of level none."""

    level: str
    median_ms: float
    least_ms: float
    added_ms: float


def levels(folder: Path) -> dict[str, Isolation]:
    """The levels that can be had here."""
    found: dict[str, Isolation] = {}
    for level in LEVELS:
        settings = Settings(
            state_dir=folder / "state", cache_dir=folder / "cache", environ=default_environ(), sandbox_level=level
        )
        try:
            found[level] = isolation(settings)
        except Refused as e:
            print(f"{level}: {e.message}", file=sys.stderr)
    return found


def measure(runs: int = RUNS) -> list[Cost]:
    """Run every level `runs` times, in turns."""
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="regreen-bench-") as name:
        folder = Path(name).resolve()
        project = folder / "project"
        project.mkdir()
        environment = child_environment(dict(os.environ))
        found = levels(folder)
        for _ in range(runs):
            for level, here in found.items():
                command = Command((PROGRAM,), project, environment, 30.0, confinement=confine(here, project))
                begun = time.perf_counter()
                done = run(command, cancel=Cancel())
                times.setdefault(level, []).append((time.perf_counter() - begun) * 1000)
                assert done.returncode == 0, done
    base = statistics.median(times["none"])
    return [Cost(n, statistics.median(t), min(t), statistics.median(t) - base) for n, t in times.items()]


def main() -> None:
    print(f"{'level':10} {'median ms':>10} {'least ms':>10} {'added ms':>10}   ({RUNS} runs of {PROGRAM})")
    for cost in measure():
        print(f"{cost.level:10} {cost.median_ms:10.1f} {cost.least_ms:10.1f} {cost.added_ms:10.1f}")


if __name__ == "__main__":
    main()
