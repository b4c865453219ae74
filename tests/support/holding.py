"""A project whose tests can be stopped in the middle of a run of one's choice, to do something meanwhile.

The test process and the test talk by files in a folder beside the project, which the sandbox lets it write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regreen.session import Engine, FixOptions
from regreen.session.fixing import FixJob
from support.engines import ok, script
from support.fixing import fixable, fixer
from support.processes import until

LIMIT_S = 100.0
_CONFTEST = """\
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

HERE, BESIDE = Path(__file__).parent, Path({beside!r})
CHILD = "import signal, threading; signal.signal(signal.SIGTERM, signal.SIG_IGN); threading.Event().wait(120)"


@pytest.fixture(scope="session", autouse=True)
def _hold_at_the_end():
    yield
    asked = BESIDE / "hold.json"
    order = json.loads(asked.read_text()) if asked.exists() else {{}}
    if order and order["needle"] in (HERE / "calc.py").read_text():
        order["nth"] -= 1
        asked.write_text(json.dumps(order))
        if not order["nth"]:
            hold(order["stubborn"])


def hold(stubborn):
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for session in (False, True):
            subprocess.Popen([sys.executable, "-c", CHILD, {beside!r}], start_new_session=session)
    (BESIDE / "holding").write_text("")
    pause = threading.Event()
    for _ in range(6000):
        if (BESIDE / "go").exists():
            return
        pause.wait(0.01)
"""


@dataclass(frozen=True)
class Holding:
    """An engine on such a project. `beside` is the folder that both sides know; its name marks the processes."""

    engine: Engine
    root: Path
    beside: Path

    def arm(self, needle: str = "", *, nth: int = 1, stubborn: bool = False) -> None:
        """Let the `nth` test run whose calc.py holds `needle` stop, all its tests being done.

        `stubborn`: with children, one of them in a session of its own, and all of them deaf to SIGTERM.
        """
        order = {"needle": needle, "nth": nth, "stubborn": stubborn}
        (self.beside / "hold.json").write_text(json.dumps(order))

    def counted(self) -> int:
        """How many test runs there were since `arm` with `nth` 0, which stops none."""
        return -int(json.loads((self.beside / "hold.json").read_text())["nth"])

    def wait(self) -> None:
        """Wait until the tests have stopped there."""
        assert until((self.beside / "holding").exists, LIMIT_S)

    def go_on(self) -> None:
        (self.beside / "go").write_text("")

    def start(self, proposals: Sequence[Sequence[dict[str, str]]] = (), **options: Any) -> FixJob:
        """A run with a script of these proposals, or with the proposer of the options."""
        if "proposer" not in options:
            options |= {"proposer": "scripted", "script": script(self.beside, proposals)}
        return self.engine.fix(self.engine.session(), FixOptions(**options))

    def ask(self) -> FixJob:
        """A run that waits for edits by now."""
        fix_job = self.start(proposer="caller")
        assert fix_job.job.wait(LIMIT_S) == "waiting_for_edits", fix_job.job.data()
        return fix_job

    def submit(self, fix_job: FixJob, edits: Sequence[dict[str, str]]) -> dict[str, Any]:
        """Hand in a fix and wait until it is judged; the last attempt and, if that was the end, the outcome."""
        ok(self.engine, "submit_fix", job_id=fix_job.job.id, replacements=edits, wait_s=0)
        assert fix_job.job.wait(LIMIT_S) != "running"
        data = fix_job.job.data()
        return {"attempt": data["attempts"][-1], **data}  # type: ignore[index,call-overload]

    def during(
        self, proposals: Sequence[Sequence[dict[str, str]]], needle: str, act: Callable[[], object], *, nth: int = 1
    ) -> dict[str, Any]:
        """A whole run; `act` is called in the middle of the chosen test run. Returns the outcome."""
        self.arm(needle, nth=nth)
        job = self.start(proposals).job
        self.wait()
        act()
        self.go_on()
        assert job.wait(100) == "done"
        data: dict[str, Any] = job.data()
        assert "error" not in data, data
        return data["outcome"]


@contextmanager
def holding(folder: Path, more: Mapping[str, str | bytes] | None = None, **chosen: Any) -> Generator[Holding]:
    beside = folder / "beside"
    beside.mkdir()
    root = fixable(folder / "r", {"conftest.py": _CONFTEST.format(beside=str(beside)), **(more or {})})
    with fixer(root, writable=(beside,), **chosen) as engine:
        yield Holding(engine, root, beside)
