"""How fast edits are planned: `python benchmarks/edits.py`. Prints the best of five, in milliseconds of CPU time."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from regreen.edits import plan
from regreen.model import Proposal, Replacement
from regreen.workspace import Workspace

LINE = "    value_{0:05d} = compute({0}, first, second)\n"


def lines(first: int, count: int, form: str = LINE) -> str:
    return "".join(form.format(n) for n in range(first, first + count))


def cases(size: int) -> dict[str, tuple[Replacement, ...]]:
    near_end = size - 20
    shifted, trailing = LINE.lstrip(), LINE.replace("\n", "  \n")
    searches = {
        "exact": lines(near_end, 5),
        "trailing blanks": lines(near_end, 5, trailing),
        "shifted": lines(near_end, 5, shifted),
        "no match": lines(near_end, 5).replace("first", "other"),
    }
    made = {name: (Replacement("big.py", search, "x = 1\n"),) for name, search in searches.items()}
    many = tuple(Replacement("big.py", lines(n, 1), f"x = {n}\n") for n in range(0, size, size // 500))
    return made | {f"{len(many)} edits": many}


def best_ms(workspace: Workspace, edits: tuple[Replacement, ...]) -> float:
    times: list[float] = []
    for _ in range(5):
        start = time.process_time()
        plan(Proposal(replacements=edits), workspace)
        times.append(time.process_time() - start)
    return min(times) * 1000


def main() -> None:
    for size in (1_000, 5_000, 50_000):
        with tempfile.TemporaryDirectory() as folder, Workspace(Path(folder)) as workspace:
            (Path(folder) / "big.py").write_text(lines(0, size), "utf-8")
            for name, edits in cases(size).items():
                print(f"{size:6} lines  {name:16} {best_ms(workspace, edits):8.1f} ms")


if __name__ == "__main__":
    main()
