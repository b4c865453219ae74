"""How the server ends, row by row, with an engine that can be as stubborn as the row needs."""

import os
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mcp_clients import IN_BETWEEN, RawServer, alive, processes_with, raw_server, server_environment, until

STUB_COMMAND = [sys.executable, str(Path(__file__).with_name("stub_server.py"))]
LIMIT_S = 8.0
ON_REQUEST = pytest.param(signal.SIGTERM, 0, marks=pytest.mark.thorough)  # by default, only before the first call


@pytest.fixture
def mark() -> str:
    return str(uuid.uuid4().int)[:18]


@pytest.fixture
def server(tmp_path: Path, mark: str) -> Iterator[RawServer]:
    env = server_environment(tmp_path, STUB_FOLDER=str(tmp_path), STUB_MARK=mark)
    with raw_server(STUB_COMMAND, cwd=tmp_path, env=env) as process:
        process.initialize()
        yield process


def busy(server: RawServer, folder: Path, path: str = "child") -> int:
    request = server.start_call("repo_skeleton", path=path)
    until((folder / "started").exists, "the call has started")
    return request


def ended_cleanly(folder: Path, mark: str) -> bool:
    return (folder / "closed").exists() and processes_with(f"600.{mark}") == []


def test_cancelling_a_call_ends_its_processes_and_the_end_of_input_everything(
    server: RawServer, tmp_path: Path, mark: str
) -> None:
    request = busy(server, tmp_path)
    server.send({"method": "notifications/cancelled", "params": {"requestId": request, "reason": "enough"}})
    until(lambda: processes_with(f"600.{mark}") == [], "the call's child is gone", LIMIT_S)
    assert server.call("repo_skeleton", path="src").data == {"tree": "src"}
    assert not (tmp_path / "closed").exists()
    (tmp_path / "started").unlink()
    busy(server, tmp_path)
    assert processes_with(f"600.{mark}") != []
    assert server.close(LIMIT_S) == 0
    assert ended_cleanly(tmp_path, mark)
    assert server.noise == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 0), ON_REQUEST])
def test_one_signal_ends_everything(server: RawServer, tmp_path: Path, mark: str, number: int, code: int) -> None:
    busy(server, tmp_path)
    server.process.send_signal(number)
    assert server.wait(LIMIT_S) == code
    assert ended_cleanly(tmp_path, mark)


def test_a_signal_before_the_first_call_ends_the_server(server: RawServer) -> None:
    server.process.send_signal(signal.SIGTERM)
    assert server.wait(LIMIT_S) == 0


def test_a_client_that_stops_reading_and_goes_ends_everything(server: RawServer, tmp_path: Path, mark: str) -> None:
    busy(server, tmp_path)
    reader = server.process.stdout
    assert reader
    os.dup2(os.open(os.devnull, os.O_RDONLY), reader.fileno())  # closes the pipe's only reading end
    server.start_call("repo_skeleton", path="huge")
    server.start("tools/list", {})
    assert server.process.wait(LIMIT_S) == 0
    assert ended_cleanly(tmp_path, mark)


def test_a_call_that_cannot_be_cancelled_does_not_keep_the_server(server: RawServer, tmp_path: Path) -> None:
    busy(server, tmp_path, "stuck")
    assert server.close(LIMIT_S) == 0
    assert (tmp_path / "closed").exists()


@pytest.mark.parametrize("how", ["signal", pytest.param("input", marks=pytest.mark.thorough)])
def test_an_engine_that_does_not_close_is_left_after_a_limit(tmp_path: Path, how: str) -> None:
    env = server_environment(tmp_path, STUB_FOLDER=str(tmp_path), STUB_HANGS="1")
    with raw_server(STUB_COMMAND, cwd=tmp_path, env=env) as server:
        server.initialize()
        server.call("repo_skeleton", path="src")
        started = time.monotonic()
        if how == "signal":
            server.process.send_signal(signal.SIGTERM)
        assert (server.wait(LIMIT_S) if how == "signal" else server.close(LIMIT_S)) == 0
        assert 0.9 < time.monotonic() - started < LIMIT_S


def test_a_server_whose_parent_died_ends_although_the_pipe_is_held_open(tmp_path: Path, mark: str) -> None:
    """The test holds the writing end; the parent in between is killed."""
    env = server_environment(tmp_path, STUB_FOLDER=str(tmp_path), STUB_MARK=mark)
    with raw_server([*IN_BETWEEN, *STUB_COMMAND], cwd=tmp_path, env=env) as parent:
        until(lambda: bool(parent.errors), "the server was started")
        pid = int(parent.errors[0])
        parent.initialize()
        busy(parent, tmp_path)
        os.kill(parent.process.pid, signal.SIGKILL)
        parent.process.wait()
        until(lambda: not alive(pid), "the server is gone", LIMIT_S)
        assert ended_cleanly(tmp_path, mark)
