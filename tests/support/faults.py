"""Makes the system's writing calls countable for the modules that write project files, so that each can fail.

A fault comes instead of the call: nothing of it happens. Reading calls, SQLite and the tests' own calls are untouched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeAlias

from regreen.workspace import attributes, beneath, kernel, writing

OnCall: TypeAlias = Callable[[str], None]

_WRITING = (
    "write", "fsync", "replace", "link", "unlink", "symlink", "mkdir", "rmdir", "utime", "ftruncate",
    "fchmod", "fchown", "setxattr", "removexattr",
)  # fmt: skip
_OPENED_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class _Os:
    """The module `os`, with `on_call` before each writing call."""

    def __init__(self, on_call: OnCall) -> None:
        self._on_call = on_call
        self._made: dict[str, Any] = {name: self._watched(name) for name in _WRITING if hasattr(os, name)}
        self.supports_follow_symlinks = {*os.supports_follow_symlinks, self._made["utime"]}

    def _watched(self, name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self._on_call(name)
            return real(*args, **kwargs)

        return call

    def open(self, path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & _OPENED_TO_WRITE:
            self._on_call("open")
        return os.open(path, flags, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return self._made[name] if name in self._made else getattr(os, name)


@contextmanager
def watched(on_call: OnCall) -> Generator[None]:
    """While the block runs, `on_call` hears of each writing call just before it, by its name, and may raise."""

    def exchange(*args: Any) -> bool:
        on_call("exchange")
        return real(*args)

    real, kernel.exchange = kernel.exchange, exchange
    modules: tuple[Any, ...] = (attributes, beneath, writing)
    for module in modules:
        module.os = _Os(on_call)
    try:
        yield
    finally:
        kernel.exchange = real
        for module in modules:
            module.os = os


class Failing:
    """Raises the error at the calls whose numbers (from 1) are given, or from the first of them on."""

    def __init__(self, code: int, *numbers: int, on: bool = False) -> None:
        self._code = code
        self._numbers = numbers
        self._on = on
        self.calls: list[str] = []

    def __call__(self, name: str) -> None:
        self.calls.append(name)
        number = len(self.calls)
        if number in self._numbers or (self._on and number > min(self._numbers)):
            raise OSError(self._code, os.strerror(self._code))
