"""Fix runs over the whole bug corpus, as a table: each right fix, each fix in parts, each trap.

    python scripts/corpus_runs.py [--only PART_OF_NAME] [--kinds traps,parts,singles] [--every 1] [--processes 1]

One line a run; a run that did not end as it must is marked and explained. The status is 1 if there was any.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.bug_cases import (
    CASES,
    Ran,
    Trial,
    part_trials,
    single_trials,
    trap_trials,
    try_out,
)
from support.js_projects import PACKAGES, node_folders

KINDS: dict[str, Callable[[], list[Trial]]] = {"traps": trap_trials, "parts": part_trials, "singles": single_trials}


def run(trial: Trial) -> tuple[Trial, Ran, float]:
    began = time.monotonic()
    base = Path(tempfile.mkdtemp(prefix="regreen-corpus-")).resolve()
    for name in ("REGREEN_STATE_DIR", "REGREEN_CACHE_DIR"):
        os.environ[name] = str(base / name.lower())
    os.environ.pop("VIRTUAL_ENV", None)
    try:
        return trial, try_out(base, trial), time.monotonic() - began
    finally:
        shutil.rmtree(base, ignore_errors=True)


def can_run(trial: Trial) -> bool:
    runner = CASES[trial.case]["runner"]
    if runner in ("jest", "vitest"):
        return bool(node_folders()) and (PACKAGES / runner).is_dir()
    if runner == "node":
        return bool(node_folders())
    return runner not in ("cargo", "make") or shutil.which(runner) is not None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", default="", help="part of the name of a run")
    parser.add_argument("--kinds", default="traps,parts,singles")
    parser.add_argument("--every", type=int, default=1, help="only every Nth of a kind")
    parser.add_argument("--processes", type=int, default=1)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    named = ([t for t in KINDS[kind]() if options.only in t.id] for kind in options.kinds.split(","))
    chosen = [t for kind in named for t in kind[:: options.every]]
    trials = [t for t in chosen if can_run(t)]
    counts: Counter[str] = Counter({"not run": len(chosen) - len(trials)})
    with ProcessPoolExecutor(options.processes) as pool:
        for trial, ran, seconds in pool.map(run, trials):
            mark = "WRONG" if ran.problems else "ok"
            counts[mark] += 1
            counts[f"ended {ran.reason}"] += 1
            told = f"{ran.test_runs:2} runs {ran.work_s:5.1f} s of {seconds:5.1f} s"
            print(f"{mark:5} {trial.id:28} {ran.reason:16} {told}  {' '.join(ran.states)}", flush=True)
            for problem in ran.problems:
                print(f"      {problem}", flush=True)
    print(", ".join(f"{name} {n}" for name, n in counts.items()))
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
