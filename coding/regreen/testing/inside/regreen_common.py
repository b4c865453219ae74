"""What every runner inside the project's interpreter shares: the private socket, where bytecode goes, and exceptions as
plain data. Standalone as those are: only the standard library, Python 3.8 or newer; regreen never imports it.

Bytecode of project files goes to a private folder (an edit of equal size within one second must not run old code), and
each event is a JSON line that carries the nonce of this run, which came down the socket and not through the argv.
"""

# ruff: noqa: PTH100, PTH103, PTH110, PTH118, PTH119, PTH120, PTH206, PTH211
from __future__ import annotations

import atexit
import faulthandler
import json
import linecache
import os
import signal
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from json import dumps
from os import fstat, getpid, write
from pathlib import Path
from threading import get_ident
from types import TracebackType
from typing import Any

MAX_TEXT = 60_000
MAX_FRAMES = 3
AROUND = 2


class Channel:
    """Our end of the socket. Writes only from the process that opened it, and only while it is still that socket."""

    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)
        self.fd = fd
        self.pid = os.getpid()
        self.identity = self._stat()
        self.nonce = ""
        self.written: Any = None
        self.thread = get_ident()
        self.busy = False

    def _stat(self) -> tuple[int, int]:
        info = fstat(self.fd)
        return info.st_dev, info.st_ino

    def read_job(self) -> dict[str, Any]:
        data = b""
        while not data.endswith(b"\n"):
            part = os.read(self.fd, 65536)
            if not part:
                sys.exit(1)
            data += part
        job = json.loads(data)
        self.nonce = job.pop("nonce")
        return job

    def send(self, kind: str, **fields: Any) -> None:
        """Tell one event, after the paths that were written before it."""
        if getpid() != self.pid:
            return
        self.flush()
        self._send(kind, fields)

    def flush(self) -> None:
        written = self.written
        if written is None or getpid() != self.pid:
            return
        paths = written.take()
        if paths:
            self._send("written", {"paths": paths, "full": written.full})

    def flush_now(self) -> None:
        """As `flush`, from inside whatever the tests do: not from other threads, nor in the middle of a message."""
        if not self.busy and get_ident() == self.thread:
            self.flush()

    def _send(self, kind: str, fields: dict[str, Any]) -> None:
        self.busy = True
        try:
            line = dumps({"n": self.nonce, "k": kind, **fields}).encode() + b"\n"
            if self._stat() != self.identity:
                return
            while line:
                line = line[write(self.fd, line) :]
        except OSError:
            return
        finally:
            self.busy = False


class Bytecode:
    """Sends the bytecode of project files to a private, empty folder; that of installed packages stays where it is."""

    def __init__(self, root: str, folder: str) -> None:
        self.roots = tuple({os.path.join(r, "") for r in (root, os.path.realpath(root))})
        self.library = os.path.join(os.path.dirname(os.__file__), "")
        self.folder = folder

    def ours(self, path: str) -> bool:
        inner = next((path[len(r) :] for r in self.roots if path.startswith(r)), "")
        parts = (inner or path).split(os.sep)
        return not ("site-packages" in parts or "dist-packages" in parts or path.startswith(self.library))

    def place(self, path: str) -> str:
        return os.path.join(self.folder, os.path.splitdrive(os.path.abspath(path))[1].lstrip(os.sep))

    def divert(self) -> None:
        external: Any = sys.modules.get("importlib._bootstrap_external") or sys.modules["_frozen_importlib_external"]
        usual = external.cache_from_source

        def cache_from_source(path: Any, *args: Any, **kwargs: Any) -> str:
            text = str(path)
            cached: str = usual(path, *args, **kwargs)
            if self.ours(text):
                return os.path.join(os.path.dirname(self.place(text)), os.path.basename(cached))
            return cached

        external.cache_from_source = cache_from_source
        if "_pytest" in sys.modules:
            self._divert_rewritten()

    def divert_children(self, warm: str) -> None:
        """The same for interpreters that tests start: a prefix, in which installed packages lead to a lasting folder,
        so that not every run compiles all of them anew."""
        installed = (p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages"))
        try:
            for folder in (self.library, *installed):
                link = self.place(folder)
                if not os.path.exists(link):
                    target = os.path.join(warm, link[len(self.folder) :].lstrip(os.sep))
                    os.makedirs(target, exist_ok=True)
                    os.makedirs(os.path.dirname(link), exist_ok=True)
                    os.symlink(target, link)
        except OSError:
            pass  # slower, not wrong
        os.environ["PYTHONPYCACHEPREFIX"] = self.folder

    def _divert_rewritten(self) -> None:
        from _pytest.assertion import rewrite

        usual: Any = getattr(rewrite, "get_cache_dir", None)
        if usual is not None:
            rewrite.get_cache_dir = lambda path: (  # pyright: ignore[reportAttributeAccessIssue]
                Path(self.place(str(path))).parent if self.ours(str(path)) else usual(path)
            )


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what it came from, outermost first."""
    seen: list[int] = []
    while error is not None and id(error) not in seen:
        seen.append(id(error))
        yield error
        holders: tuple[Any, ...] = (getattr(error, "cause", None), error.__cause__, error.__context__)
        error = next((e for e in holders if isinstance(e, BaseException)), None)


class Describer:
    """Turns an exception into plain data: type, message, and the last frames in files of the project."""

    def __init__(self, bytecode: Bytecode) -> None:
        self.bytecode = bytecode

    def exception(self, error: BaseException) -> dict[str, Any]:
        try:
            message = str(error)
        except Exception as e:  # noqa: BLE001 (a project's own __str__ may do anything)
            message = f"<str() of the exception failed: {type(e).__name__}>"
        frames = self.frames(error.__traceback__)
        if isinstance(error, SyntaxError) and error.filename and self.in_repo(error.filename):
            frames = [*frames, self.frame(error.filename, error.lineno or 1, "<syntax>")]
        return {
            "type": type(error).__name__,
            "message": message[:MAX_TEXT],
            "frames": frames[-MAX_FRAMES:],
        }

    def frames(self, trace: TracebackType | None) -> list[dict[str, Any]]:
        found: list[tuple[str, int, str]] = []
        while trace is not None:
            code = trace.tb_frame.f_code
            place = (code.co_filename, trace.tb_lineno, code.co_name)
            if self.in_repo(code.co_filename) and place != (found[-1] if found else None):
                found.append(place)
            trace = trace.tb_next
        return [self.frame(*f) for f in found[-MAX_FRAMES:]]

    def frame(self, path: str, line: int, name: str) -> dict[str, Any]:
        first = max(1, line - AROUND)
        lines = [linecache.getline(path, n).rstrip("\n")[:300] for n in range(first, line + AROUND)]
        return {"path": path, "line": line, "name": name, "first": first, "lines": lines}

    def in_repo(self, path: str) -> bool:
        return self.bytecode.ours(path) and any(path.startswith(r) for r in self.bytecode.roots)

    def from_longrepr(self, longrepr: Any) -> dict[str, Any]:
        """The same from a report that was made in another process (pytest-xdist)."""
        crash = getattr(longrepr, "reprcrash", None)
        text = str(getattr(crash, "message", "") or longrepr)
        name = text.split(":")[0].strip()
        frames: list[dict[str, Any]] = []
        for entry in getattr(getattr(longrepr, "reprtraceback", None), "reprentries", ()):
            place = getattr(entry, "reprfileloc", None)
            if place is not None:
                path = os.path.abspath(place.path)
                name = str(place.message or name).split(":")[0]
                if self.in_repo(path):
                    frames.append(self.frame(path, place.lineno, "?"))
        name = "AssertionError" if name.startswith("assert ") else name if name.isidentifier() else ""
        message = text[len(name) + 1 :].strip() if name and text.startswith(name + ":") else text
        return {"type": name, "message": message, "frames": frames[-MAX_FRAMES:]}


def allow_dump(path: str) -> None:
    """On SIGXCPU, which comes before a time limit kills us, write where every thread stands."""
    if hasattr(signal, "SIGXCPU") and hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGXCPU, file=os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def watch_writes(channel: Channel, root: str, ignored: list[str]) -> None:
    """From now on tell which paths below `root` this process writes, up to its very end."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "regreen_written.py")
    spec: Any = spec_from_file_location("regreen_written", path)
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    channel.written = module.install(root, ignored, channel.flush_now)
    atexit.register(channel.flush)
