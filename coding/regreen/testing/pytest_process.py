"""One process of a Python runner in the project's interpreter: supervised, and heard over the private channel.

Everything that it needs to write goes to a private folder that is gone afterwards; nothing of ours lands in the
user's tree. The time limit of a single test is kept here, by the clock, from the messages about started tests.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from regreen.sandbox import (
    CHANNEL,
    MAX_FILE_BYTES,
    Cancel,
    Command,
    Completed,
    child_environment,
    confined,
    run,
)
from regreen.testing.caching import project_cache
from regreen.testing.channel import Record
from regreen.testing.interpreter import Interpreter
from regreen.testing.lasting import GRACE_S, LASTED
from regreen.testing.request import SuiteRequest

MAX_DUMP_BYTES = 64 * 1024
DUMP = "dump.txt"
PYTEST_INSIDE = "regreen_inside"
_LAUNCH = Path(__file__).with_name("inside") / "launch.py"
_TORN_DOWN_PER_S = 2000  # tests whose remains an interpreter clears away in a second, at least
_COLLECT_S = 20.0  # a test file may take this long to import, however short the limit of a test is


@dataclass(frozen=True, slots=True)
class Part:
    """What came of one process. `overdue` are the tests (or the file in collection) over their own time limit;
    `stack` is what the process wrote about where it stood when it was stopped; `notes` go into the report."""

    record: Record
    completed: Completed
    overdue: tuple[str, ...]
    stack: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start it. `only` and `skip` are test ids, applied after collection; they switch pytest-xdist off.
    `inside` is the module that runs there; `targets` are told to it apart from its arguments."""

    interpreter: Interpreter
    arguments: tuple[str, ...]
    log: Path
    timeout_s: float
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    inside: str = PYTEST_INSIDE
    targets: tuple[str, ...] = ()


OnChange = Callable[[Record], None]


class RunPart(Protocol):
    """Runs one process to its end, calling `on_change` in this thread for what it tells."""

    def __call__(self, launch: Launch, request: SuiteRequest, cancel: Cancel, on_change: OnChange, /) -> Part: ...


def run_part(launch: Launch, request: SuiteRequest, cancel: Cancel, on_change: OnChange) -> Part:
    """Run one process, started cold, to its end."""
    record = Record(secrets.token_hex(16), time.monotonic)
    limits = TimeLimits(record, request.per_test_timeout_s)

    def heard(data: bytes) -> None:
        record.feed(data)
        on_change(record)

    with tempfile.TemporaryDirectory(prefix="regreen-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        completed = run(
            _command(launch, request, folder),
            cancel=cancel,
            on_channel=heard,
            first_words=job_line(record.nonce, launch, request, folder),
            watch=limits.next_end,
            dump=True,
        )
        stack = read_stack(folder)
    return settled(Part(record, completed, limits.overdue() if completed.timed_out else (), stack))


def settled(part: Part) -> Part:
    """The part, where it was ended only because it went on when all was told: with the exit status that it told."""
    told = part.record.exit_code
    if told is None or not part.completed.timed_out:
        return part
    completed = replace(part.completed, timed_out=False, signal=0, returncode=told, limit="")
    return replace(part, completed=completed, overdue=(), notes=(*part.notes, LASTED))


class TimeLimits:
    """When the test that runs now must have ended; and, when all is told, the process itself."""

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
        if self._record.exit_code is not None:
            return self._record.exit_at + GRACE_S + len(self._record.ended) / _TORN_DOWN_PER_S
        return min((end for _, end in self._ends()), default=float("inf"))

    def overdue(self) -> tuple[str, ...]:
        now = time.monotonic()
        return tuple(name for name, end in self._ends() if end <= now)


def _command(launch: Launch, request: SuiteRequest, folder: Path) -> Command:
    limits = request.settings.limits
    own = private_arguments(request, folder) if launch.inside == PYTEST_INSIDE else ()
    lasting = lasting_folders(request)
    return Command(
        argv=(launch.interpreter.path, str(_LAUNCH), launch.inside, CHANNEL, *own, *launch.arguments),
        cwd=request.folder,
        env=process_environment(launch.interpreter, request, private_tmp(folder)),
        timeout_s=launch.timeout_s,
        output_path=launch.log,
        max_output_bytes=limits.max_output_bytes,
        memory_mib=limits.memory_mib,
        max_file_bytes=MAX_FILE_BYTES,
        scrap=folder,
        confinement=confined(request.settings, request.workspace.root, (folder, *lasting)),
    )


def lasting_folders(request: SuiteRequest) -> tuple[Path, Path]:
    """What stays from run to run of a project, made: pytest's cache, and the bytecode of installed packages."""
    cache = request.store_folder / "pytest-cache"
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    return cache, project_cache(request.settings.cache_dir, "bytecode", request.workspace.root)


def private_arguments(request: SuiteRequest, folder: Path) -> tuple[str, ...]:
    """What keeps pytest's own writes out of the project. Words of the caller come later and win."""
    cache = request.store_folder / "pytest-cache"
    return ("-o", f"cache_dir={cache}", f"--basetemp={folder / 't'}", "--color=no")


def private_tmp(folder: Path) -> Path:
    """The folder for temporary files inside a private folder, made now."""
    temporary = folder / "tmp"
    temporary.mkdir(mode=0o700)
    return temporary


def process_environment(interpreter: Interpreter, request: SuiteRequest, temporary: Path) -> dict[str, str]:
    """The environment of a process whose temporary files go to `temporary`."""
    own = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    return child_environment(
        request.settings.environ,
        {**own, **request.environment},
        root=request.workspace.root,
        venv=interpreter.venv,
    )


def job_line(nonce: str, launch: Launch, request: SuiteRequest, folder: Path, **more: bool) -> bytes:
    """What the inside of a process is told first."""
    job: dict[str, str | bool | Sequence[str]] = {
        "nonce": nonce,
        "root": str(request.workspace.root),
        "pyc": str(folder / "pyc"),
        "warm": str(lasting_folders(request)[1]),
        "dump": str(folder / DUMP),
        "only": launch.only,
        "skip": launch.skip,
        "targets": launch.targets,
        "watch": request.on_written is not None,
        "own": [str(p) for p in (folder, request.store_folder.resolve(), request.settings.cache_dir)],
        **more,
    }
    return json.dumps(job).encode() + b"\n"


def read_stack(folder: Path) -> str:
    """What a process wrote into its private folder about where it stood."""
    try:
        with (folder / DUMP).open("rb") as file:
            return file.read(MAX_DUMP_BYTES).decode(errors="replace")
    except OSError:
        return ""
