"""What policy does not let pass is asked of the person behind the client, in both protocol eras, over real stdio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, ElicitResult, InputRequiredResult
from support.mcp_clients import LEGACY_VERSION, REGREEN, raw_server, server_environment

LIMIT_S = 90.0
ERAS = ["legacy", "auto"]
BUG = "def add(a, b):\n    return a - b\n"
RIGHT = {"path": "calc.py", "search": "    return a - b", "replace": "    return a + b"}
NOTE = {"path": "note.txt", "search": "", "replace": "x"}
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"


class Person:
    """Answers forms by a list of words; what it was asked is kept."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)
        self.asked: list[str] = []

    async def __call__(self, _context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        word = self.words.pop(0)
        if word in ("decline", "cancel"):
            return ElicitResult(action=word)  # type: ignore[arg-type]
        return ElicitResult(action="accept", content={"approve": word})


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "calc.py").write_text(BUG, "utf-8")
    (root / "test_calc.py").write_text(TEST, "utf-8")
    return root


def at(repo: Path, use: Callable[[Client], Awaitable[None]], person: Any, era: str, mode: str = "ask") -> None:
    """`use` a client of a fresh server process in this mode."""

    async def run() -> None:
        async with asyncio.timeout(LIMIT_S), client_at(repo, person, era, mode) as client:
            await use(client)

    asyncio.run(run())


@asynccontextmanager
async def client_at(repo: Path, person: Any, era: str, mode: str) -> AsyncGenerator[Client]:
    argv = ["-m", "regreen", "serve", "--root", str(repo), "--mode", mode]
    server = StdioServerParameters(command=sys.executable, args=argv, env=server_environment(repo.parent), cwd=repo)
    async with AsyncExitStack() as stack:
        log = stack.enter_context((repo.parent / "server.log").open("w", encoding="utf-8"))
        transport = stdio_client(server, errlog=log)
        yield await stack.enter_async_context(Client(transport, mode=era, elicitation_callback=person))


async def edit(client: Client, *replacements: Mapping[str, str]) -> Any:
    return await client.call_tool("apply_edits", {"replacements": [dict(r) for r in replacements]})


@pytest.mark.parametrize("era", ERAS)
def test_an_edit_lands_once_it_is_approved_and_the_next_asks_again_unless_it_was_for_the_session(
    era: str, repo: Path
) -> None:
    person = Person("once", "session")

    async def use(client: Client) -> None:
        done = await edit(client, RIGHT)
        assert done.structured_content["ok"] is True and "a + b" in (repo / "calc.py").read_text("utf-8")
        assert len(person.asked) == 1
        assert (await edit(client, NOTE)).structured_content["ok"] is True
        assert (await edit(client, {**NOTE, "path": "other.txt"})).structured_content["ok"] is True
        assert len(person.asked) == 2
        # what decides what a test run executes is asked for by its contents
        person.words.append("reject")
        assert (await edit(client, {**NOTE, "path": "conftest.py"})).is_error
        # another action is another question; a run that somebody refused is a result
        person.words.append("decline")
        run = await client.call_tool("run_tests", {})
        assert not run.is_error and run.structured_content["status"] == "denied"
        assert "sandbox: " in person.asked[-1]

    at(repo, use, person, era)
    first = person.asked[0].splitlines()
    assert f"folder: {repo.resolve()}" in first
    assert any(line.startswith("change: ") and line.endswith("calc.py +1 -1") for line in first)
    assert not (repo / "conftest.py").exists()


@pytest.mark.parametrize("era", ERAS)
def test_a_no_in_any_form_changes_nothing(era: str, repo: Path) -> None:
    words = ["reject", "decline", "cancel"]

    async def use(client: Client) -> None:
        for _ in words:
            refused = await edit(client, RIGHT)
            assert refused.is_error and refused.structured_content["error"]["kind"] == "needs_approval"
            assert "said no" in refused.structured_content["error"]["hint"]

    at(repo, use, Person(*words), era)
    assert (repo / "calc.py").read_text("utf-8") == BUG


@pytest.mark.parametrize("era", ERAS)
def test_a_client_without_forms_gets_the_policys_refusal(era: str, repo: Path) -> None:
    async def use(client: Client) -> None:
        refused = await edit(client, RIGHT)
        assert refused.is_error and refused.structured_content["error"]["kind"] == "needs_approval"
        assert "--mode accept-edits" in refused.content[0].text

    at(repo, use, None, era)


@pytest.mark.parametrize("era", ERAS)
def test_a_fix_run_asks_one_question_after_another(era: str, repo: Path) -> None:
    person = Person("once", "once")

    async def use(client: Client) -> None:
        begun = await client.call_tool("fix_tests", {"proposer": "caller", "wait_s": 40})
        assert not begun.is_error and begun.structured_content["state"] == "waiting_for_edits", begun
        await client.call_tool("job_cancel", {"job_id": begun.structured_content["job_id"]})

    at(repo, use, person, era)
    assert [a.splitlines()[0] for a in person.asked] == [
        "regreen asks: may it change files?",
        "regreen asks: may it run tests?",
    ]


def test_a_question_that_nobody_answers_ends_with_its_call_and_the_server_goes_on(repo: Path) -> None:
    asked, taken_back = asyncio.Event(), asyncio.Event()

    async def never(_context: Any, _params: Any) -> ElicitResult:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            taken_back.set()
        raise AssertionError

    async def use(client: Client) -> None:
        call = asyncio.create_task(edit(client, RIGHT))
        await asked.wait()
        call.cancel()
        await taken_back.wait()
        assert not (await client.call_tool("read_file", {"path": "calc.py"})).is_error

    at(repo, use, never, "legacy")
    assert (repo / "calc.py").read_text("utf-8") == BUG


def test_what_a_client_carries_back_must_be_ours_and_counts_once(repo: Path) -> None:
    arguments = {"replacements": [RIGHT]}
    yes: dict[str, Any] = {"approve": ElicitResult(action="accept", content={"approve": "once"})}

    async def use(client: Client) -> None:
        async def call(**more: Any) -> Any:
            return await client.session.call_tool("apply_edits", arguments, allow_input_required=True, **more)

        assert isinstance(await call(input_responses=yes), InputRequiredResult)  # an answer to nothing
        question = await call()
        state = question.request_state
        forged = state[:-6] + ("AAAAAA" if state[-6:] != "AAAAAA" else "BBBBBB")
        with pytest.raises(MCPError, match="requestState"):
            await call(input_responses=yes, request_state=forged)
        assert (repo / "calc.py").read_text("utf-8") == BUG
        done = await call(input_responses=yes, request_state=state)
        assert isinstance(done, CallToolResult) and done.structured_content["ok"] is True
        (repo / "calc.py").write_text(BUG, "utf-8")
        assert isinstance(await call(input_responses=yes, request_state=state), InputRequiredResult)

    at(repo, use, Person(), "auto")
    assert (repo / "calc.py").read_text("utf-8") == BUG
    assert (repo.parent / "state" / "approvals.key").stat().st_mode & 0o777 == 0o600


def test_what_one_server_asked_another_on_the_state_folder_takes_the_answer_to_and_once_for_both(repo: Path) -> None:
    arguments = {"replacements": [RIGHT]}
    yes: dict[str, Any] = {"approve": ElicitResult(action="accept", content={"approve": "once"})}

    async def run() -> None:
        async def call(client: Client, **more: Any) -> Any:
            return await client.session.call_tool("apply_edits", arguments, allow_input_required=True, **more)

        async with (
            asyncio.timeout(LIMIT_S),
            client_at(repo, Person(), "auto", "ask") as first,
            client_at(repo, Person(), "auto", "ask") as second,
        ):
            answered = {"input_responses": yes, "request_state": (await call(first)).request_state}
            assert (await call(second, **answered)).structured_content["ok"] is True
            (repo / "calc.py").write_text(BUG, "utf-8")
            for server in (first, second):
                assert isinstance(await call(server, **answered), InputRequiredResult)

    asyncio.run(run())
    assert (repo / "calc.py").read_text("utf-8") == BUG


@pytest.mark.parametrize(
    "answer", [{"result": None}, {"result": 5}, {"result": {"action": 7}}, {"error": "no"}], ids=str
)
def test_an_answer_that_is_none_ends_the_wait_for_one(repo: Path, answer: dict[str, Any]) -> None:
    argv = [*REGREEN, "serve", "--root", str(repo), "--mode", "ask"]
    with raw_server(argv, cwd=repo, env=server_environment(repo.parent)) as server:
        hello = {"protocolVersion": LEGACY_VERSION, "clientInfo": {"name": "raw", "version": "1"},
                 "capabilities": {"elicitation": {}}}  # fmt: skip
        server.request("initialize", hello)
        server.send({"method": "notifications/initialized"})
        call = server.start_call("apply_edits", replacements=[RIGHT])
        while (question := server.notes.get(timeout=LIMIT_S))["method"] != "elicitation/create":
            pass
        server.send({"id": question["id"], **answer})
        assert server.answer(call)["result"]["structuredContent"]["error"]["kind"] == "needs_approval"
    assert (repo / "calc.py").read_text("utf-8") == BUG
