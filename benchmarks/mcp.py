"""How soon is the server ready, and what does a call cost, beside other servers on the same pipes?

`python benchmarks/mcp.py [ROUNDS]` starts each server ROUNDS times (5), in turn, and prints medians: until `initialize`
and then `tools/list` and the first call are answered, the median and 95th percentile of 100 further calls, 200 calls at
once, memory, and the time to the exit once the input ends. The call is each server's cheapest: a tool that does
nothing of the bare SDK's server, `read_file` of a one-line file of regreen and of `server-filesystem`, `git_status` of
`mcp-server-git`. Ratios are to the bare server. The server of npm is left out where it
is not installed (`make node`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / ".ci-tools"
BARE = """\
from mcp.server import MCPServer
server = MCPServer("bare")
@server.tool()
async def noop() -> str:
    return "done"
server.run()
"""
CALLS = 100
AT_ONCE = 200


@dataclass(frozen=True)
class Figures:
    """Of one start, in milliseconds, the first three from it on; `rss` in MB."""

    initialized: float
    listed: float
    first: float
    p50: float
    p95: float
    at_once: float
    rss: float
    exit: float


@dataclass(frozen=True)
class Contender:
    """A server, and its cheapest call."""

    name: str
    command: Sequence[str]
    tool: str
    arguments: dict[str, Any]


class Wire:
    """JSON-RPC with one server process."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, cwd=folder)  # fmt: skip
        self._sent = 0

    def send(self, method: str, params: dict[str, Any]) -> int:
        self._sent += 1
        self._write({"id": self._sent, "method": method, "params": params})
        return self._sent

    def notify(self, method: str) -> None:
        self._write({"method": method})

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def answers(self, wanted: set[int]) -> None:
        """Read until all of these are answered, without an error."""
        assert self.process.stdout
        while wanted:
            message = json.loads(self.process.stdout.readline())
            if "method" in message:
                continue
            assert not message.get("error"), message
            assert not message["result"].get("isError"), message
            wanted.discard(message["id"])

    def timed(self, method: str, params: dict[str, Any]) -> float:
        start = time.perf_counter()
        self.answers({self.send(method, params)})
        return (time.perf_counter() - start) * 1000


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def measured(contender: Contender, folder: Path) -> Figures:
    """One start of a server, from its process to its exit."""
    call = {"name": contender.tool, "arguments": contender.arguments}
    start = time.perf_counter()
    wire = Wire(contender.command, folder)
    wire.timed("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                              "clientInfo": {"name": "benchmark", "version": "1"}})  # fmt: skip
    initialized = (time.perf_counter() - start) * 1000
    wire.notify("notifications/initialized")
    wire.timed("tools/list", {})
    listed = (time.perf_counter() - start) * 1000
    wire.timed("tools/call", call)
    first = (time.perf_counter() - start) * 1000
    times = sorted(wire.timed("tools/call", call) for _ in range(CALLS))
    start = time.perf_counter()
    wire.answers({wire.send("tools/call", call) for _ in range(AT_ONCE)})
    at_once = (time.perf_counter() - start) * 1000
    rss = resident_mb(wire.process.pid)
    start = time.perf_counter()
    assert wire.process.stdin
    assert wire.process.stdout
    wire.process.stdin.close()
    wire.process.wait(30)
    ended = (time.perf_counter() - start) * 1000
    wire.process.stdout.close()
    return Figures(initialized, listed, first, median(times), times[int(CALLS * 0.95)], at_once, rss, ended)


def git_server() -> str:
    """The Python that has the pinned `mcp-server-git`, in an environment of its own, made at the first need."""
    folder = TOOLS / "mcp-server-git"
    python = str(folder / "bin" / "python")
    if not (folder / ".installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pins = str(ROOT / "tests" / "node" / "mcp-server-git.txt")
        pip = [python, "-m", "pip", "install", "-qqq", "--disable-pip-version-check", "--no-deps", "-r", pins]
        if subprocess.run(pip, check=False).returncode != 0:
            print("mcp-server-git could not be installed; it is left out", file=sys.stderr)
            return ""
        (folder / ".installed").touch()
    return python


def contenders(repo: Path) -> list[Contender]:
    """The bare server first; then those that are installed."""
    modules = TOOLS / "node_modules"
    file = repo / "a.py"
    found = [
        Contender("bare", [sys.executable, "-c", BARE], "noop", {}),
        Contender("regreen", [sys.executable, "-m", "regreen", "serve", "--root", str(repo)],
                  "read_file", {"path": "a.py"}),
        Contender("server-filesystem",
                  [str(modules / ".bin" / "node"),
                   str(modules / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"), str(repo)],
                  "read_text_file", {"path": str(file)}),
        Contender("mcp-server-git", [git_server(), "-m", "mcp_server_git"],
                  "git_status", {"repo_path": str(repo)}),
    ]  # fmt: skip
    return [c for c in found if Path(c.command[0]).is_file()]


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="regreen-bench-") as folder:
        repo = Path(folder) / "repo"
        repo.mkdir()
        (repo / "a.py").write_text("a = 1\n", "utf-8")
        subprocess.run(["git", "init", "-q"], cwd=repo, check=True)
        known = contenders(repo)
        found: dict[str, list[Figures]] = {c.name: [] for c in known}
        for _ in range(rounds):
            for contender in known:
                found[contender.name].append(measured(contender, repo))
    names = [f.name for f in fields(Figures)]
    print(f"{'median of ' + str(rounds):18}" + "".join(f"{n:>20}" for n in names))
    bare = {n: median(getattr(f, n) for f in found["bare"]) for n in names}
    for name, figures in found.items():
        middle = {n: median(getattr(f, n) for f in figures) for n in names}
        print(f"{name:18}" + "".join(f"{middle[n]:12.2f} ({middle[n] / bare[n]:4.2f}x)" for n in names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
