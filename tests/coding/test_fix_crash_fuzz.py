"""Fix runs killed at random moments: no byte of the user's is lost. `make crash-fuzz` runs many more of these."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.cases import ALL, sample
from support.crash_plans import Kind, plan_of

TESTS = Path(__file__).parents[1]
SCRIPTS = 24  # besides one with real tests
GROUPS = 4 if ALL else 2


def seeds_of(kinds: Sequence[Kind], count: int) -> list[int]:
    """The first so many seeds whose scripts are of these kinds."""
    found: list[int] = []
    seed = 0
    while len(found) < count:
        seed += 1
        if plan_of(seed).kind in kinds:
            found.append(seed)
    return found


def wrong(folder: Path, seeds: Sequence[int]) -> list[str]:
    command = [sys.executable, "-m", "support.crash_fuzz", str(folder), *map(str, seeds)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["seed"] for row in rows] == list(seeds)
    return [f"python scripts/crash_fuzz.py --only {r['seed']}: {r['wrong']}" for r in rows if r["wrong"]]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("group", range(GROUPS))
def test_killed_run_loses_no_byte_of_the_users(tmp_path: Path, group: int) -> None:
    seeds = sample(seeds_of(("steps", "clock"), SCRIPTS), 3, 2)  # of these some are killed, twice or not, and merged
    assert wrong(tmp_path, seeds[group::GROUPS]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_run_killed_in_the_middle_of_real_tests_loses_no_byte_of_the_users(tmp_path: Path) -> None:
    assert wrong(tmp_path, seeds_of(("real",), 1)) == []


def test_script_follows_from_its_seed() -> None:
    assert [plan_of(seed) for seed in range(50)] == [plan_of(seed) for seed in range(50)]
