"""Real runs of hostile test suites: an engine in a process of its own (so that it can be another user's, and can be
killed), at a chosen level of the sandbox, and what it answered.

Run as a script it is that engine: it takes one JSON object, tells `ready`, and in the end the answers, a line each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT_S = 100.0
STARTED = "started"  # a file of the project by which a test says that it runs


@dataclass(frozen=True)
class Attacked:
    """A project, and whose engine runs its tests at which level."""

    root: Path
    user: str
    level: str
    environ: Mapping[str, str]

    @contextmanager
    def engine(self, **job: Any) -> Iterator[subprocess.Popen[bytes]]:
        """The engine's process, which makes its calls at once."""
        from support.confined import SOURCES, as_user, python_of

        given = {"root": str(self.root), "level": self.level, **job}
        packages = os.pathsep.join((SOURCES, sysconfig.get_paths()["purelib"]))
        environ = {
            "PATH": os.environ["PATH"], "HOME": str(self.root.parent / "home"), "PYTHONPATH": packages,
            "REGREEN_STATE_DIR": str(self.root.parent / "state"), "REGREEN_CACHE_DIR": str(self.root.parent / "cache"),
            **self.environ,
        }  # fmt: skip
        argv = [python_of(self.user), str(Path(__file__).resolve()), json.dumps(given)]
        with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                              **as_user(self.user)) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()

    def answers(self, **job: Any) -> list[dict[str, Any]]:
        """What the engine answered, the last being its own measurements. Skips loudly without this level."""
        import pytest

        with self.engine(**job) as process:
            out, err = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, err.decode()[-2000:]
        told = [json.loads(line) for line in out.splitlines()]
        if "refused" in told[0]:
            pytest.skip(f"no sandbox of level {self.level} for this user: {told[0]['refused']}")
        return told[1:]


def project_of(folder: Path, user: str, files: Mapping[str, str]) -> Path:
    """A project with an environment of its own that borrows pytest, all of it the user's."""
    from support.confined import NOBODY, python_of

    python = Path(os.path.realpath(python_of(user)))
    root = folder / "ws"
    venv = root / ".venv"
    version = "{}.{}".format(*sys.version_info) if user == "same" else _version(python)
    whole = {
        **files,
        ".venv/pyvenv.cfg": f"home = {python.parent}\ninclude-system-site-packages = false\n",
        f".venv/lib/python{version}/site-packages/borrowed.pth": sysconfig.get_paths()["purelib"],
        "../home/.keep": "",
    }
    for name, text in whole.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to(python)
    if user == "ordinary":
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return root


def _version(python: Path) -> str:
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """A folder that an ordinary user can get to, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory(prefix="regreen-attack-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        yield folder


def wait_for(path: Path, limit_s: float = 30.0) -> bool:
    """Whether a file appears in time."""
    from support.processes import until

    return until(path.exists, limit_s)


class _Pings(threading.Thread):
    """Asks the engine something small all the time, and remembers the longest wait for an answer."""

    def __init__(self, engine: Any) -> None:
        super().__init__(daemon=True)
        self.engine, self.longest_s, self.count, self.over = engine, 0.0, 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.05):
            before = time.monotonic()
            self.engine.call("read_file", {"path": "ping.txt"})
            self.longest_s = max(self.longest_s, time.monotonic() - before)
            self.count += 1


def _one(engine: Any, arguments: dict[str, Any], cancel: Any) -> dict[str, Any]:
    progress: list[str] = []
    before = time.monotonic()
    result = engine.call("run_tests", {"wait_s": 40, **arguments}, on_progress=progress.append, cancel=cancel)
    seen = f"{result.text}\n{json.dumps(result.data, ensure_ascii=False)}"
    while result.data.get("state") == "running":
        result = engine.call("job_status", {"job_id": result.data["job_id"], "wait_s": 20})
        seen += f"{result.text}\n{json.dumps(result.data, ensure_ascii=False)}"
    log, offset = "", 0
    while "job_id" in result.data and offset < 4_000_000:
        page = engine.call("job_status", {"job_id": result.data["job_id"], "log_offset": offset}).data
        log += str(page.get("log_text", ""))
        if page.get("log_next", offset) <= offset:
            break
        offset = page["log_next"]
    return {"data": result.data, "is_error": result.is_error, "took_s": time.monotonic() - before,
            "progress": progress, "seen": seen, "log": log}  # fmt: skip


def serve(job: dict[str, Any]) -> None:
    """Make the calls and tell what came of them."""
    from dataclasses import replace

    from regreen.errors import RegreenError
    from regreen.sandbox import Cancel, isolation
    from regreen.session import Engine
    from regreen.settings import load_settings

    root = Path(job["root"])
    settings = load_settings(dict(os.environ), roots=(root,), mode="auto")
    settings = replace(settings, sandbox_level=job["level"])
    try:
        isolation(settings)
    except RegreenError as e:
        print(json.dumps({"refused": e.message}))
        return
    (root / "server.pid").write_text(str(os.getpid()))
    (root / "ping.txt").write_text("here\n")
    print(json.dumps({"ready": os.getpid()}), flush=True)
    with Engine(settings, cwd=root) as engine:
        pings = _Pings(engine)
        pings.start()
        calls: Sequence[dict[str, Any]] = job["calls"]
        answers: dict[int, dict[str, Any]] = {}

        def make(number: int, cancel: Cancel) -> None:
            answers[number] = _one(engine, calls[number], cancel)

        cancels = [Cancel() for _ in calls]
        threads = [threading.Thread(target=make, args=(n, c)) for n, c in enumerate(cancels)]
        for number, thread in enumerate(threads):
            thread.start()
            if not job.get("at_once"):
                _wait(thread, root, cancels[number] if job.get("leave") and number == 0 else None)
        for thread in threads:
            thread.join()
        pings.over.set()
        pings.join()
        for n in range(len(calls)):
            print(json.dumps(answers[n]))
        print(json.dumps({"longest_s": pings.longest_s, "pings": pings.count}), flush=True)


def _wait(thread: threading.Thread, root: Path, leaving: Any) -> None:
    """Wait for a call; as a caller who leaves, give it up once the tests have begun."""
    pause = threading.Event()
    while leaving is not None and thread.is_alive() and not (root / STARTED).exists():
        pause.wait(0.02)
    if leaving is not None:
        leaving.set()
    thread.join()


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        serve(json.loads(sys.argv[1]))
