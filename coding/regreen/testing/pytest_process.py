"""One pytest process in the project's interpreter: started under the supervisor, heard over the private channel.

Everything that it needs to write goes to a private folder that is gone afterwards; nothing of ours lands in the
user's tree. The time limit of a single test is kept here, by the clock, from the messages about started tests.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from regreen.sandbox import CHANNEL, Cancel, Command, Completed, child_environment, run
from regreen.testing.channel import Record
from regreen.testing.interpreter import Interpreter
from regreen.testing.request import SuiteRequest

MAX_FILE_BYTES = 4 * 1024 * 1024 * 1024
MAX_DUMP_BYTES = 64 * 1024
_LAUNCH = Path(__file__).with_name("inside") / "launch.py"
_COLLECT_S = 20.0  # a test file may take this long to import, however short the limit of a test is


@dataclass(frozen=True, slots=True)
class Part:
    """What came of one process. `overdue` are the tests (or the file in collection) over their own time limit;
    `stack` is what the process wrote about where it stood when it was stopped."""

    record: Record
    completed: Completed
    overdue: tuple[str, ...]
    stack: str


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start it. `only` and `skip` are test ids, applied after collection; they switch pytest-xdist off."""

    interpreter: Interpreter
    arguments: tuple[str, ...]
    log: Path
    timeout_s: float
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()


def run_part(launch: Launch, request: SuiteRequest, cancel: Cancel, on_change: Callable[[Record], None]) -> Part:
    """Run one process to its end."""
    record = Record(secrets.token_hex(16), time.monotonic)
    limits = _Limits(record, request.per_test_timeout_s)

    def heard(data: bytes) -> None:
        record.feed(data)
        on_change(record)

    with tempfile.TemporaryDirectory(prefix="regreen-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        completed = run(
            _command(launch, request, folder),
            cancel=cancel,
            on_channel=heard,
            first_words=_job(record.nonce, launch, request, folder),
            watch=limits.next_end,
            dump=True,
        )
        stack = _read(folder / "dump.txt")
    return Part(record, completed, limits.overdue() if completed.timed_out else (), stack)


class _Limits:
    """When the test that runs now must have ended."""

    def __init__(self, record: Record, per_test_s: float) -> None:
        self._record = record
        self._per_test_s = per_test_s

    def _ends(self) -> list[tuple[str, float]]:
        if not self._per_test_s:
            return []
        ends = [(name, start + self._per_test_s) for name, start in self._record.running.items()]
        if self._record.collecting is not None:
            name, start = self._record.collecting
            ends.append((name, start + max(_COLLECT_S, 3 * self._per_test_s)))
        return ends

    def next_end(self) -> float:
        return min((end for _, end in self._ends()), default=float("inf"))

    def overdue(self) -> tuple[str, ...]:
        now = time.monotonic()
        return tuple(name for name, end in self._ends() if end <= now)


def _command(launch: Launch, request: SuiteRequest, folder: Path) -> Command:
    limits = request.settings.limits
    temporary = folder / "tmp"
    temporary.mkdir(mode=0o700)
    cache = request.store_folder / "pytest-cache"
    private = ("-o", f"cache_dir={cache}", f"--basetemp={folder / 't'}", "--color=no")
    env = child_environment(
        request.settings.environ,
        {**dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)), **request.environment},
        root=request.workspace.root,
        venv=launch.interpreter.venv,
    )
    return Command(
        argv=(launch.interpreter.path, str(_LAUNCH), CHANNEL, *private, *launch.arguments),
        cwd=request.workspace.root,
        env=env,
        timeout_s=launch.timeout_s,
        output_path=launch.log,
        max_output_bytes=limits.max_output_bytes,
        memory_mib=limits.memory_mib,
        max_file_bytes=MAX_FILE_BYTES,
        scrap=folder,
    )


def _job(nonce: str, launch: Launch, request: SuiteRequest, folder: Path) -> bytes:
    job: dict[str, str | bool | Sequence[str]] = {
        "nonce": nonce,
        "root": str(request.workspace.root),
        "pyc": str(folder / "pyc"),
        "warm": str(request.settings.cache_dir / "bytecode"),
        "dump": str(folder / "dump.txt"),
        "only": launch.only,
        "skip": launch.skip,
        "watch": request.on_written is not None,
        "own": [str(p) for p in (folder, request.store_folder.resolve(), request.settings.cache_dir)],
    }
    return json.dumps(job).encode() + b"\n"


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_DUMP_BYTES).decode(errors="replace")
    except OSError:
        return ""
