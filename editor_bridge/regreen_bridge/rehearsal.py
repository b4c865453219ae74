"""Starting the server as a client does: exactly the configured command, with hardly any environment, and one call.

Every step has a limit of time, and the process and its session are ended whatever happened.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from regreen_bridge.client_config import Found

LIMIT_S = 30.0
_END_S = 5.0
_VERSION = "2025-11-25"
_AGAIN = "write its entry again: `regreen setup {client}`"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How it went with the entry of a client. `step` is the one that failed: entry, root, git, start, initialize,
    tools/list, tools/call; "" for none."""

    client: str
    file: str
    level: Literal["ok", "warn", "fail"]
    step: str
    found: str
    hint: str = ""


class _Failed(Exception):
    def __init__(self, step: str, found: str, hint: str) -> None:
        super().__init__(found)
        self.step, self.found, self.hint = step, found, hint


def rehearse(entries: tuple[Found, ...], home: Path, limit_s: float = LIMIT_S) -> tuple[Rehearsal, ...]:
    """One result an entry; entries that start the server alike are tried once."""
    known: dict[str, Rehearsal] = {}
    results: list[Rehearsal] = []
    for entry in entries:
        launch = json.dumps([entry.launch.command, entry.launch.args, dict(entry.launch.env)])
        if launch not in known:
            known[launch] = _rehearsed(entry, home, limit_s)
        same = known[launch]
        results.append(Rehearsal(entry.client, _shown(entry), same.level, same.step, same.found, same.hint))
    return tuple(results)


def _shown(entry: Found) -> str:
    return str(entry.file) if entry.file != Path() else ""


def _rehearsed(entry: Found, home: Path, limit_s: float) -> Rehearsal:
    try:
        _look(entry)
        tools = _run(entry, home, limit_s)
    except _Failed as e:
        return Rehearsal(entry.client, _shown(entry), "fail", e.step, f"{e.step}: {e.found}",
                         e.hint.format(client=entry.client))  # fmt: skip
    return Rehearsal(entry.client, _shown(entry), "ok", "", f"starts as configured, offers {tools} tools")


def _look(entry: Found) -> None:
    """What can be told without starting anything."""
    if shutil.which(entry.launch.command, path=entry.launch.env.get("PATH", "")) is None:
        raise _Failed("start", f"{entry.launch.command} is not there or cannot be run", _AGAIN)
    for root in entry.roots:
        if not root.is_dir():
            raise _Failed("root", f"{root} is not there", "name another: `regreen setup {client} --root DIR`")
    if shutil.which("git", path=entry.launch.env.get("PATH", "")) is None:
        raise _Failed("git", "git is not on the PATH of its entry", _AGAIN)


def _run(entry: Found, home: Path, limit_s: float) -> int:
    environ = {"HOME": str(home), **entry.launch.env}
    if "SYSTEMROOT" in os.environ:  # Windows starts no Python without it, and every client hands it on
        environ["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    try:
        server = _Server((entry.launch.command, *entry.launch.args), home, environ, limit_s)
    except OSError as e:
        raise _Failed("start", f"{entry.launch.command}: {e.strerror}", _AGAIN) from e
    try:
        info = {"name": "regreen doctor", "version": "1"}
        server.ask("initialize", {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": info})
        server.tell("notifications/initialized")
        tools: list[Any] = server.ask("tools/list", {})["tools"]
        if entry.roots:
            called = server.ask("tools/call", {"name": "repo_skeleton", "arguments": {"repo": str(entry.roots[0]),
                                                                                    "depth": 1}})  # fmt: skip
            if called.get("isError"):
                raise _Failed("tools/call", str(called["content"][0]["text"])[:500], "correct what it says")
        return len(tools)
    finally:
        server.end()


class _Server:
    """The process and its pipes."""

    def __init__(self, argv: tuple[str, ...], cwd: Path, environ: Mapping[str, str], limit_s: float) -> None:
        self._process = subprocess.Popen(argv, cwd=cwd, env=dict(environ), stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         start_new_session=True)  # fmt: skip
        self._limit_s = limit_s
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._errors: deque[str] = deque(maxlen=5)
        self._asked = 0
        self._threads = [threading.Thread(target=read, daemon=True) for read in (self._answers, self._complaints)]
        for thread in self._threads:
            thread.start()

    def tell(self, method: str, **fields: Any) -> None:
        """Send a message; a server that has ended is noticed by the answer that does not come."""
        assert self._process.stdin
        with suppress(OSError):
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **fields}).encode() + b"\n")
            self._process.stdin.flush()

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a request. Raises _Failed."""
        self._asked += 1
        self.tell(method, id=self._asked, params=params)
        while True:
            try:
                line = self._lines.get(timeout=self._limit_s)
            except queue.Empty:
                raise _Failed(method, f"no answer within {self._limit_s:g} s",
                              "see whether the machine is busy; try `regreen serve` by hand") from None  # fmt: skip
            if line is None:
                raise self._ended(method)
            answer = _message(line, method)
            if answer.get("id") == self._asked:
                if "result" not in answer:
                    raise _Failed(method, f"refused: {answer.get('error')}", _AGAIN)
                return answer["result"]

    def end(self) -> None:
        """End the input, and the process and its session if it does not go by itself."""
        assert self._process.stdin
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(_END_S)
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe
            pipe.close()

    def _ended(self, step: str) -> _Failed:
        self._threads[1].join(_END_S)
        said = " / ".join(self._errors) or "it said nothing"
        lost = "No module named" in said or "ImportError" in said
        hint = f"install regreen again, then {_AGAIN}" if lost else "correct what it says, then run doctor again"
        return _Failed(step, f"the server ended: {said[:500]}", hint)

    def _answers(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _complaints(self) -> None:
        assert self._process.stderr
        for line in self._process.stderr:
            if text := line.decode("utf-8", "replace").strip():
                self._errors.append(text[:300])


def _message(line: bytes, step: str) -> dict[str, Any]:
    try:
        message: object = json.loads(line)
    except ValueError:
        raise _Failed(step, f"it printed what is no message: {line[:80]!r}", "run what it starts by hand") from None
    return cast("dict[str, Any]", message) if isinstance(message, dict) else {}
