"""Many clients at once, over HTTP and stdio, for thousands of calls; afterwards nothing may be left of them.

    python scripts/soak.py --calls 2000 --seed 1
    python scripts/soak.py --servers 2 --json

Exit status 1 where something does not hold; its folder is kept then. See tests/support/soak.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.soak import Outcome, Wish, remove, soak


def told(outcome: Outcome, *, as_json: bool) -> str:
    """What is printed: a line a figure and a fault, or one JSON document."""
    if as_json:
        return json.dumps({"figures": outcome.figures, "faults": outcome.faults})
    lines = [f"{name}: {value}" for name, value in outcome.figures.items()]
    return "\n".join((*lines, *(f"FAULT {fault}" for fault in outcome.faults)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000, help="in all")
    parser.add_argument(
        "--warm",
        type=int,
        default=800,
        help="calls before the first measuring: each repository has its helpers by then",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--servers", type=int, default=1, help="HTTP servers on one state folder")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    wish = Wish(chosen.calls, min(chosen.warm, chosen.calls), chosen.seed, http_servers=chosen.servers)
    outcome = soak(folder, wish)
    print(told(outcome, as_json=chosen.json), flush=True)
    if outcome.faults:
        print(f"what is left of it: {folder}", file=sys.stderr)
        return 1
    remove(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
