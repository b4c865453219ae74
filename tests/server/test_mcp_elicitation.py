"""The person behind the client: asked where the client offers forms, and never waited for without end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitResult, ErrorData

from regreen.agent.offers import NOTHING, Offers
from regreen.sandbox import Cancel
from regreen_server.app import create_server
from regreen_server.calls import Caller, EngineSlot
from regreen_server.tool_list import Offer


@dataclass
class Answer:
    text: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    is_error: bool = False


class Asker:
    """An engine that does nothing but ask the person, in its call's thread."""

    def __init__(self, cancel: Cancel | None = None) -> None:
        self._cancel = cancel or Cancel()

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        on_progress: Callable[[str], None] | None = None,
        cancel: object = None,
        offers: Offers = NOTHING,
    ) -> Answer:
        if offers.ask_user is None:
            return Answer("nobody can be asked")
        return Answer(repr(offers.ask_user("Which rate?", ("plus", "minus"), self._cancel)))

    def recover(self) -> None:
        """There is nothing to recover."""

    def watch_jobs(self, watcher: object) -> None:
        """There are no jobs."""

    def close(self) -> None:
        """Nothing is open."""


def what_comes_of(person: Any, *, mode: str = "legacy", cancel: Cancel | None = None) -> str:
    """The text of a call whose engine asks the person."""

    async def call() -> str:
        server = create_server(Caller(EngineSlot(lambda: Asker(cancel))), Offer())
        async with Client(server, mode=mode, elicitation_callback=person) as client:
            result = await client.call_tool("coding_task", {})
            return result.content[0].text

    return asyncio.run(call())


def test_the_person_is_asked_with_the_options_and_the_answer_comes_back() -> None:
    asked: list[Any] = []

    async def person(_context: Any, params: Any) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="accept", content={"answer": "minus"})

    assert what_comes_of(person) == "'minus'"
    assert asked[0].message == "Which rate?"
    assert asked[0].requested_schema["properties"]["answer"]["enum"] == ["plus", "minus"]


@pytest.mark.parametrize(("action", "said"), [("decline", "''"), ("cancel", "None")])
def test_a_person_who_declines_leaves_it_to_the_agent_and_a_closed_dialog_is_no_answer(action: Any, said: str) -> None:
    async def person(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action=action)

    assert what_comes_of(person) == said


def test_a_client_that_refuses_to_ask_is_no_answer() -> None:
    async def refuses(_context: Any, _params: Any) -> ErrorData:
        return ErrorData(code=-1, message="not now")

    assert what_comes_of(refuses) == "None"


def test_a_question_whose_call_is_cancelled_is_taken_back() -> None:
    cancel = Cancel()
    taken_back = threading.Event()

    async def never(_context: Any, _params: Any) -> ElicitResult:
        cancel.set()
        try:
            await asyncio.Event().wait()
        finally:
            taken_back.set()
        raise AssertionError

    assert what_comes_of(never, cancel=cancel) == "None"
    assert taken_back.wait(20)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_nobody_is_asked_where_the_client_or_its_protocol_offers_nothing(mode: str) -> None:
    async def person(_context: Any, _params: Any) -> ElicitResult:
        raise AssertionError("nobody may ask")

    assert what_comes_of(person if mode == "auto" else None, mode=mode) == "nobody can be asked"
