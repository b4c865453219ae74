"""Part of the search worker: which lines a test runs, and which types its values have.

Standard library only; Python 3.8 and later. Values are never touched beyond `type` and `vars`: no code of theirs runs.
"""

# pyright: reportPrivateUsage=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import sys
import threading
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regreen.proposers.search.worker.regreen_search_code import Project

_MAX_LOCALS = 40
_PLAIN = (str, bytes, int, float, bool, complex, type(None), type, types.ModuleType, types.FunctionType)


class TimeUp(BaseException):
    """Raised inside a traced test that has used up its time."""


class Trace:
    """Between `start` and `stop`: the lines of the given files that run and, with `values`, the types seen there."""

    def __init__(self, project: Project, files: Sequence[str]) -> None:
        self._project, self._files = project, frozenset(files)
        self._monitoring: Any = getattr(sys, "monitoring", None)
        self._tool = -1
        self._values = False
        self._clear()

    def _clear(self) -> None:
        self._lines: set[tuple[str, int]] = set()
        self._types: dict[tuple[str, int, str], set[str]] = {}
        self._returns: dict[str, set[str]] = {}
        self._members: dict[str, list[str]] = {}

    def start(self, *, values: bool) -> None:
        self._clear()
        self._values = values
        if self._monitoring is None:
            threading.settrace(self._enter)
            sys.settrace(self._enter)
            return
        m = self._monitoring
        if self._tool < 0:
            self._tool = next(i for i in (3, 4, 1, 2, 0) if m.get_tool(i) is None)
            m.use_tool_id(self._tool, "search")
            m.register_callback(self._tool, m.events.LINE, self._on_line)
            m.register_callback(self._tool, m.events.PY_RETURN, self._on_return)
        m.set_events(self._tool, m.events.LINE | (m.events.PY_RETURN if values else 0))
        m.restart_events()

    def stop(self) -> dict[str, Any]:
        """Ends the tracing: `lines` by path, and `types` as [path, line of the function, expression, type names]."""
        if self._monitoring is None:
            sys.settrace(None)
            threading.settrace(None)  # pyright: ignore[reportArgumentType]
        else:
            self._monitoring.set_events(self._tool, 0)
        lines: dict[str, list[int]] = {}
        for path, line in sorted(self._lines):
            lines.setdefault(path, []).append(line)
        found = [[*key, sorted(names)] for key, names in sorted(self._types.items())]
        returns = {name: sorted(names) for name, names in sorted(self._returns.items())}
        return {"lines": lines, "types": found, "returns": returns, "members": self._members}

    def _on_line(self, code: Any, line: int) -> Any:
        path = self._project.relative(code.co_filename)
        if path in self._files:
            self._lines.add((path, line))
            if self._values:
                self._look(path, sys._getframe(1))
        return self._monitoring.DISABLE

    def _on_return(self, code: Any, offset: int, value: Any) -> Any:  # noqa: ARG002
        path = self._project.relative(code.co_filename)
        if path not in self._files:
            return self._monitoring.DISABLE
        self._returned(path, sys._getframe(1), value)
        return None

    def _enter(self, frame: Any, event: str, arg: Any) -> Any:  # noqa: ARG002
        path = self._project.relative(frame.f_code.co_filename)
        if path not in self._files:
            return None

        def local(frame: Any, event: str, arg: Any) -> Any:
            if event == "line":
                spot = (path, frame.f_lineno)
                if spot not in self._lines:
                    self._lines.add(spot)
                    if self._values:
                        self._look(path, frame)
            elif event == "return" and self._values:
                self._returned(path, frame, arg)
            return local

        return local

    def _returned(self, path: str, frame: Any, value: Any) -> None:
        names = self._returns.setdefault(frame.f_code.co_name, set())
        if len(names) < _MAX_LOCALS:
            names.add(self._name(value))
            self._look(path, frame)

    def _look(self, path: str, frame: Any) -> None:
        line = frame.f_code.co_firstlineno
        for name, value in list(frame.f_locals.items())[:_MAX_LOCALS]:
            self._note((path, line, name), value)
            if isinstance(value, tuple):
                for place, element in enumerate(value[:_MAX_LOCALS]):
                    self._note((path, line, f"{name}[{place}]"), element)
            elif isinstance(value, list) and value:
                self._note((path, line, name + "[]"), value[0])
            elif isinstance(value, dict):
                for element in value.values():
                    self._note((path, line, name + "[]"), element)
                    break
            if not isinstance(value, _PLAIN):
                for attribute, inner in list(getattr(value, "__dict__", {}).items())[:_MAX_LOCALS]:
                    self._note((path, line, f"{name}.{attribute}"), inner)

    def _note(self, key: tuple[str, int, str], value: Any) -> None:
        self._types.setdefault(key, set()).add(self._name(value))

    def _name(self, value: Any) -> str:
        kind = type(value)
        if kind.__module__ != "builtins" and kind.__name__ not in self._members:
            self._members[kind.__name__] = [n for n in dir(kind) if not n.startswith("__") or n in _PROTOCOLS]
        return kind.__name__


_PROTOCOLS = ("__iter__", "__len__", "__getitem__", "__abs__", "__add__", "__sub__", "__neg__", "__round__", "__lt__",
              "__contains__", "__int__", "__float__")  # fmt: skip
