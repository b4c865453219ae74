"""Runs pytest inside the project's interpreter and tells what happens over a private socket. Standalone: only the
standard library and pytest, Python 3.8 or newer, pytest 7 or newer. Started by `launch.py`; regreen never imports it.

It behaves as `python -m pytest` does: the working folder leads `sys.path`, `sys.argv` looks the same. What it adds is
in `regreen_common`, which lies beside it.
"""

# ruff: noqa: PTH100, PTH118, PTH120
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from . import regreen_canary as canary
    from .regreen_common import (
        MAX_TEXT,
        Bytecode,
        Channel,
        Describer,
        allow_dump,
        chain,
        watch_writes,
    )
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import regreen_canary as canary
    from regreen_common import MAX_TEXT, Bytecode, Channel, Describer, allow_dump, chain, watch_writes

    del sys.path[0]


def no_pytest(error: ImportError) -> NoReturn:
    channel = Channel(int(sys.argv[1]))
    channel.read_job()
    channel.send("no_pytest", text=f"{type(error).__name__}: {error}")
    sys.exit(4)


try:
    import pytest
except ImportError as _error:
    no_pytest(_error)


def is_linked_tree(folder: str) -> bool:
    """Whether this is a work tree that `git worktree add` made: its tests are its own, also inside another one."""
    try:
        line = (Path(folder) / ".git").read_text("utf-8", "surrogateescape")
    except OSError:  # a folder, or not there
        return False
    return (Path(folder) / line.partition("gitdir:")[2].strip() / "commondir").is_file()


class Plugin:
    """The hooks. Sends what happens, and leaves out the tests that the job names."""

    def __init__(self, channel: Channel, job: dict[str, Any], describer: Describer) -> None:
        self.channel = channel
        self.describer = describer
        self.only = frozenset(job["only"])
        self.skip = frozenset(job["skip"])
        self.sent_ids = False
        self.config: Any = None
        self.known: set[int] = set()

    def pytest_configure(self, config: Any) -> None:
        self.config = config

    def shown(self, nodeid: str) -> str:
        """The id as pytest prints it: relative to the working folder, wherever its root folder is."""
        if self.config is None or not nodeid or self.config.rootpath == self.config.invocation_params.dir:
            return nodeid
        path, colons, test = nodeid.partition("::")
        absolute = os.path.join(str(self.config.rootpath), path)
        return os.path.relpath(absolute, str(self.config.invocation_params.dir)).replace(os.sep, "/") + colons + test

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_main(self, config: Any) -> Any:
        if (self.only or self.skip) and hasattr(config.option, "numprocesses"):
            config.option.numprocesses = None
            config.option.dist = "no"
            config.option.tx = []
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_load_initial_conftests(self) -> Generator[None, Any, None]:
        outcome = yield
        error: Any = outcome.excinfo[1] if outcome.excinfo else None
        if error is not None and not isinstance(error, SystemExit):
            path = os.path.relpath(str(getattr(error, "path", "conftest.py"))).replace(os.sep, "/")
            self.channel.send("conftest", path=path, text=str(error)[:MAX_TEXT], **self._collect_detail(error))

    def _collect_detail(self, error: BaseException) -> dict[str, Any]:
        causes = list(chain(error))
        wrappers = ("CollectError", "ConftestImportFailure")
        cause = next((e for e in causes if type(e).__name__ not in wrappers), error)
        missing = next((e.name for e in causes if isinstance(e, ModuleNotFoundError) and e.name), "")
        return {"detail": self.describer.exception(cause), "missing": missing}

    def pytest_ignore_collect(self, collection_path: Any) -> Any:
        return True if is_linked_tree(str(collection_path)) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: Any) -> None:
        self.known = {id(p) for p in session.config.pluginmanager.get_plugins()}

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Generator[None, Any, None]:
        """When all tests have run: prove that one that fails would have been seen."""
        yield
        option, text, why = session.config.option, "", ""
        if not option.collectonly and not getattr(option, "numprocesses", None) and getattr(session, "items", None):
            try:
                text = canary.deaf(session, self.known)
            except Exception as e:  # noqa: BLE001 (a pytest that works otherwise than we know: nothing is proven then)
                why = f"{type(e).__name__}: {e}"[:MAX_TEXT]
        self.channel.send("canary", text=text, why=why)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        wanted = [i for i in items if self.shown(i.nodeid) in self.only] or list(items)
        kept = [i for i in wanted if self.shown(i.nodeid) not in self.skip]
        if len(kept) != len(items):
            inside = {id(i) for i in kept}
            config.hook.pytest_deselected(items=[i for i in items if id(i) not in inside])
            items[:] = kept

    def pytest_collection_finish(self, session: Any) -> None:
        ids = [self.shown(i.nodeid) for i in session.items]
        if ids or not getattr(session.config.option, "numprocesses", None):
            self._send_ids(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._send_ids([self.shown(i) for i in ids])

    def _send_ids(self, ids: list[str]) -> None:
        if not self.sent_ids:
            self.sent_ids = True
            self.channel.send("collected", ids=ids)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, None]:
        if isinstance(collector, pytest.File):
            self.channel.send("collecting", id=self.shown(collector.nodeid))
        outcome = yield
        report = outcome.get_result()
        error = getattr(getattr(getattr(report, "call", None), "excinfo", None), "value", None)
        if report.failed and error is not None:
            report.regreen_detail = self._collect_detail(error)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            fields = getattr(report, "regreen_detail", None)
            fields = fields or {"detail": self.describer.from_longrepr(report.longrepr), "missing": ""}
            text = str(report.longrepr)[:MAX_TEXT]
            self.channel.send("collect_error", id=self.shown(report.nodeid), text=text, **fields)

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self.channel.send("start", id=self.shown(nodeid), place=list(location)[:2])

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.channel.send("end", id=self.shown(nodeid))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: Any) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        if report.failed and call.excinfo is not None:
            report.regreen_detail = self.describer.exception(call.excinfo.value)

    def pytest_runtest_logreport(self, report: Any) -> None:
        fields: dict[str, Any] = {}
        if str(report.outcome) == "failed":
            detail = getattr(report, "regreen_detail", None) or self.describer.from_longrepr(report.longrepr)
            sections = [(str(title), str(text)[:MAX_TEXT]) for title, text in report.sections]
            fields = {"detail": detail, "text": str(report.longreprtext)[:MAX_TEXT], "sections": sections}
        self.channel.send(
            "report",
            id=self.shown(report.nodeid),
            when=str(report.when),
            outcome=str(report.outcome),
            xfail=hasattr(report, "wasxfail"),
            duration=float(getattr(report, "duration", 0.0) or 0.0),
            place=list(report.location or ())[:2],
            **fields,
        )

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.channel.send("internal", text=str(excrepr)[-MAX_TEXT:])

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self.channel.send("interrupted", text=f"{type(excinfo.value).__name__}: {excinfo.value}"[:MAX_TEXT])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        self.channel.send("finish", rc=int(session.exitstatus))


def serve(fd: int, arguments: list[str], more: Callable[[Plugin, dict[str, Any]], list[Any]] | None = None) -> int:
    """One pytest session with these arguments, told over the socket `fd`. `more` may add plugins to it."""
    channel = Channel(fd)
    job = channel.read_job()
    sys.argv = [str(Path(pytest.__file__).parent / "__main__.py"), *arguments]
    allow_dump(job["dump"])
    if job["watch"]:
        watch_writes(channel, job["root"], job["own"])
    bytecode = Bytecode(job["root"], job["pyc"])
    bytecode.divert()
    bytecode.divert_children(job["warm"])
    channel.send("hello", pytest=str(pytest.__version__), python=".".join(map(str, sys.version_info[:3])))
    plugin = Plugin(channel, job, Describer(bytecode))
    run: Callable[..., Any] = pytest.main
    code = int(run(arguments, plugins=[plugin, *(more(plugin, job) if more else ())]))
    channel.send("exit", rc=code)
    sys.stdout.flush()
    return code


def main() -> int:
    return serve(int(sys.argv[1]), sys.argv[2:])
