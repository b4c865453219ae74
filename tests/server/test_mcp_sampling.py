"""The client's own model as a proposer: asked where the client offers it, and never waited for without end."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CreateMessageResult, ErrorData, TextContent
from support.cases import thorough
from support.engines import engine_on, refused
from support.gitrepos import make_repo, whole_state
from support.mcp_clients import LEGACY_VERSION, REGREEN, RawServer, raw_server, server_environment

from regreen.agent.offers import NOTHING, Offers
from regreen.errors import RegreenError
from regreen.providers.messages import ModelRequest, said
from regreen.providers.sampling import SamplingProvider
from regreen_server.app import create_server
from regreen_server.calls import Caller, EngineSlot
from regreen_server.tool_list import Offer

QUESTION = ModelRequest("Be brief.", (said("user", "What?"), said("assistant", "Hm."), said("user", "Say it.")))
CODE = "def total(prices, shipping):\n    return sum(prices) - shipping\n"
TESTS = "from shop import total\n\n\ndef test_total():\n    assert total([10, 20], 5) == 35\n"
RIGHT = """Shipping is added.

shop.py
<<<<<<< SEARCH
    return sum(prices) - shipping
=======
    return sum(prices) + shipping
>>>>>>> REPLACE
"""


@dataclass
class Answer:
    text: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    is_error: bool = False


class Asker:
    """An engine that does nothing but ask the client's model, in a thread and an event loop of its own."""

    def __init__(self, timeout_s: float = 20.0) -> None:
        self._timeout_s = timeout_s

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        on_progress: Callable[[str], None] | None = None,
        cancel: object = None,
        offers: Offers = NOTHING,
    ) -> Answer:
        if offers.sampling is None:
            return Answer("none is offered")
        try:
            response = asyncio.run(SamplingProvider(offers.sampling, timeout_s=self._timeout_s).ask(QUESTION))
        except RegreenError as e:
            return Answer(f"{e.kind}: {e.message}")
        return Answer(f"{response.model} {response.stop}: {response.message.text} ({response.usage.total} tokens)")

    def recover(self) -> None:
        """There is nothing to recover."""

    def watch_jobs(self, watcher: object) -> None:
        """There are no jobs."""

    def close(self) -> None:
        """Nothing is open."""


def what_comes_of(sampling: Any, *, mode: str = "legacy", timeout_s: float = 20.0) -> str:
    """The text of a call whose engine asks the client's model."""

    async def call() -> str:
        server = create_server(Caller(EngineSlot(lambda: Asker(timeout_s))), Offer())
        async with Client(server, mode=mode, sampling_callback=sampling) as client:
            result = await client.call_tool("fix_tests", {})
            return result.content[0].text

    return asyncio.run(call())


def test_the_model_is_asked_with_the_whole_conversation_and_its_answer_comes_back() -> None:
    asked: list[Any] = []

    async def model(_context: Any, params: Any) -> CreateMessageResult:
        asked.append(params)
        text = TextContent(type="text", text="Twelve")
        return CreateMessageResult(role="assistant", content=text, model="theirs", stop_reason="maxTokens")

    assert what_comes_of(model) == "theirs truncated: Twelve (8 tokens)"
    assert (asked[0].system_prompt, asked[0].max_tokens) == ("Be brief.", QUESTION.max_tokens)
    assert [(m.role, m.content.text) for m in asked[0].messages] == [(m.role, m.text) for m in QUESTION.messages]


def test_a_client_that_refuses_is_told_with_its_reason() -> None:
    async def refuses(_context: Any, _params: Any) -> ErrorData:
        return ErrorData(code=-1, message="the user said no")

    assert what_comes_of(refuses) == "model_request_refused: the client refused the question: the user said no"


def test_a_client_that_never_answers_is_not_waited_for_and_the_question_is_taken_back() -> None:
    taken_back = threading.Event()

    async def never(_context: Any, _params: Any) -> CreateMessageResult:
        try:
            await asyncio.Event().wait()
        finally:
            taken_back.set()
        raise AssertionError

    assert what_comes_of(never, timeout_s=0.1).startswith("model_timeout: the client did not answer within 0.1 s")
    assert taken_back.is_set()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_nothing_is_asked_where_the_client_or_its_protocol_offers_nothing(mode: str) -> None:
    async def model(_context: Any, _params: Any) -> CreateMessageResult:
        raise AssertionError("nobody may ask")

    assert what_comes_of(model if mode == "auto" else None, mode=mode) == "none is offered"


def next_question(server: RawServer) -> dict[str, Any]:
    while (note := server.notes.get(timeout=60)).get("method") != "sampling/createMessage":
        pass
    return note


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo", {"shop.py": CODE, "test_shop.py": TESTS, ".gitignore": "__pycache__/\n"})


@pytest.fixture
def server(tmp_path: Path, repo: Path) -> Iterator[RawServer]:
    """A server whose client offers its model."""
    argv = [*REGREEN, "serve", "--root", str(repo), "--mode", "auto"]
    env = server_environment(tmp_path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    with raw_server(argv, cwd=repo, env=env) as process:
        client = {"name": "raw", "version": "1"}
        params = {"protocolVersion": LEGACY_VERSION, "capabilities": {"sampling": {}}, "clientInfo": client}
        process.request("initialize", params)
        process.send({"method": "notifications/initialized"})
        yield process
        assert process.close() == 0


def answered(server: RawServer, text: str) -> dict[str, Any]:
    """The parameters of the next question, to which this is the model's answer."""
    question = next_question(server)
    answer = {"role": "assistant", "content": {"type": "text", "text": text}, "model": "theirs"}
    server.send({"id": question["id"], "result": answer})
    return question["params"]


def test_a_run_tries_what_the_clients_model_says_and_is_cancelled_while_it_thinks(
    server: RawServer, repo: Path
) -> None:
    before = whole_state(repo)
    job = server.call("fix_tests", proposer="sampling", wait_s=0).data["job_id"]
    assert "test_total" in json.dumps(answered(server, RIGHT.replace("+", "*"))["messages"])
    assert "+    return sum(prices) * shipping" in next_question(server)["params"]["messages"][0]["content"]["text"]
    cancelled = server.call("job_cancel", job_id=job).data
    assert (cancelled["state"], cancelled["restored"]) == ("done", True)
    assert whole_state(repo) == before


@thorough
def test_a_run_is_fixed_by_the_clients_model(server: RawServer, repo: Path) -> None:
    job = server.call("fix_tests", proposer="sampling", wait_s=0).data["job_id"]
    answered(server, RIGHT)
    while (data := server.call("job_status", job_id=job, wait_s=30).data)["state"] == "running":
        pass
    assert data["outcome"]["reason"] == "fixed", data
    assert (repo / "shop.py").read_text() == CODE.replace("-", "+")


def test_without_sampling_the_proposer_is_refused_before_anything_happens(repo: Path) -> None:
    with engine_on(repo) as engine:
        error = refused(engine, "fix_tests", proposer="sampling")
        assert error["kind"] == "invalid_arguments" and "offers none" in error["message"]
