"""How many bug cases the offline search repairs: a line a case and a summary.

    python benchmarks/search.py [FOLDER] [--kinds single-edit,two-edits] [--only ID,ID] [--budget-s 20] [--json]

"fixed" means that a cold pytest run is green in a fresh copy with the proposals applied; "exact" that the changed
lines are those of the case's own patch. The search is driven directly, without the fix loop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from regreen.model import AttemptState, Brief, Proposal, Tried
from regreen.proposers.search import SearchProposer
from regreen.repo import FileList, is_test_file
from regreen.sandbox import Cancel
from regreen.settings import Settings, default_environ
from regreen.testing import Interpreter
from regreen.workspace import Workspace

MAX_PROPOSALS = 6


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    kind: str
    mechanism: str
    fixed: bool
    exact: bool
    proposals: int
    cpu_s: float
    wall_s: float
    note: str


def pytest_run(python: str, repo: Path, *ids: str) -> subprocess.CompletedProcess[str]:
    argv = [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE", *ids]
    return subprocess.run(argv, cwd=repo, capture_output=True, text=True, timeout=120, check=False)


def apply(repo: Path, proposal: Proposal) -> None:
    for r in proposal.replacements:
        path = repo / r.path
        text = path.read_text("utf-8")
        if text.count(r.search) != 1:
            raise AssertionError(f"SEARCH occurs {text.count(r.search)} times in {r.path}: {r.search!r}")
        path.write_text(text.replace(r.search, r.replace), "utf-8")


def changed_lines(diff: str) -> list[str]:
    return [x.strip() for x in diff.splitlines() if x[:1] in "+-" and x[:3] not in ("+++", "---")]


def diff(before: Path, after: Path) -> str:
    argv = ["git", "diff", "--no-index", "--no-color", str(before), str(after)]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def brief(failing: list[str], tried: list[Tried]) -> Brief:
    return Brief("", tuple(failing), (), (), (), tuple(tried), MAX_PROPOSALS)


def run_case(options: argparse.Namespace, found: tuple[Path, Mapping[str, Any]]) -> Row:
    folder, case = found
    base = Path(tempfile.mkdtemp(prefix="regreen-bench-")).resolve()
    repo = base / "repo"
    shutil.copytree(folder / "repo", repo)
    files = tuple(sorted(p.relative_to(repo).as_posix() for p in repo.rglob("*") if p.is_file()))
    settings = Settings(state_dir=base / "state", cache_dir=base / "cache", environ=default_environ())
    began = time.monotonic()
    with Workspace(repo) as workspace:
        proposer = SearchProposer(
            workspace, FileList(files), Interpreter(options.python, "", "", "benchmark"), settings,
            paths=tuple(p for p in files if not is_test_file(p)), budget_s=options.budget_s,
            wall_s=options.budget_s * 12, cancel=Cancel(),
        )  # fmt: skip
        fixed, proposals, notes = drive(proposer, repo, list(case["failing"]), options.python)
    changes = diff(folder / "repo", repo)
    wanted = changed_lines((folder / "fix.patch").read_text("utf-8"))
    exact = fixed and changed_lines(changes) == wanted
    shutil.rmtree(base, ignore_errors=True)
    note = " | ".join([*notes, *proposer.notes])
    wall = time.monotonic() - began
    return Row(folder.name, case["kind"], case["mechanism"], fixed, exact, proposals, proposer.cpu_s, wall, note)


def drive(proposer: SearchProposer, repo: Path, failing: list[str], python: str) -> tuple[bool, int, list[str]]:
    """A loop in small: a proposal that leaves fewer failing tests is kept, any other is undone."""
    tried: list[Tried] = []
    notes: list[str] = []
    for number in range(1, MAX_PROPOSALS + 1):
        proposal = asyncio.run(proposer.propose(brief(failing, tried)))
        if proposal is None:
            return False, number - 1, notes
        before = {r.path: (repo / r.path).read_bytes() for r in proposal.replacements}
        apply(repo, proposal)
        notes.append(proposal.note)
        result = pytest_run(python, repo)
        if result.returncode == 0:
            return True, number, notes
        left = [x.split(" ")[1] for x in result.stdout.splitlines() if x.startswith(("FAILED ", "ERROR "))]
        state = AttemptState.IMPROVED if set(left) < set(failing) else AttemptState.WORSE
        if state is AttemptState.IMPROVED:
            failing = left
        else:
            for path, data in before.items():
                (repo / path).write_bytes(data)
        tried.append(Tried(number, state, proposal.note, "", ""))
    return False, MAX_PROPOSALS, notes


def cases(options: argparse.Namespace) -> list[tuple[Path, Mapping[str, Any]]]:
    found: list[tuple[Path, Mapping[str, Any]]] = []
    only = set(options.only.split(",")) if options.only else None
    for path in sorted(Path(options.folder).iterdir()):
        if (path / "case.json").exists():
            case = json.loads((path / "case.json").read_text("utf-8"))
            right = (
                case["language"] == "python" and case["runner"] == "pytest" and case["kind"] in options.kinds.split(",")
            )
            if right and (only is None or path.name in only):
                found.append((path, case))
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    corpus = Path(__file__).parent.parent / "tests" / "corpora" / "bugs"
    parser.add_argument("folder", nargs="?", default=str(corpus))
    parser.add_argument("--kinds", default="single-edit")
    parser.add_argument("--only", default="")
    parser.add_argument("--budget-s", type=float, default=20.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    with ThreadPoolExecutor(options.workers) as pool:
        rows: list[Row] = []
        for row in pool.map(partial(run_case, options), cases(options)):
            rows.append(row)
            if not options.json:
                verdict = "exact" if row.exact else "fixed" if row.fixed else "-----"
                times = f"{row.cpu_s:5.1f} cpu {row.wall_s:5.1f} s"
                print(f"{verdict} {row.id:15} {row.mechanism:20} {row.proposals} {times}  {row.note[:400]}", flush=True)
    fixed, exact = sum(r.fixed for r in rows), sum(r.exact for r in rows)
    cpu = sorted(r.cpu_s for r in rows if r.fixed)
    summary = {"cases": len(rows), "fixed": fixed, "exact": exact, "median_cpu_s": cpu[len(cpu) // 2] if cpu else 0.0}
    if options.json:
        print(json.dumps({"summary": summary, "rows": [asdict(r) for r in rows]}))
    else:
        print(json.dumps(summary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
