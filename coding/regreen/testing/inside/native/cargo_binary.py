"""One program of tests: listed, run, and heard while it runs. Standalone.

Rust's harness tells each test's start and end as JSON when its unstable options are switched on for the program that
runs (nothing is built differently). Which test ended a program is known from what had started and not ended; where
several had, each is run once more alone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driver_channel import Channel, Log, cut
from libtest_text import TextReader

_KEPT_ERRORS = 16_000
_DRAIN_S = 2.0
_LIST_S = 60.0
_MAX_WORDS = 60_000  # of names in one argv
_JSON = ("-Z", "unstable-options", "--format", "json", "--report-time")
_OUTCOMES = {"ok": "passed", "failed": "failed", "ignored": "skipped"}
_FAILED = 101


@dataclass
class Program:
    """A test program. `options` are for the harness; `plain`: its text is read, since its JSON is not to be had."""

    label: str
    path: str
    folder: Path
    env: Mapping[str, str]
    harness: bool = True
    plain: bool = False
    options: tuple[str, ...] = ()


@dataclass
class Heard:
    """What one process told. `running` holds the tests that have started and not ended, `ended` how others did."""

    running: dict[str, float] = field(default_factory=dict[str, float])
    ended: dict[str, str] = field(default_factory=dict[str, str])
    failed: int = 0
    finished: bool = False
    errors: bytes = b""
    returncode: int = 0

    @property
    def crashed(self) -> bool:
        return not self.finished or self.returncode not in (0, _FAILED)

    @property
    def how(self) -> str:
        code = self.returncode
        if code >= 0:
            return f"exit status {code}"
        try:
            return f"signal {-code} ({signal.Signals(-code).name})"
        except ValueError:
            return f"signal {-code}"


class Runs:
    """Runs programs and tells what happens. `broken` counts those that ended without their results."""

    def __init__(self, channel: Channel, log: Log, *, isolate: bool) -> None:
        self._channel, self._log, self._isolate = channel, log, isolate
        self.broken = 0
        self.failed = 0

    def names(self, program: Program) -> list[str] | None:
        """Its tests; None where it cannot tell."""
        if not program.harness:
            return []
        argv = [program.path, "--list", "--format", "terse", *_listing(program.options)]
        try:
            done = subprocess.run(
                argv, cwd=program.folder, env=dict(program.env), stdin=subprocess.DEVNULL, capture_output=True,
                timeout=_LIST_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as e:
            self._log.line(f"{program.label}: {e}")
            return None
        if done.returncode:
            self._log.write(done.stdout + done.stderr)
            return None
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        return [line.removesuffix(": test") for line in lines if line.endswith(": test")]

    def run(self, program: Program, names: Sequence[str] | None) -> None:
        """Run these tests of it, all for None."""
        if not program.harness:
            self._run_whole(program)
            return
        for part in _parts(names):
            self._run_part(program, part)

    def _run_whole(self, program: Program) -> None:
        """A program with a harness of its own: its exit status is all that is known."""
        test = program.label
        heard = Heard(finished=True)
        self._channel.send("start", id=test)
        started = time.monotonic()
        self._process(program, [], heard, self._log.line)
        outcome = "passed" if heard.returncode == 0 else "failed"
        self.failed += outcome == "failed"
        text = heard.errors.decode("utf-8", "replace")
        self._channel.send("end", id=test, outcome=outcome, time=time.monotonic() - started, text=cut(text),
                           said="" if outcome == "passed" else f"ended with {heard.how}", whole=True)  # fmt: skip

    def _run_part(self, program: Program, names: Sequence[str] | None) -> None:
        skipped: list[str] = []
        while True:
            heard = self._heard(program, names, skipped, tell=True)
            self.failed += heard.failed
            if not heard.crashed:
                return
            culprits = self._culprits(program, heard)
            self._tell_crash(program, heard, culprits)
            self.broken += 1
            if not self._isolate or not culprits:
                return
            skipped += [*culprits, *heard.ended]

    def _culprits(self, program: Program, heard: Heard) -> list[str]:
        running = list(heard.running)
        if len(running) < 2:
            return running
        found = [name for name in running if self._heard(program, [name], [], tell=False).crashed]
        return found or running

    def _tell_crash(self, program: Program, heard: Heard, culprits: Sequence[str]) -> None:
        text = cut(heard.errors.decode("utf-8", "replace"))
        how = heard.how if heard.returncode else "exit status 0 before it had told its results"
        for name in culprits:
            self._channel.send("crash", id=f"{program.label}::{name}", how=how, text=text)
        if not culprits:
            self._channel.send("lost", label=program.label, how=how, text=text)
        self._log.line(f"{program.label}: ended with {how}")

    def _heard(self, program: Program, names: Sequence[str] | None, skipped: Sequence[str], *, tell: bool) -> Heard:
        argv = [*(() if program.plain else _JSON), *program.options]
        if skipped:
            argv += [word for name in skipped for word in ("--skip", name)]
        if names is not None:
            argv += ["--exact", *names]
        elif skipped:
            argv.append("--exact")
        heard = Heard()
        if program.plain:
            reader = TextReader(lambda _, name, outcome, text: self._told(program, heard, name, outcome, text, tell))
            self._process(program, argv, heard, lambda line: (self._log.line(line), reader.line(line))[0])
            heard.finished = reader.summaries > 0
            reader.flush()
        else:
            self._process(program, argv, heard, lambda line: self._event(program, heard, line, tell))
        return heard

    def _told(self, program: Program, heard: Heard, name: str, outcome: str, text: str, tell: bool) -> None:
        heard.ended[name] = outcome
        heard.failed += outcome == "failed"
        if tell:
            self._channel.send("start", id=f"{program.label}::{name}")
            self._channel.send("end", id=f"{program.label}::{name}", outcome=outcome, time=0.0, text=cut(text), said="")

    def _event(self, program: Program, heard: Heard, line: str, tell: bool) -> None:
        before, event = _json_in(line)
        if before.strip():
            self._log.line(before)
        if event is None:
            return
        name, what = str(event.get("name", "")), event.get("event")
        if event["type"] == "suite":
            heard.finished = heard.finished or what in ("ok", "failed")
        elif event["type"] == "test" and what == "started":
            heard.running[name] = time.monotonic()
            if tell:
                self._channel.send("start", id=f"{program.label}::{name}")
        elif event["type"] in ("test", "bench"):
            self._ended(program, heard, event, tell)

    def _ended(self, program: Program, heard: Heard, event: Mapping[str, Any], tell: bool) -> None:
        name, outcome = str(event.get("name", "")), _OUTCOMES.get(str(event.get("event", "ok")))
        # A test may print what looks like the harness's word on another one: of two, the one that says "failed" counts.
        if outcome is None or (name in heard.ended and (outcome != "failed" or heard.ended[name] == "failed")):
            return
        heard.running.pop(name, None)
        heard.ended[name] = outcome
        heard.failed += outcome == "failed"
        text = str(event.get("stdout", ""))
        if tell:
            said = str(event.get("message", ""))
            seconds = event.get("exec_time", 0.0)
            self._channel.send("end", id=f"{program.label}::{name}", outcome=outcome, said=said,
                               time=seconds if isinstance(seconds, (int, float)) else 0.0, text=cut(text))  # fmt: skip
            self._log.line(f"test {program.label}::{name} ... {outcome}")
            if outcome == "failed" and text:
                self._log.line(text)

    def _process(self, program: Program, argv: Sequence[str], heard: Heard, on_line: Callable[[str], object]) -> None:
        """Run it to its end. Whoever holds its pipes longer than it lives is not waited for."""
        try:
            child = subprocess.Popen(
                [program.path, *argv], cwd=program.folder, env=dict(program.env), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        except OSError as e:
            heard.errors, heard.returncode = str(e).encode(), 126
            return
        assert child.stdout is not None
        assert child.stderr is not None
        out, err = child.stdout.fileno(), child.stderr.fileno()
        readers = [
            threading.Thread(target=_lines, args=(out, on_line), daemon=True),
            threading.Thread(target=self._errors, args=(err, heard), daemon=True),
        ]
        for reader in readers:
            reader.start()
        heard.returncode = child.wait()
        end = time.monotonic() + _DRAIN_S
        for reader in readers:
            reader.join(max(0.05, end - time.monotonic()))

    def _errors(self, fd: int, heard: Heard) -> None:
        while data := os.read(fd, 65536):
            self._log.write(data)
            heard.errors = (heard.errors + data)[-_KEPT_ERRORS:]


def _lines(fd: int, on_line: Callable[[str], object]) -> None:
    rest = b""
    while data := os.read(fd, 65536):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            on_line(line.decode("utf-8", "replace"))
    if rest:
        on_line(rest.decode("utf-8", "replace"))


def _json_in(line: str) -> tuple[str, Mapping[str, Any] | None]:
    """What a test wrote itself, and the harness's own event behind it."""
    start = line.find('{ "type": "')
    if start < 0:
        return line, None
    try:
        event = json.loads(line[start:])
    except (ValueError, RecursionError):
        return line, None
    return line[:start], event


def _parts(names: Sequence[str] | None) -> list[Sequence[str] | None]:
    if names is None:
        return [None]
    parts: list[Sequence[str] | None] = []
    part: list[str] = []
    size = 0
    for name in names:
        part.append(name)
        size += len(name.encode()) + 1
        if size > _MAX_WORDS:
            parts.append(part)
            part, size = [], 0
    return [*parts, part] if part else parts


def _listing(options: Sequence[str]) -> list[str]:
    """Those of the harness's options that say which tests are meant."""
    return [o for o in options if o in ("--ignored", "--include-ignored")]
