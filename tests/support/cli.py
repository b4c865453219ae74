"""The command line as a person or a script uses it, with its own home, state and cache: in a process of its own, or in
this one where nothing hangs on it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regreen.cli import main
from support.engines import settings_of_user

REGREEN = (sys.executable, "-m", "regreen")
LIMIT_S = 180.0


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout; anything beside it fails."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """A place to type commands in: a folder for home and state, and the working directory."""

    base: Path
    cwd: Path

    @property
    def environ(self) -> dict[str, str]:
        home = self.base / "home"
        if not home.exists():
            settings_of_user(home)
        return {
            "HOME": str(home), "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8",
            "REGREEN_STATE_DIR": str(self.base / "state"), "REGREEN_CACHE_DIR": str(self.base / "cache"),
        }  # fmt: skip

    def run(self, *args: str, stdin: str = "", extra: Mapping[str, str] | None = None, closed: str = "") -> Done:
        """Type `regreen ARGS` and wait for its end. `closed` are redirections of a shell, such as `>&-`."""
        shell = ("sh", "-c", f'exec "$@" {closed}', "sh") if closed else ()
        environ = {**self.environ, **(extra or {})}
        done = subprocess.run((*shell, *REGREEN, *args), cwd=self.cwd, env=environ, input=stdin, capture_output=True,
                              text=True, encoding="utf-8", timeout=LIMIT_S)  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)

    def typed(self, *args: str, stdin: str = "", extra: Mapping[str, str] | None = None) -> Done:
        """What `run` gives, by calling the command line in this process: that takes a tenth of the time."""
        given = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with environment({**self.environ, **(extra or {})}), contextlib.chdir(self.cwd), stdin_from(given), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):  # fmt: skip
            code = main(args)
        return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]

    @contextmanager
    def started(self, *args: str, extra: Mapping[str, str] | None = None) -> Generator[subprocess.Popen[str]]:
        """Type `regreen ARGS` and let it run; what is left of it at the end of the block is killed."""
        environ = {**self.environ, **(extra or {})}
        process = subprocess.Popen((*REGREEN, *args), cwd=self.cwd, env=environ, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        with process:
            try:
                yield process
            finally:
                process.kill()

    def on_terminal(self, *args: str, types: str = "") -> Done:
        """Type `regreen ARGS` at a terminal, and `types` when it asks. What it shows comes back as one stream."""
        with self.at_terminal(*args) as terminal:
            terminal.type(types)
            return terminal.end()

    @contextmanager
    def at_terminal(self, *args: str) -> Generator[Terminal]:
        """Type `regreen ARGS` at a terminal and look on; what is left of it at the end of the block is killed."""
        ours, theirs = pty.openpty()
        environ = {**self.environ, "TERM": "xterm-256color"}
        process = subprocess.Popen((*REGREEN, *args), cwd=self.cwd, env=environ, stdin=theirs, stdout=theirs,
                                   stderr=theirs, start_new_session=True)  # fmt: skip
        os.close(theirs)
        with process:
            try:
                yield Terminal(process, ours)
            finally:
                process.kill()
                os.close(ours)


@contextmanager
def environment(environ: Mapping[str, str]) -> Generator[None]:
    """This process with these variables, and no others, for a while."""
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(environ)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def stdin_from(stream: io.TextIOWrapper) -> Generator[None]:
    """This process with another standard input for a while."""
    before, sys.stdin = sys.stdin, stream
    try:
        yield
    finally:
        sys.stdin = before


class Terminal:
    """A terminal at which a command runs. What it shows is one stream."""

    def __init__(self, process: subprocess.Popen[bytes], ours: int) -> None:
        self.process = process
        self._ours = ours
        self._shown = bytearray()

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, text: str) -> None:
        """Wait until the terminal has shown the text."""
        while text.encode() not in self._shown:
            assert self._reads(), f"{text!r} was not shown: {self._shown.decode()}"

    def end(self) -> Done:
        """Wait for the end of the command."""
        while self._reads():
            pass
        return Done(self.process.wait(LIMIT_S), self._shown.decode(), "")

    def _reads(self) -> bool:
        try:
            piece = os.read(self._ours, 65536)
        except OSError:  # how a terminal says that nobody writes to it any more
            return False
        self._shown += piece
        return bool(piece)
