"""The search worker: runs in the project's interpreter, in a private copy of the project, started by path as a script.

Two zygotes. The outer process holds pytest and the third-party modules only; the inner one, forked from it, holds the
collected session. Each candidate runs in a child forked from one of them: `try` swaps the changed code into the
collected session, `fresh` imports the project again with the changed file on disk. Children end by `os._exit`.
The rule: only the standard library and pytest are imported here, and nothing of regreen; Python 3.8 and later.
"""

# ruff: noqa: PTH110, PTH123, B905
from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from regreen.proposers.search.worker import regreen_search_code as codes
    from regreen.proposers.search.worker import regreen_search_session as tests
    from regreen.proposers.search.worker import regreen_search_trace as traces

    Message = tests.Message
    Work = Callable[[tests.Send], None]
else:
    import regreen_search_code as codes
    import regreen_search_session as tests
    import regreen_search_trace as traces


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


class Warm:
    """Serves `baseline` and `try` from inside the collected session."""

    def __init__(self, pipe: tests.Pipe, project: codes.Project) -> None:
        self._pipe, self._project = pipe, project
        self._seen: set[Any] = set()
        self._bases: dict[str, CodeType] = {}
        self._live: dict[str, codes.Live] = {}

    def __call__(self, session: tests.Session) -> None:
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        self._live = codes.live_functions(self._project)
        sys.dont_write_bytecode = True
        gc.collect()
        gc.freeze()
        hello = {"ids": list(self._items), "errors": session.errors, "modules": third_party(self._project)}
        self._pipe.send(dict(hello, threads=threading.active_count(), cpu_s=time.process_time()))
        commands: Mapping[str, Callable[[Message], Message]] = {"baseline": self._baseline, "try": self._try}
        while True:
            message = self._pipe.receive()
            if message is None:
                os._exit(0)
            self._pipe.send(commands[message["do"]](message))

    def _baseline(self, m: Message) -> Message:
        """The tests `ids`, `chunk` in a forked child, with the lines they run, until `stop_s` have passed."""
        results: list[dict[str, Any]] = []
        cpu_s, size, began = 0.0, int(m["chunk"]), time.monotonic()
        for start in range(0, len(m["ids"]), size):
            if time.monotonic() - began > m["stop_s"]:
                break
            ids = m["ids"][start : start + size]
            messages, ended, used = tests.in_child(self._traced(ids, m), m)
            cpu_s += used
            results += messages
            told = {r["id"] for r in messages}
            results += [{"id": i, "outcome": "bad", "ended": ended, "lines": {}} for i in ids if i not in told]
        for item in self._session.items[:1]:
            self._session.be_terse(item.config)
            gc.freeze()
        return {"results": results, "cpu_s": cpu_s}

    def _traced(self, ids: Sequence[str], m: Message) -> Work:
        def time_up(_number: int, _frame: Any) -> None:
            raise traces.TimeUp("the time limit of the baseline")

        def work(send: tests.Send) -> None:
            signal.signal(signal.SIGPROF, time_up)
            trace = traces.Trace(self._project, m["files"])
            goals = frozenset(m["goals"])
            for nodeid in ids:
                tests.arm(float(m["cpu_s"]))
                began = (time.process_time(), time.monotonic())
                trace.start(values=tests.belongs(nodeid, goals))
                outcome = self._session.run(self._items[nodeid])
                seen = trace.stop()
                tests.arm(0.0)
                used = {"used_s": time.process_time() - began[0], "took_s": time.monotonic() - began[1]}
                facts = {"failure": self._session.failure, "compared": self._session.compared}
                send(dict(facts if outcome == "bad" else {}, id=nodeid, outcome=outcome, **seen, **used))

        return work

    def _try(self, m: Message) -> Message:
        """One candidate: compile its unit, skip it if its bytecode was seen, else run the tests with it in place."""
        path = self._project.absolute(m["path"])
        try:
            code = codes.compile_unit(m["unit"], path, m["future"])
        except (SyntaxError, ValueError, RecursionError, OverflowError):
            return {"status": "invalid", "cpu_s": 0.0}
        key = (m["path"], m["cpu_s"], codes.fingerprint(code))
        if key in self._seen and not m["again"]:
            return {"status": "seen", "cpu_s": 0.0}
        self._seen.add(key)
        base = self._bases.get(m["base"])
        if base is None:
            base = self._bases[m["base"]] = codes.compile_unit(m["base"], path, m["future"])
        original = read(path)
        write(path, m["source"].encode())
        try:
            return tests.run_candidate(self._changed(m, path, base, code), m)
        finally:
            write(path, original)

    def _changed(self, m: Message, path: str, base: CodeType, code: CodeType) -> Work:
        def work(send: tests.Send) -> None:
            if m["mode"] == "exec":
                codes.execute(code, path)
            else:
                codes.swap(self._live.get(m["path"], {}), base, code)
            first = [self._items[i] for i in m["first"] if i in self._items]
            if tests.run_items(self._session, first, m, {}, send):
                tests.run_items(self._session, [self._items[i] for i in m["rest"]], m, m["wanted"], send)

        return work


class Fresh:
    """Serves `fresh` in a child of the outer zygote: the project is imported anew with the changed file in place."""

    def __init__(self, project: codes.Project, config: Message) -> None:
        self._project, self._config, self._count = project, config, 0

    def __call__(self, m: Message) -> Message:
        path = self._project.absolute(m["path"])
        original = read(path)
        write(path, m["source"].encode())
        self._count += 1
        os.utime(path, (self._count, self._count))  # a time of its own: no cached bytecode is taken for this text
        try:
            quick = tests.run_candidate(self._work(m, m["quick"], frozenset(m["first"])), m)
            if not quick["ok"]:
                return quick
            full = tests.run_candidate(self._work(m, self._config["selection"], None), m)
            return dict(full, cpu_s=full["cpu_s"] + quick["cpu_s"])
        finally:
            write(path, original)

    def _work(self, m: Message, selection: Sequence[str], only: frozenset[str] | None) -> Work:
        def work(send: tests.Send) -> None:
            def serve(session: tests.Session) -> None:
                for item in session.items[:1]:
                    session.be_terse(item.config)
                for error in session.errors:
                    send({"id": error["id"], "outcome": "bad", "expected": False})
                items = [i for i in session.items if only is None or tests.belongs(i.nodeid, only)]
                tests.run_items(session, items, m, m["wanted"], send)

            sys.dont_write_bytecode = True
            tests.arm(float(m["cpu_s"]) + 5.0)
            pytest.main([*self._config["options"], *selection], plugins=[tests.Session(self._project, serve)])

        return work


def third_party(project: codes.Project) -> list[str]:
    """Names of the imported modules that are not the project's."""
    names: list[str] = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and not project.relative(file) and not name.startswith(("_pytest", "pytest", "__main__")):
            names.append(name)
    return names


def map_paths(original: str, root: str) -> None:
    """Make import paths that point into the user's tree (editable installs) point into the copy."""

    def mapped(path: str) -> str:
        if path == original or path.startswith(original + os.sep):
            moved = root + path[len(original) :]
            return moved if os.path.exists(moved) else path
        return path

    before = list(sys.path)
    sys.path[:] = [mapped(p) for p in before]
    for finder in sys.meta_path:
        mapping = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", None)
        if isinstance(mapping, dict):
            mapping.update({k: mapped(v) for k, v in mapping.items() if isinstance(v, str)})  # pyright: ignore
    changed = [new for new, old in zip(sys.path, before) if new != old]
    if changed:
        os.environ["PYTHONPATH"] = os.pathsep.join(changed)


def start_warm(control: tests.Pipe, project: codes.Project, config: Message) -> tests.Pipe:
    """Fork the inner zygote; returns the line to it."""
    down_read, down_write = os.pipe()
    up_read, up_write = os.pipe()
    if os.fork() == 0:
        os.close(down_write)
        os.close(up_read)
        control.close()
        try:
            warm = Warm(tests.Pipe(down_read, up_write), project)
            pytest.main([*config["options"], *config["selection"]], plugins=[tests.Session(project, warm)])
        finally:
            os._exit(0)
    os.close(down_read)
    os.close(up_write)
    return tests.Pipe(up_read, down_write)


def serve(control: tests.Pipe, project: codes.Project, config: Message) -> None:
    warm = start_warm(control, project, config)
    hello = warm.receive()
    control.send(hello or {"dead": 1})
    for name in (hello or {}).get("modules", ()):
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 (only a head start: what does not import alone is imported later)
            continue
    gc.collect()
    gc.freeze()
    fresh = Fresh(project, config)
    while True:
        message = control.receive()
        if message is None:
            return
        if message["do"] == "fresh":
            control.send(fresh(message))
            continue
        warm.send(message)
        control.send(warm.receive() or {"dead": 1})


def main() -> None:
    fd = int(sys.argv[1])
    control = tests.Pipe(fd, fd)
    config = control.receive()
    if config is None:
        return
    project = codes.Project(config["root"])
    sys.path[0] = project.root  # as `python -m pytest` has it; this script's own folder is off the path
    map_paths(config["original"], project.root)
    serve(control, project, config)


if __name__ == "__main__":
    main()
    os._exit(0)
