"""The server over HTTP as a whole: clients of both eras, many at once, two processes, and every end."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from support.http_server import BOTH, HttpServer, HttpSession, http_server
from support.mcp_clients import MODERN_VERSION, REGREEN, processes_with, server_environment, until

STUB = [sys.executable, str(Path(__file__).with_name("stub_http.py"))]
LIMIT_S = 20.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With three repositories below `src`."""
    made = tmp_path_factory.mktemp("http")
    for name in ("one", "two", "three"):
        repo = made / "src" / name
        repo.mkdir(parents=True)
        (repo / f"{name}.py").write_text(f"def {name}():\n    return 1\n", "utf-8")
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[HttpServer]:
    with http_server(folder, "--root", str(folder / "src")) as started:
        yield started


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a path that fits into a socket's address."""
    made = tempfile.mkdtemp(prefix="rg-")
    yield Path(made)
    shutil.rmtree(made)


async def used(url: str, token: str, mode: str, work: Callable[[Client], object]) -> object:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as link,
        Client(streamable_http_client(url, http_client=link), mode=mode) as client,
    ):
        return await work(client)


@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN_VERSION])
def test_the_sdks_client_lists_and_calls_in_both_eras(server: HttpServer, folder: Path, mode: str) -> None:
    async def work(client: Client) -> tuple[str, int, object]:
        tools = await client.list_tools()
        done = await client.call_tool("repo_skeleton", {"repo": str(folder / "src" / "one")})
        return client.protocol_version, len(tools.tools), done.structured_content

    version, count, data = asyncio.run(used(server.url, server.token, mode, work))
    assert (version == MODERN_VERSION) == (mode != "legacy")
    assert count > 10 and "one.py" in data["tree"]


def test_health_tells_no_more_than_that_the_server_is_there(server: HttpServer) -> None:
    session = server.session()
    told = server.request("GET", "/healthz", {"Authorization": ""})
    assert told.status == 200
    assert set(told.json) == {"status", "version", "uptime_s", "sessions", "jobs"}
    assert told.json["sessions"] >= 1 and told.json["jobs"] == 0
    before = told.json["sessions"]
    assert server.request("DELETE", "/mcp", session.headers).status == 200
    assert server.request("GET", "/healthz").json["sessions"] == before - 1


def test_a_session_that_ended_or_never_was_is_unknown(server: HttpServer) -> None:
    session = server.session()
    server.request("DELETE", "/mcp", session.headers)
    assert session.send("tools/list", {}).kind == "session_unknown"
    session.headers["Mcp-Session-Id"] = "f" * 32
    reply = session.send("tools/list", {})
    assert (reply.status, reply.kind) == (404, "session_unknown")


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [("GET", "/", 404, "not_found"), ("POST", "/healthz", 405, "method_not_allowed"),
     ("POST", "/mcp/", 404, "not_found")],
)  # fmt: skip
def test_what_is_no_route_is_told_as_every_error(
    server: HttpServer, method: str, path: str, status: int, kind: str
) -> None:
    reply = server.request(method, path)
    assert (reply.status, reply.kind) == (status, kind)


def test_many_clients_on_several_repositories_each_get_their_own_answer(server: HttpServer, folder: Path) -> None:
    names = ("one", "two", "three") * 4

    def work(name: str) -> bool:
        session = server.session()
        trees = [session.call("repo_skeleton", repo=str(folder / "src" / name)).data["tree"] for _ in range(3)]
        return all(f"{name}.py" in tree for tree in trees)

    with ThreadPoolExecutor(len(names)) as pool:
        assert all(pool.map(work, names))


def test_two_servers_share_a_state_folder_and_its_token(server: HttpServer, folder: Path) -> None:
    with http_server(folder, "--root", str(folder / "src")) as second:
        assert second.token == server.token and second.port != server.port
        repo = str(folder / "src" / "two")
        edited = server.session().call("apply_edits", repo=repo, replacements=[
            {"path": "two.py", "search": "    return 1", "replace": "    return 2"}])  # fmt: skip
        assert edited.data["ok"], edited.text
        undone = second.session().call("restore", repo=repo, to=edited.data["transaction"])
        assert undone.data["restored"] == ["two.py"], undone.text
        assert second.stop() == 0
    assert "return 1" in (folder / "src" / "two" / "two.py").read_text("utf-8")


def test_a_port_in_use_is_told_and_nothing_is_served(server: HttpServer, tmp_path: Path) -> None:
    done = refused(tmp_path, "--http", server.authority)
    assert f"port {server.port} on 127.0.0.1 is in use" in done


def refused(folder: Path, *flags: str) -> str:
    """What a start says that ends with a configuration error."""
    done = subprocess.run([*REGREEN, "serve", *flags], cwd=folder, env=server_environment(folder), timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    return done.stderr


def test_a_token_file_that_others_can_read_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a" * 40)
    (tmp_path / "t").chmod(0o644)
    assert "chmod 600" in refused(tmp_path, "--http", "0", "--token-file", "t")


# --- UNIX sockets -------------------------------------------------------------------------------------


def test_a_unix_socket_is_its_owners_alone_and_gone_at_the_end(short: Path, tmp_path: Path) -> None:
    path = short / "run" / "s"
    with http_server(tmp_path, command=STUB, socket_path=str(path), env={"STUB_FOLDER": str(tmp_path)}) as server:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert server.request("GET", "/healthz", {"Host": "whatever"}).status == 200
        assert server.request("POST", "/mcp", {"Authorization": ""}).kind == "unauthorized"
        assert server.request("GET", "/healthz", {"Origin": "null"}).kind == "origin_forbidden"
        assert server.session().call("repo_skeleton", path="src").data == {"tree": "src"}
        assert "in use by another server" in refused(tmp_path, "--socket", str(path))
        assert server.stop() == 0
        assert list(path.parent.iterdir()) == []


def test_a_socket_left_behind_is_replaced_and_any_other_file_is_not(short: Path, tmp_path: Path) -> None:
    path = short / "s"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with http_server(tmp_path, command=STUB, socket_path=str(path), env={"STUB_FOLDER": str(tmp_path)}) as server:
        assert server.request("GET", "/healthz").status == 200
        server.process.kill()
        server.process.wait()
    assert path.is_socket()
    path.unlink()
    path.write_text("mine")
    assert "no socket of yours" in refused(tmp_path, "--socket", str(path))
    assert path.read_text() == "mine"


def test_a_socket_in_a_folder_that_others_write_is_refused(short: Path, tmp_path: Path) -> None:
    short.chmod(0o777)
    assert "can be written by others" in refused(tmp_path, "--socket", str(short / "s"))
    assert "longer than" in refused(tmp_path, "--socket", str(short / ("x" * 120)))


# --- the end ------------------------------------------------------------------------------------------


@pytest.fixture
def mark() -> str:
    return str(uuid.uuid4().int)[:18]


@pytest.fixture
def stub(tmp_path: Path, mark: str) -> Iterator[HttpServer]:
    """A server whose engine does what the call's `path` says."""
    with http_server(tmp_path, command=STUB, env={"STUB_FOLDER": str(tmp_path), "STUB_MARK": mark}) as server:
        yield server


def begun(server: HttpServer, session: HttpSession, folder: Path, path: str) -> tuple[http.client.HTTPConnection, int]:
    """A call that is under way, on a connection of its own; and its id."""
    message = session.message("tools/call", {"name": "repo_skeleton", "arguments": {"path": path}})
    link = http.client.HTTPConnection(server.host, server.port, timeout=60)
    link.request("POST", "/mcp", json.dumps(message),
                 {**session.headers, "Content-Type": "application/json", "Accept": BOTH})  # fmt: skip
    until((folder / "started").exists, "the call has started")
    return link, message["id"]


@pytest.mark.parametrize(
    ("number", "code"),
    [pytest.param(signal.SIGTERM, 0, marks=pytest.mark.thorough), (signal.SIGINT, 130),
     pytest.param(signal.SIGHUP, 0, marks=pytest.mark.thorough)],
)  # fmt: skip
def test_a_signal_ends_everything_also_with_open_streams(
    stub: HttpServer, tmp_path: Path, mark: str, number: int, code: int
) -> None:
    session = stub.session()
    assert session.call("repo_skeleton", path="print").text == "printed"
    listening = http.client.HTTPConnection(stub.host, stub.port, timeout=60)
    listening.request("GET", "/mcp", headers={**session.headers, "Accept": "text/event-stream"})
    assert listening.getresponse().status == 200
    link, _ = begun(stub, session, tmp_path, "child")
    assert processes_with(f"600.{mark}") != []
    assert stub.stop(number) == code
    assert processes_with(f"600.{mark}") == [] and (tmp_path / "closed").exists()
    assert stub.output == b""
    assert [e for e in stub.errors if not e.startswith(("regreen: serving", "a stray", "stray"))] == []
    link.close()
    listening.close()


def test_a_call_that_cannot_be_cancelled_does_not_keep_the_server(stub: HttpServer, tmp_path: Path) -> None:
    link, _ = begun(stub, stub.session(), tmp_path, "stuck")
    assert stub.stop() == 0
    assert (tmp_path / "closed").exists()
    link.close()


@pytest.mark.thorough  # the guard's limit, as on standard input and output
def test_an_engine_that_does_not_close_is_left_after_a_limit(tmp_path: Path) -> None:
    with http_server(tmp_path, command=STUB, env={"STUB_FOLDER": str(tmp_path), "STUB_HANGS": "1"}) as server:
        server.session().call("repo_skeleton", path="src")
        assert server.stop() == 0
    assert not (tmp_path / "closed").exists()


@pytest.fixture(scope="module")
def running_stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HttpServer, Path]]:
    made = tmp_path_factory.mktemp("stub")
    with http_server(made, command=STUB, env={"STUB_FOLDER": str(made)}) as server:
        yield server, made


@pytest.fixture
def shared(running_stub: tuple[HttpServer, Path]) -> tuple[HttpServer, Path]:
    """A server for tests that do not end it, and its folder, without the marks of an earlier call."""
    for name in ("started", "cancelled"):
        (running_stub[1] / name).unlink(missing_ok=True)
    return running_stub


def test_a_client_of_the_older_protocol_that_goes_leaves_its_call_and_a_notification_cancels_it(
    shared: tuple[HttpServer, Path],
) -> None:
    server, folder = shared
    session = server.session()
    link, request = begun(server, session, folder, "child")
    link.close()
    assert session.call("repo_skeleton", path="src").data == {"tree": "src"}
    assert not (folder / "cancelled").exists()
    session.notify("notifications/cancelled", {"requestId": request})
    until((folder / "cancelled").exists, "the call was cancelled", LIMIT_S)


def test_a_client_of_the_newer_protocol_cancels_by_going(shared: tuple[HttpServer, Path]) -> None:
    server, folder = shared

    async def work(client: Client) -> object:
        call = asyncio.create_task(client.call_tool("repo_skeleton", {"path": "child"}))
        while not (folder / "started").exists():
            await asyncio.sleep(0.02)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        return await client.call_tool("repo_skeleton", {"path": "src"})

    asyncio.run(used(server.url, server.token, MODERN_VERSION, work))
    until((folder / "cancelled").exists, "the call was cancelled", LIMIT_S)


def test_a_fault_is_told_without_its_details(shared: tuple[HttpServer, Path]) -> None:
    called = shared[0].session().call("repo_skeleton", path="boom")
    assert called.is_error and "1234" not in called.text


def test_a_request_that_dawdles_is_cut_off_and_one_that_waits_for_its_answer_is_not(tmp_path: Path) -> None:
    environ = {"STUB_FOLDER": str(tmp_path), "STUB_ARRIVAL_S": "2"}
    with http_server(tmp_path, command=STUB, env=environ) as server:
        lines = "".join(f"{k}: {v}\r\n" for k, v in {"Host": server.authority, **server.session().headers}.items())
        whole = f"GET /mcp HTTP/1.1\r\n{lines}Accept: text/event-stream\r\n\r\n"
        begun = (whole, "", whole[:40], f"POST /mcp HTTP/1.1\r\n{lines}Content-Length: 1000\r\n\r\n{{")
        links = [server.connect() for _ in begun]
        for link, sent in zip(links, begun, strict=True):
            link.sendall(sent.encode())
        waiting, *slow = links
        assert waiting.recv(12) == b"HTTP/1.1 200"
        assert [link.recv(1) for link in slow] == [b"", b"", b""]
        waiting.recv(10_000)
        waiting.setblocking(False)
        with pytest.raises(BlockingIOError):  # neither data nor an end
            waiting.recv(1)
        for link in links:
            link.close()


SLOW_TEST = """\
import pathlib, subprocess
from value import VALUE


def test_slow():
    if VALUE == 1:
        assert False
    child = subprocess.Popen(["sleep", "600.{mark}"])
    pathlib.Path({started!r}).write_text("")
    child.wait()
"""


def test_a_signal_in_the_middle_of_a_fix_run_puts_every_file_back(tmp_path: Path, mark: str) -> None:
    repo, started = tmp_path / "slow", tmp_path / "seen" / "started"
    repo.mkdir()
    (repo / "value.py").write_text("VALUE = 1\n", "utf-8")
    (repo / "test_slow.py").write_text(SLOW_TEST.format(started=str(started), mark=mark), "utf-8")
    with http_server(tmp_path, "--root", str(repo), "--mode", "auto") as server:
        session = server.session()
        job = session.call("fix_tests", proposer="caller", wait_s=45)
        assert job.data.get("state") == "waiting_for_edits", job.text
        assert server.request("GET", "/healthz").json["jobs"] == 1
        edit = {"path": "value.py", "search": "VALUE = 1", "replace": "VALUE = 2"}
        session.call("submit_fix", job_id=job.data["job_id"], replacements=[edit], wait_s=0)
        until(started.exists, "the attempt's test is running", 60)
        assert (repo / "value.py").read_text("utf-8") == "VALUE = 2\n"
        assert server.stop() == 0
        until(lambda: processes_with(f"600.{mark}") == [], "no process is left", LIMIT_S)
    assert (repo / "value.py").read_text("utf-8") == "VALUE = 1\n"


def test_a_server_on_pipes_imports_nothing_of_http() -> None:
    code = "import sys, regreen_server.main; print([m for m in sys.modules if m.split('.')[0] in " \
           "('starlette', 'uvicorn', 'websockets') or m.startswith('regreen_server.http')])"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_token_can_be_in_the_environment(tmp_path: Path) -> None:
    token = "e" * 40
    process = subprocess.Popen(
        [*REGREEN, "serve", "--http", "0"], cwd=tmp_path, env={**server_environment(tmp_path), "REGREEN_TOKEN": token},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    watch = threading.Timer(60, process.kill)
    watch.start()
    try:
        assert process.stderr
        ready = process.stderr.readline().strip()
        assert ready.endswith("(token: REGREEN_TOKEN)") and token not in ready
        server = HttpServer(process, ready, token)
        assert server.session().result("tools/list")["tools"]
        assert not (tmp_path / "state" / "http-tokens").exists()
    finally:
        watch.cancel()
        process.terminate()
        process.wait(30)
        process.stderr.close()
    assert os.environ.get("REGREEN_TOKEN") is None
