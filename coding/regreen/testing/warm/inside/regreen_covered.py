"""Part of the fork server: which functions of the project each test calls. Standard library and pytest; Python 3.8.

Calls are met by `sys.monitoring`, or by `sys.settrace` before Python 3.12, in all threads of this process. A fixture
that several tests share is set up in the first of them; what it calls counts for each test that uses it.
"""

# ruff: noqa: PTH118
from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from regreen.testing.inside import regreen_common as common
    from regreen.testing.inside import regreen_inside as inside

    Spot = tuple[str, int, str]
else:
    import regreen_common as common


class Calls:
    """The functions called since the last `take`: (path, first line, name)."""

    def __init__(self, root: str) -> None:
        bases = {os.path.join(r, "") for r in (root, os.path.realpath(root))}
        self._bases = tuple(bases)
        self._ours: Callable[[str], bool] = common.Bytecode(root, "").ours
        self._paths: dict[str, str] = {}
        self._found: set[Spot] = set()
        self._monitoring: Any = getattr(sys, "monitoring", None)
        self._tool = -1

    def start(self) -> None:
        m = self._monitoring
        if m is None:
            threading.settrace(self._called)
            sys.settrace(self._called)
            return
        self._tool = next(i for i in (4, 3, 2, 1, 0) if m.get_tool(i) is None)
        m.use_tool_id(self._tool, "coverage map")
        m.register_callback(self._tool, m.events.PY_START, self._started)
        m.set_events(self._tool, m.events.PY_START)

    def stop(self) -> None:
        if self._monitoring is None:
            sys.settrace(None)
            threading.settrace(None)  # pyright: ignore[reportArgumentType]
        elif self._tool >= 0:
            self._monitoring.set_events(self._tool, 0)
            self._monitoring.free_tool_id(self._tool)
            self._tool = -1

    def take(self) -> set[Spot]:
        found, self._found = self._found, set()
        if self._tool >= 0:
            self._monitoring.restart_events()
        return found

    def _started(self, code: Any, _offset: int) -> Any:
        self._note(code)
        return self._monitoring.DISABLE

    def _called(self, frame: Any, event: str, _arg: Any) -> None:
        if event == "call":
            self._note(frame.f_code)

    def _note(self, code: Any) -> None:
        path = self._paths.get(code.co_filename)
        if path is None:
            path = self._paths[code.co_filename] = self._relative(code.co_filename)
        if path:
            self._found.add((path, code.co_firstlineno, code.co_name))

    def _relative(self, filename: str) -> str:
        base = next((b for b in self._bases if filename.startswith(b)), "")
        return filename[len(base) :].replace(os.sep, "/") if base and self._ours(filename) else ""


class Plugin:
    """Tells for each test what was called. The message without an id is of the time before the first test."""

    def __init__(self, told: inside.Plugin, root: str) -> None:
        self.told = told
        self.calls = Calls(root)
        self.numbers: dict[Spot, int] = {}
        self.shared: dict[int, set[Spot]] = {}
        self.now: set[Spot] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        self.calls.start()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        self._tell("", self.calls.take())

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        self.calls.take()
        self.now = set()
        yield
        self.now |= self.calls.take()
        for definitions in getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values():
            for definition in definitions:
                self.now |= self.shared.get(id(definition), set())
        self._tell(self.told.shown(item.nodeid), self.now)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, None]:
        if fixturedef.scope == "function":
            yield
            return
        self.now |= self.calls.take()
        yield
        found = self.calls.take()
        self.shared[id(fixturedef)] = found
        self.now |= found

    def pytest_unconfigure(self) -> None:
        self.calls.stop()

    def _tell(self, test: str, spots: set[Spot]) -> None:
        fresh = [s for s in sorted(spots) if s not in self.numbers]
        for spot in fresh:
            self.numbers[spot] = len(self.numbers)
        numbers = sorted(self.numbers[s] for s in spots)
        self.told.channel.send("touched", id=test, fresh=fresh, numbers=numbers)
