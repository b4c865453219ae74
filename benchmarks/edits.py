"""How fast edits are planned, beside aider's edit blocks and a plain `str.replace`, in one run.

    python benchmarks/edits.py [--aider PYTHON]

PYTHON is an interpreter that has aider installed; without it that column is left out. Each figure is the best of five,
in milliseconds of CPU time, and holds everything from reading the file on: for regreen the hashes and the diff too; for
aider replacing the chunk, and where it is not found the search for similar lines; for `str.replace` counting first.
Nobody's writing is measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from regreen.edits import plan
from regreen.model import Proposal, Replacement
from regreen.workspace import Workspace

LINE = "    value_{0:05d} = compute({0}, first, second)\n"
ROUNDS = 5
AIDER = """
import json, sys, time
from pathlib import Path
from aider.coders.editblock_coder import find_similar_lines, replace_most_similar_chunk
file, rounds, cases = json.loads(sys.stdin.read())

def once(search, new):
    start = time.process_time()
    text = Path(file).read_text("utf-8")
    if replace_most_similar_chunk(text, search, new) is None:
        find_similar_lines(search, text)
    return (time.process_time() - start) * 1000

print(json.dumps({name: min(once(*case) for _ in range(rounds)) for name, case in cases.items()}))
"""


def lines(first: int, count: int, form: str = LINE) -> str:
    return "".join(form.format(n) for n in range(first, first + count))


def cases(size: int) -> dict[str, tuple[str, str]]:
    """Five lines near the end: as they are, shifted to the left, and with a word changed in each."""
    search = lines(size - 20, 5)
    return {
        "exact": (search, "x = 1\n"),
        "indented": (lines(size - 20, 5, LINE.lstrip()), "x = 1\n"),
        "no match, hint": (search.replace("first", "other"), "x = 1\n"),
    }


def best_ms(work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1000


def ours(workspace: Workspace, *edits: tuple[str, str]) -> Callable[[], object]:
    proposal = Proposal(replacements=tuple(Replacement("big.py", *edit) for edit in edits))
    return lambda: plan(proposal, workspace)


def plain(file: Path, search: str, new: str) -> Callable[[], object]:
    def work() -> str | None:
        text = file.read_text("utf-8")
        return text.replace(search, new) if text.count(search) == 1 else None

    return work


def aiders(python: str, file: Path, made: dict[str, tuple[str, str]]) -> dict[str, float]:
    sent = json.dumps([str(file), ROUNDS, made])
    done = subprocess.run([python, "-c", AIDER], input=sent, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast edits are planned.")
    parser.add_argument("--aider", metavar="PYTHON", help="an interpreter that has aider installed")
    aider: str | None = parser.parse_args().aider
    sys.stdout.write(f"{'lines':>6}  {'case':16}{'regreen':>10}{'aider':>10}{'replace':>10}  ms\n")
    for size in (5_000, 50_000):
        with tempfile.TemporaryDirectory() as folder, Workspace(Path(folder)) as workspace:
            file = Path(folder) / "big.py"
            file.write_text(lines(0, size), "utf-8")
            made = cases(size)
            theirs = aiders(aider, file, made) if aider else {}
            for name, case in made.items():
                figures = [best_ms(ours(workspace, case)), theirs.get(name), best_ms(plain(file, *case))]
                row = "".join(f"{'-' if figure is None else format(figure, '.1f'):>10}" for figure in figures)
                sys.stdout.write(f"{size:6}  {name:16}{row}\n")
    with tempfile.TemporaryDirectory() as folder, Workspace(Path(folder)) as workspace:
        (Path(folder) / "big.py").write_text(lines(0, 10_000), "utf-8")
        many = [(lines(n, 1), f"x = {n}\n") for n in range(0, 10_000, 10)]
        sys.stdout.write(f"10000  {'1000 edits':16}{best_ms(ours(workspace, *many)):10.1f}\n")


if __name__ == "__main__":
    main()
