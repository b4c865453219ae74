"""A fork server seen from here: started in the sandbox, told what to import ahead, asked for runs, ended.

It lives no longer than we do, and neither does what it forks: both are below the same supervisor.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from regreen.errors import EnvironmentFault
from regreen.sandbox import CHANNEL, MAX_FILE_BYTES, Cancel, Command, Completed, confined, spawn
from regreen.testing.interpreter import Interpreter
from regreen.testing.pytest_process import lasting_folders, process_environment
from regreen.testing.request import SuiteRequest
from regreen.testing.warm.forked import Forked, spool_command
from regreen.testing.warm.knowledge import Knowledge
from regreen.testing.warm.talk import Message, Talk
from regreen.testing.warm.values import GoCold

MAX_RUNS = 500  # then a fresh one: its hash seed is that of all its runs
MAX_AGE_S = 3600.0
_LIFE_S = 6 * 3600.0
_START_S = 60.0
_PRELOAD_S = 300.0
_LAUNCH = Path(__file__).with_name("inside") / "launch_fork.py"
# libraries that would start threads as they are imported; what tests see of these variables is as without us
_ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
     "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "ARROW_IO_THREADS"), "1",
)  # fmt: skip


class ForkServer:
    """One server process. `sites` are the folders of installed packages, once it has said hello."""

    def __init__(self, interpreter: Interpreter, request: SuiteRequest) -> None:
        self.sites: tuple[str, ...] = ()
        self.runs = 0
        self._started = time.monotonic()
        self._preloading = False
        self.folder = Path(tempfile.mkdtemp(prefix="regreen-warm-")).resolve()
        temporary = self.folder / "tmp"
        temporary.mkdir(mode=0o700)
        self._environment = {**process_environment(interpreter, request, temporary), **_ONE_THREAD}
        try:
            self._child = spawn(_command(interpreter, request, self.folder, self._environment), cancel=Cancel())
        except EnvironmentFault:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._talk = Talk(self._child.channel)

    @property
    def worn(self) -> bool:
        return self.runs >= MAX_RUNS or time.monotonic() - self._started > MAX_AGE_S

    def hello(self, cancel: Cancel) -> None:
        """Wait until it has started. Raises GoCold where it does not, or must not be forked."""
        if self.sites:
            return
        said = self._talk.answer(_START_S, cancel)
        if said["trouble"] or not said["adopts"]:
            raise GoCold(said["trouble"] or "it cannot adopt what tests leave behind", broken=True)
        self.sites = tuple(str(s) for s in said["site"])

    def preload(self, known: Knowledge) -> None:
        """Begin to import what is known; does not wait."""
        self._talk.say(known.order)
        self._preloading = True

    def preloaded(self, cancel: Cancel) -> None:
        """Wait until that is done. Raises GoCold (`avoid`) where a module must not be imported ahead."""
        if self._preloading:
            said = self._talk.answer(_PRELOAD_S, cancel)
            self._preloading = False
            if said["avoid"]:
                raise GoCold(str(said["why"]), broken=True, avoid=(str(said["avoid"]),))

    def run(
        self,
        order: Message,
        first_words: Callable[[Path], bytes],
        log: Path,
        limits: tuple[float, int],
        cancel: Cancel,
        on_channel: Callable[[bytes], None],
        watch: Callable[[], float],
        folder: Path,
    ) -> Completed:
        """Fork and wait for the end. `folder` is private to the run; `limits` are seconds and bytes of output."""
        self.runs += 1
        timeout_s, max_output_bytes = limits
        cpu_s = math.ceil(timeout_s) * (os.cpu_count() or 1) + 1
        command = spool_command(log, timeout_s, max_output_bytes, folder)
        with Forked(self._talk, self.runs, command) as forked:
            order = {**order, "timeout_s": timeout_s, "cpu_s": cpu_s, "given": list(self._environment)}
            forked.start(order, first_words(folder))
            return forked.follow(cancel, on_channel, watch)

    def close(self) -> str:
        """End it and everything that came of it. Returns the end of what it printed."""
        completed = self._child.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        return completed.output_head.decode(errors="replace")[-300:].strip() if completed else ""


def _command(interpreter: Interpreter, request: SuiteRequest, folder: Path, environment: Mapping[str, str]) -> Command:
    return Command(
        argv=(interpreter.path, str(_LAUNCH), CHANNEL),
        cwd=request.folder,
        env=environment,
        timeout_s=_LIFE_S,
        memory_mib=request.settings.limits.memory_mib,
        max_file_bytes=MAX_FILE_BYTES,
        scrap=folder,
        confinement=confined(request.settings, request.workspace.root, (folder, *lasting_folders(request))),
    )
