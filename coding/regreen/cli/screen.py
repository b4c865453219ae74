"""Where output goes: results to stdout, progress and messages to stderr. Colour only on a terminal.

A spinner is shown on a terminal when something takes over a second; with `--ci`, progress is plain lines instead. Where
stderr is no terminal, `logs` says that the stages of long work are worth a line each.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from regreen.cli.lines import Line, harmless
from regreen.cli.wording import worded
from regreen.wire import Json, encodable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

_COLOURS = {"good": "green", "bad": "red", "warn": "yellow", "dim": "dim", "strong": "bold", "added": "green",
            "removed": "red", "hunk": "cyan"}  # fmt: skip
_SPINNER_AFTER_S = 1.0
_LOG_EVERY_S = 5.0  # of counters and the like, with `--ci`
_NUMBER = re.compile(r"\d+")


class Screen:
    """The two streams of one command. With `as_json`, stdout carries one document and nothing else."""

    def __init__(self, out: TextIO, err: TextIO, environ: Mapping[str, str], *, as_json: bool, ci: bool) -> None:
        self.as_json = as_json
        self.ci = ci
        self._out, self._err = out, err
        plain = ci or bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
        self._colour_out = not plain and out.isatty()
        self.lively = not ci and not as_json and environ.get("TERM") != "dumb" and err.isatty()
        self._colour_err = not plain and err.isatty()
        self.logs = not as_json and (ci or not err.isatty())
        self.answers = not as_json and not ci and err.isatty()
        self.together = _same(out, err)
        self.interrupted = threading.Event()
        self.live: Console | None = None
        """Where a spinner turns at the moment: what is told then is written above it."""
        self.asks = threading.Event()

    def document(self, data: Mapping[str, Json]) -> None:
        """The one JSON document."""
        self._out.write(json.dumps(encodable(dict(data))) + "\n")
        self._out.flush()

    def show(self, lines: Iterable[Line]) -> None:
        """A result, on stdout."""
        _write(self._out, lines, colour=self._colour_out)

    def tell(self, lines: Iterable[Line]) -> None:
        """A message, on stderr. Where nobody can take it, the command goes on all the same."""
        try:
            _write(self._err, lines, colour=self._colour_err, live=self.live)
        except OSError:
            drop(self._err)

    def progress(self) -> Progress:
        return Progress(self, self._err)

    @contextmanager
    def asking(self) -> Generator[None]:
        """While a question stands on the terminal, no spinner turns there."""
        self.asks.set()
        try:
            yield
        finally:
            self.asks.clear()


def _same(out: TextIO, err: TextIO) -> bool:
    """Do both streams end in the same place, so that what one was told need not be told on the other?"""
    try:
        return os.path.sameopenfile(out.fileno(), err.fileno())
    except (OSError, ValueError):  # closed, or no file at all
        return False


def open_streams() -> None:
    """Let a standard stream that was closed (`>&-`) lead nowhere: the command works on without it. Its number is taken,
    too: else the next file that is opened gets it, and what a child prints would land in that."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
            stream = open(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def drop(stream: TextIO) -> None:
    """Let what is written from now on, and the interpreter's last flush, go nowhere: the reader has left."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), stream.fileno())


def _write(stream: TextIO, lines: Iterable[Line], *, colour: bool, live: Console | None = None) -> None:
    if not colour and live is None:
        stream.writelines(harmless(line.text) + "\n" for line in lines)
    else:
        from rich.text import Text

        console = live or _console(stream)
        for line in lines:
            console.print(Text(harmless(line.text), style=_COLOURS.get(line.style, "")), soft_wrap=True)
    stream.flush()


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


class Progress:
    """What is going on, for somebody who waits. `update` may come from any thread; `tick` from the waiting one."""

    def __init__(self, screen: Screen, err: TextIO) -> None:
        self._screen = screen
        self._err = err
        self._started = time.monotonic()
        self._message = "starting"
        self._logged, self._logged_at = "", 0.0
        self._status: Status | None = None
        self._lock = threading.Lock()

    def update(self, message: str) -> None:
        """The latest word on what is being done."""
        message = worded(message)
        with self._lock:
            if message == self._message:
                return
            self._message = message
            if self._screen.ci and self._worth_a_line(message):
                self._screen.tell([Line(f"regreen: {message}")])

    def _worth_a_line(self, message: str) -> bool:
        """Whether to log it: always what is new, seldom what differs from the last line by its numbers only."""
        kind, now = _NUMBER.sub("0", message), time.monotonic()
        if kind == self._logged and now - self._logged_at < _LOG_EVERY_S:
            return False
        self._logged, self._logged_at = kind, now
        return True

    def tick(self) -> None:
        """Let the spinner appear or turn, once the wait is long enough."""
        if not self._screen.lively or self._screen.asks.is_set():
            self.stop()
            return
        waited_s = time.monotonic() - self._started
        if self._status is None and waited_s >= _SPINNER_AFTER_S:
            console = _console(self._err)
            self._status = console.status("")
            self._status.start()
            self._screen.live = console
        if self._status is not None:
            from rich.text import Text

            with self._lock:
                message = harmless(self._message).replace("\n", " ")[:200]
            self._status.update(Text(f"{message} ({waited_s:.0f} s)"))

    def stop(self) -> None:
        if self._status is not None:
            self._screen.live = None
            self._status.stop()
            self._status = None
