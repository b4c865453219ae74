"""Part of the search worker: running tests of a collected pytest session in forked children, and tracing lines.

Standard library and pytest only; Python 3.8 and later.
"""

# ruff: noqa: PTH123
from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from regreen.proposers.search.worker.regreen_search_code import Project

    Message = Mapping[str, Any]
    Send = Callable[[Message], None]

_MAX_TEXT = 400
_MAX_NAMES = 200
_WORDY = ("assertion", "terminalreporter")  # pytest's own plugins that only explain and print


def write_line(fd: int, message: Message) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(fd, data) :]


class Pipe:
    """JSON lines over a descriptor to read and one to write."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.reader = os.fdopen(read_fd, "rb", closefd=False)
        self._read_fd, self._write_fd = read_fd, write_fd

    def send(self, message: Message) -> None:
        write_line(self._write_fd, message)

    def receive(self) -> dict[str, Any] | None:
        line = self.reader.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        os.close(self._read_fd)
        if self._write_fd != self._read_fd:
            os.close(self._write_fd)


# --- children ----------------------------------------------------------------------------------------


def in_child(work: Callable[[Send], None], m: Message) -> tuple[list[dict[str, Any]], str, float]:
    """Fork and run `work(send)`: what it sent, how it ended ("end", "timeout", "crash"), its CPU seconds.

    The child may be silent for `wall_s`; between two calls of `arm` it may use `cpu_s`; both end it.
    """
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_fd)
        _child(work, write_fd, m)
    os.close(write_fd)
    messages, ended = _collect(read_fd, float(m["wall_s"]))
    os.close(read_fd)
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    if ended == "crash" and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        ended = "timeout"
    return messages, ended, usage.ru_utime + usage.ru_stime


def _child(work: Callable[[Send], None], write_fd: int, m: Message) -> None:
    try:
        os.setpgid(0, 0)
        _limit_memory(int(m["memory_bytes"]))
        arm(float(m["cpu_s"]))
        work(lambda message: write_line(write_fd, message))
        write_line(write_fd, {"end": 1})
    finally:
        os._exit(0)


def _limit_memory(more_bytes: int) -> None:
    """Allow the child so much more than the session has already, where that can be found out."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            now_bytes = int(file.read().split()[5]) * resource.getpagesize()
    except OSError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    lowest = min(x for x in (now_bytes + more_bytes, soft, hard) if x >= 0)
    resource.setrlimit(resource.RLIMIT_DATA, (lowest, hard))


def arm(cpu_s: float) -> None:
    """Start the CPU clock of the next test; when it runs out, SIGPROF ends the child."""
    signal.setitimer(signal.ITIMER_PROF, cpu_s)


def _collect(read_fd: int, wall_s: float) -> tuple[list[dict[str, Any]], str]:
    messages: list[dict[str, Any]] = []
    rest = b""
    while True:
        if not select.select([read_fd], [], [], wall_s)[0]:
            return messages, "timeout"
        data = os.read(read_fd, 65536)
        if not data:
            return messages, "crash"
        lines = (rest + data).split(b"\n")
        rest = lines.pop()
        for line in lines:
            message = json.loads(line)
            if "end" in message:
                return messages, "end"
            messages.append(message)


# --- the pytest plugin -------------------------------------------------------------------------------


class Session:
    """Takes over after collection; remembers what each test and each failure said."""

    def __init__(self, project: Project, serve: Callable[[Session], None]) -> None:
        self._project, self._serve = project, serve
        self.items: list[pytest.Item] = []
        self.errors: list[dict[str, Any]] = []
        self.failure: dict[str, Any] | None = None
        self.compared: dict[str, str] | None = None
        self.terse = False  # outcomes only: what pytest would say about a failure costs more than the test
        self._reports: list[Any] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: Any) -> None:
        if hasattr(config.option, "numprocesses"):  # pytest-xdist would run the tests in other processes
            config.option.dist, config.option.tx, config.option.numprocesses = "no", [], None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> pytest.TestReport | None:
        if not self.terse or call.excinfo is None or isinstance(call.excinfo.value, pytest.skip.Exception):
            return None
        return pytest.TestReport(item.nodeid, item.location, {}, "failed", "failed", call.when)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._reports.append(report)

    def pytest_assertrepr_compare(self, op: str, left: Any, right: Any) -> None:
        if not self.terse:
            self.compared = {"op": op, "left": _repr(left), "right": _repr(right)}

    def pytest_exception_interact(self, call: Any, report: Any) -> None:
        if isinstance(report, pytest.CollectReport):
            self.errors.append({"id": report.nodeid, "failure": describe(call.excinfo, self._project)})
        elif not self.terse:
            self.failure = self.failure or describe(call.excinfo, self._project)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = list(session.items)
        self._serve(self)
        return True

    def be_terse(self, config: Any) -> None:
        """From now on say only whether tests pass."""
        self.terse = True
        for name in _WORDY:
            if config.pluginmanager.has_plugin(name):
                config.pluginmanager.unregister(name=name)

    def run(self, item: pytest.Item, following: pytest.Item | None = None) -> str:
        """One test through pytest's own protocol: "ok", "skipped" (or xfailed) or "bad"."""
        self._reports, self.failure, self.compared = [], None, None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if any(r.failed for r in self._reports) or not self._reports:
            return "bad"
        return "skipped" if any(r.skipped for r in self._reports) else "ok"


def _repr(value: object) -> str:
    try:
        return repr(value)[:_MAX_TEXT]
    except Exception:  # noqa: BLE001 (a project's own `__repr__` may raise anything)
        return ""


def describe(excinfo: Any, project: Project) -> dict[str, Any]:
    """An exception as plain values: its types, frames inside the project, names that would have worked."""
    error = excinfo.value
    frames: list[list[Any]] = []
    for entry in excinfo.traceback:
        path = project.relative(str(entry.path))
        if path:
            frames.append([path, entry.lineno + 1, entry.frame.code.raw.co_name])
    name = getattr(error, "name", None)
    facts: dict[str, Any] = {
        "type": type(error).__name__,
        "mro": [c.__name__ for c in type(error).__mro__[:-1]],
        "message": _repr(str(error))[1:-1] if not isinstance(error, AssertionError) else "",
        "frames": frames,
        "name": name if isinstance(name, str) else "",
    }
    owner = getattr(error, "obj", None)
    if isinstance(error, AttributeError) and owner is not None:
        facts["names"] = [n for n in dir(owner) if not n.startswith("__")][:_MAX_NAMES]
    if isinstance(error, KeyError) and error.args and isinstance(error.args[0], (str, int)):
        facts["key"] = repr(error.args[0])
    return facts


def run_candidate(work: Callable[[Send], None], m: Message) -> dict[str, Any]:
    """Run a candidate's tests in a child: ids of the tests that pass, of those that do not, and how it ended."""
    messages, ended, cpu_s = in_child(work, m)
    ok = [r["id"] for r in messages if r["outcome"] == "ok"]
    bad = [r["id"] for r in messages if r["outcome"] != "ok" and not r["expected"]]
    return {"status": ended, "ok": ok, "bad": bad, "cpu_s": cpu_s}


def run_items(
    session: Session, items: Sequence[pytest.Item], m: Message, wanted: Mapping[str, str], send: Send
) -> bool:
    """Run tests one after the other, until one fails that used to pass. Did any pass?"""
    good = False
    for place, item in enumerate(items):
        arm(float(m["cpu_s"]))
        before = wanted.get(item.nodeid, "bad")
        outcome = session.run(item, items[place + 1] if place + 1 < len(items) else None)
        send({"id": item.nodeid, "outcome": outcome, "expected": outcome == before == "skipped"})
        good = good or outcome == "ok"
        if outcome == "bad" and before != "bad":
            break
    return good


def belongs(nodeid: str, wanted: frozenset[str]) -> bool:
    """Is the test one of these, or in one of these files?"""
    return nodeid in wanted or nodeid.partition("::")[0] in wanted
