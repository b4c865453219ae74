"""The search's end of the line to its worker: starts it in the sandbox, asks, counts the CPU time of what it runs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from regreen.sandbox import CHANNEL, Cancel, Command, child_environment, confined, spawn
from regreen.settings import Settings
from regreen.testing import Interpreter

Message: TypeAlias = Mapping[str, Any]

_WORKER = Path(__file__).with_name("worker") / "regreen_search_worker.py"
_OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--capture=sys", "--color=no", "--tb=native")
_POLL_S = 0.25
_CHUNK_BYTES = 1 << 16
MEMORY_BYTES = 1 << 30


class WorkerGone(Exception):
    """The worker ended, was cancelled, or did not answer in time. Carries why, for the note."""


@dataclass(frozen=True, slots=True)
class Place:
    """The private folder of a search, with the copy of the project in it and room for everything temporary."""

    original: Path
    folder: Path

    @property
    def copy(self) -> Path:
        return self.folder / "copy" / (self.original.name or "project")

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"


class Link:
    """A running worker. `cpu_s` is what its children have used so far, as they report it."""

    def __init__(
        self, place: Place, interpreter: Interpreter, settings: Settings, selection: Sequence[str], cancel: Cancel
    ) -> None:
        self.cpu_s = 0.0
        self._cancel = cancel
        self._buffer = b""
        config = {
            "root": str(place.copy),
            "original": str(place.original),
            "selection": list(selection),
            "options": [*_OPTIONS, f"--basetemp={place.scratch / 'pytest'}"],
        }
        self._child = spawn(
            Command(
                argv=(interpreter.path, str(_WORKER), CHANNEL),
                cwd=place.copy,
                env=_environment(place, interpreter, settings),
                timeout_s=3600.0,
                memory_mib=settings.limits.memory_mib,
                scrap=place.folder,
                confinement=confined(settings, place.folder),
            ),
            cancel=cancel,
        )
        self._send(config)

    def ask(self, message: Message, timeout_s: float) -> Message:
        """Send a request and wait for its answer. Raises WorkerGone."""
        self._send(message)
        answer = self.answer(timeout_s)
        self.cpu_s += float(answer.get("cpu_s", 0.0))
        return answer

    def answer(self, timeout_s: float) -> Message:
        """The next line from the worker."""
        deadline = time.monotonic() + timeout_s
        self._child.channel.settimeout(_POLL_S)
        while b"\n" not in self._buffer:
            if self._cancel.is_set():
                raise WorkerGone("cancelled")
            if time.monotonic() > deadline:
                raise WorkerGone("the worker did not answer in time")
            try:
                data = self._child.channel.recv(_CHUNK_BYTES)
            except TimeoutError:
                continue
            except OSError as e:
                raise WorkerGone(str(e)) from e
            if not data:
                raise WorkerGone("the worker ended")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer = cast("Message", json.loads(line))
        if "dead" in answer:
            raise WorkerGone("the test session ended by itself")
        return answer

    def _send(self, message: Message) -> None:
        self._child.channel.settimeout(30.0)
        try:
            self._child.channel.sendall(json.dumps(message).encode() + b"\n")
        except OSError as e:
            raise WorkerGone(str(e)) from e

    def close(self) -> None:
        """End the worker and all its children."""
        self._child.kill()


def _environment(place: Place, interpreter: Interpreter, settings: Settings) -> dict[str, str]:
    """The usual environment of a test run, with every place to write private to this search."""
    folders = {name: place.scratch / name for name in ("tmp", "home", "pyc")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    extra = {
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folders["tmp"])),
        "HOME": str(folders["home"]),
        "PYTHONPYCACHEPREFIX": str(folders["pyc"]),
        "PYTHONHASHSEED": "0",
        **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    }
    return child_environment(settings.environ, extra, root=place.original, venv=interpreter.venv)
