"""Clients that talk to a real server process: raw JSON-RPC, the MCP Inspector, and a look at the process table."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.engines import settings_of_user

ROOT = Path(__file__).resolve().parents[2]
TOOLS_FOLDER = ROOT / ".ci-tools"
REGREEN = [sys.executable, "-m", "regreen"]
# A parent between the test and a server: says the server's id on standard error, then waits for it.
IN_BETWEEN = [sys.executable, "-c", "import subprocess, sys; server = subprocess.Popen(sys.argv[1:]); "
              "print(server.pid, file=sys.stderr, flush=True); server.wait()"]  # fmt: skip
ANSWER_LIMIT_S = 60.0
LEGACY_VERSION = "2025-11-25"
MODERN_VERSION = "2026-07-28"


def allow_writing(home: Path, folder: Path) -> None:
    """Let tests write to a folder outside of the project, by the settings of the user with this home."""
    folder.mkdir(exist_ok=True)
    settings_of_user(home, f'writable = ["{folder}"]')


def server_environment(folder: Path, **extra: str) -> dict[str, str]:
    """A small environment whose home, state and cache lie in `folder`; tests may write to `folder/seen`."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    allow_writing(home, folder / "seen")
    return {
        "HOME": str(home),
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "REGREEN_STATE_DIR": str(folder / "state"),
        "REGREEN_CACHE_DIR": str(folder / "cache"),
        **extra,
    }


def until(claim: Callable[[], bool], what: str, limit_s: float = 20.0) -> None:
    """Wait for a claim about another process to become true."""
    end = time.monotonic() + limit_s
    pause = threading.Event()
    while not claim():
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit_s} s: {what}")
        pause.wait(0.02)


def processes_with(text: str) -> list[int]:
    """Ids of live processes (zombies are dead) whose command line or environment-given marker holds `text`."""
    table = subprocess.run(["ps", "-eww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = (line.split(None, 2) for line in table.splitlines())
    return [int(r[0]) for r in rows if len(r) == 3 and not r[1].startswith("Z") and text in r[2]]


def alive(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.strip().startswith("Z")


@dataclass(frozen=True)
class Called:
    """The answer to a tool call, as it came over the wire."""

    is_error: bool
    data: dict[str, Any]
    text: str


def as_called(result: Mapping[str, Any]) -> Called:
    text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
    return Called(bool(result.get("isError")), result.get("structuredContent") or {}, text)


class RawServer:
    """A server process and its pipes; every line that is no message is kept in `noise`."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        cwd=cwd, env=dict(env), start_new_session=True)  # fmt: skip
        self.noise: list[bytes] = []
        self.errors: list[str] = []
        self._answers: dict[int | str, queue.SimpleQueue[dict[str, Any] | None]] = {}
        self.notes: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._next = 0
        self._ended = False
        self._threads = [threading.Thread(target=t, daemon=True) for t in (self._read_answers, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read_answers(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            try:
                message: dict[str, Any] = json.loads(line)
            except ValueError:
                self.noise.append(line)
                continue
            if "id" in message and ("result" in message or "error" in message):
                self._slot(message["id"]).put(message)
            else:
                self.notes.put(message)
        self._ended = True
        for slot in list(self._answers.values()):
            slot.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.errors.append(line.decode("utf-8", "replace"))

    def _slot(self, request: int | str) -> queue.SimpleQueue[dict[str, Any] | None]:
        return self._answers.setdefault(request, queue.SimpleQueue())

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Mapping[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def start(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request; returns its id for `answer`."""
        self._next += 1
        self._slot(self._next)
        self.send({"id": self._next, "method": method, "params": params})
        return self._next

    def answer(self, request: int | str, limit_s: float = ANSWER_LIMIT_S) -> dict[str, Any]:
        """The whole response to a request."""
        if self._ended and self._slot(request).empty():
            raise EOFError(f"the server has ended: {''.join(self.errors[-15:])}")
        response = self._slot(request).get(timeout=limit_s)
        if response is None:
            raise EOFError(f"the server has ended: {''.join(self.errors[-15:])}")
        return response

    def request(self, method: str, params: Mapping[str, Any] | None = None, limit_s: float = ANSWER_LIMIT_S) -> Any:
        response = self.answer(self.start(method, params or {}), limit_s)
        assert "error" not in response, response
        return response["result"]

    def initialize(self) -> dict[str, Any]:
        result = self.request("initialize", {"protocolVersion": LEGACY_VERSION, "capabilities": {},
                                             "clientInfo": {"name": "raw", "version": "1"}})  # fmt: skip
        self.send({"method": "notifications/initialized"})
        return result

    def start_call(self, tool: str, *, progress_token: str = "", **arguments: Any) -> int:
        meta = {"_meta": {"progressToken": progress_token}} if progress_token else {}
        return self.start("tools/call", {"name": tool, "arguments": arguments, **meta})

    def call(self, tool: str, limit_s: float = ANSWER_LIMIT_S, **arguments: Any) -> Called:
        response = self.answer(self.start_call(tool, **arguments), limit_s)
        assert "error" not in response, response
        return as_called(response["result"])

    def note(self, method: str, limit_s: float = 10.0) -> dict[str, Any]:
        """The parameters of the next notification of this method; others before it are dropped."""
        while (note := self.notes.get(timeout=limit_s))["method"] != method:
            pass
        return note.get("params", {})

    def close(self, limit_s: float = 20.0) -> int:
        """End the input and wait; returns the exit code."""
        assert self.process.stdin
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        return self.wait(limit_s)

    def wait(self, limit_s: float = 20.0) -> int:
        code = self.process.wait(limit_s)
        for thread in self._threads:
            thread.join(limit_s)
        return code

    def kill(self) -> None:
        """End what may be left of the server and its session."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for thread in self._threads:
            thread.join(10)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe
            with suppress(BrokenPipeError):
                pipe.close()


@contextmanager
def raw_server(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Generator[RawServer]:
    """A raw server for one test; nothing of it is left afterwards."""
    server = RawServer(argv, cwd=cwd, env=env)
    try:
        yield server
    finally:
        server.kill()


def node_command() -> list[str]:
    """The Node that runs the locked test clients; skips the test, and says why, where it cannot be had."""
    node = TOOLS_FOLDER / "node_modules" / ".bin" / "node"
    found = (
        subprocess.run([str(node), "--version"], capture_output=True, text=True, check=False) if node.exists() else None
    )
    if found is None or found.returncode != 0:
        reason = f"no Node for the MCP Inspector in {TOOLS_FOLDER} (`make node` installs it; it needs npm)"
        print(f"SKIPPED: {reason}", file=sys.stderr)
        pytest.skip(reason)
    return [str(node)]


IS_ERROR = 5  # the Inspector's exit status for a tool result that is an error


class Inspector:
    """The official Inspector: `cli` runs one command on a server of its own, `do` many on one connection."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._node = node_command()
        self._package = TOOLS_FOLDER / "node_modules" / "@modelcontextprotocol" / "inspector" / "clients"
        self._folder = folder
        self._env = {**env, "MCP_INSPECTOR_DAEMON_TOKEN": "t" * 43,
                     "MCP_CATALOG_PATH": str(folder / "mcp.json"), "MCP_INSPECTOR_SECRET_STORE": "file"}  # fmt: skip
        self._pass = [x for k, v in env.items() if k.startswith("REGREEN_") for x in ("-e", f"{k}={v}")]

    def _run(self, script: Path, args: Sequence[str], limit_s: float = 90.0) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self._node, str(script), *args], cwd=self._folder, env=self._env, capture_output=True,
                              text=True, check=False, timeout=limit_s, stdin=subprocess.DEVNULL)  # fmt: skip

    def cli(self, server: Sequence[str], method: str, *args: str, code: int = 0) -> dict[str, Any]:
        options = ["--cli", *server, *self._pass, "--method", method, *args, "--format", "json", "-q"]
        done = self._run(self._package / "launcher" / "build" / "index.js", options)
        assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return json.loads(done.stdout) if done.stdout.strip() else json.loads(done.stderr)

    def call(self, server: Sequence[str], tool: str, **arguments: Any) -> Called:
        args = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        answer = self.cli(server, "tools/call", *args)
        return as_called(answer.get("result", answer))

    @contextmanager
    def connection(self, server: Sequence[str]) -> Generator[Callable[..., Called]]:
        """One server process; the value calls its tools. The server must be gone when the connection is."""
        script = self._package / "mcpdo" / "build" / "mcp-bin.js"
        sockets = tempfile.mkdtemp(prefix="mcpdo-")  # a socket's path must be short
        self._env["MCP_INSPECTOR_DAEMON_DIR"] = sockets

        def run(*args: str) -> Any:
            done = self._run(script, ["--format", "json", *args])
            assert done.returncode in (0, IS_ERROR), (args, done.stdout[-2000:], done.stderr[-2000:])
            return json.loads(done.stdout)

        def call(tool: str, **arguments: Any) -> Called:
            answer = run("--connection", "it", "tools/call", tool, "--tool-args-json", json.dumps(arguments))
            return as_called(answer.get("result", answer))

        try:
            run("connect", "@it", *self._pass, "--", *server)
            yield call
        finally:
            self._run(script, ["daemon", "stop"])
            shutil.rmtree(sockets)
