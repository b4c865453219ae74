"""What understanding a repository costs, beside other tools: cold, warm, after touching one file, peak memory.

    python benchmarks/repo.py TREE... [--touch TREE/FILE]... [--aider PYTHON] [--repomix COMMAND] [--grep-ast COMMAND]
                              [--rounds 20] [--synthetic 100000]

TREE is a folder with source files, such as an unpacked sdist; it is copied, so that nothing of it changes. Without
--touch the largest file of the commonest language that is below 200 kB is the one that is touched. `--aider` names a
Python that has aider-chat, the commands are looked up on the PATH (ctags always). What is not there is left out.
Every number is of this run: CPU (user and system, children included) and wall seconds, and the peak memory of the
largest process in MiB. Output is a table in Markdown, with the commands below it.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

TOKENS = 4096
LIMIT_S = 900
AIDER = """
import sys, time
from pathlib import Path
from aider.repomap import RepoMap
from aider.io import InputOutput
class Model:
    def token_count(self, text): return len(text) // 4
root, tokens = sys.argv[1], int(sys.argv[2])
files = sorted(str(p) for p in map(Path(root).joinpath, sys.stdin.read().split("\\0")) if p.is_file())
m = RepoMap(map_tokens=tokens, root=root, main_model=Model(), io=InputOutput(yes=True), map_mul_no_files=1,
            refresh="always")
out = m.get_repo_map([], files) or ""
sys.stdout.write(out)
"""


@dataclass(frozen=True)
class Cost:
    """What one run of a program took. `out_bytes` is what it printed or wrote."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    out_bytes: int
    code: int = 0


def measured(
    argv: Sequence[str], *, cwd: Path, env: dict[str, str], stdin: bytes = b"", out: Path | None = None
) -> Cost:
    """Run a program to its end; the costs are those of it and of all that it has waited for."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        given.write(stdin)
        given.seek(0)
        begin = time.monotonic()
        process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=given, stdout=printed, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        size = out.stat().st_size if out is not None and out.exists() else printed.seek(0, os.SEEK_END)
        if process.returncode:
            errors.seek(0)
            print(f"{shlex.join(argv)}: {errors.read()[-400:].decode('utf-8', 'replace')}", file=sys.stderr)
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, size, process.returncode)


class Tree:
    """A copy of a tree, committed, and the file in it that is touched."""

    def __init__(self, source: Path, folder: Path, touch: str) -> None:
        self.root = folder / source.name
        shutil.copytree(source, self.root, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        for args in (
            ("init", "-q"),
            ("add", "-A", "-f"),
            ("-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "b"),
        ):
            subprocess.run(("git", *args), cwd=self.root, check=True, capture_output=True)
        listed = subprocess.run(("git", "ls-files", "-z"), cwd=self.root, check=True, capture_output=True).stdout
        self.listing = listed.rstrip(b"\0")
        self.paths = [os.fsdecode(name) for name in self.listing.split(b"\0")]
        self.touched = self.root / (touch or self._usual())
        self.dialect = self.touched.suffix

    def _usual(self) -> str:
        extensions = Counter(
            Path(p).suffix for p in self.paths if Path(p).suffix in (".py", ".go", ".ts", ".rs", ".java", ".c")
        )
        commonest = extensions.most_common(1)[0][0]
        sizes = {p: (self.root / p).stat().st_size for p in self.paths if p.endswith(commonest)}
        return max((size, p) for p, size in sizes.items() if size < 200_000)[1]

    def touch(self) -> None:
        """Add a comment to the file."""
        mark = "#" if self.dialect == ".py" else "//"
        with self.touched.open("a", encoding="utf-8") as f:
            f.write(f"\n{mark} {time.time_ns()}\n")


class Client:
    """An open MCP session with `regreen serve` over stdio."""

    def __init__(self, root: Path, env: dict[str, str]) -> None:
        self._process = subprocess.Popen((sys.executable, "-m", "regreen", "serve", "--root", str(root)),
                                         env=env, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL)  # fmt: skip
        self._number = 0
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                 "clientInfo": {"name": "benchmark", "version": "1"}})  # fmt: skip
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: object) -> tuple[float, dict[str, Any]]:
        """Seconds, end to end, and the structured result."""
        begin = time.monotonic()
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        return time.monotonic() - begin, result["structuredContent"]

    def peak_mib(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024

    def close(self) -> None:
        self._pipe(self._process.stdin).close()
        self._process.wait(30)

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while True:
            message = json.loads(self._pipe(self._process.stdout).readline())
            if message.get("id") == self._number:
                return message["result"]

    def _send(self, message: dict[str, Any]) -> None:
        stdin = self._pipe(self._process.stdin)
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


class Bench:
    """All tools on one tree."""

    def __init__(self, tree: Tree, folder: Path, args: argparse.Namespace) -> None:
        self.tree = tree
        self.folder = folder
        self.args = args
        self.env = {
            **os.environ,
            "REGREEN_CACHE_DIR": str(folder / "cache"),
            "REGREEN_STATE_DIR": str(folder / "state"),
        }
        self.rows: list[str] = []

    def run(self) -> None:
        self._ours()
        self._session()
        for name, argv, out in self._peers():
            self._peer(name, argv, out)

    def _row(self, name: str, *cells: str) -> None:
        self.rows.append(f"| {name} | {' | '.join(cells)} |")
        print(self.rows[-1], flush=True)

    def _ours(self) -> None:
        argv = (
            sys.executable,
            "-m",
            "regreen",
            "map",
            "--max-tokens",
            str(TOKENS),
            "--json",
            "--repo",
            str(self.tree.root),
        )
        cold = measured(argv, cwd=self.folder, env=self.env)
        time.sleep(2.5)  # a file that changed just now is not trusted yet
        measured(argv, cwd=self.folder, env=self.env)
        warm = least([measured(argv, cwd=self.folder, env=self.env) for _ in range(5)])
        self.tree.touch()
        touched = measured(argv, cwd=self.folder, env=self.env)
        self._row("regreen map", cell(cold), cell(warm), cell(touched), f"{cold.peak_mib:.0f}", f"{cold.out_bytes:,}")

    def _session(self) -> None:
        client = Client(self.tree.root, self.env)
        first, _ = client.call("repo_map", max_tokens=TOKENS)
        warm = sorted(client.call("repo_map", max_tokens=TOKENS)[0] for _ in range(self.args.rounds))
        touched: list[float] = []
        for _ in range(5):
            self.tree.touch()
            touched.append(client.call("repo_map", max_tokens=TOKENS)[0])
        named = sorted(client.call("find_symbol", name=self.tree.touched.stem)[0] for _ in range(self.args.rounds))
        trees = sorted(client.call("repo_skeleton")[0] for _ in range(self.args.rounds))
        texts = sorted(client.call("search_text", pattern="benchmark_of_nothing")[0] for _ in range(3))
        self._row("regreen, open MCP session (wall)", f"first call {ms(first)}",
                  f"median {ms(statistics.median(warm))}, p95 {ms(warm[int(0.95 * (len(warm) - 1))])}",
                  f"median {ms(statistics.median(touched))}, worst {ms(max(touched))}", f"{client.peak_mib():.0f}",
                  f"find_symbol {ms(statistics.median(named))}, skeleton {ms(statistics.median(trees))}, "
                  f"search {ms(statistics.median(texts))}")  # fmt: skip
        client.close()

    def _peers(self) -> Iterator[tuple[str, Sequence[str], Path | None]]:
        tree, out = self.tree.root, self.folder / "out"
        if self.args.aider:
            yield "aider repo map", (self.args.aider, "-c", AIDER, str(tree), str(TOKENS)), None
        if self.args.repomix:
            yield (
                "repomix --compress",
                (*shlex.split(self.args.repomix), "--compress", "--quiet", "-o", str(out), str(tree)),
                out,
            )
        if shutil.which("ctags"):
            yield "ctags -R", ("ctags", "-R", "--output-format=json", "--fields=+nSKZe", "-f", str(out), str(tree)), out
        if self.args.grep_ast:
            files = [p for p in self.tree.paths if p.endswith(self.tree.dialect)][:200]
            yield (
                f"grep-ast, {len(files)} files",
                (*shlex.split(self.args.grep_ast), "--no-color", "return", *files),
                None,
            )

    def _peer(self, name: str, argv: Sequence[str], out: Path | None) -> None:
        def once() -> Cost:
            if out is not None:
                out.unlink(missing_ok=True)
            return measured(argv, cwd=self.tree.root, env=dict(os.environ), stdin=self.tree.listing, out=out)

        cold = once()
        if name.startswith("aider"):  # the only one with a cache
            warm = once()
            self.tree.touch()
            rest = (cell(warm), cell(once()))
        else:
            rest = ("= cold", "= cold")
        failed = f", exit {cold.code}" if cold.code else ""
        self._row(name, cell(cold), *rest, f"{cold.peak_mib:.0f}", f"{cold.out_bytes:,}{failed}")


def least(costs: Sequence[Cost]) -> Cost:
    return min(costs, key=lambda cost: cost.wall_s)


def cell(cost: Cost) -> str:
    return f"{cost.wall_s:.2f} s wall, {cost.cpu_s:.2f} s CPU"


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"


def synthetic(folder: Path, count: int) -> Path:
    """So many small Python files in folders of 200, uncommitted."""
    root = folder / f"synthetic-{count}"
    for i in range(count):
        if i % 200 == 0:
            (root / f"area_{i // 20000}" / f"part_{i // 200}").mkdir(parents=True)
        path = root / f"area_{i // 20000}" / f"part_{i // 200}" / f"module_{i}.py"
        last = f"module_{i - 1}.function_{i - 1}(a)"
        path.write_text(f"from . import module_{i - 1}\n\n\ndef function_{i}(a, b=1):\n    return {last}\n")
    subprocess.run(("git", "init", "-q"), cwd=root, check=True)
    return root


def large(root: Path, folder: Path) -> None:
    """First answers on a very large tree, through an open session."""
    env = {**os.environ, "REGREEN_CACHE_DIR": str(folder / "cache"), "REGREEN_STATE_DIR": str(folder / "state")}
    client = Client(root, env)
    steps: list[tuple[str, Callable[[], tuple[float, dict[str, Any]]]]] = [
        ("repo_skeleton, first", lambda: client.call("repo_skeleton")),
        ("repo_skeleton, again", lambda: client.call("repo_skeleton")),
        ("repo_map, first", lambda: client.call("repo_map")),
        ("search_text", lambda: client.call("search_text", pattern="function_777(")),
    ]
    for name, step in steps:
        took, data = step()
        done = f", index {data['indexed']:.0%}" if "indexed" in data else ""
        print(f"| {root.name}: {name} | {ms(took)}{done} | peak {client.peak_mib():.0f} MiB |", flush=True)
    begin = time.monotonic()
    while (data := client.call("repo_map")[1])["indexed"] < 1 and time.monotonic() - begin < LIMIT_S:
        pass
    took, _ = client.call("repo_map")
    print(f"| {root.name}: index complete | after {time.monotonic() - begin:.0f} s, then repo_map {ms(took)} | "
          f"peak {client.peak_mib():.0f} MiB |")  # fmt: skip
    client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path)
    parser.add_argument("--touch", action="append", default=[], help="TREE/FILE, by the tree's folder name")
    parser.add_argument("--aider", default="")
    parser.add_argument("--repomix", default="")
    parser.add_argument("--grep-ast", default="")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--synthetic", type=int, default=0)
    args = parser.parse_args()
    for source in args.trees:
        with tempfile.TemporaryDirectory(prefix="regreen-bench-") as name:
            touch = next((t.partition("/")[2] for t in args.touch if t.startswith(source.name + "/")), "")
            tree = Tree(source.resolve(), Path(name), touch)
            print(f"\n{source.name}: {len(tree.paths)} files; touched: {tree.touched.relative_to(tree.root)}\n")
            print("| tool | cold | warm | one file touched | peak MiB | output bytes |\n|---|---|---|---|---|---|")
            Bench(tree, Path(name), args).run()
    if args.synthetic:
        with tempfile.TemporaryDirectory(prefix="regreen-bench-") as name:
            large(synthetic(Path(name), args.synthetic), Path(name))


if __name__ == "__main__":
    main()
