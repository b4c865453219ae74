"""Approvals over HTTP: asked in both eras of the protocol, remembered for one principal alone."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult
from support.http_server import HttpServer, http_server
from support.repos import red_repo

LIMIT_S = 60
ALICE, BOB = "a" * 40, "b" * 40


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return red_repo(tmp_path_factory.mktemp("approvals") / "repo")


@pytest.fixture(scope="module")
def server(repo: Path) -> Iterator[HttpServer]:
    tokens = f"alice {ALICE}\nbob {BOB}\n"
    with http_server(repo.parent, "--root", str(repo), "--mode", "ask", tokens=tokens) as started:
        yield started


ONCE = ElicitResult(action="accept", content={"approve": "once"})
SESSION = ElicitResult(action="accept", content={"approve": "session"})
NO = ElicitResult(action="accept", content={"approve": "reject"})


def edits(server: HttpServer, repo: Path, token: str, mode: str, answer: ElicitResult, count: int) -> tuple[int, int]:
    """Make new files in a connection of its own: how many could be made, and how often the person was asked."""
    asked: list[str] = []

    async def person(_context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return answer

    async def talk() -> int:
        made = 0
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=LIMIT_S) as http,
            Client(
                streamable_http_client(server.url, http_client=http), mode=mode, elicitation_callback=person
            ) as client,
        ):
            for _ in range(count):
                edit = {"path": "notes.txt", "search": "", "replace": "note\n"}
                made += not (await client.call_tool("apply_edits", {"replacements": [edit]})).is_error
                (repo / "notes.txt").unlink(missing_ok=True)
        return made

    return asyncio.run(asyncio.wait_for(talk(), LIMIT_S)), len(asked)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_each_edit_is_asked_for_and_a_no_leaves_everything_as_it_is(server: HttpServer, repo: Path, mode: str) -> None:
    assert edits(server, repo, ALICE, mode, ONCE, 2) == (2, 2)
    assert edits(server, repo, ALICE, mode, NO, 1) == (0, 1)
    assert not (repo / "notes.txt").exists()


def test_what_one_principal_allowed_for_a_session_the_other_is_asked_for(server: HttpServer, repo: Path) -> None:
    assert edits(server, repo, ALICE, "auto", SESSION, 3) == (3, 1)
    assert edits(server, repo, BOB, "auto", NO, 1) == (0, 1)
    assert edits(server, repo, BOB, "legacy", NO, 1) == (0, 1)
