"""What a fix costs that a model makes, with the loop of regreen and with that of aider: the same replies for both.

    python benchmarks/model_fix.py [--cases DIR] [--case NAME]... [--aider AIDER] [--json FILE]
    python benchmarks/model_fix.py --record [--cases DIR]

Each case is a small red project with a known fix (`tests/corpora/bugs`). An endpoint on 127.0.0.1 gives the replies
that are recorded for it in `model_replies`, to `regreen fix --proposer openai` and to `aider --auto-test` (a
program to be named; without it only regreen is run). A fix counts if the project's own tests pass afterwards, in a
fresh process, in a copy in which every file but those of the known fix is as it was.

The replies are made from the known fixes by rule, not by a model: right at once, wrong first, in a bad form first, or
one half first. So the figures compare the loops (what they send, how often they ask, what they make of a bad reply),
and say nothing of how good the fixes of any model are. A reply is never given to one loop because of what the other
did. aider is told which files to change, and has the room for history that it gives to models of a large window (it
does not know this one); regreen finds the files by itself. Tokens are characters divided by four, in both
directions, as the endpoint counts them; dollars are at the nominal prices below. Seconds are of the whole command.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from model_fix_record import green, record, states
from model_fix_server import Endpoint, Script, Texts

HERE = Path(__file__).resolve().parent
REPLIES = HERE / "model_replies"
CASES = HERE.parent / "tests" / "corpora" / "bugs"
NAMES = (
    "bill-multi2", "bus-group", "chat-two", "deep-flat", "filter-multi", "ini-lineno", "inv-two", "jobs-summary",
    "layout-gaps", "log-regex", "mat-shape", "order-invert", "org-two", "rate-window", "role-multi", "rooms-overlap",
    "sales-mean", "slug-norm", "ttl-evict", "unit-inverse",
)  # fmt: skip
USD_IN, USD_OUT = 3.0, 15.0  # for a million tokens; nominal
LIMIT_S = 600.0
QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True)
class Ran:
    """One case with one tool. `said` is how the tool itself says that it ended."""

    tool: str
    case: str
    kinds: str
    verified: bool
    said: str
    replies: int
    sent: int
    received: int
    wall_s: float
    cpu_s: float

    @property
    def usd(self) -> float:
        return (self.sent * USD_IN + self.received * USD_OUT) / 1e6


def load(case: Path) -> tuple[str, list[Texts]]:
    """The kinds of the replies of a case, and their texts."""
    lines = (REPLIES / f"{case.name}.jsonl").read_text("utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return ", ".join(row["kind"] for row in rows), [tuple(row["texts"]) for row in rows]


def checkout(case: Path, folder: Path) -> Path:
    """The red project as a repository of one commit."""
    root = folder / "repo"
    shutil.copytree(case / "repo", root)
    for args in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "start")):
        subprocess.run(("git", "-c", "user.name=b", "-c", "user.email=b@localhost", *args), cwd=root, check=True)
    return root


def environ(folder: Path, endpoint: Endpoint) -> dict[str, str]:
    """An environment of its own: a new home, the endpoint, and the tests without plugins."""
    home = folder / "home"
    settings = home / ".config" / "regreen"
    settings.mkdir(parents=True)
    quick = ", ".join(f"{name} = {json.dumps(value)}" for name, value in QUICK.items())
    (settings / "config.toml").write_text(f"env = {{{quick}}}\n", "utf-8")
    keep = {k: os.environ[k] for k in ("PATH", "LANG", "TMPDIR") if k in os.environ}
    keys = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": endpoint.url, "OPENAI_API_BASE": endpoint.url}
    return {**keep, **QUICK, **keys, "HOME": str(home), "NO_COLOR": "1"}


def regreen(root: Path, case: Path, env: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The command, after the folder has been trusted."""
    del case
    subprocess.run((sys.executable, "-m", "regreen", "trust", str(root)), env=env, check=True, capture_output=True)
    command = ["-m", "regreen", "fix", "--repo", str(root), "--proposer", "openai", "--model", "recorded", "--json"]
    return [sys.executable, *command, "--python", sys.executable], dict(env)


def aider(program: str, root: Path, case: Path, env: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The command: the files of the fix may be changed, those of the tests are shown."""
    del root
    tests = [argument for path in _tests(case) for argument in ("--read", path)]
    test_command = " ".join(sys.executable if a == "python" else a for a in _known(case)["test_argv"])
    command = [
        program, "--model", "openai/recorded", "--edit-format", "diff", "--yes-always", "--auto-test",
        "--test-cmd", test_command, "--message", f"/test {test_command}", "--no-auto-commits", "--no-auto-lint",
        "--no-pretty", "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--no-analytics",
        "--no-gitignore", "--no-suggest-shell-commands", "--max-chat-history-tokens", "8192", *tests, *states(case)[0],
    ]  # fmt: skip
    return command, {**env, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def _known(case: Path) -> dict[str, Any]:
    return json.loads((case / "case.json").read_text("utf-8"))


def _tests(case: Path) -> list[str]:
    return sorted({test.partition("::")[0] for test in _known(case)["failing"]})


def run(tool: str, case: Path, endpoint: Endpoint, program: str = "") -> Ran:
    """One case with one tool, in a folder of its own."""
    kinds, replies = load(case)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = checkout(case, folder)
        env = environ(folder, endpoint)
        command, env = regreen(root, case, env) if tool == "regreen" else aider(program, root, case, env)
        endpoint.script = Script(root, replies)
        begun, before = time.perf_counter(), _cpu()
        done = subprocess.run(command, cwd=root, env=env, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=LIMIT_S)  # fmt: skip
        wall_s, cpu_s = time.perf_counter() - begun, _cpu() - before
        counted = endpoint.script.counted
        said = _outcome(done.stdout) if tool == "regreen" else f"exit {done.returncode}"
        verified = _verified(case, root, folder / "check")
        return Ran(tool, case.name, kinds, verified, said, counted.questions, counted.sent, counted.received,
                   round(wall_s, 2), round(cpu_s, 2))  # fmt: skip


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _outcome(printed: bytes) -> str:
    """How regreen says that it ended."""
    data = json.loads(printed)
    return str(data["outcome"]["reason"] if "outcome" in data else data["error"]["message"])


def _verified(case: Path, root: Path, check: Path) -> bool:
    """Do the tests pass with what stands in the files of the known fix, and all else as it was?"""
    shutil.copytree(case / "repo", check)
    for path in states(case)[0]:
        shutil.copyfile(root / path, check / path)
    return green(check, _known(case)["test_argv"], {**os.environ, **QUICK})


def table(rows: Sequence[Ran]) -> str:
    """One line a tool: sums over the cases, and what a verified fix costs."""
    heads = ("loop", "verified", "replies", "per fix", "tokens sent", "received", "USD per fix", "wall s", "CPU s")
    out = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for tool in dict.fromkeys(r.tool for r in rows):
        of = [r for r in rows if r.tool == tool]
        fixes = sum(r.verified for r in of)
        per = max(1, fixes)
        replies, sent, received = (sum(getattr(r, name) for r in of) for name in ("replies", "sent", "received"))
        wall, cpu = (statistics.median(getattr(r, name) for r in of) for name in ("wall_s", "cpu_s"))
        usd = sum(r.usd for r in of) / per
        out.append(f"| {tool} | {fixes} of {len(of)} | {replies} | {replies / per:.2f} | {sent:,} | {received:,} "
                   f"| {usd:.4f} | {wall:.1f} | {cpu:.1f} |")  # fmt: skip
    return "\n".join(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=Path, default=CASES, help="folder of the cases")
    parser.add_argument("--case", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--aider", default="", metavar="PROGRAM", help="aider's command")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every row there")
    parser.add_argument("--record", action="store_true", help="make the replies anew, and run nothing")
    args = parser.parse_args()
    if args.record:
        record([args.cases / name for name in NAMES], REPLIES)
        return 0
    cases: list[Path] = [args.cases / name for name in args.case or NAMES]
    rows: list[Ran] = []
    endpoint = Endpoint()
    try:
        for case in cases:
            for tool in ("regreen", "aider") if args.aider else ("regreen",):
                rows.append(run(tool, case, endpoint, args.aider))
                print(*asdict(rows[-1]).values(), sep="\t", flush=True)
    finally:
        endpoint.close()
    if args.json:
        args.json.write_text(json.dumps([asdict(r) for r in rows], indent=1), "utf-8")
    print(f"\n{table(rows)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
