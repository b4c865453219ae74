"""Crash fuzz: kills fix runs at random moments and looks for a lost byte.

    python scripts/crash_fuzz.py --scripts 500 --seed 1
    python scripts/crash_fuzz.py --only 1234          (one script again; its folder is kept if something is wrong)

Script n has the seed `--seed` + n, and all that it does follows from that; see tests/support/crash_fuzz.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).resolve().parents[1] / "tests"
_FAST = Path("/dev/shm")  # in memory: a kill is no loss of power, so nothing is lost by it
_TOGETHER = 10  # scripts of one process
_LIMIT_S = 900


def told_by(folder: Path, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What the scripts of these seeds came to."""
    command = [sys.executable, "-m", "support.crash_fuzz", str(folder), *map(str, seeds)]
    done = subprocess.run(command, cwd=_TESTS, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    failed = f"the harness failed: {done.stderr[-2000:]}"
    return [*rows, *({"seed": seed, "wrong": [failed]} for seed in seeds[len(rows) :])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scripts", type=int, default=500, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the first script")
    parser.add_argument("--only", type=int, action="append", default=[], help="run the script of this seed; repeatable")
    parser.add_argument("--jobs", type=int, default=2, help="scripts at the same time")
    chosen = parser.parse_args()
    seeds: list[int] = chosen.only or list(range(chosen.seed, chosen.seed + chosen.scripts))
    begin = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="crash-fuzz-", dir=_FAST if _FAST.is_dir() else None))
    chunks = [seeds[n : n + _TOGETHER] for n in range(0, len(seeds), _TOGETHER)]
    figures: Counter[str] = Counter()
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for rows in pool.map(partial(told_by, folder), chunks):
            for row in rows:
                _count(figures, row)
                if row["wrong"]:
                    print(f"seed {row['seed']} ({row.get('kind', '?')}): " + "\n  ".join(row["wrong"]), flush=True)
    print(f"{len(seeds)} scripts in {time.monotonic() - begin:.0f} s: {dict(sorted(figures.items()))}")
    if figures["wrong"]:
        print(f"what is left of them: {folder}")
        return 1
    folder.rmdir()
    return 0


def _count(figures: Counter[str], row: dict[str, Any]) -> None:
    figures["wrong"] += bool(row["wrong"])
    figures[f"of kind {row.get('kind')}"] += 1
    figures["killed"] += bool(row.get("killed"))
    figures["killed again while recovering"] += bool(row.get("twice"))
    figures["ended by themselves"] += bool(row.get("finished"))
    for name in ("edits", "merged", "conflicts"):
        figures[name] += row.get(name, 0)


if __name__ == "__main__":
    sys.exit(main())
