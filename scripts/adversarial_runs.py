"""Fix runs against an adversary, by seed: random proposals that cheat, break, hang or are right, and a judge apart.

    python scripts/adversarial_runs.py [--seeds 0:1000] [--processes 2] [--each-cheat [N,N]] [--verbose]

Prints every run that ended as none may (called fixed and is not, not restored, no end, something left behind), and
counts. The status is 1 if there was one. `--each-cheat` runs every cheat (or those of these numbers) once by itself
instead.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.adversary.attacks import Attack, attack, cheats_of_every_kind
from support.adversary.judging import Verdict, fight

KINDS = ("true", "plausible", "false", "kept_cheat", "restored", "not_restored", "endless", "error")


def run(chosen: Attack) -> Verdict:
    base = Path(tempfile.mkdtemp(prefix="regreen-adversary-")).resolve()
    for name in ("REGREEN_STATE_DIR", "REGREEN_CACHE_DIR"):
        os.environ[name] = str(base / name.lower())
    os.environ.pop("VIRTUAL_ENV", None)
    try:
        return fight(chosen, base)
    except Exception as e:  # noqa: BLE001 - a run that cannot be judged is a finding, and no reason to end the others
        labels = tuple(p.label for p in chosen.proposals)
        return Verdict(chosen.seed, "error", "error", (), labels, f"{type(e).__name__}: {e}")
    finally:
        shutil.rmtree(base, ignore_errors=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seeds", default="0:1000", help="FIRST:LAST, the last not included, or a list N,N,N")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--each-cheat", nargs="?", const="0:999", default="")
    parser.add_argument("--verbose", action="store_true", help="a line for every run")
    return parser.parse_args()


def seeds(text: str) -> list[int]:
    if ":" not in text:
        return [int(n) for n in text.split(",")]
    first, _, last = text.partition(":")
    return list(range(int(first), int(last)))


def told(v: Verdict) -> str:
    faults = f" FAULT {'; '.join(v.faults)}" if v.faults else ""
    return f"{v.kind:12} seed {v.seed:5} {v.reason:16} {' '.join(v.states)} | {', '.join(v.labels)} | {v.why}{faults}"


def fought(attacks: Sequence[Attack], processes: int) -> Iterator[Verdict]:
    """The verdicts in order; processes are new after 50 runs each, since a pool that renews its own may hang."""
    for first in range(0, len(attacks), 50 * processes):
        with ProcessPoolExecutor(processes) as pool:
            yield from pool.map(run, attacks[first : first + 50 * processes])


def main() -> int:
    options = arguments()
    chosen = set(seeds(options.each_cheat or options.seeds))
    every = cheats_of_every_kind() if options.each_cheat else []
    attacks = [a for n, a in enumerate(every) if n in chosen] or [attack(n) for n in sorted(chosen)]
    kinds: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    states: Counter[str] = Counter()
    began, bad, test_runs, work_s = time.monotonic(), 0, 0, 0.0
    for verdict in fought(attacks, options.processes):
        kinds[verdict.kind] += 1
        reasons[verdict.reason] += 1
        states.update(s.partition("(")[0] for s in verdict.states)
        bad += verdict.bad
        test_runs += verdict.test_runs
        work_s += verdict.work_s
        if verdict.bad or options.verbose:
            print(told(verdict), flush=True)
    print(f"runs {kinds.total()}, bad {bad}: " + ", ".join(f"{k} {kinds[k]}" for k in KINDS))
    print("ended: " + ", ".join(f"{r} {n}" for r, n in reasons.most_common()))
    print("attempts: " + ", ".join(f"{s} {n}" for s, n in states.most_common()))
    print(f"{test_runs} test runs, {work_s:.0f} s of work in {time.monotonic() - began:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
