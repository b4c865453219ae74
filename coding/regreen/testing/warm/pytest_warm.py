"""Warm runs of pytest: from a server that has pytest and other people's modules imported, each run a fork of it.

A warm run goes through the same code as a cold one from its first message to its report. It differs from one in this:
modules that are not the project's are imported before the project's settings of the environment take effect; the hash
seed is that of the server; numeric libraries keep to one thread. So it orders and preselects, and the cold run has the
last word. To find flaky tests it is of no use.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from regreen import sandbox
from regreen.errors import EnvironmentFault
from regreen.model import SuiteReport
from regreen.sandbox import Cancel
from regreen.testing.channel import Record
from regreen.testing.interpreter import Interpreter, NoInterpreter, find_interpreter
from regreen.testing.pytest_process import (
    Launch,
    OnChange,
    Part,
    TimeLimits,
    job_line,
    private_arguments,
    private_tmp,
    process_environment,
    read_stack,
)
from regreen.testing.pytest_suite import run_pytest
from regreen.testing.request import OnProgress, SuiteRequest
from regreen.testing.warm.knowledge import Knowledge, learnt, load, save
from regreen.testing.warm.refusals import own_words, refused
from regreen.testing.warm.server import ForkServer
from regreen.testing.warm.stamps import Stamp, Stamper, conftests_of
from regreen.testing.warm.talk import Message
from regreen.testing.warm.values import GoCold, NotWarm

NOTE = "warm: forked from a process with other people's modules imported; hash seed and threads are those of it"
MAX_AVOIDED = 16
MAX_BROKEN = 3
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")


class WarmPytest:
    """Warm runs of one project, one at a time. A context manager; leaving it ends the server and all its runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: ForkServer | None = None
        self._stamp: Stamp | None = None
        self._stamper = Stamper()
        self._known = Knowledge()
        self._conftests: set[str] = set()
        self._environment: Mapping[str, str] = {}
        self._broken = 0
        self._off = ""
        self.starts = 0
        self.restarted_for = ""

    def __enter__(self) -> WarmPytest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self, request: SuiteRequest, cancel: Cancel) -> NotWarm | None:
        """Have a server ready for runs like `request`. Not needed before `run`, which does it when it must."""
        if not self._lock.acquire(blocking=False):
            return NotWarm("another warm run is under way")
        try:
            self._ready(self._interpreter(request, cancel), request, cancel)
        except GoCold as e:
            return self._cold(e)
        finally:
            self._lock.release()
        return None

    def run(
        self, request: SuiteRequest, cancel: Cancel, on_progress: OnProgress | None = None
    ) -> SuiteReport | NotWarm:
        """Run tests as `run_pytest` does. NotWarm: nothing is known, run them cold; a log may have been begun.

        Raises what `run_pytest` raises. The first run of a project is about as slow as a cold one: from it is learnt
        what to import ahead.
        """
        report, _ = self._run(request, cancel, on_progress)
        return report

    def run_covered(
        self,
        request: SuiteRequest,
        cancel: Cancel,
        on_progress: OnProgress | None = None,
        *,
        skip: tuple[str, ...] = (),
    ) -> tuple[SuiteReport | NotWarm, tuple[Message, ...]]:
        """As `run`, with what was told about the functions that each test calls. Slower than a plain run.

        The tests `skip` are left out. Not for verdicts: a run without any test says so.
        """
        return self._run(request, cancel, on_progress, cover=True, skip=skip)

    def refuse(self, reason: str) -> None:
        """Never again: for a caller whose cold run has contradicted a warm one."""
        self._off = reason
        self.close()

    def close(self) -> None:
        """End the server. A later run starts another one."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _run(
        self,
        request: SuiteRequest,
        cancel: Cancel,
        on_progress: OnProgress | None,
        *,
        cover: bool = False,
        skip: tuple[str, ...] = (),
    ) -> tuple[SuiteReport | NotWarm, tuple[Message, ...]]:
        if not self._lock.acquire(blocking=False):
            return NotWarm("another warm run is under way"), ()
        touched: list[Message] = []

        def process(launch: Launch, request: SuiteRequest, cancel: Cancel, on_change: OnChange) -> Part:
            launch = replace(launch, skip=(*launch.skip, *skip))
            part = self._part(launch, request, cancel, on_change, cover=cover)
            touched.extend(m for m in part.record.aside if m["k"] == "touched")
            return part

        try:
            request = replace(request, interpreter=self._interpreter(request, cancel))
            report = run_pytest(request, cancel, on_progress, process=process)
        except GoCold as e:
            return self._cold(e), ()
        finally:
            self._lock.release()
        return report, tuple(touched)

    def _interpreter(self, request: SuiteRequest, cancel: Cancel) -> Interpreter:
        if self._off:
            raise GoCold(self._off)
        who = request.interpreter or find_interpreter(
            request.workspace, request.settings, cancel, start=request.project
        )
        if isinstance(who, NoInterpreter):
            raise GoCold(who.message)
        level = sandbox.require(request.settings).level
        words = (*request.argv, *request.environment.get("PYTEST_ADDOPTS", "").split())
        words += own_words(request.folder, request.workspace.root)
        words += tuple(f"-p{name}" for name in request.environment.get("PYTEST_PLUGINS", "").split(",") if name)
        reason = refused(sys.platform, level, who.version, words, request.folder)
        if reason:
            raise GoCold(reason)
        return who

    def _cold(self, e: GoCold) -> NotWarm:
        if e.avoid:
            self._avoid(e)
        if e.broken:
            self._broken += not e.avoid
            said = self._server.close() if self._server is not None else ""
            self._server = None
            if self._broken >= MAX_BROKEN:
                self._off = f"{e.reason}, {MAX_BROKEN} times"
            return NotWarm(f"{e.reason}: {said}" if said else e.reason)
        return NotWarm(e.reason)

    def _avoid(self, e: GoCold) -> None:
        for top in e.avoid:
            self._known = self._known.without(top, e.reason)
        if len(self._known.avoided or {}) > MAX_AVOIDED:
            self._off = "too many modules cannot be imported ahead"

    # --- the server ------------------------------------------------------------------------------------

    def _ready(self, who: Interpreter, request: SuiteRequest, cancel: Cancel) -> ForkServer:
        """A server that is not stale, with everything imported that is known to be needed."""
        while True:
            server = self._fresh(who, request, cancel)
            try:
                server.preloaded(cancel)
            except GoCold as e:
                if not e.avoid:
                    raise
                self._cold(e)
                if self._off:
                    raise
                continue
            return server

    def _fresh(self, who: Interpreter, request: SuiteRequest, cancel: Cancel) -> ForkServer:
        if self._server is not None:
            changed = "" if self._stamp is None else self._take(who, request, self._server).changed(self._stamp)
            if not changed and not self._server.worn:
                return self._server
            self.restarted_for = changed or "its age"
            self.close()
        request.store_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            server = self._server = ForkServer(who, request)
        except EnvironmentFault as e:
            raise GoCold(e.message, broken=True) from e
        self.starts += 1
        server.hello(cancel)
        self._recall(who, request, server)
        return server

    def _recall(self, who: Interpreter, request: SuiteRequest, server: ForkServer) -> None:
        if not self._known.names:
            self._known = load(request.settings.cache_dir, request.folder, who.path)
        self._conftests = set(self._known.conftests) | conftests_of(request.folder, ())
        self._stamp = self._take(who, request, server)
        if self._known.digest != self._stamp.digest:
            self._known = Knowledge(avoided=self._known.avoided)
        if self._known.names:
            server.preload(self._known)

    def _take(self, who: Interpreter, request: SuiteRequest, server: ForkServer) -> Stamp:
        environment = process_environment(who, request, Path("/"))
        plain = {k: v for k, v in environment.items() if k not in _TEMPORARY}
        self._environment = plain
        root = request.workspace.root
        folders = [request.folder, *(p for p in request.folder.parents if p.is_relative_to(root))]
        return self._stamper.take(who, plain, folders, server.sites, self._conftests)

    # --- one run ---------------------------------------------------------------------------------------

    def _part(self, launch: Launch, request: SuiteRequest, cancel: Cancel, on_change: OnChange, *, cover: bool) -> Part:
        server = self._ready(launch.interpreter, request, cancel)
        record = Record(secrets.token_hex(16), time.monotonic)
        limits = TimeLimits(record, request.per_test_timeout_s)

        def heard(data: bytes) -> None:
            record.feed(data)
            on_change(record)

        folder = server.folder / f"run-{server.runs}"
        folder.mkdir(mode=0o700)
        learn = not self._known.names
        own = dict.fromkeys(_TEMPORARY, str(private_tmp(folder)))
        order = {
            "arguments": [*private_arguments(request, folder), *launch.arguments],
            "environ": {**self._environment, **own, **request.environment},
            "cwd": str(request.folder),
        }
        try:
            completed = server.run(
                order,
                lambda private: job_line(record.nonce, launch, request, private, learn=learn, cover=cover),
                launch.log,
                (launch.timeout_s, request.settings.limits.max_output_bytes),
                cancel,
                heard,
                limits.next_end,
                folder,
            )
            stack = read_stack(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self._broken = 0
        self._learn(record, launch.interpreter, request, server, folder)
        overdue = limits.overdue() if completed.timed_out else ()
        return Part(record, completed, overdue, stack, (NOTE,))

    def _learn(
        self, record: Record, who: Interpreter, request: SuiteRequest, server: ForkServer, private: Path
    ) -> None:
        loaded = [m for m in record.aside if m["k"] == "loaded"]
        if not loaded:
            return
        told = loaded[0]
        if told["shadowed"]:
            tops = tuple(str(t) for t in told["shadowed"])
            raise GoCold(f"the project has a module `{tops[0]}` of its own", broken=True, avoid=tops)
        conftests = conftests_of(request.folder, record.collected or ()) | {str(c) for c in told["conftests"]}
        if not conftests <= self._conftests:
            self._conftests |= conftests
            self._stamp = self._take(who, request, server)
            self._known = replace(self._known, digest=self._stamp.digest, conftests=tuple(sorted(self._conftests)))
        if "names" in told:
            digest = self._stamp.digest if self._stamp is not None else ""
            known = learnt(loaded, private, self._known)
            self._known = replace(known, digest=digest, conftests=tuple(sorted(self._conftests)))
            server.preload(self._known)
            save(request.settings.cache_dir, request.folder, who.path, self._known)
