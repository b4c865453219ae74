"""No process is left and nothing stays changed, however a server at work comes to its end."""

import hashlib
import os
import signal
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.cases import thorough
from support.mcp_clients import (
    IN_BETWEEN,
    REGREEN,
    RawServer,
    alive,
    processes_with,
    raw_server,
    server_environment,
    until,
)

LIMIT_S = 10.0
SLOW_TEST = """\
import pathlib, subprocess
from value import VALUE


def test_slow():
    note = pathlib.Path({started!r})
    if VALUE == 1:
        assert False
    child = subprocess.Popen(["sleep", "600.{mark}"])
    pathlib.Path("made-by-the-test.txt").write_text("x")
    note.write_text("")
    child.wait()
"""


@dataclass
class Scene:
    """A repository whose test is red at once, and with any edit of ours runs for ten minutes, with a child."""

    folder: Path
    repo: Path
    mark: str
    started: Path

    def command(self) -> list[str]:
        return [*REGREEN, "serve", "--root", str(self.repo), "--mode", "auto"]

    def state(self) -> dict[str, str]:
        """Everything a user could miss: bytes and modes of all files, index, HEAD, refs, stash."""
        rows: dict[str, str] = {}
        for path in sorted(self.repo.rglob("*")):
            name = path.relative_to(self.repo).as_posix()
            if path.is_file() and not name.startswith(".git/") and "__pycache__" not in name:
                rows[name] = f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        rows["index"] = hashlib.sha256((self.repo / ".git" / "index").read_bytes()).hexdigest()
        for name, *args in (("head", "rev-parse", "HEAD"), ("refs", "for-each-ref"), ("stash", "stash", "list")):
            rows[name] = self.git(*args)
        return rows

    def git(self, *args: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        done = subprocess.run(["git", *identity, *args], cwd=self.repo, check=True, capture_output=True, text=True)
        return done.stdout

    def left(self) -> list[int]:
        """Processes of the test run that are still alive."""
        return processes_with(f"600.{self.mark}")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    mark = str(uuid.uuid4().int)[:18]
    repo, started = tmp_path / "slow", tmp_path / "seen" / "started"
    repo.mkdir()
    (repo / "value.py").write_text("VALUE = 1\n", "utf-8")
    (repo / "test_slow.py").write_text(SLOW_TEST.format(started=str(started), mark=mark), "utf-8")
    (repo / ".gitignore").write_text("private.env\n__pycache__/\n", "utf-8")
    (repo / "private.env").write_text("KEY=1\n", "utf-8")
    made = Scene(tmp_path, repo, mark, started)
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "start")):
        made.git(*command)
    (repo / "value.py").chmod(0o755)
    (repo / "untracked.txt").write_text("mine\n", "utf-8")
    return made


@pytest.fixture
def server(scene: Scene) -> Iterator[RawServer]:
    with raw_server(scene.command(), cwd=scene.folder, env=server_environment(scene.folder)) as process:
        process.initialize()
        yield process


def attempt(server: RawServer, scene: Scene) -> tuple[str, int]:
    """Bring the server into the middle of an attempt; returns the job and the call that waits."""
    job = server.call("fix_tests", proposer="caller", wait_s=45)
    assert job.data.get("state") == "waiting_for_edits", job.text
    edit = {"path": "value.py", "search": "VALUE = 1", "replace": "VALUE = 2"}
    request = server.start_call("submit_fix", job_id=job.data["job_id"], replacements=[edit], wait_s=45)
    until(scene.started.exists, "the attempt's test is running", 40)
    assert scene.left() != []
    assert (scene.repo / "value.py").read_text("utf-8") == "VALUE = 2\n"
    return job.data["job_id"], request


def nothing_is_left(scene: Scene, before: dict[str, str]) -> None:
    until(lambda: scene.left() == [], "no process is left", LIMIT_S)
    assert scene.state() == before


def test_the_client_ends_the_input(server: RawServer, scene: Scene) -> None:
    before = scene.state()
    attempt(server, scene)
    assert server.close(LIMIT_S) == 0
    nothing_is_left(scene, before)
    assert server.noise == []
    assert server.errors == []


@thorough  # whatever ends a server closes the engine: here only the end of input is tried in the middle of an attempt
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_server(server: RawServer, scene: Scene, number: int, code: int) -> None:
    before = scene.state()
    attempt(server, scene)
    server.process.send_signal(number)
    assert server.wait(LIMIT_S) == code
    nothing_is_left(scene, before)


@thorough
def test_the_parent_is_killed_and_the_pipe_stays_open(scene: Scene) -> None:
    before = scene.state()
    argv = [*IN_BETWEEN, *scene.command()]
    with raw_server(argv, cwd=scene.folder, env=server_environment(scene.folder)) as parent:
        parent.initialize()
        attempt(parent, scene)
        pid = int(parent.errors[0])
        os.kill(parent.process.pid, signal.SIGKILL)
        parent.process.wait()
        until(lambda: not alive(pid), "the server is gone", LIMIT_S)
        nothing_is_left(scene, before)


def test_the_server_is_killed_and_started_again(server: RawServer, scene: Scene) -> None:
    before = scene.state()
    job, _ = attempt(server, scene)
    server.process.kill()
    server.process.wait()
    until(lambda: scene.left() == [], "no process outlives the server", LIMIT_S)
    with raw_server(scene.command(), cwd=scene.folder, env=server_environment(scene.folder)) as again:
        until(lambda: scene.state() == before, "restored without being asked", LIMIT_S)
        again.initialize()
        assert again.call("job_status", job_id=job, wait_s=0).data.get("state") == "done"
        assert again.close() == 0


@thorough
def test_the_job_is_cancelled_in_an_attempt(server: RawServer, scene: Scene) -> None:
    before = scene.state()
    job, request = attempt(server, scene)
    cancelled = server.call("job_cancel", job_id=job)
    assert not cancelled.is_error, cancelled.text
    nothing_is_left(scene, before)
    assert server.answer(request)["result"]["structuredContent"]["outcome"]["reason"] == "cancelled"
    assert server.call("job_status", job_id=job, wait_s=10).data["outcome"]["reason"] == "cancelled"


def test_the_call_or_the_job_is_cancelled_the_server_lives_on_and_a_signal_ends_it(
    server: RawServer, scene: Scene
) -> None:
    (scene.repo / "value.py").write_text("VALUE = 2\n", "utf-8")
    before = scene.state()
    request = begun(server, scene, "fix_tests", progress_token="p")
    assert server.note("notifications/progress")["progressToken"] == "p"
    server.send({"method": "notifications/cancelled", "params": {"requestId": request}})
    until(lambda: scene.left() == [] and scene.state() == before, "no process is left, all is as before", LIMIT_S)
    job = server.answer(begun(server, scene, "fix_tests", wait_s=0))["result"]["structuredContent"]["job_id"]
    waiting = server.start_call("job_status", job_id=job, wait_s=30)
    assert not server.call("job_cancel", job_id=job).is_error
    nothing_is_left(scene, before)
    told = server.answer(waiting)["result"]["structuredContent"]
    assert told["outcome"]["reason"] == "cancelled"
    request = begun(server, scene, "run_tests")
    server.send({"method": "notifications/cancelled", "params": {"requestId": request}})
    until(lambda: scene.left() == [], "no process is left", LIMIT_S)
    assert server.call("repo_skeleton").data["files"] > 0, "the server lives on"
    begun(server, scene, "run_tests")
    server.process.send_signal(signal.SIGINT)
    assert server.wait(LIMIT_S) == 130
    until(lambda: scene.left() == [], "no process is left", LIMIT_S)


def begun(server: RawServer, scene: Scene, tool: str, wait_s: int = 45, progress_token: str = "") -> int:
    """Start a call, and wait for its test to be running."""
    scene.started.unlink(missing_ok=True)
    request = server.start_call(tool, progress_token=progress_token, wait_s=wait_s)
    until(scene.started.exists, "the test is running", 40)
    assert scene.left() != []
    return request


@thorough  # the same limit as of a run without a server
def test_a_test_run_is_cut_off_by_its_limit(server: RawServer, scene: Scene) -> None:
    (scene.repo / "value.py").write_text("VALUE = 2\n", "utf-8")
    done = server.call("run_tests", timeout_s=3, wait_s=45)
    assert done.data["status"] == "timeout", done.text
    until(lambda: scene.left() == [], "no process is left", LIMIT_S)
