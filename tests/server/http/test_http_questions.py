"""Questions of the older protocol over HTTP: they come with the call, or where the client listens; never waited for on
a stream that is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import messages_server as messages
from support.http_server import BOTH, HttpServer, HttpSession, http_server
from support.mcp_clients import until
from support.model_wire import ModelServer
from support.repos import red_repo

KEY = "sk-ant-test-0123456789abcdefghij"
TASK = "write notes.txt"
ENDS_S = 60.0  # far less than an answer is waited for


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with messages.messages_server() as server:
        yield server


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return red_repo(tmp_path_factory.mktemp("questions") / "repo")


@pytest.fixture(scope="module")
def server(repo: Path, model: ModelServer) -> Iterator[HttpServer]:
    env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": model.url}
    with http_server(repo.parent, "--root", str(repo), "--mode", "ask", env=env) as started:
        yield started


@pytest.fixture
def session(server: HttpServer) -> HttpSession:
    return server.session(elicitation={})


def writes(model: ModelServer, path: str) -> None:
    """The model makes a file, is told whether that was allowed, and is done."""
    edit: dict[str, Any] = {"replacements": [{"path": path, "search": "", "replace": "x"}]}
    turn = messages.answer(messages.call("call_1", "apply_edits", edit), stop="tool_use")
    model.script(turn, messages.answer(messages.text("Done.")))


def asks(model: ModelServer) -> None:
    turn = messages.answer(messages.call("call_1", "ask_user", {"question": "Which?"}), stop="tool_use")
    model.script(turn, messages.answer(messages.text("Done.")))


class Events:
    """A stream of events that stays open, byte by byte."""

    def __init__(self, server: HttpServer, session: HttpSession, message: dict[str, Any] | None = None) -> None:
        self._socket = server.connect()
        body = json.dumps(message).encode() if message else b""
        headers = {"Host": server.authority, "Accept": BOTH, "Content-Length": str(len(body)),
                   "Content-Type": "application/json", **session.headers}  # fmt: skip
        lines = [f"{'POST' if message else 'GET'} /mcp HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        self._socket.sendall("\r\n".join((*lines, "", "")).encode() + body)
        self._file = self._socket.makefile("rb")
        assert b" 200 " in self._file.readline()

    def question(self) -> dict[str, Any]:
        """The next request of the server's; notifications before it are passed over."""
        for line in self._file:
            message = json.loads(line[5:]) if line.startswith(b"data:") and line[5:].strip() else {}
            if message.get("method") == "elicitation/create":
                return message
        raise EOFError

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def newest(server: HttpServer) -> dict[str, Any]:
    return server.request("GET", "/runs?limit=1").json["runs"][0]


def outcome(server: HttpServer, job_id: str) -> dict[str, Any]:
    """How the job ended, which must be soon."""
    seen: list[dict[str, Any]] = []

    def ended() -> bool:
        seen.append(server.request("GET", f"/runs/{job_id}").json)
        return seen[-1]["state"] == "done"

    until(ended, "the job ends without an answer", ENDS_S)
    return seen[-1]["outcome"]


def begun(session: HttpSession) -> str:
    return str(session.call("coding_task", task=TASK, wait_s=0).data["job_id"])


def test_a_question_comes_with_its_call_and_ends_when_the_client_drops_it(
    server: HttpServer, session: HttpSession, model: ModelServer, repo: Path
) -> None:
    writes(model, "dropped.txt")
    call = session.message("tools/call", {"name": "coding_task", "arguments": {"task": TASK, "wait_s": 45}})
    with closing(Events(server, session, call)) as events:
        assert "dropped.txt" in events.question()["params"]["message"]
        assert newest(server)["state"] == "running"
    assert outcome(server, newest(server)["job_id"])["reason"] == "completed"
    assert not (repo / "dropped.txt").exists()


def test_a_job_whose_call_was_answered_asks_nobody_where_nobody_listens(
    server: HttpServer, session: HttpSession, model: ModelServer, repo: Path
) -> None:
    writes(model, "unheard.txt")
    assert outcome(server, begun(session))["reason"] == "completed"
    assert not (repo / "unheard.txt").exists()
    asks(model)
    assert outcome(server, begun(session))["reason"] == "needs_user"


def test_a_job_whose_call_was_answered_asks_on_the_stream_on_which_its_client_listens(
    server: HttpServer, session: HttpSession, model: ModelServer, repo: Path
) -> None:
    with closing(Events(server, session)) as events:
        writes(model, "heard.txt")
        job_id = begun(session)
        question = events.question()
        assert "heard.txt" in question["params"]["message"]
        answer = {"action": "accept", "content": {"approve": "once"}}
        assert server.post({"jsonrpc": "2.0", "id": question["id"], "result": answer}, session.headers).status == 202
        assert outcome(server, job_id)["reason"] == "completed"
    assert (repo / "heard.txt").read_text() == "x\n"
